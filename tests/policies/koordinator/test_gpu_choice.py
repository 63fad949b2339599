from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.machines import koordinator_matrix_a
from workbench.kernels.gpu_sets import indices_of
from workbench.model.bandwidth import BandwidthMatrix
from workbench.policies.koordinator.gpu_choice import GpuChoice

MATRIX = BandwidthMatrix(koordinator_matrix_a())


def weight(matrix, mask):
    pairs = itertools.combinations(indices_of(mask), 2)
    return min((min(matrix.gb_s[i, j], matrix.gb_s[j, i]) for i, j in pairs), default=float("inf"))


def deals(free, sizes):
    """Every way to give the pods disjoint sets of their sizes."""
    if not sizes:
        yield ()
        return
    for gpus in itertools.combinations(indices_of(free), sizes[0]):
        mask = sum(1 << gpu for gpu in gpus)
        for rest in deals(free & ~mask, sizes[1:]):
            yield (mask, *rest)


def union(masks):
    return sum(masks)


def keys(matrix, masks, bound, pods_first):
    whole = weight(matrix, union(masks) | bound)
    each = sorted(weight(matrix, mask) for mask in masks)
    return (each, whole) if pods_first else (whole, each)


matrices = st.lists(st.integers(0, 9), min_size=36, max_size=36).map(
    lambda entries: BandwidthMatrix(np.array(entries, dtype=float).reshape(6, 6))
)


@given(
    matrices,
    st.integers(0, 63),
    st.sampled_from([(2,), (1,), (2, 2), (1, 3), (2, 1), (1, 1)]),
    st.booleans(),
    st.integers(0, 63),
)
def test_a_group_gets_the_best_sets_by_its_objective(matrix, free, sizes, pods_first, bound):
    bound &= ~free
    if free.bit_count() < sum(sizes):
        return
    choice = GpuChoice(pods_first=pods_first)
    masks = choice.masks(matrix, free, sizes, bound)
    assert [mask.bit_count() for mask in masks] == list(sizes)
    assert union(masks) & ~free == 0
    assert union(masks).bit_count() == sum(sizes)
    best = max(keys(matrix, deal, bound, pods_first) for deal in deals(free, sizes))
    got = keys(matrix, masks, bound, pods_first)
    if bound and not pods_first:
        # Beside GPUs that are held already the first of the best unions is dealt, not the best deal of all of them.
        assert got[0] == best[0]
    else:
        assert got == best
    assert choice.value(matrix, free, sum(sizes), bound) == max(
        weight(matrix, union(deal) | bound) for deal in deals(free, (sum(sizes),))
    )


def test_the_two_objectives_differ_on_the_documents_matrix():
    union_first = GpuChoice().masks(MATRIX, 0xFF, (2, 2), 0)
    pods_first = GpuChoice(pods_first=True).masks(MATRIX, 0xFF, (2, 2), 0)
    assert union(union_first) == 0b1111
    assert weight(MATRIX, union(pods_first)) < 48.33 <= weight(MATRIX, union(union_first))
    assert min(weight(MATRIX, m) for m in pods_first) > min(weight(MATRIX, m) for m in union_first)


def test_noise_decides_only_where_classes_do_not():
    noisy = np.full((4, 4), 100.0)
    noisy[0, 1] = noisy[1, 0] = 101.0
    noisy[2, 3] = noisy[3, 2] = 50.0
    matrix = BandwidthMatrix(noisy)
    for classes in (False, True):
        assert GpuChoice(link_classes=classes).masks(matrix, 0b1111, (2,), 0) == (0b0011,)
    assert GpuChoice(symmetric="max").value(matrix, 0b1100, 2, 0) == 50.0


def test_without_a_matrix_the_lowest_indices_are_taken_and_rank_last():
    assert GpuChoice().masks(None, 0b11010, (1, 2), 0) == (0b00010, 0b11000)
    assert GpuChoice().value(None, 0b11, 2, 0) == -1.0
    assert GpuChoice().value(None, 0b11, 1, 0) == float("inf")


@pytest.mark.parametrize(("sizes", "undealt"), [((20,), False), ((2, 4), False), ((9, 9), False), ((6, 6, 6), True)])
def test_large_machines_are_dealt_exactly_up_to_sixteen_gpus(sizes, undealt):
    halves = np.where((np.arange(20)[:, None] < 10) == (np.arange(20) < 10), 9.0, 1.0)
    matrix = BandwidthMatrix(halves)
    choice = GpuChoice()
    masks = choice.masks(matrix, (1 << 20) - 1, sizes, 0)
    assert [mask.bit_count() for mask in masks] == list(sizes)
    assert choice.undealt(matrix, sizes) is undealt
    if sizes == (2, 4):
        assert weight(matrix, union(masks)) == 9.0


@pytest.mark.parametrize("sizes", [(10, 10), (6, 14), (14, 6)])
@pytest.mark.parametrize("classes", [False, True])
def test_two_pods_of_a_large_union_get_the_best_slower_pod(sizes, classes):
    """The even GPUs and the odd ones: dealt by index, each pod would hold slow pairs."""
    even = np.arange(20) % 2 == 0 if sizes == (10, 10) else np.arange(20) % 10 < 3
    matrix = BandwidthMatrix(np.where(even[:, None] == even, 9.0, 1.0))
    masks = GpuChoice(link_classes=classes).masks(matrix, (1 << 20) - 1, sizes, 0)
    assert [mask.bit_count() for mask in masks] == list(sizes)
    assert union(masks) == (1 << 20) - 1
    assert [weight(matrix, mask) for mask in masks] == [9.0, 9.0]


def test_the_deal_of_a_part_of_a_large_machine_is_that_of_a_small_one():
    rng = np.random.default_rng(3)
    small = rng.integers(1, 9, (6, 6)).astype(float)
    large = np.zeros((20, 20))
    large[4:10, 4:10] = small
    for classes in (False, True):
        choice = GpuChoice(link_classes=classes)
        got = choice.masks(BandwidthMatrix(large), 0b111111 << 4, (2, 4), 0)
        assert got == tuple(mask << 4 for mask in choice.masks(BandwidthMatrix(small), 0b111111, (2, 4), 0))
