"""Behaviour of the ``domains`` kernel against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import domains as reference
from workbench.kernels.domains import (
    domain_counts,
    domain_counts_spans,
    lowest_tier_with_fit,
    pods_per_node,
)

#                      s6                        tier 3
#             s4                s5               tier 2
#         s0      s1        s2      s3           tier 1
#       n0  n1  n2  n3    n4  n5  n6  n7
TIER = np.array([1, 1, 1, 1, 2, 2, 3], dtype=np.int32)
SPANS = np.array([[0, 2], [2, 4], [4, 6], [6, 8], [0, 4], [4, 8], [0, 8]], dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_pods_per_node_by_hand() -> None:
    idle = int64([[10, 4, 0], [7, 9, 0], [-1, 9, 0], [10, 4, 0]])
    request = int64([3, 2, 0])
    assert pods_per_node(idle, request).tolist() == [2, 2, 0, 2]
    feasible = np.array([1, 1, 1, 0], dtype=np.uint8)
    assert pods_per_node(idle, request, feasible=feasible, cap=1).tolist() == [1, 1, 0, 0]
    assert pods_per_node(idle, int64([0, 0, 0])).tolist() == [2**31 - 1] * 4


def test_counts_and_lowest_tier_on_the_document_tree() -> None:
    per_node = int64([1, 0, 1, 1, 0, 0, 1, 1])
    counts = domain_counts_spans(per_node, SPANS)
    assert counts.tolist() == [1, 2, 0, 2, 3, 2, 5]
    tier, domains = lowest_tier_with_fit(counts, TIER, 2) or pytest.fail("fits")
    assert (tier, domains.tolist()) == (1, [1, 3])
    tier, domains = lowest_tier_with_fit(counts, TIER, 3, highest_tier=2) or pytest.fail("fits")
    assert (tier, domains.tolist()) == (2, [4])
    assert lowest_tier_with_fit(counts, TIER, 4, highest_tier=2) is None
    assert lowest_tier_with_fit(counts, TIER, 6) is None


small = st.integers(-2, 12)


@given(st.data())
def test_pods_per_node_agrees_with_the_loop(data: st.DataObject) -> None:
    n, r = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 3))
    idle = data.draw(st.lists(st.lists(small, min_size=r, max_size=r), min_size=n, max_size=n))
    request = data.draw(st.lists(st.integers(0, 4), min_size=r, max_size=r))
    feasible = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    cap = data.draw(st.integers(0, 9))
    got = pods_per_node(int64(idle).reshape(n, r), int64(request), feasible=np.array(feasible, dtype=np.uint8), cap=cap)
    assert got.tolist() == reference.pods_per_node(idle, request, feasible, cap)


@given(st.data())
def test_domain_counts_agree_with_the_loop_for_overlapping_domains(data: st.DataObject) -> None:
    per_node = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=9))
    node = st.integers(0, len(per_node) - 1)
    domains = data.draw(st.lists(st.lists(node, max_size=6, unique=True), max_size=6))
    start = np.cumsum([0] + [len(members) for members in domains], dtype=np.int64)
    members = np.array([x for domain in domains for x in domain], dtype=np.int32)
    want = reference.domain_counts(per_node, domains)
    assert domain_counts(int64(per_node), start, members).tolist() == want


@given(st.data())
def test_spans_agree_with_the_loop(data: st.DataObject) -> None:
    per_node = data.draw(st.lists(st.integers(0, 9), max_size=9))
    edge = st.integers(0, len(per_node))
    spans = [sorted(pair) for pair in data.draw(st.lists(st.tuples(edge, edge), max_size=6))]
    want = reference.domain_counts(per_node, [list(range(*span)) for span in spans])
    assert domain_counts_spans(int64(per_node), np.array(spans, dtype=np.int32).reshape(-1, 2)).tolist() == want


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 4)), max_size=8),
    st.integers(0, 5),
    st.one_of(st.none(), st.integers(-1, 4)),
)
def test_lowest_tier_agrees_with_the_loop(domains: list[tuple[int, int]], need: int, highest: int | None) -> None:
    counts, tiers = [c for c, _ in domains], [t for _, t in domains]
    got = lowest_tier_with_fit(int64(counts), np.array(tiers, dtype=np.int32), need, highest_tier=highest)
    want = reference.lowest_tier_with_fit(counts, tiers, need, highest)
    assert (got and (got[0], got[1].tolist())) == want
