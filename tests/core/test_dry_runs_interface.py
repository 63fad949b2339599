"""Arguments that the ``dry_runs`` interface accepts and refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.errors import CapacityError, InputError
from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domains import MAX_QUANTITY, ScoreWeights, TopologyScores
from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.tiers import Forest


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def domains(**changes: Any) -> DomainNodes:
    """Three nodes, two domains, of which the second is empty."""
    given: dict[str, Any] = {
        "name_rank": int32([0, 1, 2]),
        "leaf": int32([0, 0, -1]),
        "start": int64([0, 2, 2]),
        "members": int32([0, 1]),
    }
    return DomainNodes(**(given | changes))


def build(**changes: Any) -> DryRuns:
    """Three nodes, two resources, two domains."""
    amounts = int64([[4, 4], [4, 4], [4, 4]])
    given: dict[str, Any] = {
        "idle": amounts,
        "used": np.zeros_like(amounts),
        "allocatable": amounts.copy(),
        "domains": domains(),
        "weights": ScoreWeights(),
        "scores": TopologyScores(Forest(int32([-1, -1]), int32([1, 1])), np.zeros(2)),
    }
    return DryRuns(**(given | changes))


def counts(**changes: Any) -> Counts:
    return Counts(**({"shapes": int32([0]), "left": int64([2]), "min_available": 2} | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"idle": np.zeros((3, 2))},
        {"idle": int64([[MAX_QUANTITY + 1, 0]] * 3)},
        {"used": int64([[-1, 0]] * 3)},
        {"allocatable": int64([[4, 4]])},
        {"domains": domains(name_rank=int32([0, 1]), leaf=int32([0, 0]))},
        {"scores": TopologyScores(Forest(int32([-1]), int32([1])), np.zeros(1))},
    ],
)
def test_a_cluster_that_does_not_fit_together_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        build(**changes)


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"shapes": int32([1])}, {}),
        ({"left": int64([1, 2])}, {}),
        ({"left": int64([-1])}, {}),
        ({"names": int32([0, 0])}, {}),
        ({"after_failure": "never"}, {}),
        ({"min_available": -1}, {}),
        ({}, {"record": 2}),
        ({}, {"record": -3}),
        ({}, {"total_tasks": 0}),
        ({}, {"tasks_on_leaf": int64([0])}),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(changes: dict[str, Any], options: dict[str, Any]) -> None:
    runs = build()
    runs.add_shape(int64([1, 1]))
    with pytest.raises(InputError):
        runs.ask(counts(**changes), **options)


def test_a_record_needs_scores_and_a_trial_needs_a_question() -> None:
    runs = build(scores=None)
    runs.add_shape(int64([1, 1]))
    with pytest.raises(InputError, match="no topology scores"):
        runs.ask(counts(), record=0)
    with pytest.raises(InputError, match="nothing to place"):
        runs.try_each(int32([0]))


def test_domains_and_pods_in_one_call_are_bounded() -> None:
    runs = build()
    runs.add_shape(int64([1, 1]))
    with pytest.raises(CapacityError):
        runs.ask(counts(left=int64([10_000_001])))
    runs.ask(counts())
    with pytest.raises(InputError):
        runs.try_each(int32([2]))
    with pytest.raises(InputError):
        runs.settle(-2)
    with pytest.raises(InputError):
        runs.try_each(int32([0]), np.zeros(2))


def test_trials_leave_everything_as_it_was_and_settling_does_not() -> None:
    idle = int64([[4, 4], [4, 4], [4, 4]])
    idle.flags.writeable = False
    runs = build(idle=idle)
    runs.add_shape(int64([3, 1]))
    runs.ask(counts())
    for _ in range(2):
        assert runs.try_each(int32([-1, 0, 1])).placed.tolist() == [2, 2, 0]
    runs.settle(0)
    assert runs.try_each(int32([-1, 0, 1])).placed.tolist() == [1, 0, 0]
    assert (idle == 4).all()


def test_node_scores_are_asked_for_a_shape_and_a_domain_that_are_there() -> None:
    runs = build()
    shape = runs.add_shape(int64([1, 1]))
    with pytest.raises(InputError, match="nothing to place"):
        runs.node_scores(-1, shape)
    runs.ask(counts())
    assert np.isfinite(runs.node_scores(0, shape)[1]).tolist() == [True, True, False]
    for domain, number in ((2, shape), (-2, shape), (0, 1), (0, -1)):
        with pytest.raises(InputError):
            runs.node_scores(domain, number)


def test_what_is_handed_in_stays_as_it_is() -> None:
    amounts = int64([[4, 4], [4, 4], [4, 4]])
    amounts.flags.writeable = False
    runs = build(idle=amounts, used=amounts * 0, allocatable=amounts)
    runs.add_shape(int64([1, 1]))
    runs.ask(counts(left=int64([9]), min_available=9))
    assert len(runs.settle(-1).nodes) == 9
    assert amounts.tolist() == [[4, 4]] * 3
