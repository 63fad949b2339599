from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.switches import HOLDS, SUMS, add_jobs, first_free, free_under_switches, join_votes

SAYS = np.zeros(2, dtype=np.int8)
START, NODES, BOTH = np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32), np.array([0, 1])


def free(**other):
    given = {
        "holders": np.zeros(2, dtype=np.int32),
        "idle": np.ones((2, 1), dtype=np.int64),
        "request": np.ones(1, dtype=np.int64),
        "feasible": np.ones(2, dtype=np.uint8),
        "gpu_free": np.zeros((2, 1), dtype=np.uint64),
        "n_gpus": 0,
        "node_switch": np.zeros(2, dtype=np.int32),
        "n_switches": 1,
    } | other
    return free_under_switches(**given)


def jobs(**other):
    given = {
        "sign": 1,
        "start": np.array([0, 2]),
        "counts": np.ones((1, 4), dtype=np.bool_),
        "node": NODES,
        "vote": np.full(2, HOLDS, dtype=np.int8),
        "node_switch": np.zeros(2, dtype=np.int32),
        "holders": np.zeros(2, dtype=np.int32),
        "sums": np.zeros((SUMS, 1), dtype=np.int64),
    } | other
    return add_jobs(**given)


def test_read_only_input_is_taken_and_results_are_fresh():
    holders = np.zeros(2, dtype=np.int32)
    holders.flags.writeable = False
    first, _ = free(holders=holders)
    first[:] = False
    assert free(holders=holders)[0].all()


def test_whatever_is_not_0_is_feasible():
    assert free(feasible=np.array([2, 0], dtype=np.uint8))[0].tolist() == [True, False]


def test_a_node_without_a_switch_is_free_and_counted_nowhere():
    found, counts = free(node_switch=np.array([-1, 0], dtype=np.int32))
    assert (found.tolist(), counts.tolist()) == ([True, True], [1])


def test_nothing_at_all():
    found, counts = free(
        holders=np.zeros(0, dtype=np.int32),
        idle=np.zeros((0, 1), dtype=np.int64),
        feasible=np.zeros(0, dtype=np.uint8),
        gpu_free=np.zeros((0, 1), dtype=np.uint64),
        node_switch=np.zeros(0, dtype=np.int32),
        n_switches=0,
    )
    assert len(found) == len(counts) == 0
    nobody = np.zeros(0, dtype=np.int64)
    node, group, head = first_free(nobody, nobody, SAYS[:0], np.ones(2, dtype=np.bool_), START, NODES, BOTH)
    assert len(node) == len(group) == len(head) == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param({"holders": [0, 0]}, "not a numpy array", id="a list"),
        pytest.param({"holders": np.ones(2)}, "wrong dtype", id="floats"),
        pytest.param({"feasible": np.ones(3, dtype=np.uint8)}, "wrong length", id="too many"),
        pytest.param({"request": np.ones(2, dtype=np.int64)}, "wrong length", id="another request"),
        pytest.param({"node_switch": np.zeros(3, dtype=np.int32)}, "wrong length", id="more nodes under switches"),
        pytest.param(
            {"node_switch": np.array([0, 1], dtype=np.int32)}, "node 1: .*no such switch", id="no such switch"
        ),
    ],
)
def test_wrong_nodes_are_refused(other, message):
    with pytest.raises(InputError, match=message):
        free(**other)


@pytest.mark.parametrize(
    ("chosen", "wanted"),
    [
        pytest.param([2], [1], id="no such switch"),
        pytest.param([-1], [1], id="negative switch"),
        pytest.param([0], [2], id="more than there are"),
        pytest.param([1], [1], id="taken"),
        pytest.param([0], [-1], id="a negative number"),
        pytest.param([0, 0], [2, -1], id="a negative number that hides"),
    ],
)
def test_nodes_that_there_are_not_are_refused(chosen, wanted):
    with pytest.raises(InputError, match="no such switch, or fewer"):
        first_free(np.array(chosen), np.array(wanted), SAYS[: len(chosen)], np.array([True, False]), START, NODES, BOTH)


