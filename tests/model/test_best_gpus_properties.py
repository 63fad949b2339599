"""Which GPUs are best, on measured (asymmetric) matrices, under every way to make one weight of two directions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.profiles import max_examples
from tests.reference.bottleneck import optimal_subsets
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import best_gpus

DIRECTIONS = {"min": min, "max": max, "mean": lambda a, b: (a + b) / 2}


@st.composite
def machines(draw: st.DrawFn) -> np.ndarray:
    """Matrices, not symmetric: few distinct speeds make ties, many are noise."""
    n, levels = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 4, 100]))
    return draw(arrays(float, (n, n), elements=st.integers(0, levels).map(float), fill=st.nothing()))


def weights(gb_s: np.ndarray, symmetric: str) -> np.ndarray:
    """Pair by pair, in Python."""
    n = len(gb_s)
    rule = DIRECTIONS[symmetric]
    return np.array([[rule(float(gb_s[i, j]), float(gb_s[j, i])) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("symmetric", DIRECTIONS)
@max_examples(60)
@given(gb_s=machines(), data=st.data())
def test_raw_answers_equal_brute_force(symmetric, gb_s, data):
    free = data.draw(st.sets(st.integers(0, len(gb_s) - 1), min_size=1))
    require = data.draw(st.sets(st.sampled_from(sorted(free)), max_size=2))
    k = data.draw(st.integers(max(1, len(require)), len(free)))
    found = best_gpus(gb_s, k, free=free, require=require, symmetric=symmetric, all_ties=True)
    weight = weights(gb_s, symmetric)
    want = optimal_subsets(weight, free, k, require)
    assert list(found.ties) == want
    assert found.gpus in want
    inside = [weight[pair] for pair in itertools.combinations(found.gpus, 2)]
    assert found.bottleneck_gb_s == min(inside, default=math.inf)
    assert (found.optimal_sets, found.exact, found.objective) == (len(want), True, "raw")


@pytest.mark.parametrize("symmetric", DIRECTIONS)
@max_examples(60)
@given(gb_s=machines(), data=st.data())
def test_the_certificates_bound_holds_for_every_set(symmetric, gb_s, data):
    n = len(gb_s)
    require = data.draw(st.sets(st.integers(0, n - 1), max_size=2))
    k = data.draw(st.integers(max(1, len(require)), n))
    found = best_gpus(gb_s, k, require=require, symmetric=symmetric)
    weight = weights(gb_s, symmetric)
    for subset in itertools.combinations(range(n), k):
        if require <= set(subset):
            values = [weight[pair] for pair in itertools.combinations(subset, 2)]
            assert min(values, default=math.inf) <= found.bottleneck_gb_s <= found.upper_bound_gb_s


@pytest.mark.parametrize("link_classes", [False, True])
@pytest.mark.parametrize("symmetric", DIRECTIONS)
@max_examples(60)
@given(gb_s=machines(), data=st.data())
def test_relabelling_changes_nothing_but_the_last_tie_break(symmetric, link_classes, gb_s, data):
    n = len(gb_s)
    k = data.draw(st.integers(1, n))
    order = np.array(data.draw(st.permutations(range(n))))
    new_name = np.argsort(order)
    ask = {"symmetric": symmetric, "link_classes": link_classes, "all_ties": True}
    before = best_gpus(gb_s, k, **ask)
    after = best_gpus(gb_s[np.ix_(order, order)], k, **ask)
    assert after.bottleneck_gb_s == before.bottleneck_gb_s
    assert after.upper_bound_gb_s == before.upper_bound_gb_s
    assert {frozenset(new_name[list(tie)].tolist()) for tie in before.ties} == {frozenset(tie) for tie in after.ties}
    # Only lowest indices tell the chosen ones apart: all that comes before is the same for both.
    assert _quality(gb_s, before.gpus, symmetric) == _quality(gb_s, [int(order[i]) for i in after.gpus], symmetric)


def _quality(gb_s, gpus, symmetric):
    """The best value left for the next equal request, and the ascending weights inside."""
    rest = sorted(set(range(len(gb_s))) - set(gpus))
    left = best_gpus(gb_s, len(gpus), free=rest, symmetric=symmetric).bottleneck_gb_s
    weight = weights(gb_s, symmetric)
    return (left if len(rest) >= len(gpus) else None), sorted(
        float(weight[pair]) for pair in itertools.combinations(gpus, 2)
    )


@pytest.mark.parametrize("link_classes", [False, True])
@pytest.mark.parametrize("symmetric", DIRECTIONS)
@max_examples(60)
@given(gb_s=machines(), data=st.data())
def test_a_gpu_that_becomes_free_never_lowers_the_answer(symmetric, link_classes, gb_s, data):
    n = len(gb_s)
    free = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    k = data.draw(st.integers(1, len(free)))
    more = free | {data.draw(st.integers(0, n - 1))}
    matrix = BandwidthMatrix(gb_s)
    fewer, with_it = (
        best_gpus(matrix, k, free=f, symmetric=symmetric, link_classes=link_classes) for f in (free, more)
    )
    assert with_it.bottleneck_gb_s >= fewer.bottleneck_gb_s
    assert with_it.upper_bound_gb_s >= fewer.upper_bound_gb_s
