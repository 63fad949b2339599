"""Several pods on one machine: the union's objective, the pods' own, machines of more than 16 GPUs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.machines import koordinator_matrix_a
from tests.profiles import max_examples
from tests.reference.bottleneck import best_splits, bottleneck, splits
from workbench.errors import CapacityError, InputError
from workbench.model.pod_gpus import split_gpus
from workbench.topology.machines import machine, with_noise


def test_the_document_deals_the_first_matrix_to_two_pods_of_two():
    found = split_gpus(koordinator_matrix_a(), [2, 2])
    assert (found.union_bottleneck_gb_s, found.gpus, found.proved) == (48.33, (0, 1, 2, 3), "all")
    assert found.to_dict()["pods"] == [[0, 3], [1, 2]]
    assert found.bottlenecks_gb_s == (96.25, 96.25)


def test_pods_that_only_talk_inside_may_lie_apart():
    #     0 = 1 · 2 = 3 with a slow bridge, and 4 near all of them at half speed
    slow, half, fast = 1.0, 5.0, 10.0
    gb_s = np.full((5, 5), slow)
    gb_s[0, 1] = gb_s[1, 0] = gb_s[2, 3] = gb_s[3, 2] = fast
    gb_s[4, :] = gb_s[:, 4] = half
    together, apart = split_gpus(gb_s, [2, 1]), split_gpus(gb_s, [2, 2], objective="per-pod")
    assert (together.union_bottleneck_gb_s, together.bottlenecks_gb_s) == (half, (fast, math.inf))
    assert (apart.pods, apart.bottlenecks_gb_s, apart.union_bottleneck_gb_s) == (((0, 1), (2, 3)), (fast, fast), slow)
    assert together.to_dict()["pod_bottlenecks_gb_s"] == [fast, None]


@st.composite
def weights_of(draw, n):
    """Symmetric matrices of n GPUs with few distinct speeds, so that ties happen, or with many."""
    levels = draw(st.sampled_from([2, 4, 50]))
    drawn = draw(arrays(float, (n, n), elements=st.integers(1, levels).map(float), fill=st.nothing()))
    return np.minimum(drawn, drawn.T)


@max_examples(60)
@given(st.integers(2, 7), st.sampled_from([0, 20]), st.data())
def test_per_pod_equals_brute_force_over_every_set(n, padding, data):
    weight = data.draw(weights_of(n + padding))
    free = sorted(data.draw(st.sets(st.integers(0, n + padding - 1), min_size=n, max_size=n)))
    sizes = sorted(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3).filter(lambda s: sum(s) <= n)))
    found = split_gpus(weight, sizes, free=free, objective="per-pod")
    falling = sorted(sizes, reverse=True)
    best, _ = best_splits(weight, itertools.combinations(free, sum(sizes)), falling)
    assert sorted(found.bottlenecks_gb_s) == best
    assert [len(pod) for pod in found.pods] == sizes
    assert len(set(found.gpus)) == sum(sizes) and set(found.gpus) <= set(free)


@max_examples(40)
@given(weights_of(18), st.integers(4, 7), st.data())
def test_two_pods_of_a_large_machine_have_the_best_union_and_the_fastest_slowest_pod(weight, k, data):
    first = data.draw(st.integers(1, k - 1))
    sizes = [first, k - first]
    found = split_gpus(weight, sizes)
    assert found.union_bottleneck_gb_s == max(bottleneck(weight, s) for s in itertools.combinations(range(18), k))
    want = max(min(bottleneck(weight, pod) for pod in split) for split in splits(found.gpus, sorted(sizes)[::-1]))
    assert min(found.bottlenecks_gb_s) == want
    assert [len(pod) for pod in found.pods] == sizes
    assert found.proved == "union and slowest pod"


def test_the_free_part_of_a_large_machine_is_exact_for_any_pods():
    nvl72 = with_noise(machine("nvl72"), 0.02, np.random.default_rng(0))
    free = range(10, 26)
    found = split_gpus(nvl72, [4, 4, 2], free=free, require=[25])
    assert 25 in found.gpus and set(found.gpus) <= set(free) and found.proved == "all"
    part = split_gpus(nvl72.gb_s[10:26, 10:26], [4, 4, 2], require=[15])
    assert [[gpu + 10 for gpu in pod] for pod in part.pods] == [list(pod) for pod in found.pods]


def test_too_few_free_gpus_is_a_state_not_an_error():
    assert split_gpus(np.ones((4, 4)), [2, 2], avoid=[0]).pods == ()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"pods": []}, InputError, "not sizes of pods"),
        ({"pods": [2, 0]}, InputError, "not sizes of pods"),
        ({"pods": [9, 9]}, InputError, "the pods do not fit the machine"),
        ({"pods": [1, 1], "objective": "sum"}, InputError, "unknown objective"),
        ({"pods": [1, 1], "objective": "per-pod", "require": [0]}, InputError, "bind the union only"),
        ({"pods": [1, 1, 1]}, CapacityError, "exact up to 16"),
        ({"pods": [1, 1], "objective": "per-pod"}, CapacityError, "exact up to 16"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        split_gpus(np.ones((17, 17)), **arguments)
