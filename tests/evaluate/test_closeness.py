from __future__ import annotations

import numpy as np

from tests.hand_made import document_tree
from workbench.evaluate.closeness import SAME_NODE, Closeness
from workbench.model.topology import DomainSpec, Topology

# a  b  c  d      x = {a, b}, y = {b, c} overlap on tier 1; z = {c, d} is alone on tier 2
OVERLAPPING = Topology.build(
    ["a", "b", "c", "d"], [DomainSpec("x", 1, [0, 1]), DomainSpec("y", 1, [1, 2]), DomainSpec("z", 2, [2, 3])]
)


def test_levels_are_positions_in_the_tiers() -> None:
    near = Closeness(document_tree(), np.arange(8, dtype=np.int32))
    assert near.tiers == (1, 2, 3, 4)
    levels = near.pair_levels(np.array([0, 0, 0, 0]), np.array([0, 1, 2, 7]))
    assert levels.tolist() == [SAME_NODE, 0, 1, 2]


def test_overlapping_hypernodes_share_the_closest_that_holds_both() -> None:
    near = Closeness(OVERLAPPING, np.arange(4, dtype=np.int32))
    pairs = [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)]
    levels = near.pair_levels(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]))
    assert [near.tiers[level] for level in levels] == [1, 1, 3, 2, 3]


def test_pairs_of_overlapping_hypernodes_are_weighed_by_pods() -> None:
    near = Closeness(OVERLAPPING, np.arange(4, dtype=np.int32))
    same_node, per_level = near.pair_counts(np.array([2, 3, 1, 1]))
    assert same_node == 1 + 3
    assert per_level.tolist() == [2 * 3 + 3 * 1, 1, 2 * 1 + 2 * 1 + 3 * 1]


def test_the_common_hypernode_is_the_closest_then_smallest_then_first_by_name() -> None:
    nodes = ["a", "b", "c"]
    topology = Topology.build(
        nodes, [DomainSpec("wide", 1, [0, 1, 2]), DomainSpec("p", 1, [0, 1]), DomainSpec("o", 1, [0, 1])]
    )
    near = Closeness(topology, np.array([0, 1], dtype=np.int32))
    assert topology.domain_name(near.common_domain()) == "o"


def test_nothing_in_common_is_the_virtual_top() -> None:
    assert Closeness(OVERLAPPING, np.array([0, 3], dtype=np.int32)).common_domain() == -1
