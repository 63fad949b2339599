"""What is refused of the numbers by which pods are drawn to full domains; `test_dry_runs.py` has the behaviour."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domains import ScoreWeights
from workbench.kernels.dry_run_values import DomainTotals
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.fading import Fading, Rings


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "domain_allocatable: wrong shape": ({}, {"allocatable": int64([[4], [4]])}),
    "node_domains: entry 1: out of range": ({}, {"node_domains": int32([0, 2])}),
    "node_start: no CSR offsets": ({}, {"node_start": int64([0, 2, 1])}),
    "negative or not finite": ({"by_tier": np.array([1.0, np.nan])}, {}),
    "not finite or too large": ({"scale": float("inf")}, {}),
    "wrong length": ({"packing": np.ones(2)}, {}),
}


def build(fading: dict[str, Any], totals: dict[str, Any] | None) -> DryRuns:
    rings = Rings.of(int64([0, 1, 2]), int32([0, 1]), int32([0, 0]), 1)
    weights = Fading(rings, int32([0, 1]), np.array([1.0, 0.5]), np.ones(1), 1.0)
    sums = DomainTotals(int64([[0], [0], [0]]), int64([[4], [4], [8]]), int64([0, 1, 2]), int32([0, 1]))
    whole = int64([[4], [4]])
    return DryRuns(
        whole,
        whole * 0,
        whole,
        DomainNodes(int32([0, 1]), int32([0, 1]), int64([0, 1, 2]), int32([0, 1])),
        weights=ScoreWeights(),
        fading=replace(weights, **fading),
        totals=None if totals is None else sums._replace(**totals),
    )


@pytest.mark.parametrize(("message", "changes"), REFUSED.items(), ids=REFUSED.keys())
def test_wrong_numbers_are_refused(message: str, changes: tuple[dict[str, Any], dict[str, Any]]) -> None:
    with pytest.raises(InputError, match=message):
        build(*changes)


def test_fading_needs_the_sums_of_the_domains() -> None:
    with pytest.raises(InputError, match="totals: missing"):
        build({}, None)
