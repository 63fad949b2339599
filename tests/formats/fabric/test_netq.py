"""NetQ's graph and its inventory of compute nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.formats.fabric.netq import read_netq_graph, read_netq_inventory
from workbench.formats.load import load


def device(which: str, name: str, kind: str = "switch") -> dict[str, Any]:
    return {"id": which, "name": name, "device_type": kind, "node_type": "device", "tier": 1}


def graph(*links: tuple[str, str], hosts: tuple[str, ...] = ("gpu-1", "gpu-2")) -> dict[str, Any]:
    """Leaf l1 and l2, spine s1; hosts h0, h1, … by name."""
    switches = [device("l1", "leaf-1"), device("l2", "leaf-2"), device("s1", "spine-1")]
    below = [device(f"h{i}", name, "discovered_via_lldp") for i, name in enumerate(hosts)]
    groups = [{"node_type": "tier", "compounded_nodes": group} for group in (switches, below)]
    return {"nodes": groups, "links": [{"src": a, "target": b, "size": 4} for a, b in links]}


def read(value: Any) -> Any:
    return read_netq_graph(json.dumps(value), "g.json")


TREE = (("l1", "h0"), ("h1", "l2"), ("l1", "s1"), ("s1", "l2"))


def test_tiers_are_distances_from_the_hosts() -> None:
    records = read([graph(*TREE)])
    assert {h.name: (h.tier, [m.selector.exact for m in h.members]) for h in records.hypernodes} == {
        "leaf-1": (1, ["gpu-1"]),
        "leaf-2": (1, ["gpu-2"]),
        "spine-1": (2, ["leaf-1", "leaf-2"]),
    }
    assert records.notes == ()


def test_storage_and_loose_hosts_are_said() -> None:
    records = read(graph(*TREE, ("l2", "h2"), hosts=("gpu-1", "gpu-2", "nas-1", "gpu-3")))
    assert [node.name for node in records.nodes] == ["gpu-1", "gpu-2", "gpu-3"]
    assert said(records.notes) == ("storage and management, not nodes: nas-1", "1 node is on no switch: gpu-3")


BROKEN = {
    "a link to nowhere": (graph(("l1", "h9")), r"g\.json: links\[0\]\.target: wrong type or value"),
    "no device": ({"nodes": [], "links": []}, r"g\.json: nodes: the field is missing"),
    "two graphs": ([graph(), graph()], "not one graph"),
    "a device twice": (graph(hosts=("a", "a")), "the same device twice"),
    "text for a group": ({"nodes": ["x"], "links": []}, r"nodes\[0\]: wrong type"),
}


@pytest.mark.parametrize(("value", "want"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_graph_is_refused_with_its_field(value: Any, want: str) -> None:
    with pytest.raises(InputError, match=want):
        read(value)


def test_cut_json_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"g\.json: line 1, column 10: not JSON"):
        read_netq_graph('[{"nodes"', "g.json")


def test_the_inventory_says_gpus_and_nvlink_domains() -> None:
    text = json.dumps([{"Name": "gpu-1", "DomainUUID": "u1", "GpuIDList": ["a", "b"], "Health": "DEGRADED"}])
    records = read_netq_inventory(text, "i.json")
    (node,) = records.nodes
    assert node.allocatable == {"nvidia.com/gpu": 2}
    assert node.metadata.labels == {"accelerator.topograph.run/domain": "u1"}
    assert said(records.notes) == ("not healthy says NetQ, taken like the others: gpu-1",)
    with pytest.raises(InputError, match=r"i\.json: \[1\]\.Name: the same node twice"):
        read_netq_inventory(json.dumps([{"Name": "a"}, {"Name": "a"}]), "i.json")


def test_both_together_are_one_cluster(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(json.dumps([graph(*TREE)]), encoding="utf-8")
    inventory = [{"Name": "gpu-1", "DomainUUID": "u1", "GpuIDList": ["a"] * 4}]
    (tmp_path / "inventory.json").write_text(json.dumps(inventory), encoding="utf-8")
    snapshot = load(tmp_path).snapshot
    assert snapshot.topology.node_names == ("gpu-1", "gpu-2")
    assert [int(row[0]).bit_count() for row in snapshot.gpu_total] == [4, 0]


def test_cascaded_leaves_have_a_hypernode_above_them_and_service_hosts_are_no_nodes() -> None:
    links = (("l1", "h0"), ("l2", "h1"), ("l1", "h2"), ("l1", "l2"))
    records = read(graph(*links, hosts=("gpu-1", "gpu-2", "login-1")))
    assert [node.name for node in records.nodes] == ["gpu-1", "gpu-2"]
    top = next(h for h in records.hypernodes if h.tier == 2)
    assert (top.name, [m.selector.exact for m in top.members]) == ("leaf-1-cascade", ["leaf-1", "leaf-2"])
    assert "storage and management, not nodes: login-1" in said(records.notes)
