"""Arguments that the ``domains`` interface accepts and refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from workbench.errors import CapacityError, InputError
from workbench.kernels.domains import (
    MAX_QUANTITY,
    NO_RECORD,
    Fill,
    ScoreWeights,
    TopologyScores,
    domain_counts,
    domain_counts_spans,
    lowest_tier_with_fit,
    pods_per_node,
)
from workbench.kernels.tiers import Forest

BINPACK = ScoreWeights(binpack=1.0, binpack_resources=np.ones(2))


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def arguments(**changes: Any) -> dict[str, Any]:
    """Three nodes, two resources."""
    amounts = int64([[4, 4], [4, 4], [4, 4]])
    given = {
        "nodes": int32([0, 2]),
        "idle": amounts,
        "used": np.zeros_like(amounts),
        "allocatable": amounts.copy(),
        "name_rank": int32([0, 1, 2]),
        "leaf": int32([0, 0, -1]),
        "weights": BINPACK,
    }
    return given | changes


def build(**changes: Any) -> Fill:
    return Fill(**arguments(**changes))


def forest() -> Forest:
    return Forest(int32([-1]), int32([1]))


def test_read_only_inputs_are_accepted_and_stay_as_they_are() -> None:
    given = arguments()
    for array in given.values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    request = int64([1, 1])
    request.flags.writeable = False
    fill = Fill(**given)
    assert len(fill.place(fill.add_shape(request), 8).positions) == 8
    assert given["idle"].tolist() == [[4, 4]] * 3
    assert fill.idle.tolist() == [[0, 0]] * 2
    assert pods_per_node(given["idle"], request).tolist() == [4, 4, 4]


def test_answers_do_not_alias_the_working_state() -> None:
    fill = build()
    fill.idle[:] = 0
    fill.tasks_in_group[:] = 9
    assert fill.idle.tolist() == [[4, 4]] * 2
    assert fill.tasks_in_group.tolist() == [0, 0]
    assert fill.groups.tolist() == [-1, 0]
    assert not fill.groups.flags.writeable


def test_no_candidates_place_nothing() -> None:
    fill = build(nodes=int32([]))
    shape = fill.add_shape(int64([1, 1]))
    assert fill.place(shape, 3).positions.tolist() == []
    assert fill.n_fitting(shape) == 0
    fill.set_topology(TopologyScores(forest(), np.zeros(1)), record=0, total_tasks=1, update_record=True)
    assert fill.place(shape, 3).score_sum == 0.0


def test_a_pod_that_asks_for_nothing_is_bounded_by_the_count() -> None:
    fill = build()
    assert len(fill.place(fill.add_shape(int64([0, 0])), 50).positions) == 50


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": np.array([0, 2])}, "nodes: wrong dtype"),
        ({"nodes": int32([0, 3])}, "nodes: entry 1: out of range"),
        ({"idle": np.zeros((3, 2))}, "idle: wrong dtype"),
        ({"used": int64([[0, 0]])}, "used: wrong shape"),
        ({"allocatable": int64([[0], [0], [0]])}, "allocatable: wrong shape"),
        ({"used": int64([[0, 0], [0, 0], [0, -1]])}, "node 2, resource 1: idle 4, used -1"),
        ({"allocatable": int64([[0, 0], [0, 0], [MAX_QUANTITY + 1, 0]])}, "node 2, resource 0"),
        ({"idle": int64([[-MAX_QUANTITY - 1, 0], [0, 0], [0, 0]])}, "node 0, resource 0"),
        ({"name_rank": int32([0, 1])}, "name_rank: wrong length"),
        ({"name_rank": int32([0, 1, -1])}, "node 2: name rank -1"),
        ({"leaf": int32([0, 0])}, "leaf: wrong length"),
        ({"leaf": int32([0, 0, -2])}, "leaf -2"),
        ({"weights": ScoreWeights(binpack=1.0)}, "binpack_resources: missing"),
        ({"weights": ScoreWeights(most_requested=1.0)}, "request_resources: missing"),
        ({"weights": ScoreWeights(balanced=1.0)}, "balanced_resources: missing"),
        (
            {"weights": ScoreWeights(balanced=1.0, balanced_resources=np.array([1, 3], dtype=np.uint8))},
            "balanced_resources: entry 1: out of range",
        ),
        ({"weights": replace(BINPACK, binpack=-1.0)}, "binpack: out of range"),
        ({"weights": replace(BINPACK, binpack=float("nan"))}, "binpack: out of range"),
        ({"weights": replace(BINPACK, binpack=1e300)}, "binpack: out of range"),
        ({"weights": replace(BINPACK, binpack_resources=np.ones(3))}, "binpack_resources: wrong length"),
        ({"weights": replace(BINPACK, binpack_resources=-np.ones(2))}, "binpack_resources: entry 0: out of range"),
        ({"weights": replace(BINPACK, binpack_resources=np.full(2, np.nan))}, "binpack_resources: not finite"),
    ],
)
def test_a_wrong_fill_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(**changes)


def add(**shape: Any) -> Callable[[Fill], object]:
    request = shape.pop("request", int64([1, 1]))
    return lambda fill: fill.add_shape(request, **shape)


def topology(**changes: Any) -> Callable[[Fill], object]:
    given = {"scores": TopologyScores(forest(), np.zeros(1)), "record": 0, "total_tasks": 2, "update_record": True}
    return lambda fill: fill.set_topology(**(given | changes))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (add(request=int64([1])), "request: wrong length"),
        (add(request=int64([1, -1])), "request: entry 1: out of range"),
        (add(request=np.ones(2)), "request: wrong dtype"),
        (add(feasible=np.ones(2, dtype=np.uint8)), "feasible: wrong length"),
        (add(feasible=np.ones(3, dtype=bool)), "feasible: wrong dtype"),
        (add(extra=np.array([0.0, np.nan, 0.0])), "extra: not finite"),
        (add(extra=np.array([0.0, 1e300, 0.0])), "extra: not finite or too large"),
        (lambda fill: fill.place(1, 1), "shape: no such shape"),
        (lambda fill: fill.place(-1, 1), "shape: no such shape"),
        (lambda fill: fill.place(0, -1), "count: negative"),
        (lambda fill: fill.place_each(int32([0, 1])), "shapes: entry 1: out of range"),
        (lambda fill: fill.place_each(int64([0])), "shapes: wrong dtype"),
        (lambda fill: fill.n_fitting(7), "shape: no such shape"),
        (lambda fill: fill.rollback(2), "mark: no such mark"),
        (lambda fill: fill.rollback(-1), "mark: no such mark"),
        (topology(record=1), "record: no such domain"),
        (topology(record=NO_RECORD - 1), "record: no such domain"),
        (topology(total_tasks=0), "total_tasks: out of range"),
        (topology(tasks_in_group=int64([1])), "tasks_in_group: wrong length"),
        (topology(tasks_in_group=int64([1, -1])), "tasks_in_group: entry 1: out of range"),
    ],
)
def test_a_wrong_step_is_refused_and_changes_nothing(step: Callable[[Fill], object], message: str) -> None:
    fill = build()
    fill.add_shape(int64([2, 2]))
    fill.place(0, 1)
    before = fill.idle.tolist(), fill.placed, fill.record
    with pytest.raises(InputError, match=message):
        step(fill)
    assert (fill.idle.tolist(), fill.placed, fill.record) == before
    assert len(fill.place(0, 9).positions) == 3


def test_a_rollback_does_not_pass_set_topology() -> None:
    fill = build()
    shape = fill.add_shape(int64([1, 1]))
    fill.place(shape, 2)
    topology()(fill)
    fill.place(shape, 1)
    with pytest.raises(InputError, match=r"mark: no such mark \(found 1, expected 2..3\)"):
        fill.rollback(1)
    fill.rollback(2)
    assert fill.placed == 2


def test_a_leaf_outside_the_forest_is_refused() -> None:
    with pytest.raises(InputError, match="groups: entry 1: out of range"):
        topology()(build(leaf=int32([1, 0, 0])))


def test_too_many_pods_in_one_call_are_refused() -> None:
    fill = build()
    with pytest.raises(CapacityError, match="at most 10000000"):
        fill.place(fill.add_shape(int64([0, 0])), 10_000_001)


def test_topology_scores_must_be_finite_and_one_per_domain() -> None:
    with pytest.raises(InputError, match="value: wrong length"):
        TopologyScores(forest(), np.zeros(2))
    with pytest.raises(InputError, match="value: not finite"):
        TopologyScores(forest(), np.array([np.inf]))
    with pytest.raises(InputError, match="own: not finite"):
        TopologyScores(forest(), np.zeros(1), own=float("nan"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pods_per_node(int64([1]), int64([1])), "idle: wrong number of dimensions"),
        (lambda: pods_per_node(int64([[1]]), int64([1, 2])), "request: wrong length"),
        (lambda: pods_per_node(int64([[1]]), int64([-1])), "request: entry 0: out of range"),
        (lambda: pods_per_node(int64([[1]]), int64([1]), cap=-1), "cap: out of range"),
        (lambda: pods_per_node(int64([[1]]), int64([1]), cap=2**31), "cap: out of range"),
        (lambda: pods_per_node(int64([[1]]), int64([1]), feasible=np.ones(1)), "feasible: wrong dtype"),
        (lambda: domain_counts(int64([1]), int64([]), int32([])), "start: empty"),
        (lambda: domain_counts(int64([1]), int64([0, 2]), int32([0])), "start: no CSR offsets"),
        (lambda: domain_counts(int64([1]), int64([0, 2, 1, 2]), int32([0, 0])), "start: no CSR offsets"),
        (lambda: domain_counts(int64([1]), int64([0, 1]), int32([1])), "members: entry 0: out of range"),
        (lambda: domain_counts_spans(int64([1]), int32([[0, 2]])), "spans: entry 1: out of range"),
        (lambda: domain_counts_spans(int64([1]), int32([[1, 0]])), "spans: a span ends before it begins"),
        (lambda: domain_counts_spans(int64([1]), int32([[0, 1, 1]])), "spans: wrong number of columns"),
        (lambda: lowest_tier_with_fit(int64([1]), int32([1, 2]), 1), "tier: wrong length"),
    ],
)
def test_wrong_counting_arguments_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_weights_are_checked_and_copied_once() -> None:
    parts = np.ones(2)
    weights = ScoreWeights(binpack=1.0, binpack_resources=parts)
    first = build(weights=weights)
    shape = first.add_shape(int64([1, 3]))
    want = first.node_scores(shape)[0].tolist()
    parts[:] = -1.0
    again = build(weights=weights)
    assert again.node_scores(again.add_shape(int64([1, 3])))[0].tolist() == want
    with pytest.raises(InputError, match="out of range"):
        build(weights=replace(weights, binpack_resources=parts))
