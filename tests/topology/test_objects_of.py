from __future__ import annotations

import dataclasses

from tests.fabrics import snapshot
from workbench.model.resources import UNLIMITED
from workbench.topology.build import build_topology
from workbench.topology.objects_of import hypernodes_in, nodes_in

# top ── left: b, a     free: z
#   ├─── right: c
#   └─── d, directly
DOMAINS = [("left", 1, ["b", "a"], "top"), ("right", 1, ["c"], "top"), ("top", 2, ["a", "b", "c", "d"], "")]
CLUSTER = snapshot(["z", "b", "a", "c", "d"], DOMAINS)


def members(hypernode):
    return [(member.type, member.selector.exact) for member in hypernode.members]


def test_members_are_children_and_then_the_nodes_that_none_of_them_holds():
    left, right, top = hypernodes_in(CLUSTER.topology)
    assert members(left) == [("Node", "a"), ("Node", "b")]
    assert members(right) == [("Node", "c")]
    assert members(top) == [("HyperNode", "left"), ("HyperNode", "right"), ("Node", "d")]
    assert [h.tier for h in (left, right, top)] == [1, 1, 2]


def test_other_names_are_used_in_members_too():
    _, _, top = hypernodes_in(CLUSTER.topology, ["l", "r", "t"])
    assert top.name == "t" and members(top)[:2] == [("HyperNode", "l"), ("HyperNode", "r")]


def test_the_objects_make_the_topology_that_they_are_of():
    topology = CLUSTER.topology
    again = build_topology(hypernodes_in(topology), topology.node_names, [{}] * topology.n_nodes)
    assert again.node_names == topology.node_names and again.domain_names == topology.domain_names
    assert again.member_nodes.tolist() == topology.member_nodes.tolist()
    assert again.parent.tolist() == topology.parent.tolist()


def test_an_unlimited_number_of_pods_is_not_offered():
    allocatable = CLUSTER.allocatable.copy()
    pods = CLUSTER.resources.index("pods")
    allocatable[0, pods], allocatable[1, pods] = UNLIMITED, 7
    first, second, *_ = nodes_in(dataclasses.replace(CLUSTER, allocatable=allocatable))
    assert "pods" not in first.allocatable and second.allocatable["pods"] == 7
