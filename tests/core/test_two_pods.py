"""Division of a set between two pods, against every split."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.choice import choices
from tests.profiles import max_examples
from tests.reference.bottleneck import bottleneck, random_machine
from workbench.errors import InputError
from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.kernels.two_pods import split_in_two


@max_examples(200)
@given(choices(), st.integers(2, 9), st.sampled_from([1, 2, 3, 8, 100]), st.sampled_from([0, 30]))
def test_two_pods_equal_brute_force(rng, n, levels, padding):
    weight, _ = random_machine(rng, n, levels, more=padding)
    devices = sorted(rng.sample(range(n + padding), n))
    n_first = rng.randint(1, n - 1)

    def slower(first):
        return min(bottleneck(weight, first), bottleneck(weight, sorted(set(devices) - set(first))))

    # max keeps the first of equals, and combinations come in lexicographic order.
    want = max(itertools.combinations(devices, n_first), key=slower)
    first, second = split_in_two(weight, mask_of(devices), n_first)
    assert indices_of(first) == want
    assert first | second == mask_of(devices) and not first & second


def test_two_halves_of_a_large_machine_are_found_in_any_order():
    order = np.random.default_rng(3).permutation(72)
    side = np.argsort(order) % 2
    weight = np.where(side[:, None] == side[None, :], 900.0, 50.0)
    first, second = split_in_two(weight, (1 << 72) - 1, 36)
    assert {frozenset(indices_of(first)), frozenset(indices_of(second))} == {
        frozenset(np.flatnonzero(side == s).tolist()) for s in (0, 1)
    }


@pytest.mark.parametrize(("mask", "n_first"), [(0b1, 1), (0b110000, 1), (0b11, 0), (0b11, 2)])
def test_what_cannot_be_dealt_is_refused(mask, n_first):
    with pytest.raises(InputError):
        split_in_two(np.ones((4, 4)), mask, n_first)
