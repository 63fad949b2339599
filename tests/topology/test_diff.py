"""Differences between the tree below and trees that differ from it in one thing.

tier 2          s4           s5
tier 1      s0      s1     s2     s3
nodes      a  b    c  d    e f    g h
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.model.topology import DomainSpec, Problem, Topology
from workbench.topology.diff import (
    DomainChange,
    DomainSize,
    MembersChange,
    NodeMove,
    TopologyDiff,
    diff_topologies,
)

LEAVES = {"s0": "ab", "s1": "cd", "s2": "ef", "s3": "gh"}
SPINES = {"s4": ("s0", "s1"), "s5": ("s2", "s3")}


def tree(leaves: Mapping[str, str] = LEAVES, spines: Mapping[str, tuple[str, ...]] = SPINES, **more: int) -> Topology:
    """Leaves over nodes of one letter, spines over leaves; `more`: tiers that are not 1 or 2."""
    names = sorted({node for nodes in leaves.values() for node in nodes})
    parent = {leaf: spine for spine, below in spines.items() for leaf in below}
    specs = [
        DomainSpec(leaf, more.get(leaf, 1), [names.index(n) for n in nodes], parent.get(leaf, ""))
        for leaf, nodes in leaves.items()
    ]
    for spine, below in spines.items():
        nodes = [names.index(n) for leaf in below for n in leaves[leaf]]
        specs.append(DomainSpec(spine, more.get(spine, 2), nodes))
    return Topology.build(names, specs)


def changes(difference: TopologyDiff) -> dict[str, object]:
    """The fields that are not empty."""
    return {name: value for name, value in vars(difference).items() if value}


def test_a_topology_differs_in_nothing_from_itself() -> None:
    difference = diff_topologies(tree(), tree())
    assert difference.same and changes(difference) == {}
    assert repr(difference) == "TopologyDiff(the same)"


def test_a_node_under_another_leaf_has_moved() -> None:
    difference = diff_topologies(tree(), tree({**LEAVES, "s0": "a", "s3": "bgh"}))
    assert changes(difference) == {
        "nodes_moved": (NodeMove("b", "s0", "s3"),),
        "members_changed": (
            MembersChange("s0", (), ("b",)),
            MembersChange("s3", ("b",), ()),
            MembersChange("s4", (), ("b",)),
            MembersChange("s5", ("b",), ()),
        ),
    }
    assert not difference.same


def test_a_leaf_under_another_spine_has_moved_but_its_nodes_have_not() -> None:
    difference = diff_topologies(tree(), tree(spines={"s4": ("s0",), "s5": ("s1", "s2", "s3")}))
    assert difference.domains_moved == (DomainChange("s1", "s4", "s5"),)
    assert difference.nodes_moved == ()


def test_a_new_name_for_the_same_nodes_is_a_renaming_and_moves_nothing() -> None:
    leaves = {"s0": "ab", "rack-c": "cd", "s2": "ef", "s3": "gh"}
    difference = diff_topologies(tree(), tree(leaves, {"s4": ("s0", "rack-c"), "s5": ("s2", "s3")}))
    assert changes(difference) == {"domains_renamed": (DomainChange("rack-c", "s1", "rack-c"),)}


def test_a_renamed_spine_moves_no_leaf() -> None:
    difference = diff_topologies(tree(), tree(spines={"s4": ("s0", "s1"), "pod": ("s2", "s3")}))
    assert changes(difference) == {"domains_renamed": (DomainChange("pod", "s5", "pod"),)}


def test_names_that_shift_are_renamings_not_moves() -> None:
    shifted = {"s0": "cd", "s1": "ab", "s2": "ef", "s3": "gh"}
    difference = diff_topologies(tree(), tree(shifted))
    assert changes(difference) == {"domains_renamed": (DomainChange("s0", "s1", "s0"), DomainChange("s1", "s0", "s1"))}


def test_of_two_hypernodes_over_the_same_nodes_the_tier_decides_which_was_renamed() -> None:
    before = tree({"s0": "ab"}, {"s4": ("s0",)})
    after = tree({"x": "ab"}, {"a": ("x",)})
    assert diff_topologies(before, after).domains_renamed == (
        DomainChange("a", "s4", "a"),
        DomainChange("x", "s0", "x"),
    )


def test_nodes_and_leaves_that_appear_and_vanish() -> None:
    leaves = {"s0": "ab", "s1": "cd", "s2": "ef", "s9": "xyz"}
    difference = diff_topologies(tree(), tree(leaves, {"s4": ("s0", "s1"), "s5": ("s2", "s9")}))
    assert difference.nodes_appeared == ("x", "y", "z") and difference.nodes_vanished == ("g", "h")
    assert difference.domains_appeared == (DomainSize("s9", 1, 3),)
    assert difference.domains_vanished == (DomainSize("s3", 1, 2),)
    assert difference.nodes_moved == ()


def test_another_tier_or_another_name_of_the_tier() -> None:
    assert changes(diff_topologies(tree(), tree(s4=3, s5=3))) == {
        "tiers_changed": (DomainChange("s4", "2", "3"), DomainChange("s5", "2", "3"))
    }
    before = Topology.build(["a"], [DomainSpec("s", 1, [0], tier_name="rack")])
    after = Topology.build(["a"], [DomainSpec("s", 1, [0], tier_name="row")])
    assert diff_topologies(before, after).tiers_changed == (DomainChange("s", "1 (rack)", "1 (row)"),)


def test_a_node_that_lost_every_hypernode_has_moved_to_none() -> None:
    before = Topology.build(["a", "b"], [DomainSpec("s", 1, [0, 1])])
    after = Topology.build(["a", "b"], [DomainSpec("s", 1, [0])])
    assert diff_topologies(before, after).nodes_moved == (NodeMove("b", "s", None),)
    assert diff_topologies(after, before).nodes_moved == (NodeMove("b", None, "s"),)


def test_a_leaf_whose_spine_was_taken_away_has_moved_to_the_top() -> None:
    difference = diff_topologies(tree(), tree(spines={"s4": ("s0", "s1")}))
    assert difference.domains_vanished == (DomainSize("s5", 2, 4),)
    assert difference.domains_moved == (DomainChange("s2", "s5", None), DomainChange("s3", "s5", None))


def test_problems_that_come_and_go() -> None:
    broken = Topology.build(["a"], [DomainSpec("s", 1, [0])], [Problem("two-parents", "s", "s has two")], ready=False)
    fine = Topology.build(["a"], [DomainSpec("s", 1, [0])])
    assert diff_topologies(fine, broken).problems_appeared == broken.problems
    assert diff_topologies(broken, fine).problems_vanished == broken.problems


def test_hypernodes_without_nodes_are_told_apart_by_name() -> None:
    before = Topology.build(["a"], [DomainSpec("x", 1, []), DomainSpec("y", 1, [])])
    after = Topology.build(["a"], [DomainSpec("y", 1, []), DomainSpec("z", 1, [])])
    difference = diff_topologies(before, after)
    assert difference.domains_renamed == ()
    assert difference.domains_vanished == (DomainSize("x", 1, 0),)
    assert difference.domains_appeared == (DomainSize("z", 1, 0),)


@pytest.mark.parametrize("swapped", [False, True])
def test_two_empty_topologies_are_the_same_and_everything_appears_in_one(swapped: bool) -> None:
    empty, full = Topology.build([], []), tree()
    assert diff_topologies(empty, empty).same
    difference = diff_topologies(full, empty) if swapped else diff_topologies(empty, full)
    assert len(difference.nodes_vanished if swapped else difference.nodes_appeared) == 8


@st.composite
def forests(draw: st.DrawFn) -> Topology:
    """Small trees of two tiers; any node may be in no leaf, any leaf under no spine."""
    names = [f"n{i}" for i in range(draw(st.integers(1, 8)))]
    leaf = draw(st.lists(st.sampled_from(["", "x", "y", "z"]), min_size=len(names), max_size=len(names)))
    used = sorted(set(leaf) - {""})
    spine = {x: draw(st.sampled_from(["", "p", "q"])) for x in used}
    below = {p: [i for i, x in enumerate(leaf) if x and spine[x] == p] for p in sorted(set(spine.values()) - {""})}
    specs = [DomainSpec(x, 1, [i for i, y in enumerate(leaf) if y == x], spine[x]) for x in used]
    specs += [DomainSpec(p, draw(st.integers(2, 3)), nodes) for p, nodes in below.items()]
    return Topology.build(names, specs)


def _facts(topology: Topology) -> object:
    return {
        name: (int(topology.tier[j]), int(topology.parent[j]), {topology.node_names[i] for i in topology.nodes_of(j)})
        for j, name in enumerate(topology.domain_names)
    }, set(topology.node_names)


@given(forests(), forests())
def test_same_means_equal_and_the_way_back_is_the_mirror(before: Topology, after: Topology) -> None:
    forth, back = diff_topologies(before, after), diff_topologies(after, before)
    assert forth.same == (_facts(before) == _facts(after))
    assert forth.nodes_appeared == back.nodes_vanished
    assert {(m.node, m.before, m.after) for m in forth.nodes_moved} == {
        (m.node, m.after, m.before) for m in back.nodes_moved
    }
    assert forth.same == back.same
    for change in forth.domains_renamed:
        old, new = before.domain(str(change.before)), after.domain(change.name)
        assert {before.node_names[i] for i in before.nodes_of(old)} == {
            after.node_names[i] for i in after.nodes_of(new)
        }


@given(forests())
def test_renaming_every_hypernode_moves_no_node(topology: Topology) -> None:
    fresh = {name: f"new-{i}" for i, name in enumerate(reversed(topology.domain_names))}
    specs = [
        DomainSpec(
            fresh[name], int(topology.tier[j]), topology.nodes_of(j).tolist(), fresh.get(_parent(topology, j), "")
        )
        for j, name in enumerate(topology.domain_names)
    ]
    difference = diff_topologies(topology, Topology.build(topology.node_names, specs))
    assert len(difference.domains_renamed) == topology.n_domains
    assert difference.nodes_moved == () and difference.tiers_changed == ()


def _parent(topology: Topology, domain: int) -> str:
    parent = int(topology.parent[domain])
    return topology.domain_names[parent] if parent >= 0 else ""