def test_a_mark_for_every_chosen_switch_is_needed():
    with pytest.raises(InputError, match="wrong length"):
        first_free(np.array([0]), np.array([1]), SAYS, np.ones(2, dtype=np.bool_), START, NODES, BOTH)


@pytest.mark.parametrize(
    ("start", "nodes"),
    [
        pytest.param([], [0, 1], id="no offsets"),
        pytest.param([0, 3], [0, 1], id="offsets beyond the nodes"),
        pytest.param([-1, 2], [0, 1], id="negative offset"),
        pytest.param([0, 2], [0, 2], id="no such node"),
        pytest.param([0, 2], [-1, 0], id="negative node"),
    ],
)
def test_offsets_and_nodes_out_of_range_are_refused(start, nodes):
    free = np.ones(2, dtype=np.bool_)
    csr = np.array(start, dtype=np.int64), np.array(nodes, dtype=np.int32)
    with pytest.raises(InputError, match="no such switch, or fewer"):
        first_free(np.array([0]), np.array([2]), SAYS[:1], free, *csr, BOTH)


@pytest.mark.parametrize("by_position", [[0, 2], [-1, 1]])
def test_an_order_that_leaves_the_switch_is_refused(by_position):
    free = np.array([True, True])
    with pytest.raises(InputError, match="no such switch, or fewer"):
        first_free(np.array([0]), np.array([2]), SAYS[:1], free, np.array([0, 2]), NODES, np.array(by_position))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param({"vote": np.array([0, 3], dtype=np.int8)}, "pod 1: .*out of range", id="no such state"),
        pytest.param({"vote": np.array([0, -1], dtype=np.int8)}, "pod 1: .*out of range", id="a negative state"),
        pytest.param({"vote": np.array([0, 16], dtype=np.int8)}, "pod 1: .*out of range", id="it says more"),
        pytest.param({"node": np.array([0, 2], dtype=np.int32)}, "pod 1: .*out of range", id="no such node"),
        pytest.param({"node_switch": np.array([0, 1], dtype=np.int32)}, "pod 1: .*out of range", id="no such switch"),
        pytest.param({"vote": np.ones(3, dtype=np.int8)}, "wrong length", id="too many"),
        pytest.param({"node": np.array([0, -2], dtype=np.int32)}, "pod 1: .*out of range", id="below none"),
        pytest.param({"start": np.zeros(0, dtype=np.int64)}, "empty", id="no offsets"),
        pytest.param({"start": np.array([0, 1])}, "do not cover", id="a pod of no job"),
        pytest.param({"start": np.array([1, 2])}, "do not cover", id="a pod before the first job"),
        pytest.param(
            {"start": np.array([0, 3, 2]), "counts": np.ones((2, 4), dtype=np.bool_)}, "do not cover", id="falling"
        ),
        pytest.param({"start": np.array([0, 1, 2])}, "wrong length", id="more jobs than kinds"),
        pytest.param({"counts": np.ones((1, 3), dtype=np.bool_)}, "wrong number of columns", id="three kinds"),
        pytest.param({"sums": np.zeros((4, 1), dtype=np.int64)}, "wrong length", id="four sums"),
        pytest.param({"sums": np.zeros((2, SUMS), dtype=np.int64).T}, "not C-contiguous", id="the other order"),
    ],
)
def test_wrong_jobs_are_refused_and_nothing_is_changed(other, message):
    holders = np.zeros(2, dtype=np.int32)
    with pytest.raises(InputError, match=message):
        jobs(**{"holders": holders} | other)
    assert not holders.any()


def test_sums_that_may_not_be_written_are_refused():
    holders = np.zeros(2, dtype=np.int32)
    holders.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jobs(holders=holders)


def test_votes_have_four_rows_of_longs():
    with pytest.raises(InputError, match="wrong length"):
        join_votes(np.zeros((3, 2), dtype=np.int64))
    with pytest.raises(InputError, match="wrong dtype"):
        join_votes(np.zeros((4, 2)))
