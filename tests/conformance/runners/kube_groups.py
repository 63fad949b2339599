"""Rules of groups by themselves: `placement-generate`, `placement-score`, `gang`, and the checks of `group-cycle`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.conformance.registry import NotUnderstood, Runners, assert_pinned
from tests.conformance.runners.kube_group_objects import groups_of, hierarchy, key_of, member, pod_key
from tests.conformance.runners.kube_objects import cluster_of, nodes_of, shape_of
from tests.reference.kube_permit import permit
from tests.reference.kube_requeue import wakes
from workbench.policies.kube.groups.cycle import GroupOutcome, PodOutcome
from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup
from workbench.policies.kube.groups.levels import Levels
from workbench.policies.kube.groups.placement_scores import best_totals, normalised_counts
from workbench.policies.kube.groups.placements import generate_placements
from workbench.policies.kube.groups.quorum import feasible, ready_to_queue
from workbench.policies.kube.groups.scene import KubeScene
from workbench.policies.kube.groups.validation import validate
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.status import Code, Status, text_of

Json = dict[str, Any]


def register(runners: Runners) -> None:
    """Add the operations to the area's runners."""
    for file, op, given, want, run in (
        (
            "placement-generate",
            "generate-placements",
            ("group", "placement_nodes", "other_nodes", "scheduled"),
            ("status", "placements"),
            generate,
        ),
        ("placement-score", "count-pods", ("already_scheduled", "assumed", "proposed", "paths"), ("score",), count),
        ("placement-score", "normalize-counts", ("scores",), ("scores", "error", "message"), normalise),
        (
            "placement-score",
            "fit-placement",
            ("nodes", "placement", "resources", "pods", "assignments", "running"),
            ("score",),
            fit,
        ),
        ("placement-score", "best-placement", ("plugins",), ("best",), best),
        ("placement-score", "proposed-assignments", ("tree", "results"), ("assignments",), proposed),
        (
            "gang",
            "gang-feasible",
            ("kind", "min_count", "members", "scheduled_before", "outcomes"),
            ("statuses",),
            reach,
        ),
        (
            "gang",
            "gang-flow",
            ("composite_enabled", "pod", "pods", "groups", "waiting_on_permit"),
            ("pre_enqueue", "permit", "allowed"),
            flow,
        ),
        (
            "group-cycle",
            "validate-group",
            (
                "root",
                "groups",
                "pods",
                "scheduled",
                "profiles",
                "preemption_policy_gate",
                "composite_enabled",
            ),
            ("error",),
            check,
        ),
        (
            "gang",
            "requeue-hint",
            (
                "event",
                "composite_enabled",
                "pod",
                "known_groups",
                "new_pod",
                "old_group",
                "new_group",
            ),
            ("hint",),
            hint,
        ),
    ):
        runners.op(file, op, given, want)(run)


def generate(given: Json, want: Json) -> None:
    (group,) = groups_of([given["group"]])
    nodes = nodes_of([*given["placement_nodes"], *given["other_nodes"]])
    codes, values = Levels(nodes).values(group.topology_key)
    place = {name: i for i, name in enumerate(nodes.names)}
    # A pod whose node the snapshot lacks has no label either.
    scheduled = [
        (f"pod-{number}", int(codes[place[pod["node"]]]) if pod["node"] in place else -1)
        for number, pod in enumerate(given["scheduled"])
    ]
    inside = np.arange(len(given["placement_nodes"]), dtype=np.int32)
    found = generate_placements(group, inside, codes, values, scheduled)
    assert found.status.code.value == want["status"]
    if want.get("placements") is None:
        return
    placements = {each.name: [nodes.names[i] for i in each.nodes.tolist()] for each in found.found}
    if group.topology_key:
        assert placements == want["placements"]
    else:
        assert list(placements.values()) == list(want["placements"].values())


def count(given: Json, want: Json) -> None:
    counted = given["already_scheduled"] + given["assumed"] + given["proposed"]
    # The largest of the counts becomes 100, whatever it is.
    assert counted == want["score"]
    assert normalised_counts([counted]) == [100]


def normalise(given: Json, want: Json) -> None:
    found = normalised_counts(given["scores"])
    if isinstance(found, Status):
        assert want.get("error")
        assert want.get("message") in (None, text_of(found))
    else:
        assert not want.get("error")
        assert found == want["scores"]


