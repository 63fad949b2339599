"""Arguments that the ``subsets`` interface refuses, and those that the kernel refuses when called directly."""

from __future__ import annotations

import numpy as np
import pytest

from workbench._core import subsets as kernel
from workbench.errors import CapacityError, InputError
from workbench.kernels import subsets


@pytest.mark.parametrize("mask", [-1, 1.0, True, None])
def test_what_is_no_mask_is_refused(mask):
    with pytest.raises(InputError):
        subsets.enumerate_masks(mask, 1)


def test_a_device_above_the_limit_is_refused():
    subsets.enumerate_masks(1 << 1023, 1)
    with pytest.raises(CapacityError):
        subsets.enumerate_masks(1 << 1024, 1)


@pytest.mark.parametrize(
    "arguments", [{"k": -1}, {"k": 1, "start": -1}, {"k": 1, "limit": -1}, {"k": 1, "limit": 10**7}]
)
def test_numbers_out_of_range_are_refused(arguments):
    with pytest.raises(InputError):
        subsets.enumerate_masks(0b1111, **arguments)


def test_a_row_is_as_wide_as_asked():
    assert subsets.enumerate_masks(0b111, 2, n_words=3).shape == (3, 3)
    assert subsets.enumerate_masks(1 << 64 | 1, 1).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(InputError):
        subsets.enumerate_masks(1 << 64, 1, n_words=1)


def test_device_lists_are_of_masks_of_one_size():
    with pytest.raises(InputError, match="1 to 2 devices"):
        subsets.device_lists(np.array([[3], [4]], np.uint64))
    with pytest.raises(InputError, match="rows"):
        subsets.device_lists(np.array([3], np.uint64))
    for rows in ([[3], [4]], [[4], [3]]):
        with pytest.raises(ValueError, match="row 1"):
            kernel.device_lists(np.array(rows, np.uint64))
    with pytest.raises(ValueError, match="16 words"):
        kernel.device_lists(np.zeros((1, 17), np.uint64))
    assert subsets.device_lists(np.zeros((0, 2), np.uint64)).shape == (0, 0)
    assert subsets.device_lists(np.zeros((3, 2), np.uint64)).shape == (3, 0)


def test_rank_of_a_stranger_is_refused():
    with pytest.raises(InputError, match=r"\[1\]"):
        subsets.rank(0b0111, [0b011, 0b1001])
    with pytest.raises(InputError, match=r"\[1\]"):
        subsets.rank(0b0111, np.array([[3], [9]], np.uint64))
    with pytest.raises(InputError, match="width"):
        subsets.rank(0b0111, np.array([[3, 0]], np.uint64))
    assert kernel.rank(np.array([7], np.uint64), np.array([[9]], np.uint64)).tolist() == [-1]


def test_sizes_with_too_many_subsets_have_no_ranks():
    mask = (1 << 128) - 1
    with pytest.raises(CapacityError):
        subsets.rank(mask, [(1 << 64) - 1])


@pytest.mark.parametrize("ranks", [[-1], [6]])
def test_rank_out_of_range_is_refused(ranks):
    with pytest.raises(ValueError):
        kernel.unrank(np.array([15], np.uint64), 2, np.array(ranks, np.int64))


def test_read_only_arrays_are_taken():
    words = np.array([15], np.uint64)
    words.setflags(write=False)
    assert len(kernel.enumerate_masks(words, 2, 0, 10)) == 6


def test_kernel_refuses_more_words_than_it_has_room_for():
    with pytest.raises(ValueError):
        kernel.enumerate_masks(np.zeros(17, np.uint64), 1, 0, 1)
