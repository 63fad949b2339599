from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tests.formats.fabric.forests import converted, forest, read_back, snapshots
from tests.formats.fabric.test_intake import node, write
from tests.notices import codes, said
from tests.objects.test_tor_node import config_map, payload
from workbench.errors import InputError
from workbench.formats.fabric.tor_node import parse_tor_node
from workbench.formats.fabric.tor_tables import tor_nodes_of
from workbench.formats.load import load


def addressed(name: str, address: str) -> dict[str, Any]:
    data = node(name)
    data["status"]["addresses"] = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": address}]
    return data


def test_the_bare_payload_brings_its_own_nodes(tmp_path):
    snapshot = load(write(tmp_path, "tor.json", json.dumps(payload()))).snapshot
    topology = snapshot.topology
    assert topology.domain_names == ("tor-0", "tor-1")
    assert topology.tier.tolist() == [1, 1]
    assert topology.node_names == ("2.0.0.0", "2.0.0.1", "2.0.1.0", "2.0.1.1")
    assert snapshot.allocatable[:, snapshot.resources.index("huawei.com/Ascend910")].tolist() == [8] * 4
    assert "named-by-address" in codes(snapshot.gaps)


def test_servers_are_bound_to_nodes_by_internal_ip(tmp_path):
    nodes = [addressed("a", "2.0.0.1"), addressed("b", "2.0.1.0"), addressed("c", "9.9.9.9")]
    for first in (write(tmp_path, "cm.yaml", config_map(payload())), write(tmp_path, "t.json", json.dumps(payload()))):
        snapshot = load(first, write(tmp_path, "nodes.yaml", *nodes)).snapshot
        topology = snapshot.topology
        assert [topology.node_names[i] for i in topology.nodes_of(topology.domain("tor-0"))] == ["a"]
        assert [topology.node_names[i] for i in topology.nodes_of(topology.domain("tor-1"))] == ["b"]
        assert "2 servers of the switch table are the InternalIP of no node: left aside" in said(snapshot.gaps)
        assert "1 node is in no switch of the switch table" in said(snapshot.gaps)


def test_the_config_map_alone_brings_its_own_nodes(tmp_path):
    assert load(write(tmp_path, "cm.yaml", config_map(payload()))).snapshot.topology.n_nodes == 4


def test_hyper_nodes_of_the_input_win_over_the_config_map(tmp_path):
    members = [{"type": "Node", "selector": {"exactMatch": {"name": "a"}}}]
    hypernode = {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "own"},
        "spec": {"tier": 1, "members": members},
    }
    both = write(tmp_path, "all.yaml", addressed("a", "2.0.0.0"), hypernode, config_map(payload()))
    assert load(both).snapshot.topology.domain_names == ("own",)
    assert load(both, format="tor-node").snapshot.topology.domain_names == ("tor-0", "tor-1")


def test_a_broken_payload_is_refused_with_its_line(tmp_path):
    with pytest.raises(InputError, match=r"t\.json: line 1, column \d+: not JSON"):
        load(write(tmp_path, "t.json", json.dumps(payload())[:-4]))


@given(snapshots())
def test_switches_and_servers_are_read_back(snapshot):
    again, losses = converted(snapshot, "tor-node")
    leaves = {row[3] for row in forest(snapshot.topology).values() if row[0] == 1}
    assert {row[3] for row in forest(again.topology).values()} == leaves
    assert any("above the switches" in loss for loss in losses) == (len(snapshot.topology.tiers) > 1)


def test_a_table_is_written_as_it_was_read(tmp_path):
    nodes = [addressed(f"node-{i}{k}", f"2.0.{i}.{k}") for i in range(2) for k in range(2)]
    for data in nodes:
        data["status"]["allocatable"]["huawei.com/Ascend910"] = "8"
    data = payload()
    for i, tor in enumerate(data["server_list"]):
        tor["tor_id"] = 10 + i
        tor["tor_ip"] = f"tor-{10 + i}"
    snapshot = load(write(tmp_path, "cm.yaml", config_map(data)), write(tmp_path, "nodes.yaml", *nodes)).snapshot
    assert tor_nodes_of(snapshot, snapshot.switches) == parse_tor_node(data)


def test_names_of_switches_and_unknown_addresses_are_told():
    snapshot = read_back("SwitchName=rack Nodes=n[1-2]\n")
    _, losses = converted(snapshot, "tor-node")
    assert losses == (
        "changed: 1 HyperNode (rack) became tor-NUMBER; the name stands as tor_ip",
        "changed: the InternalIP of 2 nodes (n1, n2) is unknown; the name stands as server_ip",
    )
