"""Arguments that the ``two_level`` interface accepts and refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from workbench.errors import CapacityError, InputError
from workbench.kernels.domain_tree import DomainTree
from workbench.kernels.domains import MAX_QUANTITY, NO_RECORD, ScoreWeights, TopologyScores
from workbench.kernels.fading import Fading
from workbench.kernels.node_states import NodeStates
from workbench.kernels.tiers import Forest
from workbench.kernels.two_level import JobColumns, Nodes, Shape, SubJobColumns, TwoLevel


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


FOREST = Forest(int32([2, 2, -1]), int32([1, 1, 2]))
TREE: dict[str, Any] = {
    "walk": int32([1, 2, 0]),
    "end": int32([2, 3, 3]),
    "member_start": int64([0, 2, 3, 6]),
    "members": int32([0, 1, 2, 0, 1, 2]),
    "node_start": int64([0, 2, 4, 6]),
    "node_domains": int32([0, 2, 0, 2, 1, 2]),
    "name_rank": int32([0, 1, 2]),
    "leaf": int32([0, 0, 1]),
}


def tree(**changes: Any) -> DomainTree:
    """Three nodes: two under s0, one under s1, both under s2."""
    return DomainTree(FOREST, **(TREE | changes))


IDLE = int64([[4], [4], [4]])
SUMS = int64([[8], [4], [12], [12]])
NODES = Nodes(IDLE, np.zeros_like(IDLE), IDLE.copy(), np.zeros_like(SUMS), SUMS, SUMS.copy())
JOB = JobColumns(left=int64([6]), present=int64([0]), minimums=int64([0]), names=int32([0]), min_available=6, limit=2)
SUBS = SubJobColumns(
    start=int64([0, 1, 2]),
    shapes=int32([0, 0]),
    left=int64([3, 3]),
    min_available=int64([3, 3]),
    counted=int64([0, 0]),
    total=int64([3, 3]),
    stop_after_failure=np.array([True, True]),
    limit=int64([1, 1]),
    limited=np.array([True, True]),
    scored=np.array([True, True]),
    policy=int32([-1, -1]),
    rank=int32([0, 1]),
    record=int32([NO_RECORD, NO_RECORD]),
    request=int64([[3], [3]]),
    pending=int64([[3], [3]]),
    running_start=int64([0, 0, 0]),
    running=int32([]),
)


def build(**changes: Any) -> TwoLevel:
    given: dict[str, Any] = {"tree": tree(), "nodes": NODES, "shapes": [Shape(int64([1]))], "job": JOB, "subs": SUBS}
    options: dict[str, Any] = {
        "weights": ScoreWeights(),
        "scores": TopologyScores(FOREST, np.array([1.0, 1.0, 0.5]), roots_meet=True),
        "packing": np.ones(1),
    }
    for name, value in changes.items():
        (given if name in given else options)[name] = value
    return TwoLevel(*given.values(), **options)


def test_two_sub_jobs_share_the_leaf_that_holds_both() -> None:
    search = build()
    assert (search.ready, search.pods_left, search.n_placed) == (False, 6, 0)
    domains = int32([-1, 0, 1])
    assert search.room(domains).tolist() == [6, 6, 4]
    assert search.turn()
    assert search.score == 100 * (3 / 8) + 100 * (6 / 8)
    owner, shape, nodes = search.placed()
    assert (owner.tolist(), shape.tolist(), nodes.tolist()) == ([0] * 3 + [1] * 3, [0] * 6, [0, 0, 0, 0, 1, 1])
    assert (search.ready, search.pods_left, search.record, search.records().tolist()) == (True, 0, 0, [0, 0])
    tried = search.tried()
    assert (tried.domains.tolist(), tried.holds.tolist()) == ([0, 1], [6, 4])
    assert (tried.kept.tolist(), tried.stuck.tolist()) == ([True, False], [-1, -2])
    assert search.takes_one().tolist() == [True]
    # Nothing is left that could want it.
    assert search.room(domains).tolist() == [0, 0, 0]
    assert not search.turn()


def test_the_sub_job_without_a_place_is_named_and_nothing_is_placed() -> None:
    search = build(subs=replace(SUBS, left=int64([3, 5]), pending=int64([[3], [9]])), job=replace(JOB, left=int64([8])))
    assert not search.turn()
    assert (search.tried().domains.tolist(), search.tried().stuck.tolist()) == ([0, 1, 2], [1, -2, 1])
    assert (search.n_placed, search.record, search.pods_left) == (0, NO_RECORD, 8)


def test_looking_places_nothing_and_taking_ends_the_turn() -> None:
    looked, turned = build(), build()
    assert not looked.take()
    assert looked.look() and looked.look()
    assert (looked.n_placed, looked.pods_left, looked.record) == (0, 6, NO_RECORD)
    assert looked.explain_in(0).kept and looked.room(int32([0])).tolist() == [6]
    assert looked.take() and turned.turn()
    assert [a.tolist() for a in looked.placed()] == [a.tolist() for a in turned.placed()]
    assert (looked.score, looked.record, looked.pods_left) == (turned.score, turned.record, 0)
    assert not looked.take()


def test_arrays_given_stay_as_they_are() -> None:
    before = [array.copy() for array in (NODES.idle, NODES.used, NODES.domain_used)]
    build().turn()
    for array, copy in zip((NODES.idle, NODES.used, NODES.domain_used), before, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize(
    "changes",
    [
        {"walk": int32([0, 0, 1])},
        {"end": int32([2, 3, 4])},
        {"member_start": int64([0, 2, 3])},
        {"members": int32([0, 1, 3, 0, 1, 2])},
        {"node_domains": int32([0, 2, 0, 2, 1, 3])},
        {"name_rank": int32([0, 1, 3])},
        {"leaf": int32([0, 0, 3])},
        {"leaf": int64([0, 0, 1])},
        {"spans": int32([[0, 2], [2, 3]])},
    ],
)
def test_a_tree_that_does_not_fit_together_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        tree(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": replace(NODES, idle=IDLE[:2])},
        {"nodes": replace(NODES, used=-IDLE)},
        {"nodes": replace(NODES, allocatable=IDLE + MAX_QUANTITY)},
        {"nodes": replace(NODES, domain_used=SUMS[:3])},
        {"shapes": [Shape(int64([-1]))]},
        {"shapes": [Shape(int64([1]), feasible=np.ones(2, dtype=np.uint8))]},
        {"shapes": [Shape(int64([1]), extra=np.array([0.0, np.nan, 0.0]))]},
        {"shapes": []},
        {"packing": np.ones(2)},
        {"packing": np.array([-1.5])},
        {"scale": float("nan")},
        {"scores": TopologyScores(Forest(int32([-1]), int32([1])), np.zeros(1))},
        {"job": replace(JOB, record=3)},
        {"job": replace(JOB, names=int32([0, 1]))},
        {"job": replace(JOB, after_failure="never")},
        {"job": replace(JOB, minimum=int64([1, 1]))},
        {"job": replace(JOB, min_available=-1)},
        {"job": replace(JOB, counted=-1)},
        {"job": replace(JOB, left=int64([-6]))},
        {"job": replace(JOB, left=int64([6, 1]), present=None, minimums=None, names=None)},
        {"job": replace(JOB, left=int32([6]))},
        {"job": replace(JOB, present=int64([-1]))},
        {"job": replace(JOB, minimums=int64([MAX_QUANTITY + 1]))},
        {"job": replace(JOB, minimum=int64([-1]))},
        {"job": replace(JOB, wanted=int64([-1]))},
        {"job": replace(JOB, grouped=False)},
        {"subs": replace(SUBS, rank=int32([0, 2]))},
        {"subs": replace(SUBS, grade=int32([0, 2]))},
        {"subs": replace(SUBS, shapes=int32([0, 1]))},
        {"subs": replace(SUBS, start=int64([0, 2, 1]))},
        {"subs": replace(SUBS, left=int64([3]))},
        {"subs": replace(SUBS, policy=int32([0, -1]))},
        {"subs": replace(SUBS, record=int32([3, -1]))},
        {"subs": replace(SUBS, total=int64([0, 3]))},
        {"subs": replace(SUBS, rank=int32([0, 0]))},
        {"subs": replace(SUBS, rank=int32([0]))},
        {"subs": replace(SUBS, left=int64([3, -1]))},
        {"subs": replace(SUBS, min_available=int64([-1, 3]))},
        {"subs": replace(SUBS, counted=int64([0, MAX_QUANTITY + 1]))},
        {"subs": replace(SUBS, limit=int64([1]))},
        {"subs": replace(SUBS, stop_after_failure=np.array([True]))},
        {"subs": replace(SUBS, limited=np.array([True]))},
        {"subs": replace(SUBS, scored=np.array([True]))},
        {"subs": replace(SUBS, request=int64([[3]]))},
        {"subs": replace(SUBS, pending=int64([[3], [-1]]))},
        {"subs": replace(SUBS, start=int64([]))},
        {"subs": replace(SUBS, runs=(int64([0, 1, 1]), int32([0, 0]), int64([1, 1])))},
        {"subs": replace(SUBS, runs=(int64([0, 1, 2]), int32([0, 1]), int64([1, 1])))},
        {"subs": replace(SUBS, runs=(int64([0, 1, 2]), int32([0, 0]), int64([1, -1])))},
        {"subs": replace(SUBS, running_start=int64([0, 0, 1]), running=int32([3]))},
    ],
)
def test_a_question_that_does_not_fit_together_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        build(**changes)


def test_the_pods_of_one_search_are_bounded() -> None:
    with pytest.raises(CapacityError):
        build(job=replace(JOB, left=int64([10_000_001])))
    with pytest.raises(CapacityError):
        build(subs=replace(SUBS, left=int64([10_000_000, 1])))


def test_columns_need_not_be_contiguous_and_the_order_given_is_a_rank() -> None:
    def apart(column: np.ndarray) -> np.ndarray:
        return np.repeat(column, 2, axis=0)[::2]

    job = replace(JOB, left=apart(JOB.left))
    subs = replace(SUBS, rank=None, left=apart(SUBS.left), scored=apart(SUBS.scored), request=apart(SUBS.request))
    assert not subs.left.flags.c_contiguous
    search, other = build(job=job, subs=subs), build()
    assert search.turn() and other.turn()
    assert [column.tolist() for column in search.placed()] == [column.tolist() for column in other.placed()]


def test_placed_refuses_a_mark_that_is_none() -> None:
    with pytest.raises(InputError):
        build().placed(1)


@pytest.mark.parametrize(
    "changes",
    [
        {"idle": IDLE.astype(np.float64)},
        {"idle": IDLE[:2]},
        {"used": -IDLE},
        {"shapes": []},
        {"shapes": [Shape(int64([1]), np.ones(2, dtype=np.uint8))]},
        {"shapes": [Shape(int64([1]), None, np.array([0.0, np.inf, 0.0]))]},
    ],
)
def test_a_cluster_that_does_not_fit_is_not_seen(changes: dict[str, Any]) -> None:
    search = build()
    with pytest.raises(InputError):
        search.update_nodes(**{"idle": np.zeros_like(IDLE), "used": IDLE, "shapes": [Shape(int64([1]))], **changes})
    assert search.turn()


def test_read_only_arrays_are_seen() -> None:
    search, idle, used = build(), np.zeros_like(IDLE), IDLE.copy()
    feasible = np.ones(3, dtype=np.uint8)
    for array in (idle, used, feasible):
        array.flags.writeable = False
    search.update_nodes(idle, used, [Shape(int64([1]), feasible)])
    assert not search.turn()


def test_left_is_capped_entry_by_entry() -> None:
    search = build()
    assert [column.tolist() for column in search.left()] == [[0, 1], [0, 0], [3, 3]]
    search.cap(int64([5, 0]))
    assert search.left()[2].tolist() == [3, 0]
    for wrong in (int64([1]), int64([-1, 0]), int32([1, 1])):
        with pytest.raises(InputError):
            search.cap(wrong)


def test_only_what_is_there_is_explained() -> None:
    search = build()
    assert search.explain_in(0).kept and not search.explain_in(1).kept
    for call in (
        lambda: search.explain_in(3),
        lambda: search.explain_in(-2),
        lambda: search.scores_of(2, int32([0])),
        lambda: search.scores_of(0, int32([3])),
    ):
        with pytest.raises(InputError):
            call()


def test_a_fading_of_other_nodes_is_refused() -> None:
    fading = Fading(tree().rings, int32([0, 1, 2]), np.ones(3), np.ones(1), 1.0)
    build(fading=fading)
    for changes in (
        {"rings": replace(fading.rings, of_node=int32([0, 0]))},
        {"rings": replace(fading.rings, of_node=int32([0, 0, 9]))},
        {"rings": replace(fading.rings, around=int32([[9, 9, 9]] * 2))},
        {"column": int32([0, 1, 3])},
        {"packing": np.ones(2)},
    ):
        with pytest.raises(InputError):
            build(fading=replace(fading, **changes))


def test_states_are_those_of_the_very_arrays():
    arrays = [array.copy() for array in (NODES.idle, NODES.used, NODES.allocatable)]
    for array in arrays:
        array.flags.writeable = False
    states = NodeStates(*arrays)
    nodes = Nodes(*arrays, NODES.domain_used, NODES.domain_allocatable, NODES.idle_at_open, states)
    with_states, without = build(nodes=nodes), build()
    assert with_states.turn() == without.turn()
    assert [a.tolist() for a in with_states.placed()] == [a.tolist() for a in without.placed()]
    with pytest.raises(InputError, match="states: of other arrays"):
        build(nodes=replace(NODES, states=states))
