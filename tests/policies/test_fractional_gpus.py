"""Tests that policies with whole GPUs refuse pods that ask for parts, and leave shared GPUs alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.hand_made import document_tree, gang_of, placement_of, snapshot_of
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement
from workbench.policies import get_policy, list_policies

NAMES = [entry.name for entry in list_policies() if entry.kind == "node"]


def cluster():
    """Of 4 GPUs one is shared on each of the first seven nodes; the last node has four that are wholly free."""
    snapshot = snapshot_of(document_tree(), 4)
    parts = Gang("default", "parts", (Role("w", 7, {"cpu": 1000}, gpu_milli=500),), 7)
    return snapshot.with_placement(placement_of(parts, snapshot.topology, list(range(7)), [0b10] * 7))


def mixed():
    roles = (Role("w", 2, {"cpu": 1000}), Role("f", 3, {"cpu": 1000}, gpu_milli=250))
    return Gang("default", "mixed", roles, 5, TopologyConstraint("hard", 3))


@pytest.mark.parametrize("name", NAMES)
def test_a_gang_that_asks_for_parts_is_refused(name):
    policy, snapshot, gang = get_policy(name), cluster(), mixed()
    ledger = snapshot.ledger()
    answers = [
        policy.place(gang, ledger),
        policy.schedule([gang, gang_of("other", 1, 1)], snapshot)[0].result,
        policy.stream(snapshot).place(gang),
        policy.explain(gang, snapshot).decision.result,
    ]
    for answer in answers:
        assert [(reason.code, reason.numbers["count"]) for reason in answer.reasons] == [("fractional-gpus", 3)]
        assert "3 pods ask for thousandths of a GPU" in answer.reasons[0].message
    assert np.array_equal(ledger.used, snapshot.used)


@pytest.mark.parametrize("name", NAMES)
def test_whole_gpus_are_wholly_free_ones(name):
    snapshot = cluster()
    policy = get_policy(name)
    for gang in (gang_of("four", 1, 4), gang_of("three", 8, 3)):
        for result in (policy.place(gang, snapshot.ledger()), policy.schedule([gang], snapshot)[0].result):
            assert isinstance(result, Placement)
            assert result.n_placed == gang.n_pods
            if gang.name == "four":
                assert result.node.tolist() == [7]
            if result.gpu_words is not None:
                assert not (result.gpu_words & ~snapshot.gpu_free[result.node]).any()
