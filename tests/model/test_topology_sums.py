"""Walks and sums over a topology, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.policies.random_cases import random_cluster
from workbench.model.topology import DomainSpec, Topology


def is_below(topology, outer, inner):
    while inner >= 0 and inner != outer:
        inner = int(topology.parent[inner])
    return inner == outer


@given(rng=choices())
def test_preorder_and_sums(rng):
    topology = random_cluster(rng).topology
    place, end = topology.preorder
    assert sorted(place.tolist()) == list(range(topology.n_domains))
    for outer in range(topology.n_domains):
        for inner in range(topology.n_domains):
            assert (place[outer] <= place[inner] < end[outer]) == is_below(topology, outer, inner)
    amounts = np.array([[rng.randint(-5, 5), rng.randint(0, 9)] for _ in range(topology.n_nodes)], dtype=np.int64)
    sums = topology.domain_sums(amounts)
    for domain in range(-1, topology.n_domains):
        assert sums[domain].tolist() == amounts[topology.nodes_of(domain)].sum(axis=0).tolist()
    inside = all(
        topology.parent[j] < 0 or set(topology.nodes_of(j)) <= set(topology.nodes_of(int(topology.parent[j])))
        for j in range(topology.n_domains)
    )
    assert topology.nested == inside


@pytest.mark.parametrize(
    ("child", "inside"), [([], True), ([0, 1], True), ([1, 2], False), ([3], False), ([0, 1, 2, 3], False)]
)
def test_a_parent_may_hold_less_than_its_child(child, inside):
    names = [f"n{i}" for i in range(4)]
    domains = [DomainSpec("child", 1, np.array(child, dtype=np.int64), "parent"), DomainSpec("parent", 2, np.arange(2))]
    topology = Topology.build(names, domains)
    assert topology.nested == inside


def test_siblings_are_visited_by_name():
    topology = document_tree().topology
    place, _ = topology.preorder
    assert [topology.domain_names[j] for j in np.argsort(place)] == ["s6", "s4", "s0", "s1", "s5", "s2", "s3"]


def test_without_domains():
    topology = snapshot(["a", "b"]).topology
    assert topology.nested
    assert topology.domain_sums(np.array([[1], [2]], dtype=np.int64)).tolist() == [[3]]
