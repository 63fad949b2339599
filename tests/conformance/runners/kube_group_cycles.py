"""Cycles of groups with injected filters, placements and scores: `group-cycle`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tests.conformance.registry import Runners
from workbench.policies.kube.groups.conditions import PodGroupCondition, condition_after
from workbench.policies.kube.groups.cycle import GroupCycle, GroupOutcome, PodOutcome, Trial
from workbench.policies.kube.groups.hierarchy import KubePodGroup
from workbench.policies.kube.groups.placements import GroupPlacement, GroupPlacements
from workbench.policies.kube.groups.quorum import feasible
from workbench.policies.kube.groups.submission import submit
from workbench.policies.kube.status import Code, Status, text_of

Json = dict[str, Any]


def register(runners: Runners) -> None:
    """Add the operations to the area's runners."""
    runners.op("group-cycle", "group-cycle", ("pods", "filter", "feasible"), ("group", "pods"))(one_node)
    runners.op(
        "group-cycle",
        "placement-cycle",
        (
            "tree",
            "pods",
            "nodes",
            "placements",
            "generate_status",
            "generate_message",
            "filter",
            "feasible",
            "scores",
            "pod_per_node",
        ),
        ("status", "pods", "message", "evaluated"),
    )(placements)
    runners.op("group-cycle", "composite-cycle", ("tree", "filter_rejects"), ("scheduled", "not_scheduled"))(tree)
    runners.op(
        "group-cycle",
        "submit-result",
        ("status", "waiting_on_preemption", "pods", "all_pods", "existing_condition"),
        ("bound", "failed", "nominated", "condition"),
    )(submission)
    runners.op("group-cycle", "update-condition", ("existing", "generation", "new"), ("condition",))(update)


class Injected:
    """A scene whose answers a case gives."""

    def __init__(self, case: Json, children: dict[str, list[KubePodGroup]], pods: dict[str, list[str]]) -> None:
        self.case, self._children, self._pods = case, children, pods
        self.on_node: Counter[str] = Counter()
        self.trial = -1
        self.asked: Counter[int] = Counter()

    def pods(self, group: KubePodGroup) -> Sequence[str]:
        return self._pods.get(group.name, [])

    def scheduled(self, group: KubePodGroup) -> int:
        return 0

    def children(self, group: KubePodGroup) -> Sequence[KubePodGroup]:
        return self._children.get(group.name, [])

    def runs(self, group: KubePodGroup) -> Sequence[Sequence[str]]:
        return [[pod] for pod in self.pods(group)]

    def alike(self, group: KubePodGroup, placements: Sequence[GroupPlacement[Sequence[str]]]) -> None:
        return None

    def bounds(self, group: KubePodGroup, placements: Sequence[GroupPlacement[Sequence[str]]]) -> None:
        return None

    def complete(self, trial: Trial[str, str, Sequence[str]]) -> None: ...

    def place(self, run: Sequence[str], nodes: Sequence[str]) -> list[PodOutcome[str]]:
        (pod,) = run
        found = self.choose(pod, nodes)
        if found.node is not None:
            self.assume([(pod, found.node)])
        return [found]

    def choose(self, pod: str, nodes: Sequence[str]) -> PodOutcome[str]:
        filters = self.case.get("filter", {})
        for node in nodes:
            code = Code(filters.get(pod, filters.get(node, "Success")))
            if code is Code.ERROR:
                return PodOutcome(Status(Code.ERROR, ("injected filter error",)))
            full = bool(self.case.get("pod_per_node")) and self.on_node[node] > 0
            if code is Code.SUCCESS and not full and pod not in self.case.get("filter_rejects", ()):
                return PodOutcome(Status(), node)
        return PodOutcome(Status(Code.UNSCHEDULABLE, (f"0/{len(nodes)} nodes are available",)))

    def assume(self, pods: Iterable[tuple[str, str]]) -> None:
        self.on_node.update(node for _, node in pods)

    def forget(self, pods: Iterable[tuple[str, str]]) -> None:
        self.on_node.subtract(node for _, node in pods)

    def feasible(self, group: KubePodGroup, placed: int, remaining: int) -> Status:
        if "feasible" not in self.case:
            return feasible(group, placed, remaining)
        answers = self.case["feasible"]
        if answers and isinstance(answers[0], list):
            answers = answers[self.trial] if 0 <= self.trial < len(answers) else []
        turn = self.asked[self.trial]
        self.asked[self.trial] += 1
        code = Code(answers[turn] if turn < len(answers) else "Success")
        return Status(code, () if code is Code.SUCCESS else ("injected placementFeasible status",))

    def placements(self, group: KubePodGroup, nodes: Sequence[str]) -> GroupPlacements[Sequence[str]]:
        code = Code(self.case.get("generate_status", {}).get(group.name, "Success"))
        if code is not Code.SUCCESS:
            message = self.case.get("generate_message", {}).get(group.name, "")
            return GroupPlacements(status=Status(code, (message,)))
        if "placements" not in self.case:
            return GroupPlacements((GroupPlacement("", nodes),))
        inside = set(nodes)
        given = self.case["placements"].get(group.name, {})
        cut = [GroupPlacement(name, [node for node in given[name] if node in inside]) for name in sorted(given)]
        return GroupPlacements(tuple(each for each in cut if each.nodes))

    def score(self, group: KubePodGroup, trials: Sequence[Trial[str, str, Sequence[str]]]) -> Status:
        totals = [0] * len(trials)
        for plugin in self.case["scores"]:
            for position, trial in enumerate(trials):
                if trial.placement.name in plugin["errors"]:
                    text = 'running PlacementScore plugins: plugin "FakePlacementPlugin" failed with: error for test'
                    return Status(Code.ERROR, (text,))
                score = plugin["scores"].get(group.name, {}).get(trial.placement.name, 0)
                totals[position] += plugin["weight"] * score
        for trial, total in zip(trials, totals, strict=True):
            trial.total = total
        return Status()

    def begin(self, group: KubePodGroup, placement: GroupPlacement[Sequence[str]]) -> None:
        self.trial += 1


