"""Behaviour of the ``domains`` kernel against loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import domains as reference
from workbench.kernels.domains import domain_counts, pods_per_node


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_pods_per_node_by_hand() -> None:
    idle = int64([[10, 4, 0], [7, 9, 0], [-1, 9, 0], [10, 4, 0]])
    request = int64([3, 2, 0])
    assert pods_per_node(idle, request).tolist() == [2, 2, 0, 2]
    feasible = np.array([1, 1, 1, 0], dtype=np.uint8)
    assert pods_per_node(idle, request, feasible=feasible, cap=1).tolist() == [1, 1, 0, 0]
    assert pods_per_node(idle, int64([0, 0, 0])).tolist() == [2**31 - 1] * 4


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
