"""The switch table of a snapshot: from the ConfigMap, from HyperNodes, and the states beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.formats.fabric.test_intake import write
from tests.formats.fabric.test_tor_node import addressed
from tests.notices import codes, said
from tests.objects.test_tor_node import config_map, payload
from tests.switch_fabric import Switch, fabric, job
from workbench.formats.fabric.registry import get_format
from workbench.formats.fabric.tor_tables import share_config_map
from workbench.formats.load import load
from workbench.policies.registry import get_policy
from workbench.simulate import Timeline


def preset(*states: tuple[int, int]) -> dict[str, Any]:
    data = payload()
    for tor, (shared, unhealthy) in zip(data["server_list"], states, strict=True):
        tor["IsSharedTor"], tor["IsHealthy"] = shared, unhealthy
    return data


def test_order_position_and_preset_states_come_from_the_config_map(tmp_path):
    data = preset((1, 1), (2, 0))
    first = data["server_list"][0]["server"]
    first.reverse()
    data["tor_count"] = 9
    nodes = [addressed(f"n{i}{k}", f"2.0.{i}.{k}") for i in range(2) for k in range(2)]
    config = config_map(data, tor_level="single_layer")
    snapshot = load(write(tmp_path, "cm.yaml", config), write(tmp_path, "nodes.yaml", *nodes)).snapshot
    # More than any switch has is M all the same: switches may be partly filled.
    assert "tor_count is 9, but the largest switch has 2 servers" in said(snapshot.gaps)
    table = snapshot.switches
    assert table is not None
    names = snapshot.topology.node_names
    assert table.names == ("tor-0", "tor-1")
    assert [names[i] for i in table.nodes_of(0)] == ["n01", "n00"]
    assert table.node_position[table.nodes_of(0)].tolist() == [1, 0]
    assert table.preset.names() == ("shared/unhealthy", "exclusive")
    assert (table.nodes_per_switch, table.level) == (9, "single_layer")
    assert table.addresses == tuple(tor["tor_ip"] for tor in data["server_list"])


def test_a_switch_is_called_as_the_hyper_node_with_its_nodes(tmp_path):
    members = [{"type": "Node", "selector": {"exactMatch": {"name": name}}} for name in ("a", "b")]
    hypernode = {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "own"},
        "spec": {"tier": 1, "members": members},
    }
    nodes = [addressed("a", "2.0.0.0"), addressed("b", "2.0.0.1")]
    table = load(write(tmp_path, "all.yaml", *nodes, hypernode, config_map(payload()))).snapshot.switches
    assert table is not None
    assert table.names == ("own", "tor-1")
    assert len(table.nodes_of(1)) == 0


def test_what_the_scheduler_publishes_is_checked_against_the_pods(tmp_path):
    timeline = Timeline(fabric([Switch("S0", 4, 4), Switch("S1", 4, 4)], 4), get_policy("switch-affinity"))
    timeline.submit(job("A", "foundation", 6))
    text = share_config_map(timeline.snapshot)
    (share,) = yaml.safe_load_all(text)
    assert share["metadata"] == {"name": "tor-share-cm", "namespace": "volcano-system"}
    info = json.loads(share["data"]["global-tor-info"])
    assert {address: (row["IsSharedTor"], row["IsHealthy"]) for address, row in info.items()} == {
        "10.0.0.0": (2, 0),
        "10.0.0.1": (1, 0),
    }
    assert info["10.0.0.1"]["nodes"][0] == {"NodeIp": "", "NodeName": "S1-n0", "JobName": ["A"]}


def shared(states: dict[str, tuple[int, int]]) -> dict[str, Any]:
    info = {address: {"IsSharedTor": s, "IsHealthy": h, "nodes": []} for address, (s, h) in states.items()}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "tor-share-cm", "namespace": "volcano-system"},
        "data": {"global-tor-info": json.dumps(info)},
    }


def test_without_pods_the_published_states_are_preset(tmp_path):
    first = payload()["server_list"][0]["tor_ip"]
    files = [write(tmp_path, "cm.yaml", config_map(payload())), write(tmp_path, "share.yaml", shared({first: (2, 0)}))]
    snapshot = load(*files).snapshot
    assert snapshot.switches is not None
    assert snapshot.switches.preset.names() == ("exclusive", "idle")
    assert "switch-states-assumed" in codes(snapshot.gaps)


def test_preset_states_stay_and_a_switch_that_is_not_here_is_told(tmp_path):
    second = payload()["server_list"][1]["tor_ip"]
    files = [
        write(tmp_path, "cm.yaml", config_map(preset((1, 1), (2, 0)))),
        write(tmp_path, "share.yaml", shared({second: (1, 0), "9.9.9.9": (1, 0)})),
    ]
    snapshot = load(*files).snapshot
    assert snapshot.switches is not None
    assert snapshot.switches.preset.names() == ("shared/unhealthy", "shared/healthy")
    assert "tor-share-cm tells of 1 switch that is not here: 9.9.9.9" in said(snapshot.gaps)


def test_with_pods_a_difference_is_told(tmp_path):
    first = payload()["server_list"][0]["tor_ip"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"scheduling.k8s.io/group-name": "g", "isSharedTor": "1"}},
        "spec": {"nodeName": "2.0.0.0", "containers": [{"name": "c"}]},
        "status": {"phase": "Running"},
    }
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {}}
    files = [
        write(tmp_path, "cm.yaml", config_map(payload())),
        write(tmp_path, "pods.yaml", pod, group),
        write(tmp_path, "share.yaml", shared({first: (2, 0)})),
    ]
    snapshot = load(*files).snapshot
    (gap,) = (gap for gap in snapshot.gaps if gap.code == "switch-states-differ")
    assert "differ on 1 switch, the pods count: tor-0 is exclusive there, shared/healthy by the pods" in gap.message


def test_states_without_switches_are_of_no_use(tmp_path):
    node = addressed("a", "2.0.0.0")
    snapshot = load(write(tmp_path, "all.yaml", node, shared({"x": (2, 0)}))).snapshot
    assert snapshot.switch_table is None
    assert "tor-share-cm is of no use without switches" in said(snapshot.gaps)


def test_states_are_a_format_to_convert_to(tmp_path):
    snapshot = load(write(tmp_path, "cm.yaml", config_map(preset((1, 1), (2, 0))))).snapshot
    write_it = get_format("tor-share").write
    assert write_it is not None
    written = write_it(snapshot)
    assert written.text == share_config_map(snapshot)
    again = load(write(tmp_path, "cm.yaml", config_map(payload())), write_text(tmp_path, written.text)).snapshot
    assert again.switches is not None
    assert again.switches.preset.names() == ("shared/unhealthy", "exclusive")


def test_other_formats_tell_that_the_switch_table_is_lost(tmp_path):
    snapshot = load(write(tmp_path, "cm.yaml", config_map(preset((1, 1), (2, 0))))).snapshot
    for name, lost in (("tor-node", False), ("hypernodes", True)):
        write_it = get_format(name).write
        assert write_it is not None
        assert any("switch table" in loss for loss in write_it(snapshot).losses) is lost


def write_text(folder: Path, text: str) -> Path:
    path = folder / "share.yaml"
    path.write_text(text, "utf-8")
    return path
