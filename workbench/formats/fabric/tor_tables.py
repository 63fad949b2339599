"""Convert a snapshot's leaf switches to and from Ascend's ConfigMaps basic-tor-node-cm and tor-share-cm."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from workbench.formats.fabric.base import FabricFormat, Written
from workbench.formats.fabric.writing import losses_beside, shape_of
from workbench.formats.write_manifests import to_yaml
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.resources import is_gpu_resource
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switches import SHARED, SwitchStates, SwitchTable
from workbench.model.topology import Topology
from workbench.objects.kinds import TOR_SHARE_CONFIG_MAP
from workbench.objects.tor_node import Tor, TorNodeTable, TorServer
from workbench.objects.tor_share import KEY, TorShare, TorShareNode, share_payload

__all__ = [
    "TOR_SHARE",
    "share_config_map",
    "share_manifest",
    "share_of",
    "states_of_share",
    "switch_table_of",
    "tor_name_number",
    "tor_nodes_of",
    "with_share",
]

#: No gang is published under another name.
_NOBODY: Mapping[str, str] = MappingProxyType({})

_TOR_NAME = re.compile(r"tor-(0|[1-9][0-9]{0,8})\Z")


def tor_name_number(name: str) -> int | None:
    """The number at the end of a HyperNode name such as ``tor-7``; None for names of another form."""
    found = _TOR_NAME.match(name)
    return int(found[1]) if found is not None else None


def switch_table_of(tors: TorNodeTable, node_names: Mapping[str, str], topology: Topology) -> SwitchTable:
    """The leaf switches of the ConfigMap basic-tor-node-cm, with the cluster's node indices.

    `node_names`: node of each server address; servers without one are unusable and left out. `topology`: topology of
    the cluster: a switch gets the name of the tier-1 HyperNode with exactly its nodes, else ``tor-ID``.
    """
    names = {
        frozenset(topology.nodes_of(int(d)).tolist()): topology.domain_name(int(d)) for d in topology.domains_at(1)
    }
    rows = []
    for tor in tors.tors:
        bound = [(s, node_names[s.address]) for s in tor.servers if s.address in node_names]
        entries = [(topology.node(name), server.position) for server, name in bound if topology.has_node(name)]
        name = names.get(frozenset(node for node, _ in entries), tor.name)
        rows.append((name, tor.address, entries))
    preset = SwitchStates(
        np.array([tor.shared for tor in tors.tors], dtype=np.int8),
        np.array([tor.unhealthy == 1 for tor in tors.tors], dtype=np.bool_),
    )
    return SwitchTable.build(rows, topology.n_nodes, tors.nodes_per_tor, preset, tors.level)


def tor_nodes_of(snapshot: ClusterSnapshot, table: SwitchTable) -> TorNodeTable:
    """A snapshot's leaf switches in the form of the ConfigMap basic-tor-node-cm.

    Servers are identified by their node's InternalIP, or else by the node's name.
    """
    numbers = [tor_name_number(name) for name in table.names]
    own = all(number is not None for number in numbers) and len(set(numbers)) == len(numbers)
    columns = [i for i, name in enumerate(snapshot.resources) if is_gpu_resource(name)]
    npus = snapshot.allocatable[:, columns].sum(axis=1)
    tors = []
    for i, name in enumerate(table.names):
        servers = tuple(
            TorServer(
                snapshot.address_of(node) or snapshot.topology.node_names[node],
                int(npus[node]),
                int(table.node_position[node]),
            )
            for node in table.nodes_of(i).tolist()
        )
        number = numbers[i] if own else i
        state, unhealthy = int(table.preset.state[i]), int(table.preset.unhealthy[i])
        tors.append(Tor(i if number is None else number, table.addresses[i] or name, servers, state, unhealthy))
    return TorNodeTable(tuple(tors), table.nodes_per_switch, table.level)


def share_of(snapshot: ClusterSnapshot, owners: Mapping[str, str] = _NOBODY) -> dict[str, TorShare]:
    """State of every leaf switch by its address, as the scheduler publishes it in tor-share-cm.

    `owners`: name to publish for the gang of a running pod, by the gang's key; a gang without an entry is published by
    its own name. Empty without switches.
    """
    book, topology = snapshot.ledger().switches, snapshot.topology
    if book is None:
        return {}
    table, states = book.table, book.states()
    jobs: dict[int, list[str]] = {}
    for pod in snapshot.running:
        name = owners.get(pod.gang) or pod.gang.partition("/")[2]
        if name and pod.node >= 0 and name not in jobs.setdefault(pod.node, []):
            jobs[pod.node].append(name)
    return {
        table.addresses[i] or name: TorShare(
            int(states.state[i]),
            int(states.unhealthy[i]),
            tuple(
                TorShareNode(snapshot.address_of(node), topology.node_names[node], tuple(sorted(jobs.get(node, ()))))
                for node in table.nodes_of(i).tolist()
            ),
        )
        for i, name in enumerate(table.names)
    }


def share_manifest(snapshot: ClusterSnapshot, owners: Mapping[str, str] = _NOBODY) -> dict[str, Any]:
    """The ConfigMap tor-share-cm with the switch states of a snapshot; `owners` as in `share_of`."""
    data = {KEY: json.dumps(share_payload(share_of(snapshot, owners)), ensure_ascii=False)}
    metadata = {"name": TOR_SHARE_CONFIG_MAP, "namespace": "volcano-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def share_config_map(snapshot: ClusterSnapshot) -> str:
    """The ConfigMap tor-share-cm with the switch states of a snapshot, as YAML text."""
    return to_yaml([share_manifest(snapshot)])


def states_of_share(share: Mapping[str, TorShare], table: SwitchTable) -> SwitchStates:
    """Switch states from tor-share-cm in the order of `table`; a switch that the ConfigMap does not name is idle."""
    rows = [share.get(table.addresses[i] or name, TorShare(0, 0)) for i, name in enumerate(table.names)]
    return SwitchStates(
        np.array([row.shared for row in rows], dtype=np.int8),
        np.array([row.unhealthy == 1 and row.shared == SHARED for row in rows], dtype=np.bool_),
    )


def with_share(snapshot: ClusterSnapshot, share: Mapping[str, TorShare]) -> tuple[ClusterSnapshot, Sequence[Notice]]:
    """A snapshot in which the switch states of the ConfigMap tor-share-cm are taken into account.

    If the input has no running pod, the states of the ConfigMap become preset states, in addition to those of the
    switch table. Otherwise the pods' annotations decide, as in Ascend's plugin, and the gaps report differences. The
    gaps also report switches that the cluster does not have.

    Returns
    -------
    ClusterSnapshot
    gaps : sequence of Notice
    """
    book = snapshot.ledger().switches
    if book is None:
        return snapshot, [Notice("no-switches", "tor-share-cm is of no use without switches")]
    table, told = book.table, states_of_share(share, book.table)
    known = {table.addresses[i] or name for i, name in enumerate(table.names)}
    unknown = [address for address in share if address not in known]
    gaps = []
    if unknown:
        text = (
            f"tor-share-cm tells of {counted(len(unknown), 'switch that is', 'switches that are')} not here: "
            f"{unknown[0]}"
        )
        gaps.append(Notice("unknown-switch", text, numbers={"count": len(unknown)}))
    if not snapshot.running:
        text = "no running pod in the input: the states of the switches are those of tor-share-cm"
        return snapshot.with_switches(table.with_preset(table.preset.combined_with(told))), [
            *gaps,
            Notice("switch-states-assumed", text),
        ]
    found = book.states()
    differing = [name for i, name in enumerate(table.names) if told.name(i) != found.name(i)]
    if not differing:
        return snapshot, gaps
    first = table.names.index(differing[0])
    text = (
        "tor-share-cm and the annotations of running pods differ on "
        f"{counted(len(differing), 'switch', 'switches')}, the pods count: "
        f"{differing[0]} is {told.name(first)} there, {found.name(first)} by the pods"
    )
    return snapshot, [*gaps, Notice("switch-states-differ", text, numbers={"count": len(differing)})]


def _write_share(snapshot: ClusterSnapshot) -> Written:
    losses = losses_beside(snapshot, shape_of(snapshot.topology))
    return Written(share_config_map(snapshot), tuple(losses))


TOR_SHARE = FabricFormat(
    "tor-share", "Ascend tor-share-cm: states of the switches, and the jobs on their nodes", write=_write_share
)
