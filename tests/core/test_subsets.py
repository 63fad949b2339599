"""The ``subsets`` kernel against itertools; what the interface does not hand on is asked directly."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import subsets as reference
from workbench._core import subsets as kernel
from workbench.kernels import subsets

# Devices anywhere in two words and a bit, few enough to list all their subsets.
masks = st.sets(st.integers(0, 140), max_size=9).map(lambda devices: sum(1 << i for i in devices))


def test_pairs_of_four_devices_come_in_lexicographic_order():
    found = subsets.masks_of_words(subsets.enumerate_masks(0b1111, 2))
    assert found == [0b0011, 0b0101, 0b1001, 0b0110, 0b1010, 0b1100]


def test_lexicographic_order_is_not_the_order_of_the_masks():
    # {0, 9} before {1, 2}, although its mask is the larger number.
    found = subsets.masks_of_words(subsets.enumerate_masks(0b1000000111, 2))
    assert found.index(1 << 9 | 1) < found.index(0b110)


@given(masks, st.integers(0, 10))
def test_enumeration_equals_itertools(mask, k):
    want = reference.subsets(mask, k)
    assert subsets.masks_of_words(subsets.enumerate_masks(mask, k)) == want
    assert kernel.count(subsets.words_of_mask(mask), k) == len(want)


@given(masks, st.integers(0, 10))
def test_device_lists_name_the_devices_of_each_set(mask, k):
    want = [reference.devices(chosen) for chosen in reference.subsets(mask, k)]
    assert subsets.device_lists(subsets.enumerate_masks(mask, k)).tolist() == want


@given(st.lists(masks), st.integers(1, 4))
def test_masks_of_words_undoes_words_of_masks(given_masks, least):
    rows = subsets.words_of_masks(given_masks, least)
    assert rows.shape == (len(given_masks), max(least, -(-max(given_masks, default=0).bit_length() // 64)))
    assert subsets.masks_of_words(rows) == given_masks


@given(masks, st.integers(0, 9), st.data())
def test_any_window_is_a_slice_of_the_whole(mask, k, data):
    want = reference.subsets(mask, k)
    start = data.draw(st.integers(0, len(want) + 2))
    limit = data.draw(st.integers(0, 20))
    found = subsets.masks_of_words(subsets.enumerate_masks(mask, k, start=start, limit=limit))
    assert found == want[start : start + limit]


@given(masks, st.integers(0, 9))
def test_rank_and_unrank_invert_each_other(mask, k):
    want = reference.subsets(mask, k)
    assert subsets.rank(mask, want).tolist() == list(range(len(want)))
    assert subsets.rank(mask, subsets.enumerate_masks(mask, k)).tolist() == list(range(len(want)))
    assert subsets.masks_of_words(kernel.unrank(subsets.words_of_mask(mask), k, np.arange(len(want)))) == want


def test_ranks_far_inside_a_large_machine():
    mask = (1 << 100) - 1
    total = math.comb(100, 8)
    assert kernel.count(subsets.words_of_mask(mask), 8) == total
    ranks = np.array([0, 1, total // 3, total - 2, total - 1])
    found = subsets.masks_of_words(kernel.unrank(subsets.words_of_mask(mask), 8, ranks))
    assert found[0] == 0xFF and found[-1] == 0xFF << 92
    assert subsets.rank(mask, found).tolist() == ranks.tolist()
    window = subsets.masks_of_words(subsets.enumerate_masks(mask, 8, start=int(ranks[2]), limit=1))
    assert window == [found[2]]


def test_almost_all_devices_of_the_largest_machine_have_ranks():
    mask = (1 << 1024) - 1
    last = math.comb(1024, 1021) - 1
    found = subsets.masks_of_words(kernel.unrank(subsets.words_of_mask(mask), 1021, np.array([0, last])))
    assert found == [(1 << 1021) - 1, mask & ~0b111]
    assert subsets.rank(mask, found).tolist() == [0, last]


def test_the_last_size_in_the_middle_that_has_ranks():
    mask = (1 << 65) - 1
    last = math.comb(65, 32) - 1
    found = subsets.masks_of_words(kernel.unrank(subsets.words_of_mask(mask), 32, np.array([0, last // 3, last])))
    assert subsets.rank(mask, found).tolist() == [0, last // 3, last]
    assert found[-1] == mask & ~((1 << 33) - 1)


def test_the_subset_of_nothing():
    assert subsets.masks_of_words(subsets.enumerate_masks(0b101, 0)) == [0]
    assert subsets.masks_of_words(subsets.enumerate_masks(0, 0)) == [0]
    assert subsets.masks_of_words(subsets.enumerate_masks(0, 1)) == []
    assert subsets.rank(0b101, [0]).tolist() == [0]
