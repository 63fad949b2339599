"""Behaviour of the ``tiers`` kernel against the climbing oracle and networkx."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import max_examples
from tests.reference import tiers as reference
from workbench.kernels.tiers import Forest, tier_scores

#                     s6            tier 3
#             s4            s5      tier 2
#         s0     s1     s2     s3   tier 1, two nodes each
DOCUMENT_PARENT = [4, 4, 5, 5, 6, 6, -1]
DOCUMENT_TIER = [1, 1, 1, 1, 2, 2, 3]


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def document() -> Forest:
    return Forest(int32(DOCUMENT_PARENT), int32(DOCUMENT_TIER))


@pytest.mark.parametrize(
    ("a", "b", "want_lca"),
    [
        (0, 0, 0),
        (0, 1, 4),
        (0, 2, 6),
        (3, 2, 5),
        (4, 0, 4),
        (0, 5, 6),
        (6, 3, 6),
        (-1, 3, -1),
        (6, -1, -1),
        (-1, -1, -1),
    ],
)
def test_lca_on_the_document_tree(a: int, b: int, want_lca: int) -> None:
    assert document().lca(int32([a]), int32([b])).tolist() == [want_lca]


def test_scores_on_the_document_tree_in_both_releases() -> None:
    forest = document()
    leaves, record = int32([0, 1, 2, -1]), int32([0, 0, 0, 0])
    old = tier_scores(forest.tier, 1, 3, flat=0.0)
    assert forest.scores(leaves, record, old, own=1.0).tolist() == [1.0, 0.5, 0.0, 0.0]
    new = tier_scores(forest.tier, 1, 4, flat=1.0)
    assert forest.scores(leaves, record, new).tolist() == [1.0, 2 / 3, 1 / 3, 0.0]


def test_trees_meet_in_the_virtual_top() -> None:
    forest = Forest(int32([-1, -1, 0, 1]), int32([2, 2, 1, 1]))
    assert forest.lca(int32([2, 2, 0]), int32([3, 0, 1])).tolist() == [-1, 0, -1]
    assert forest.scores(int32([2, 2]), int32([3, 2]), np.zeros(4), top=7.0, own=9.0).tolist() == [7.0, 9.0]


def test_path_and_depth() -> None:
    forest = document()
    assert forest.path(2).tolist() == [2, 5, 6]
    assert forest.path(-1).tolist() == []
    assert forest.depth.tolist() == [2, 2, 2, 2, 1, 1, 0]


def test_tier_scores_of_one_tier_outside_and_between() -> None:
    tiers = int32([0, 1, 2, 3, 9])
    assert tier_scores(tiers, 1, 3, flat=0.0).tolist() == [0.0, 1.0, 0.5, 0.0, 0.0]
    assert tier_scores(tiers, 2, 2, flat=1.0).tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


@st.composite
def forests(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Several roots, skipped tiers, mixed depth, domains numbered in any order."""
    size = draw(st.integers(1, 24))
    above = [draw(st.integers(-1, i - 1)) for i in range(size)]
    names = draw(st.permutations(range(size)))
    parent = [-1] * size
    for i, up in enumerate(above):
        parent[names[i]] = names[up] if up >= 0 else -1
    return parent, draw(st.lists(st.integers(-2, 7), min_size=size, max_size=size))


@given(forests(), st.floats(-5, 5), st.one_of(st.none(), st.floats(-5, 5)))
def test_every_pair_of_random_forests_agrees_with_climbing(
    forest: tuple[list[int], list[int]], top: float, own: float | None
) -> None:
    parent, tier = forest
    check_all_pairs(parent, tier, top, own)


def check_all_pairs(parent: list[int], tier: list[int], top: float, own: float | None) -> Forest:
    kernel = Forest(int32(parent), int32(tier))
    size = len(parent)
    a, b = (int32(side.ravel()) for side in np.meshgrid(np.arange(-1, size), np.arange(-1, size)))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert kernel.lca(a, b).tolist() == [reference.lca(parent, x, y) for x, y in pairs]
    by_tier = [t * 0.25 for t in tier]
    by_depth = [len(reference.path(parent, x)) * 0.5 for x in range(size)]
    for value in (by_tier, by_depth):
        want = [reference.score(parent, x, y, value, top, own) for x, y in pairs]
        assert kernel.scores(a, b, np.array(value), top=top, own=own).tolist() == want
    for y in range(-1, size):
        assert kernel.lca_against(y).tolist() == [reference.lca(parent, x, y) for x in range(size)]
        assert kernel.path(y).tolist() == reference.path(parent, y)
    return kernel


def test_a_chain_longer_than_a_path_row_takes_the_sparse_table() -> None:
    chain = list(range(1, 40)) + [-1]
    # Two side branches, so that not every answer is an end of the chain.
    kernel = check_all_pairs([*chain, 20, 40, 5], list(range(43)), 1.5, None)
    assert not kernel.packed


def test_codes_beyond_63_bits_take_the_sparse_table() -> None:
    # Thirteen levels, 40 children each, the last of which goes on: 13 x 6 bits.
    parent = [-1]
    for _ in range(13):
        parent += [len(parent) - 1] * 40
    kernel = Forest(int32(parent), int32([1] * len(parent)))
    assert not kernel.packed
    assert Forest(int32(parent[:281]), int32([1] * 281)).packed
    a = np.random.default_rng(1).integers(-1, len(parent), 3000).astype(np.int32)
    b = np.random.default_rng(2).integers(-1, len(parent), 3000).astype(np.int32)
    assert kernel.lca(a, b).tolist() == [
        reference.lca(parent, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]


def test_codes_between_32_and_63_bits_keep_all_their_bits() -> None:
    parent = [-1]
    for _ in range(9):
        parent += [len(parent) - 1] * 40
    kernel = Forest(int32(parent), int32([1] * len(parent)))
    assert kernel.packed
    a, b = np.random.default_rng(3).integers(-1, len(parent), (2, 3000)).astype(np.int32)
    value = kernel.depth * 0.5
    want = [
        reference.score(parent, x, y, value.tolist(), -1.0, None) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert kernel.scores(a, b, value, top=-1.0).tolist() == want


@max_examples(30)
@given(forests())
def test_networkx_agrees(forest: tuple[list[int], list[int]]) -> None:
    parent, tier = forest
    graph = networkx.DiGraph([(up, child) for child, up in enumerate(parent)])
    pairs = [(x, y) for x in range(len(parent)) for y in range(len(parent))]
    want = dict(networkx.all_pairs_lowest_common_ancestor(graph, pairs))
    got = Forest(int32(parent), int32(tier)).lca(int32([x for x, _ in pairs]), int32([y for _, y in pairs]))
    for pair, common in zip(pairs, got.tolist(), strict=True):
        assert common == want.get(pair, want.get(pair[::-1]))
