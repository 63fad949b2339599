"""Conversion of cables to HyperNodes: rails, spines, and switches above no node."""

from __future__ import annotations

from collections.abc import Mapping

import networkx
from hypothesis import given
from hypothesis import strategies as st

from tests.notices import codes, said
from workbench.formats.fabric.switch_groups import SWITCHES, group_switches, group_tree, switch_ranks, weak_joins
from workbench.model.notice import Notice
from workbench.objects.hypernode import HyperNode
from workbench.topology.build import build_topology


def both_ways(*cables: str) -> dict[str, set[str]]:
    """``"L1-S1"`` as links in both directions."""
    links: dict[str, set[str]] = {}
    for cable in cables:
        a, b = cable.split("-")
        links.setdefault(a, set()).add(b)
        links.setdefault(b, set()).add(a)
    return links


def made(attached: Mapping[str, str], links: dict[str, set[str]]) -> dict[str, tuple[int, list[str | None]]]:
    """Name -> tier and members; nodes have names of one letter."""
    nodes = {switch: list(names) for switch, names in attached.items()}
    hypernodes = group_switches(nodes, links, switch_ranks(nodes, links))
    return {h.name: (h.tier, [m.selector.exact for m in h.members]) for h in hypernodes}


def test_single_homed_nodes_make_one_hypernode_per_leaf() -> None:
    assert made({"L1": "ab", "L2": "cd"}, both_ways("L1-S1", "L2-S1")) == {
        "L1": (1, ["a", "b"]),
        "L2": (1, ["c", "d"]),
        "S1": (2, ["L1", "L2"]),
    }


def test_leaves_that_share_nodes_are_one_hypernode() -> None:
    links = both_ways("L1-S1", "L2-S1", "L3-S2", "L4-S2", "L1-S2", "L2-S2", "L3-S1", "L4-S1")
    assert made({"L1": "abc", "L2": "abc", "L3": "def", "L4": "def"}, links) == {
        "L1-group": (1, ["a", "b", "c"]),
        "L3-group": (1, ["d", "e", "f"]),
        "S1-group": (2, ["L1-group", "L3-group"]),
    }


def test_sharing_is_transitive() -> None:
    assert made({"L1": "ab", "L2": "bc", "L3": "cd", "L4": "e"}, {}) == {
        "L1-group": (1, ["a", "b", "c", "d"]),
        "L4": (1, ["e"]),
    }


def test_spines_over_different_leaves_are_different_hypernodes() -> None:
    links = both_ways("L1-S1", "L2-S2", "S1-C1", "S2-C1")
    assert made({"L1": "a", "L2": "b"}, links) == {
        "L1": (1, ["a"]),
        "L2": (1, ["b"]),
        "S1": (2, ["L1"]),
        "S2": (2, ["L2"]),
        "C1": (3, ["S1", "S2"]),
    }


def test_cascaded_leaves_have_a_hypernode_above_them() -> None:
    assert made({"L1": "a", "L2": "b"}, both_ways("L1-L2")) == {
        "L1": (1, ["a"]),
        "L2": (1, ["b"]),
        "L1-cascade": (2, ["L1", "L2"]),
    }


def test_a_chain_and_a_ring_of_leaves_are_one_hypernode() -> None:
    chain = both_ways("L1-L2", "L2-L3")
    ring = both_ways("L1-L2", "L2-L3", "L3-L1")
    for links in (chain, ring):
        assert made({"L1": "a", "L2": "b", "L3": "c"}, links)["L1-cascade"] == (2, ["L1", "L2", "L3"])


def test_cascaded_spines_hold_their_parts_of_the_fabric() -> None:
    links = both_ways("L1-S1", "L2-S1", "L3-S2", "L4-S2", "S1-S2")
    got = made({"L1": "a", "L2": "b", "L3": "c", "L4": "d"}, links)
    assert got["S1-cascade"] == (3, ["S1", "S2"])


def test_a_leaf_that_hangs_on_another_leaf_is_joined_with_all_that_is_above_it() -> None:
    links = both_ways("L1-S1", "L2-S1", "L2-L3")
    got = made({"L1": "a", "L2": "b", "L3": "c"}, links)
    assert got["L3-cascade"] == (3, ["L3", "S1"])


def test_a_cable_between_leaves_below_one_spine_adds_nothing() -> None:
    links = both_ways("L1-S1", "L2-S1", "L1-L2")
    assert set(made({"L1": "a", "L2": "b"}, links)) == {"L1", "L2", "S1"}


def test_parts_without_a_cable_between_them_stay_apart() -> None:
    got = made({"L1": "a", "L2": "b", "M1": "c", "M2": "d"}, both_ways("L1-L2", "M1-M2"))
    assert {name: row for name, row in got.items() if row[0] == 2} == {
        "L1-cascade": (2, ["L1", "L2"]),
        "M1-cascade": (2, ["M1", "M2"]),
    }


def test_a_cascade_is_told_with_its_cables() -> None:
    notes: list[Notice] = []
    nodes, links = {"L1": ["a"], "L2": ["b"], "L3": ["c"]}, both_ways("L1-L2", "L2-L3")
    group_switches(nodes, links, switch_ranks(nodes, links), notes)
    assert codes(notes) == ("switches-cascaded",)
    assert said(notes) == (
        "L1..L3: joined by 2 cables between switches of one rank, no switch is above them; "
        "HyperNode L1-cascade of tier 2 holds them",
    )