def fit(given: Json, want: Json) -> None:
    cluster = cluster_of(given["nodes"], given["running"])
    settings = KubeSettings(resources=tuple((name, weight) for name, weight in given["resources"]))
    scene = KubeScene(cluster, Hierarchy(), (), settings)
    placed = Counter(shape_of(pod) for pod in given["pods"] if pod_key(pod) in given["assignments"])
    inside = np.array([cluster.nodes.names.index(name) for name in given["placement"]], dtype=np.int32)
    assert scene.fits([inside], [placed]) == [want["score"]]


def best(given: Json, want: Json) -> None:
    names = list(given["plugins"][0]["scores"])
    totals = [sum(each["weight"] * each["scores"][name] for each in given["plugins"]) for name in names]
    assert sorted(names[position] for position in best_totals(totals)) == sorted(want["best"])


def proposed(given: Json, want: Json) -> None:
    for name, results in given["results"].items():
        assert dict(outcome_of(given["tree"], results).placed()) == want["assignments"][name]


def outcome_of(tree: Json, results: Json) -> GroupOutcome[str, str, Sequence[str]]:
    own = results[tree["name"]]
    children = tree.get("children", [])
    outcome: GroupOutcome[str, str, Sequence[str]] = GroupOutcome(
        KubePodGroup(tree["name"], composite=bool(children)), Status(Code(own["status"]))
    )
    for pod in own["pods"]:
        outcome.pods[pod["name"]] = PodOutcome(Status(Code(pod["status"])), pod["node"] or None)
    outcome.children = [outcome_of(child, results) for child in children]
    return outcome


def reach(given: Json, want: Json) -> None:
    group = KubePodGroup("g", composite=given["kind"] == "CompositePodGroup", min_count=given["min_count"])
    placed, left, found = given["scheduled_before"], given["members"], []
    for outcome in given["outcomes"]:
        placed, left = placed + (outcome == "Success"), left - 1
        found.append(feasible(group, placed, left).code.value)
    assert found == want["statuses"]


def flow(given: Json, want: Json) -> None:
    pod, others = given["pod"], given["pods"]
    groups, composites = hierarchy(given["groups"]), given["composite_enabled"]
    holding = [each for each in others if each["name"] in given["waiting_on_permit"]]
    known = counter([pod, *others])
    found: Json = {"pre_enqueue": told(ready_to_queue(groups, key_of(pod), known, composites))}
    if found["pre_enqueue"]["code"] == "Success":
        having = [pod, *holding]
        code, reasons = permit(
            given["groups"], pod, lambda group: sum(each.get("group") == group["name"] for each in having), composites
        )
        found["permit"] = {"code": code, "reasons": reasons}
        if want.get("allowed") and found["permit"]["code"] == "Success":
            root = groups.root(key_of(pod)) if composites else groups[key_of(pod)]
            freed = [each for each in (pod, *holding) if same_tree(groups, root, key_of(each), composites)]
            found["allowed"] = sorted(each["name"] for each in freed)
    for step in ("pre_enqueue", "permit"):
        if want.get(step) is not None:
            assert_pinned(found.get(step, {}), want[step])
    if want.get("allowed"):
        assert found["allowed"] == sorted(want["allowed"])


def same_tree(groups: Hierarchy, root: KubePodGroup | None, key: str, composites: bool) -> bool:
    return root is not None and bool(key) and (groups.root(key) if composites else groups[key]) == root


def counter(pods: list[Json]) -> Any:
    return lambda group: sum(key_of(pod) == group.key for pod in pods)


def told(status: Status) -> Json:
    return {"code": status.code.value, "reasons": list(status.reasons)}


def check(given: Json, want: Json) -> None:
    groups = hierarchy(given["groups"])
    roots = [group for group in groups if group.name == given["root"]]
    if len(roots) != 1:
        raise NotUnderstood(f"{len(roots)} groups have the name of the root")
    status = validate(
        roots[0],
        [member(pod) for pod in given["pods"]],
        [member(pod) for pod in given["scheduled"]],
        given["profiles"],
        given["preemption_policy_gate"],
    )
    assert (status.code is Code.ERROR) == want["error"]


def hint(given: Json, want: Json) -> None:
    assert ("Queue" if wakes(given) else "QueueSkip") == want["hint"]
