"""Recorded answers of the real kube-scheduler 1.37.2: `cases/kube-recorded`, whose README describes the files."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners.kube_scenarios import DECISION, stand_in

Json = dict[str, Any]

#: Orders of placements that are tried before an answer is wrong.
ORDERS = 12

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

    The rule among equal nodes is upstream's heap, so that nodes are those of the first order of arrival. Upstream tries
    placements in an order of chance; where a search does not look at all nodes, the next one goes on at a place that
    depends on it, and the few runs of a recording need not have met the order of names: another order will do.
    """
    answers = [{key: answer[key] for key in ("bound", "conditions")} for answer in (want, *want["other_answers"])]
    found = answer_to(given)
    by_chance = len(given["nodes"]) >= 100 and any(group.get("topology_key") for group in given["groups"])
    others = (answer_to(given, Random(seed)) for seed in range(ORDERS if by_chance else 0))
    assert found in answers or any(other in answers for other in others), found


def answer_to(given: Json, shuffle: Random | None = None) -> Json:
    """Nodes of the pods that are bound, and conditions; `shuffle`: the order in which placements are tried."""
    made = stand_in(given)
    made.shuffle = shuffle
    made.in_turn(len(given["pending"]) + 2)
    bound = {pod["name"]: made.node_of(pod["name"]) for pod in given["pending"]}
    return {"bound": {name: node for name, node in bound.items() if node}, "conditions": made.told()}
