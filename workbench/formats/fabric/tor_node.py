"""Ascend's switch table (ConfigMap basic-tor-node-cm, or its bare payload) as HyperNodes: a switch is a tier-1 one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, make_hypernode, make_node
from workbench.objects.kinds import ClusterObjects
from workbench.objects.node import Node
from workbench.objects.tor_node import TorNodeTable, parse_tor_node

__all__ = ["NPU", "TOR_NODE", "nodes_by_address", "parse_tor_node", "tor_records", "tor_table_of"]

#: What a server's npu_count counts.
NPU = "huawei.com/Ascend910"

_PAYLOAD = re.compile(r'\s*\{.*"server_list"\s*:', re.DOTALL)


def tor_table_of(cluster: ClusterObjects) -> TorNodeTable | None:
    """The table of the ConfigMap; of several, kube-system's or else the first namespace's; None where there is none."""
    configs = sorted(cluster.tor_nodes.values(), key=lambda c: (c.metadata.namespace != "kube-system", c.metadata.key))
    return configs[0].table if configs else None


def nodes_by_address(table: TorNodeTable, nodes: Mapping[str, Node]) -> dict[str, str]:
    """Per server address the node that has it for its InternalIP, or else for its name; others are left out.

    Two nodes with one address: the smaller name.
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
    """HyperNodes ``tor-ID`` of tier 1.

    Parameters
    ----------
    table : TorNodeTable
    nodes : mapping of str to Node
        Nodes of the cluster, to which servers are bound by InternalIP; without any the servers become the nodes, named
        by their addresses, with their NPUs.
    """
    notes = []
    made: tuple[Node, ...] = ()
    if nodes:
        names = nodes_by_address(table, nodes)
        unbound = sum(server.address not in names for tor in table.tors for server in tor.servers)
        if unbound:
            notes.append(f"{unbound} servers of the switch table are the InternalIP of no node: left aside")
        outside = len(nodes) - len(set(names.values()))
        if outside:
            notes.append(f"{outside} nodes are in no switch of the switch table")
    else:
        names = {server.address: server.address for tor in table.tors for server in tor.servers}
        made = tuple(make_node(s.address, allocatable={NPU: s.n_npus}) for tor in table.tors for s in tor.servers)
        if made:
            notes.append(f"{source or 'the switch table'}: nodes are named by their addresses and offer NPUs only")
    hypernodes = tuple(
        make_hypernode(tor.name, 1, nodes=[names[s.address] for s in tor.servers if s.address in names])
        for tor in table.tors
    )
    largest = max((len(tor.servers) for tor in table.tors), default=0)
    if largest and largest < table.nodes_per_tor:
        notes.append(f"tor_count is {table.nodes_per_tor}, but the largest switch has {largest} servers")
    return FabricRecords(hypernodes, made, notes=tuple(notes), tors=table)


def _read(text: str, source: str) -> FabricRecords:
    return tor_records(parse_tor_node(text, source), {}, source)


def _derive(cluster: ClusterObjects) -> FabricRecords | None:
    table = tor_table_of(cluster)
    return None if table is None else tor_records(table, cluster.nodes)


def _detect(sample: Sample) -> bool:
    # Text that is no JSON any more is still known by its beginning, so that the error says what is wrong with it.
    return "server_list" in sample.keys or (sample.json is None and _PAYLOAD.match(sample.text[:4096]) is not None)


TOR_NODE = FabricFormat(
    "tor-node", "Ascend basic-tor-node-cm (ConfigMap or payload)", detect=_detect, read=_read, derive=_derive
)
