"""Arguments that the ``domains`` interface accepts and refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.domains import (
    ScoreWeights,
    TopologyScores,
    domain_counts,
    pods_per_node,
)
from workbench.kernels.tiers import Forest

BINPACK = ScoreWeights(binpack=1.0, binpack_resources=np.ones(2))


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def forest() -> Forest:
    return Forest(int32([-1]), int32([1]))


WRONG_WEIGHTS = {
    "binpack_resources: missing": ScoreWeights(binpack=1.0),
    "request_resources: missing": ScoreWeights(most_requested=1.0),
    "balanced_resources: missing": ScoreWeights(balanced=1.0),
    "balanced_resources: entry 1: out of range": ScoreWeights(
        balanced=1.0, balanced_resources=np.array([1, 3], dtype=np.uint8)
    ),
    "binpack: out of range.*-1": replace(BINPACK, binpack=-1.0),
    "binpack: out of range.*nan": replace(BINPACK, binpack=float("nan")),
    "binpack: out of range.*1e": replace(BINPACK, binpack=1e300),
    "binpack_resources: wrong length": replace(BINPACK, binpack_resources=np.ones(3)),
    "binpack_resources: entry 0: out of range": replace(BINPACK, binpack_resources=-np.ones(2)),
    "binpack_resources: not finite": replace(BINPACK, binpack_resources=np.full(2, np.nan)),
}


@pytest.mark.parametrize(("message", "weights"), WRONG_WEIGHTS.items(), ids=WRONG_WEIGHTS.keys())
def test_wrong_weights_are_refused(message: str, weights: ScoreWeights) -> None:
    with pytest.raises(InputError, match=message):
        weights.checked(2)


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
    ],
)
def test_wrong_counting_arguments_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_weights_are_checked_and_copied_once() -> None:
    parts = np.ones(2)
    weights = ScoreWeights(binpack=1.0, binpack_resources=parts)
    first = weights.checked(2)
    parts[:] = -1.0
    assert weights.checked(2) is first
    assert first[1].tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match="out of range"):
        replace(weights, binpack_resources=parts).checked(2)