def grow(node: Json, children: dict[str, list[KubePodGroup]], pods: dict[str, list[str]]) -> KubePodGroup:
    """The group at the root of a tree; what is below it goes into the two mappings."""
    below = node.get("children", [])
    children[node["name"]] = [grow(child, children, pods) for child in below]
    if "pods" in node:
        pods[node["name"]] = node["pods"]
    return KubePodGroup(node["name"], composite=bool(below), min_count=node.get("gang"))


def statuses(outcome: GroupOutcome[str, str, Sequence[str]]) -> Json:
    """Status and placement of each pod that was tried."""
    found = {}
    for each in outcome.walk():
        for pod, result in each.pods.items():
            code = result.status.code
            code = Code.UNSCHEDULABLE if code is Code.UNRESOLVABLE else code
            found[pod] = {"node": result.node or "", "status": code.value}
    return found


def one_node(given: Json, want: Json) -> None:
    scene = Injected(given, {}, {"pg": given["pods"]})
    outcome = GroupCycle(scene, by_placement=False).run(KubePodGroup("pg"), ["node"])
    assert outcome.status.code.value == want["group"]
    assert {pod: each["status"] for pod, each in statuses(outcome).items()} == want["pods"]


def placements(given: Json, want: Json) -> None:
    children: dict[str, list[KubePodGroup]] = {}
    root = grow(given["tree"], children, {})
    outcome = GroupCycle(Injected(given, children, given["pods"])).run(root, given["nodes"])
    for name, code in want["status"].items():
        assert [each.status.code.value for each in outcome.walk() if each.group.name == name] == [code], name
    if want.get("pods") is not None:
        assert statuses(outcome) == want["pods"]
    if want.get("message") is not None:
        assert text_of(outcome.status).endswith(want["message"])
    if want.get("evaluated") is not None:
        good = sum(trial.outcome.succeeded for trial in outcome.trials)
        n_trials = len(outcome.trials)
        assert {"generated": n_trials, "feasible": good, "infeasible": n_trials - good} == want["evaluated"]


def tree(given: Json, want: Json) -> None:
    children: dict[str, list[KubePodGroup]] = {}
    pods: dict[str, list[str]] = {}
    root = grow(given["tree"], children, pods)
    outcome = GroupCycle(Injected(given, children, pods)).run(root, ["node"])
    placed = sorted(pod for pod, _ in outcome.placed())
    assert placed == sorted(want["scheduled"])
    everything = {pod for names in pods.values() for pod in names}
    assert sorted(everything - set(placed)) == sorted(want["not_scheduled"])


def condition(given: Json, generation: int = 0) -> PodGroupCondition:
    return PodGroupCondition(given["status"], given["reason"], given["message"], generation, given["type"])


def shown(found: PodGroupCondition, want: Json) -> Json:
    """The keys of a condition that a case expects."""
    return {key: getattr(found, key) for key in want}


def submission(given: Json, want: Json) -> None:
    outcomes = {
        pod: PodOutcome(Status(Code(each["status"])), each["node"] or None) for pod, each in given["pods"].items()
    }
    nominated = {pod: each["nominated"] for pod, each in given["pods"].items() if each.get("nominated")}
    existing = given.get("existing_condition")
    found = submit(
        Status(Code(given["status"]["code"]), tuple(given["status"]["reasons"])),
        outcomes,
        given["all_pods"],
        condition(existing) if existing else None,
        nominated if given["waiting_on_preemption"] else None,
    )
    assert sorted(found.bound) == sorted(want["bound"])
    assert sorted(found.failed) == sorted(want["failed"])
    if want.get("nominated") is not None:
        assert found.nominated == want["nominated"]
    if want.get("condition") is not None:
        assert shown(found.condition, want["condition"]) == want["condition"]


def update(given: Json, want: Json) -> None:
    kept = [each for each in given["existing"] if each["type"] == given["new"]["type"]]
    before = condition(kept[0]) if kept else None
    found = condition_after(before, condition(given["new"], given["generation"]))
    assert shown(found, want["condition"]) == want["condition"]
