"""Textbook formulas of a single rank. The conformance cases have the answers for more."""

from __future__ import annotations

import pytest

from workbench.evaluate.cost import ALGORITHMS, LinkLevel, collective_time


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_single_rank_gets_what_the_formula_says(algorithm: str) -> None:
    alpha, beta, gamma, size, chunks = 1e-6, 2e-9, 3e-10, 1e6, 4
    found = collective_time(algorithm, size, LinkLevel(1, alpha, beta), gamma, chunks)
    wanted = {
        "chain-broadcast": (chunks - 1) * (alpha + size / chunks * beta),
        "double-binary-tree-all-reduce": 2 * size * beta + size * gamma,
        "point-to-point": alpha + size * beta,
    }
    assert found == pytest.approx(wanted.get(algorithm, 0.0), rel=1e-12)


def test_ranks_and_chunks_may_be_written_as_floats() -> None:
    level = LinkLevel(8.0, 1e-6, 1e-9)  # type: ignore[arg-type]
    assert level == LinkLevel(8, 1e-6, 1e-9)
    assert collective_time("bruck-all-to-all", 1e6, level, 0, 1.0) > 0  # type: ignore[arg-type]