def test_a_switch_without_a_way_to_a_node_is_left_out() -> None:
    assert made({"L1": "a"}, both_ways("X1-X2")) == {"L1": (1, ["a"])}


def test_a_group_lists_its_switches_and_never_takes_the_name_of_one() -> None:
    nodes = {"L1": ["a"], "L2": ["a"], "L1-group": ["b"]}
    hypernodes = {h.name: h for h in group_switches(nodes, {}, switch_ranks(nodes, {}))}
    assert sorted(hypernodes) == ["L1-group", "L1-group-group"]
    assert hypernodes["L1-group-group"].metadata.annotations == {SWITCHES: "L1,L2"}
    assert hypernodes["L1-group"].metadata.annotations == {}


RAILS = {"L1a": "abc", "L1b": "abc", "L2a": "def", "L2b": "def"}


def test_a_wrong_cable_that_joins_two_leaves_is_named() -> None:
    assert weak_joins(RAILS) == []
    assert said(weak_joins({**RAILS, "L1b": "ac", "L2b": "bdef"})) == (
        "only b joins L1a/L1b and L2a/L2b to one HyperNode: a wrong cable?",
    )
    # A lost cable joins nothing; half of the nodes are no accident.
    assert weak_joins({**RAILS, "L1b": "ac"}) == []
    assert weak_joins({"L1": "abcd", "L2": "cdef"}) == []


SWITCH_NAMES = [f"w{i}" for i in range(7)]


@given(
    st.dictionaries(st.sampled_from(SWITCH_NAMES), st.sets(st.sampled_from("abcdef"), max_size=3), min_size=1),
    st.sets(st.tuples(st.sampled_from(SWITCH_NAMES), st.sampled_from(SWITCH_NAMES)), max_size=12),
)
def test_any_cabling_gives_a_forest_over_every_reached_node(attached: dict[str, set[str]], cables: set) -> None:
    links = both_ways(*(f"{a}-{b}" for a, b in cables if a != b))
    hypernodes: tuple[HyperNode, ...] = group_switches(attached, links, switch_ranks(attached, links))
    nodes = sorted(set().union(*attached.values()))
    topology = build_topology(hypernodes, nodes)
    assert topology.problems == () and topology.laminar
    assert set(topology.member_nodes.tolist()) == set(range(len(nodes)))
    # Two nodes on one switch are in one HyperNode of tier 1.
    for together in attached.values():
        assert len({int(topology.leaf_of_node[topology.node(n)]) for n in together}) <= 1


@given(
    st.dictionaries(st.sampled_from(SWITCH_NAMES), st.sets(st.sampled_from("abcdef"), max_size=3), min_size=1),
    st.sets(st.tuples(st.sampled_from(SWITCH_NAMES), st.sampled_from(SWITCH_NAMES)), max_size=12),
)
def test_nodes_that_cables_connect_meet_in_a_hypernode(attached: dict[str, set[str]], cables: set) -> None:
    links = both_ways(*(f"{a}-{b}" for a, b in cables if a != b))
    topology = build_topology(
        group_switches(attached, links, switch_ranks(attached, links)), sorted(set().union(*attached.values()))
    )
    graph = networkx.Graph([(a, b) for a, others in links.items() for b in others])
    graph.add_edges_from((s, f"node {n}") for s, nodes in attached.items() for n in nodes)
    for part in networkx.connected_components(graph):
        nodes = [topology.node(v.removeprefix("node ")) for v in part if v.startswith("node ")]
        roots = {int(topology.leaf_of_node[node]) for node in nodes}
        while any(topology.parent[root] >= 0 for root in roots):
            roots = {int(topology.parent[root]) if topology.parent[root] >= 0 else root for root in roots}
        assert len(roots) <= 1


@given(
    st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=4),
    st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=0, max_size=4),
)
def test_any_layers_of_redundant_switches_give_a_forest(spines: list[set[int]], cores: list[set[int]]) -> None:
    nodes = {f"l{i}": [f"n{i}", f"m{i}"] for i in range(5)}
    children = {f"s{i}": [f"l{leaf}" for leaf in sorted(below)] for i, below in enumerate(spines)}
    for i, below in enumerate(cores):
        children[f"c{i}"] = sorted({f"s{spine % len(spines)}" for spine in below})
    notes: list[Notice] = []
    hypernodes = group_tree(children, nodes, notes)
    topology = build_topology(hypernodes, [name for held in nodes.values() for name in held])
    assert topology.problems == () and topology.laminar and topology.ready
    switches = [s for h in hypernodes for s in h.metadata.annotations.get(SWITCHES, h.name).split(",")]
    assert sorted(switches) == sorted([*nodes, *children])
    assert len(notes) == sum(SWITCHES in h.metadata.annotations for h in hypernodes)
    # What a switch lists is inside its HyperNode.
    place = {s: h.name for h in hypernodes for s in h.metadata.annotations.get(SWITCHES, h.name).split(",")}
    for switch, below in children.items():
        for child in below:
            assert int(topology.parent[topology.domain(place[child])]) == topology.domain(place[switch])
