"""Fabrics: names, tree, snapshot, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.topology.generate import Fabric, NodeShape
from workbench.topology.job_shape import JobShape, scenario_of

#   tier 3                 s6
#   tier 2         s4              s5
#   tier 1     s0      s1      s2      s3
#   nodes     0  1    2  3    4  5    6  7
TREE = Fabric((2, 2, 2))


def test_the_documents_tree_has_the_documents_names():
    topology = TREE.topology()
    assert topology.domain_names == ("s0", "s1", "s2", "s3", "s4", "s5", "s6")
    assert topology.node_names == tuple(f"node{i}" for i in range(8))
    assert topology.tier.tolist() == [1, 1, 1, 1, 2, 2, 3]
    assert [topology.domain_name(p) for p in topology.parent.tolist()[:6]] == ["s4", "s4", "s5", "s5", "s6", "s6"]
    assert topology.nodes_of(topology.domain("s5")).tolist() == [4, 5, 6, 7]
    assert topology.ready and topology.laminar and not topology.problems


def test_roots_stand_beside_each_other():
    fabric = Fabric((2, 2), roots=2, prefixes=("leaf", "spine"), first_node=1)
    topology = fabric.topology()
    assert topology.n_nodes == 8
    assert [topology.domain_names[j] for j in np.flatnonzero(topology.parent == -1)] == ["spine0", "spine1"]
    assert fabric.node_names()[0] == "node1"


def test_names_are_padded_so_that_byte_order_is_cable_order():
    fabric = Fabric((5, 4), prefixes=("s",), first_node=0)
    assert fabric.node_names() == sorted(fabric.node_names())
    assert fabric.node_names()[3] == "node03"
    many = Fabric((1, 12)).domain_names()
    assert many[0][:2] == ["s00", "s01"] and many[1] == ["s12"]


@pytest.mark.parametrize("sizes", [(1,), (7,), (2, 3), (3, 2, 2), (2, 1, 2, 2)])
def test_every_tier_holds_every_node_once(sizes):
    topology = Fabric(sizes, roots=2).topology()
    for tier in topology.tiers:
        members = np.concatenate([topology.nodes_of(int(j)) for j in topology.domains_at(tier)])
        assert np.sort(members).tolist() == list(range(topology.n_nodes))


def test_snapshot_is_idle_and_has_every_device():
    shape = NodeShape(cpu=2, memory_gib=3, pods=5, devices={"nvidia.com/gpu": 8, "rdma/cx7": 4}, labels={"a": "b"})
    snapshot = Fabric((2, 2), shape=shape, matrix=BandwidthMatrix(np.ones((8, 8)))).snapshot()
    assert snapshot.resources == ("cpu", "memory", "pods", "nvidia.com/gpu", "rdma/cx7")
    assert snapshot.allocatable[3].tolist() == [2000, 3 * 2**30, 5, 8, 4]
    assert not snapshot.used.any()
    assert snapshot.gpu_free.tolist() == [[0xFF]] * 4
    assert snapshot.labels.rows()[1] == {"a": "b"}
    assert snapshot.matrix_of(2) is snapshot.matrices[0]


def test_a_node_with_more_than_64_gpus_needs_two_words():
    snapshot = Fabric((1,), shape=NodeShape(devices={"nvidia.com/gpu": 72})).snapshot()
    assert snapshot.gpu_total.tolist() == [[2**64 - 1, 0xFF]]


def test_manifests_name_every_member_once():
    manifests = TREE.manifests()
    assert [m["kind"] for m in manifests] == ["HyperNode"] * 7 + ["Node"] * 8
    members = [x["selector"]["exactMatch"]["name"] for m in manifests[:7] for x in m["spec"]["members"]]
    assert sorted(members) == sorted([f"node{i}" for i in range(8)] + [f"s{i}" for i in range(6)])


def test_devices_carry_the_matrix():
    matrix = BandwidthMatrix([[1.0, 48.33], [4.64, 1.0]])
    fabric = Fabric((1,), shape=NodeShape(devices={"nvidia.com/gpu": 2}), matrix=matrix)
    (device,) = fabric.devices()
    assert device["spec"]["topologies"]["gpu"] == [{"name": "bandwidth", "topology": "[[1.0,48.33],[4.64,1.0]]"}]
    assert [d["minor"] for d in device["spec"]["devices"]] == [0, 1]


def test_job_as_value_asks_for_what_the_object_asks_for():
    job = JobShape("train", 6, cpu=4, memory_gib=2, mode="soft", highest_tier=2)
    gang = job.gang()
    assert (gang.key, gang.n_pods, gang.min_available) == ("default/train", 6, 6)
    assert gang.roles[0].requests == {"cpu": 4000, "memory": 2 * 2**30, "nvidia.com/gpu": 8}
    assert gang.constraint is not None and gang.constraint.highest_tier == 2
    spec = job.manifest()["spec"]
    assert spec["networkTopology"] == {"mode": "soft", "highestTierAllowed": 2}
    assert spec["minAvailable"] == spec["tasks"][0]["replicas"] == 6


def test_groups_become_a_partition_policy():
    policy = JobShape("llm", 24, group_size=8).manifest()["spec"]["tasks"][0]["partitionPolicy"]
    assert policy["totalPartitions"] * policy["partitionSize"] == 24


def test_gangs_of_a_scenario_stand_in_name_order():
    scenario = scenario_of(TREE, [JobShape("b", 1), JobShape("a", 1)])
    assert [gang.name for gang in scenario.gangs] == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fabric(()), "at least one tier"),
        (lambda: Fabric((2, 0)), "at least one member"),
        (lambda: Fabric((2,), roots=0), "at least one"),
        (lambda: Fabric((1000, 1000)), "too many nodes"),
        (lambda: Fabric((2, 2, 2), prefixes=("a", "b")), "prefixes do not match"),
        (lambda: Fabric((2, 2), tier_names=("a",)), "tier names do not match"),
        (lambda: Fabric((2,), matrix=BandwidthMatrix(np.ones((4, 4)))), "does not match the GPUs"),
        (lambda: JobShape("j", 0), "needs pods"),
        (lambda: JobShape("j", 1, mode="medium"), "unknown mode"),
        (lambda: JobShape("j", 10, group_size=4), "do not divide"),
    ],
)
def test_what_cannot_be_made_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
