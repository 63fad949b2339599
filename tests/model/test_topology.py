from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.fabric import three_level_tree
from workbench.errors import UnknownNameError
from workbench.kernels import tiers
from workbench.model.topology import TOP, VIRTUAL_TOP, DomainSpec, Topology


def test_nodes_of_a_laminar_topology_are_numbered_so_that_domains_are_intervals():
    topology = Topology.build(
        ["c", "a", "d", "b", "loner"],
        [
            DomainSpec("left", 1, [0, 3], "all"),
            DomainSpec("right", 1, [1, 2], "all"),
            DomainSpec("all", 2, [0, 1, 2, 3]),
        ],
    )
    assert topology.laminar
    assert topology.node_names[-1] == "loner"
    for domain in range(topology.n_domains):
        low, high = topology.spans[domain]
        assert topology.nodes_of(domain).tolist() == list(range(low, high))
    assert {topology.node_names[i] for i in topology.nodes_of(topology.domain("left"))} == {"c", "b"}


def test_overlapping_domains_are_not_laminar_and_keep_byte_order():
    topology = Topology.build(["n2", "n1", "n10"], [DomainSpec("x", 1, [0, 1]), DomainSpec("y", 1, [1, 2])])
    assert not topology.laminar
    assert topology.spans is None
    assert topology.node_names == ("n1", "n10", "n2")
    assert [topology.node_names[i] for i in topology.nodes_of(topology.domain("y"))] == ["n1", "n10"]


def test_a_node_counts_for_every_leaf_that_holds_it():
    specs = [DomainSpec("x", 1, [0, 1], "w"), DomainSpec("y", 1, [1, 2], "w"), DomainSpec("w", 2, [0, 1, 2, 3])]
    overlapping = Topology.build(["n0", "n1", "n2", "n3"], specs)
    start, leaves = overlapping.leaves_of_node
    names = [[overlapping.domain_names[d] for d in leaves[start[i] : start[i + 1]]] for i in range(4)]
    assert names == [["x"], ["x", "y"], ["y"], []]
    nodes = np.array([overlapping.node(name) for name in ("n1", "n1", "n2", "n3")] + [-1], dtype=np.int32)
    counts = overlapping.count_on_leaves(nodes)
    assert {name: int(counts[overlapping.domain(name)]) for name in "wxy"} == {"w": 0, "x": 2, "y": 3}
    alone = Topology.build(["n0", "n1"], [DomainSpec("x", 1, [0])])
    assert alone.leaves_of_node is None
    assert alone.count_on_leaves(np.array([0, 0, 1, -1], dtype=np.int32)).tolist() == [2]


def test_direct_nodes_are_in_no_child_and_those_of_the_top_in_no_domain():
    topology = Topology.build(
        ["n2", "n10", "a", "loner"], [DomainSpec("x", 1, [0], "top"), DomainSpec("top", 2, [0, 1, 2])]
    )

    def direct(domain):
        return [topology.node_names[i] for i in topology.direct_nodes_of(domain)]

    assert direct(topology.domain("x")) == ["n2"]
    assert direct(topology.domain("top")) == ["a", "n10"]
    assert direct(-1) == ["loner"]


def test_leaf_is_the_lowest_tier_of_the_cluster_not_the_nearest_domain():
    # A node whose first HyperNode is on tier 2 has no leaf (reference volcano-topology section 7).
    topology = Topology.build(["a", "b"], [DomainSpec("leaf", 1, [0], "top"), DomainSpec("top", 2, [0, 1])])
    leaf = {topology.node_names[i]: int(d) for i, d in enumerate(topology.leaf_of_node)}
    assert leaf == {"a": topology.domain("leaf"), "b": -1}


def test_two_nodes_meet_in_the_closest_domain_that_holds_both():
    # "d" stands under s2 itself, beside the leaves.
    leaves = [DomainSpec("s0", 1, [0, 1], parent="s2"), DomainSpec("s1", 1, [2], parent="s2")]
    t = Topology.build(["a", "b", "c", "d", "alone"], [*leaves, DomainSpec("s2", 2, [0, 1, 2, 3])])
    met = {pair: t.domain_name(t.lca_of_nodes(*map(t.node, pair))) for pair in ("aa", "ab", "ac", "ca", "ad", "dd")}
    assert met == {"aa": "s0", "ab": "s0", "ac": "s2", "ca": "s2", "ad": "s2", "dd": "s2"}
    assert t.lca_of_nodes(t.node("a"), t.node("alone")) == TOP


