"""Conversion of cables to HyperNodes: rails, spines, and switches above no node."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tests.notices import said
from workbench.formats.fabric.switch_groups import SWITCHES, group_switches, switch_ranks, weak_joins
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


def test_a_cable_between_leaves_joins_nothing() -> None:
    assert made({"L1": "a", "L2": "b"}, both_ways("L1-L2")) == {"L1": (1, ["a"]), "L2": (1, ["b"])}


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
