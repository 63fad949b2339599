"""Reader and writer of Ascend's switch table (ConfigMap basic-tor-node-cm) as HyperNodes of tier 1."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, Written, make_node
from workbench.formats.fabric.tor_tables import tor_nodes_of
from workbench.formats.fabric.writing import TopologyShape, listed, losses_beside, shape_of
from workbench.formats.write_manifests import to_yaml
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switches import SwitchTable
from workbench.objects.hypernode import make_hypernode
from workbench.objects.kinds import TOR_NODE_CONFIG_MAP, ClusterObjects
from workbench.objects.node import Node
from workbench.objects.tor_node import TorNodeTable, as_payload, parse_tor_node

__all__ = ["NPU", "TOR_NODE", "nodes_by_address", "parse_tor_node", "tor_config_map", "tor_records", "tor_table_of"]

#: Resource that a server's npu_count counts.
NPU = "huawei.com/Ascend910"

_PAYLOAD = re.compile(r'\s*\{.*"server_list"\s*:', re.DOTALL)


def tor_table_of(cluster: ClusterObjects) -> TorNodeTable | None:
    """The switch table in the input's ConfigMaps basic-tor-node-cm; None if there is none.

    If there are several, the one in the namespace kube-system is taken, else the one in the first namespace.
    """
    configs = sorted(cluster.tor_nodes.values(), key=lambda c: (c.metadata.namespace != "kube-system", c.metadata.key))
    return configs[0].table if configs else None


def nodes_by_address(table: TorNodeTable, nodes: Mapping[str, Node]) -> dict[str, str]:
    """Name of the node behind each server address in a switch table: by InternalIP, or else by node name.

    Unknown addresses are left out. If two nodes have one address, the smaller name wins.
    """
    by_address: dict[str, str] = {}
    for name in sorted(nodes, key=str.encode):
        by_address.setdefault(nodes[name].internal_ip or name, name)
    found: dict[str, str] = {}
    for tor in table.tors:
        for server in tor.servers:
            name = by_address.get(server.address, server.address if server.address in nodes else "")
            if name:
                found[server.address] = name
    return found


def tor_records(table: TorNodeTable, nodes: Mapping[str, Node], source: str = "") -> FabricRecords:
    """Make a tier-1 HyperNode ``tor-ID`` for each switch of Ascend's switch table.

    `nodes`: nodes of the cluster, to which servers are bound by InternalIP; without any, the servers become the nodes,
    named by their addresses, with their NPUs. `source`: name of the file in notes.
    """
    notes: list[Notice] = []
    made: tuple[Node, ...] = ()
    if nodes:
        names = nodes_by_address(table, nodes)
        unbound = sum(server.address not in names for tor in table.tors for server in tor.servers)
        if unbound:
            notes.append(
                Notice(
                    "left-aside",
                    f"{counted(unbound, 'server of the switch table is', 'servers of the switch table are')} "
                    "the InternalIP of no node: left aside",
                    numbers={"count": unbound},
                )
            )
        outside = len(nodes) - len(set(names.values()))
        if outside:
            notes.append(
                Notice(
                    "nodes-without-switch",
                    f"{counted(outside, 'node is', 'nodes are')} in no switch of the switch table",
                    numbers={"count": outside},
                )
            )
    else:
        names = {server.address: server.address for tor in table.tors for server in tor.servers}
        made = tuple(make_node(s.address, allocatable={NPU: s.n_npus}) for tor in table.tors for s in tor.servers)
        if made:
            notes.append(
                Notice(
                    "named-by-address",
                    f"{source or 'the switch table'}: nodes are named by their addresses and offer NPUs only",
                )
            )
    hypernodes = tuple(
        make_hypernode(tor.name, 1, nodes=[names[s.address] for s in tor.servers if s.address in names])
        for tor in table.tors
    )
    # Not an error: the vendor's generator writes its option --num, however many servers a switch has, and a cluster
    # that has lost nodes keeps its old M (reference of switch affinity, 1 and 1.1).
    largest = max((len(tor.servers) for tor in table.tors), default=0)
    if largest and largest < table.nodes_per_tor:
        notes.append(
            Notice(
                "switch-size-differs",
                f"tor_count is {table.nodes_per_tor}, but the largest switch has {counted(largest, 'server')}",
            )
        )
    return FabricRecords(hypernodes, made, notes=tuple(notes), tors=table)


def _derive(cluster: ClusterObjects) -> FabricRecords | None:
    table = tor_table_of(cluster)
    return None if table is None else tor_records(table, cluster.nodes)


def _detect(sample: Sample) -> bool:
    # Truncated JSON is still recognised by its beginning, so that the error says what is wrong with it.
    return "server_list" in sample.keys or (sample.json is None and _PAYLOAD.match(sample.text[:4096]) is not None)


def _table_of(snapshot: ClusterSnapshot, shape: TopologyShape) -> TorNodeTable:
    """The switch table to write for a snapshot: a switch is a HyperNode with nodes of its own.

    Switches in the order of a walk over the tree, which breaks ties; if all names have the form ``tor-7``, switches
    keep these numbers, else they are numbered from 0. Servers in byte order, at positions from 0; tor_count is the
    largest switch. Addresses are the nodes' InternalIPs, or else their names; a switch's address is its name. A
    snapshot that has a switch table keeps it.
    """
    return tor_nodes_of(snapshot, _switches_of(snapshot, shape))


def _switches_of(snapshot: ClusterSnapshot, shape: TopologyShape) -> SwitchTable:
    if snapshot.switches is not None:
        return snapshot.switches
    topology = snapshot.topology
    place, _ = topology.preorder
    order = sorted((j for j in range(topology.n_domains) if shape.own[j]), key=lambda j: int(place[j]))
    seen: set[str] = set()
    rows = []
    for j in order:
        # A node under two switches stays under the first: the table cannot say more.
        nodes = [name for name in shape.own[j] if name not in seen]
        seen.update(nodes)
        rows.append((shape.names[j], shape.names[j], [(topology.node(name), k) for k, name in enumerate(nodes)]))
    return SwitchTable.build(rows, topology.n_nodes, level="double_layer")


def tor_config_map(table: TorNodeTable) -> dict[str, Any]:
    """The manifest of the ConfigMap basic-tor-node-cm with a switch table."""
    data = {"tor_info": json.dumps(as_payload(table), ensure_ascii=False)}
    if table.level:
        data["tor_level"] = table.level
    metadata = {"name": TOR_NODE_CONFIG_MAP, "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _write(snapshot: ClusterSnapshot) -> Written:
    shape = shape_of(snapshot.topology)
    table = _table_of(snapshot, shape)
    losses = losses_beside(snapshot, shape, frozenset({"tiers", "switches"}))
    switches = _switches_of(snapshot, shape)
    renamed = [
        name
        for name, address, tor in zip(switches.names, switches.addresses, table.tors, strict=True)
        if name != tor.name and address == name
    ]
    above = [name for j, name in enumerate(shape.names) if not shape.own[j] and j not in shape.empty]
    if above:
        losses.append(f"not written: {listed('HyperNode', above)} above the switches")
    if renamed:
        losses.append(f"changed: {listed('HyperNode', renamed)} became tor-NUMBER; the name stands as tor_ip")
    unknown = [name for i, name in enumerate(snapshot.topology.node_names) if not snapshot.address_of(i)]
    if unknown:
        losses.append(f"changed: the InternalIP of {listed('node', unknown)} is unknown; the name stands as server_ip")
    return Written(to_yaml([tor_config_map(table)]), tuple(losses))


TOR_NODE = FabricFormat(
    "tor-node",
    "Ascend basic-tor-node-cm (ConfigMap or payload)",
    detect=_detect,
    read=lambda text, source: tor_records(parse_tor_node(text, source), {}, source),
    derive=_derive,
    write=_write,
)
