"""`discover_ufm`: HyperNodes from the InfiniBand ports that NVIDIA's UFM lists, as Volcano's controller makes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.model.notice import Notice
from workbench.objects.fields import get_text, wrong
from workbench.topology.discovery.result import DiscoveryResult, discovered, linked_groups

__all__ = ["SOURCE", "UfmPort", "discover_ufm", "read_ufm_ports"]

SOURCE = "ufm"

#: A port of a node has this word in its description; those of switches and gateways have not.
_NODE_PORT = "Computer"

_TEXTS = ("description", "system_name", "node_description", "peer_node_name")


@dataclass(frozen=True)
class UfmPort:
    """One port in UFM's answer to ``/ufmRest/resources/ports``, reduced to the fields that Volcano reads.

    `system_name`: the machine that has the port. `peer_node_name`: the switch at the other end; empty where the port is
    not connected.
    """

    description: str
    system_name: str
    peer_node_name: str


def read_ufm_ports(data: Any) -> list[UfmPort]:
    """Read the ports of UFM's parsed answer, in order; as in Go, null is an empty list and a null port an empty one.

    Raises InputError: no list, a row that is no mapping, a field of the wrong type.
    """
    if data is None:
        return []
    if type(data) is not list:
        raise wrong("the answer", data, "a list of ports")
    ports = []
    for i, row in enumerate(data):
        where = f"[{i}]"
        if row is None:
            row = {}
        if type(row) is not dict:
            raise wrong(where, row, "a mapping")
        texts = {key: get_text(row, key, where) for key in _TEXTS}
        tier = row.get("tier")
        if tier is not None and type(tier) is not int:
            raise wrong(f"{where}.tier", tier, "a whole number")
        ports.append(UfmPort(texts["description"], texts["system_name"], texts["peer_node_name"]))
    return ports


def discover_ufm(ports: Iterable[UfmPort]) -> DiscoveryResult:
    """Make HyperNodes from the InfiniBand ports that UFM lists.

    Returns DiscoveryResult: ``leaf-hn-0``, ``leaf-hn-1``, … of tier 1, then ``spine-hn`` of tier 2 over all of them;
    empty if no row is a node's port. Source: docs/reference/volcano-topology.md, section 9.2. Leaves that share a node,
    directly or through others, are one group; groups are numbered by their smallest leaf, so that the numbers shift
    when a group comes or goes. Ports without a peer hang on one leaf without a name, as upstream; a port without a
    system is left out, because a member without a name would have the API refuse the whole HyperNode. Both are noted.
    """
    nodes_of: dict[str, set[str]] = {}
    nameless = unplugged = 0
    for port in ports:
        if _NODE_PORT not in port.description:
            continue
        if not port.system_name:
            nameless += 1
            continue
        unplugged += not port.peer_node_name
        nodes_of.setdefault(port.peer_node_name, set()).add(port.system_name)
    notes = []
    if nameless:
        notes.append(
            Notice("left-aside", f"ports without system_name are left out: {nameless}", numbers={"count": nameless})
        )
    if unplugged:
        notes.append(
            Notice(
                "ports-without-leaf",
                f"ports without peer_node_name hang on one leaf without a name, as in Volcano: {unplugged}",
                numbers={"count": unplugged},
            )
        )
    groups = linked_groups(nodes_of)
    leaves = [
        discovered(SOURCE, f"leaf-hn-{i}", 1, (node for leaf in group for node in nodes_of[leaf]), "Node")
        for i, group in enumerate(groups)
    ]
    spine = [discovered(SOURCE, "spine-hn", 2, (leaf.name for leaf in leaves), "HyperNode")] if leaves else []
    return DiscoveryResult(SOURCE, (*leaves, *spine), tuple(notes))
