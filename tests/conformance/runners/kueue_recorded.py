"""Runner of recorded sequences of placements by the real Kueue: `cases/kueue-recorded`, whose README describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.conformance.registry import NotUnderstood
from tests.conformance.runners import kueue_cycle
from tests.conformance.runners import kueue_values as read
from workbench.policies.kueue.flavor_snapshot import FlavorSnapshot, usage_of
from workbench.policies.kueue.values import Assignment, Outcome, PodSet, Replacement

Json = Mapping[str, Any]


class _Sequence:
    """Workloads that come and go on one flavor: the steps of a scenario, with their answers."""

    def __init__(self, given: Json) -> None:
        self.given = given
        self.failed: set[str] = set()
        self.held: dict[str, tuple[list[PodSet], dict[str, Assignment]]] = {}
        self.answers: list[dict[str, Any]] = []

    def snapshot(self) -> FlavorSnapshot:
        """The nodes as they are now with everything that is held, built anew for each step as upstream does."""
        nodes = [read.node(each) for each in self.given["nodes"]]
        nodes = [replace(each, ready=False) if each.name in self.failed else each for each in nodes]
        found = FlavorSnapshot(
            self.given["levels"],
            read.flavor(self.given["flavor"]),
            nodes,
            read.gates(self.given["gates"]),
            read.held_pods(self.given["pods"]),
        )
        for each in self.given["usage"]:
            found.add(read.usage(each))
        for pod_sets, assignments in self.held.values():
            for pods in pod_sets:
                for usage in usage_of(pods, assignments[pods.name]):
                    found.add(usage)
        return found

    def run(self, step: Json) -> None:
        """Take one step."""
        method = getattr(self, "_" + step["do"].replace("-", "_"), None)
        if method is None:
            raise NotUnderstood(f"step {step['do']}")
        self.answers.append(method(step) or {})

    def _place(self, step: Json) -> Json:
        pods = [read.pod_set(each) for each in step["pod_sets"]]
        found = self.snapshot().place(pods)
        if all(each.assignment is not None for each in found.values()):
            self.held[step["workload"]] = pods, _assignments(found)
        return read.outcomes(found)

    def _place_as_if_empty(self, step: Json) -> Json:
        return read.outcomes(
            self.snapshot().place([read.pod_set(each) for each in step["pod_sets"]], simulate_empty=True)
        )

    def _finish(self, step: Json) -> None:
        self.held.pop(step["workload"], None)

    def _node_fails(self, step: Json) -> None:
        self.failed.add(step["node"])

    def _resize(self, step: Json) -> Json | None:
        if step["workload"] not in self.held:
            return None
        (pods,), assignments = self.held.pop(step["workload"])
        resized = replace(pods, count=step["count"], previous=assignments[pods.name])
        found = self.snapshot().place([resized])
        if found[pods.name].assignment is not None:
            assignments, pods = _assignments(found), replace(resized, previous=None)
        self.held[step["workload"]] = [pods], assignments
        return read.outcomes(found)

    def _replace(self, step: Json) -> Json | None:
        if step["workload"] not in self.held:
            return None
        pod_sets, assignments = self.held[step["workload"]]
        labels = {each["name"]: each["labels"] for each in self.given["nodes"]}
        host = labels[step["node"]].get("kubernetes.io/hostname", step["node"])
        lost = [pods for pods in pod_sets if any(values[-1] == host for values, _ in assignments[pods.name].domains)]
        found = self.snapshot().place(lost, replacement=Replacement((host,), assignments))
        if all(each.assignment is not None for each in found.values()):
            assignments.update(_assignments(found))
        else:
            del self.held[step["workload"]]
        return read.outcomes(found)


def _assignments(found: Mapping[str, Outcome]) -> dict[str, Assignment]:
    return {name: each.assignment for name, each in found.items() if each.assignment is not None}


class Recorded:
    """The area as `Runners` are to others: every file in it is one of recordings, known by its content."""

    area = "kueue-recorded"

    def knows(self, file: str) -> bool:
        return True

    def cases_of(self, content: Any) -> Any:
        """The scenarios of a file; a file of anything else holds none."""
        return content if isinstance(content, list) else None

    def run(self, file: str, case: Json) -> None:
        """Compare every step of a scenario with the real program's answers, or with others that it gave as well."""
        given, want = case.get("input"), case.get("expected")
        if isinstance(want, dict) and "cycles" in want:
            kueue_cycle.check_recorded(given, want)
            return
        if not isinstance(given, dict) or not isinstance(want, dict) or "steps" not in given or "steps" not in want:
            raise NotUnderstood("a scenario is a sequence of placements: 'input' and 'expected' have steps")
        sequence = _Sequence(given)
        for step in given["steps"]:
            sequence.run(step)
        others = [other for other in want.get("other_answers", ()) if other == sequence.answers]
        assert others or sequence.answers == want["steps"]


RUNNERS = Recorded()
