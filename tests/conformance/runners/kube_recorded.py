"""Recorded answers of the real kube-scheduler 1.37.2: `cases/kube-recorded`, whose README describes the files."""

from __future__ import annotations

from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners.kube_scenarios import DECISION, stand_in

Json = dict[str, Any]

ANSWER = ("bound", "conditions", "other_answers", "any_order", "texts")


class Recorded(Runners):
    """An area of which every file is one of recordings."""

    def knows(self, file: str) -> bool:
        if file not in self.operations():
            self.op(file, "schedule", DECISION, ANSWER)(schedule)
        return True


RUNNERS = Recorded("kube-recorded")


def schedule(given: Json, want: Json) -> None:
    """Compare with every answer that was seen: pods bound, their nodes, and the conditions of groups.

    The rule among equal nodes is upstream's heap, so that nodes are those of the first order of arrival.
    """
    made = stand_in(given)
    made.in_turn(len(given["pending"]) + 2)
    bound = {pod["name"]: made.node_of(pod["name"]) for pod in given["pending"]}
    found = {"bound": {name: node for name, node in bound.items() if node}, "conditions": made.told()}
    answers = [want, *want["other_answers"]]
    assert found in [{key: answer[key] for key in ("bound", "conditions")} for answer in answers]
