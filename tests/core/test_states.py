from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.machines import koordinator_matrix_a
from tests.reference.bottleneck import best_bottleneck, bottleneck
from workbench.kernels.bottleneck import BottleneckSolver
from workbench.kernels.gpu_sets import indices_of
from workbench.kernels.states import best_bottlenecks, bottlenecks
from workbench.kernels.subsets import words_of_mask


@st.composite
def weights(draw, most=7):
    n = draw(st.integers(1, most))
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            found[i, j] = found[j, i] = draw(st.sampled_from((0.0, 5.0, 10.0, 48.33, 48.38, 96.4)))
    return found


@given(weights())
def test_every_state_and_size_is_what_trying_every_set_finds(weight):
    n = len(weight)
    table = best_bottlenecks(weight)
    assert table.shape == (1 << n, n + 1)
    for mask in range(1 << n):
        assert math.isnan(table[mask, 0])
        for k in range(1, n + 1):
            want = best_bottleneck(weight, indices_of(mask), k)
            assert math.isnan(table[mask, k]) if want is None else table[mask, k] == want


@given(weights(), st.data())
def test_bottlenecks_of_sets(weight, data):
    masks = data.draw(st.lists(st.integers(0, (1 << len(weight)) - 1)))
    words = np.array(masks, dtype=np.uint64).reshape(-1, 1)
    assert bottlenecks(weight, words).tolist() == [bottleneck(weight, indices_of(mask)) for mask in masks]


def test_bottlenecks_of_sets_of_several_words():
    rng = np.random.default_rng(5)
    weight = rng.random((130, 130))
    weight = np.minimum(weight, weight.T)
    sets = [sorted(rng.choice(130, size=int(k), replace=False).tolist()) for k in rng.integers(0, 9, size=40)]
    words = np.array([words_of_mask(sum(1 << i for i in gpus), 3) for gpus in sets])
    assert bottlenecks(weight, words).tolist() == [bottleneck(weight, gpus) for gpus in sets]


def test_the_exact_search_finds_the_same_values():
    weight = np.minimum(koordinator_matrix_a(), koordinator_matrix_a().T)
    table, solver = best_bottlenecks(weight), BottleneckSolver(weight)
    for mask in range(1, 256):
        for k in range(1, mask.bit_count() + 1):
            assert table[mask, k] == solver.value(solver.choose(mask, k))


def test_sixteen_devices():
    rng = np.random.default_rng(3)
    weight = rng.random((16, 16))
    weight = np.minimum(weight, weight.T)
    table, solver = best_bottlenecks(weight), BottleneckSolver(weight)
    for mask in rng.integers(1, 1 << 16, size=50).tolist():
        k = int(rng.integers(1, mask.bit_count() + 1))
        assert table[mask, k] == solver.value(solver.choose(mask, k))
