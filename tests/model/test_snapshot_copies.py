"""Tests that copies of a snapshot are independent: a ledger of one changes no other."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from tests.ledger_check import check_ledger
from tests.model.fabric import snapshot_on, three_level_tree
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import get_policy

ARRAYS = ("allocatable", "used", "unschedulable", "not_ready", "gpu_total", "gpu_free", "node_matrix")
WORKER = Role("w", 4, {"cpu": 1000, "nvidia.com/gpu": 4}, (4,))
GANG = Gang("d", "g", (WORKER,), min_available=4, constraint=TopologyConstraint("hard", 2))


def pickled(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    read: ClusterSnapshot = pickle.loads(pickle.dumps(snapshot))
    return read


@pytest.mark.parametrize("name", ["gang", "binpack", "volcano-1.15"])
@pytest.mark.parametrize("looked_at", [True, False])
@pytest.mark.parametrize("copied", [pickled, copy.deepcopy, copy.copy])
def test_a_ledger_of_a_copy_changes_no_snapshot(
    copied: Callable[[ClusterSnapshot], ClusterSnapshot], looked_at: bool, name: str
) -> None:
    first = snapshot_on(three_level_tree())
    policy = get_policy(name)
    expected = policy.place(GANG, first.ledger())
    assert isinstance(expected, Placement)
    first = snapshot_on(three_level_tree())
    if looked_at:
        assert first.idle[0, 3] == 8
        assert first.node_states.first.tolist() == [0]
    second = copied(first)
    for _ in range(2):
        ledger = second.ledger()
        placed = policy.place(GANG, ledger)
        assert isinstance(placed, Placement)
        assert placed.node.tolist() == expected.node.tolist()
        check_ledger(ledger)
        assert ledger.used[:, 3].sum() == 16
        for snapshot in (first, second):
            assert not snapshot.used.any()
            assert (snapshot.idle == snapshot.allocatable).all()
            assert (snapshot.gpu_free == snapshot.gpu_total).all()


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
def test_the_arrays_of_a_copy_are_read_only(copied: Callable[[ClusterSnapshot], ClusterSnapshot]) -> None:
    snapshot = copied(snapshot_on(three_level_tree()))
    for name in (*ARRAYS, "idle"):
        assert not getattr(snapshot, name).flags.writeable, name


@pytest.mark.parametrize("copied", [lambda each: pickle.loads(pickle.dumps(each)), copy.deepcopy])
def test_a_copied_ledger_takes_from_itself_alone(copied: Callable[[Ledger], Ledger]) -> None:
    ledger = copied(snapshot_on(three_level_tree()).ledger())
    ledger.take(np.array([0], dtype=np.int32), np.array([1, 1, 1, 1]))
    check_ledger(ledger)
    assert ledger.used[0].tolist() == [1, 1, 1, 1]
    assert not ledger.snapshot.used.any()