def test_lca_on_the_documents_tree():
    t = three_level_tree()
    lca = {
        (a, b): t.domain_name(t.lca(t.domain(a), t.domain(b))) for a, b in [("s0", "s1"), ("s0", "s2"), ("s4", "s0")]
    }
    assert lca == {("s0", "s1"): "s4", ("s0", "s2"): "s6", ("s4", "s0"): "s4"}
    assert t.domain_tier(-1) == t.top_tier == 4
    assert t.domain(VIRTUAL_TOP) == TOP


def test_children_and_node_domains_are_the_two_directions_of_one_forest():
    t = three_level_tree()
    assert [t.domain_names[c] for c in t.children[t.domain("s6")]] == ["s4", "s5"]
    assert [t.domain_names[c] for c in t.children[-1]] == ["s6"]
    start, domains = t.node_domains
    for node in range(t.n_nodes):
        held_by = {int(d) for d in domains[start[node] : start[node + 1]]}
        assert held_by == {d for d in range(t.n_domains) if node in t.nodes_of(d)}


def test_unknown_names_offer_close_ones():
    with pytest.raises(UnknownNameError, match="did you mean node"):
        three_level_tree().node("nodee1")


def test_a_cluster_without_hypernodes_has_only_the_virtual_top():
    topology = Topology.build(["b", "a"], [])
    assert topology.top_tier == 1
    assert topology.nodes_of(-1).tolist() == [0, 1]
    assert topology.leaf_of_node.tolist() == [-1, -1]


@st.composite
def random_sets(draw):
    n = draw(st.integers(1, 12))
    sets = draw(st.lists(st.sets(st.integers(0, n - 1)), max_size=6))
    return n, sets


@given(random_sets())
def test_laminar_is_exactly_nested_or_disjoint_and_sets_survive_numbering(case):
    n, sets = case
    names = [f"n{(i * 7) % 13:02d}" for i in range(n)]
    topology = Topology.build(names, [DomainSpec(f"d{i}", 1, sorted(s)) for i, s in enumerate(sets)])
    nested = all(a <= b or b <= a or not a & b for a in sets for b in sets)
    assert topology.laminar == nested
    holders = [[j for j in range(len(sets)) if k in topology.nodes_of(j)] for k in range(n)]
    assert topology.domain_of_node(1).tolist() == [min(held, default=-1) for held in holders]
    if nested:
        ordered = [[topology.node_names[k] for k in topology.nodes_of(j)] for j in range(len(sets))]
        assert topology.leaves_by_name == all(each == sorted(each) for each in ordered)
    for i, members in enumerate(sets):
        found = {topology.node_names[k] for k in topology.nodes_of(topology.domain(f"d{i}"))}
        assert found == {names[k] for k in members}
        if nested and members:
            low, high = topology.spans[topology.domain(f"d{i}")]
            assert np.array_equal(topology.nodes_of(topology.domain(f"d{i}")), np.arange(low, high))


def test_home_is_the_smallest_domain_then_the_lowest_tier_then_the_smallest_name():
    topology = Topology.build(
        ["a", "b", "c", "loner"],
        [
            DomainSpec("wide", 1, [0, 1, 2], "above"),
            DomainSpec("above", 2, [0, 1, 2]),
            DomainSpec("y", 1, [0, 1]),
            DomainSpec("x", 1, [1, 2]),
        ],
    )
    homes = {
        name: topology.domain_name(int(topology.home_of_node[topology.node(name)])) for name in topology.node_names
    }
    assert homes == {"a": "y", "b": "x", "c": "x", "loner": VIRTUAL_TOP}
    chain = Topology.build(["a"], [DomainSpec("a-top", 2, [0]), DomainSpec("leaf", 1, [0], "a-top")])
    assert chain.domain_names[chain.home_of_node[0]] == "leaf"


def test_the_index_of_the_virtual_top_is_that_of_the_kernels():
    assert TOP == tiers.VIRTUAL_TOP
