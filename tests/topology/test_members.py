"""Nodes and HyperNodes that members select."""

from __future__ import annotations

import pytest

from workbench.objects.hypernode import HyperNode, Member, node_count, resolve_members
from workbench.objects.metadata import Metadata
from workbench.objects.selectors import NameIndex, Selector, read_label_selector

NODES = {"node1": {"zone": "east"}, "node2": {}, "node3": {}, "node4": {"zone": "west"}, "master": {}}
INDEX = NameIndex(list(NODES), list(NODES.values()))


def hypernode(*members: tuple[str, Selector]) -> HyperNode:
    return HyperNode(Metadata("h"), 1, "", tuple(Member(kind, selector) for kind, selector in members))


EAST = Selector(labels=read_label_selector({"matchLabels": {"zone": "east"}}, ""))


def test_each_name_once_unknown_nodes_apart_children_by_exact_name_only():
    found = hypernode(
        ("Node", Selector(exact="node1")),
        ("Node", EAST),
        ("Node", Selector(pattern="node[12]")),
        ("Node", Selector(exact="gone")),
        ("HyperNode", Selector(exact="s0")),
        ("HyperNode", Selector(exact="s0")),
        ("HyperNode", Selector(pattern="s1")),
    )
    nodes, unknown, children = resolve_members(found, INDEX)
    assert [INDEX.names[i] for i in nodes] == ["node1", "node2"]
    assert unknown == ["gone"]
    assert children == list(found.children) == ["s0"]


@pytest.mark.parametrize(
    ("members", "want"),
    [
        ([("Node", Selector(exact=f"absent{i}")) for i in range(3)], 3),
        ([("Node", Selector(exact="master")), ("Node", EAST), ("Node", Selector(pattern="node[1-3]"))], 4),
        ([("Node", Selector(exact="master")), ("HyperNode", Selector(pattern="node[2-4]"))], 4),
        ([("HyperNode", Selector(exact="s0")), ("HyperNode", Selector(exact="s1"))], 2),
        ([], 0),
    ],
    ids=["names that do not exist count", "a union", "the type is not looked at", "children, not nodes", "none"],
)
def test_the_node_count_of_the_status(members, want):
    assert node_count(hypernode(*members), INDEX) == want


def test_an_empty_pattern_is_found_in_every_name_an_empty_name_nowhere():
    found = hypernode(("Node", Selector(pattern="")), ("Node", Selector(exact="")))
    assert len(resolve_members(found, INDEX)[0]) == node_count(found, INDEX) == len(NODES)
