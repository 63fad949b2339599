"""Readers of NetQ's JSON files: the topology graph of an Ethernet fabric, and the inventory of compute nodes.

The two files are read one by one and joined by node name like any other inputs: the graph gives the HyperNodes, the
inventory each node's number of GPUs and NVLink domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, make_node
from workbench.formats.fabric.hosts import hosts_aside, some
from workbench.formats.fabric.smallest_cut import Wiring
from workbench.formats.fabric.switch_groups import apart_notices, group_switches, switch_ranks, weak_joins
from workbench.formats.fabric.topograph import DOMAIN_LABEL
from workbench.model.notice import Notice
from workbench.objects.fields import get_list, get_maps, get_text, wrong

__all__ = ["NETQ_GRAPH", "NETQ_INVENTORY", "read_netq_graph", "read_netq_inventory"]

_GPUS = "nvidia.com/gpu"


def read_netq_graph(text: str, source: str) -> FabricRecords:
    """Read HyperNodes and nodes from NetQ's topology graph; `source` is the file's name.

    Devices of type ``switch`` are switches, all others hosts, by their names. Tiers are distances from the nodes
    (`switch_ranks`), not NetQ's own, which only order the picture. Hosts that are storage, service hosts or fabric
    managers by name (`hosts_aside`) are no nodes. Raises InputError: no devices, a link to a device that the file
    lacks, or two devices of one name; the field is named.
    """
    graph = _parse(text, source)
    if isinstance(graph, list):
        if len(graph) != 1:
            raise InputError("not one graph", source=source, got=f"a list of {len(graph)}", expected="a list of one")
        graph = graph[0]
    try:
        return _graph(graph)
    except InputError as error:
        raise error.at(source=source) from None


def _graph(graph: Any) -> FabricRecords:
    if type(graph) is not dict:
        raise wrong("", graph, "a graph with nodes and links")
    names: dict[str, str] = {}
    taken: set[str] = set()
    switches: set[str] = set()
    for path, device in _devices(graph, "nodes"):
        which = get_text(device, "id", path)
        name = get_text(device, "name", path) or which
        if not which:
            raise wrong(f"{path}.id", None, "the device's id")
        if which in names or name in taken:
            raise InputError("the same device twice", where=path, got=name, expected="each device once")
        names[which] = name
        taken.add(name)
        if get_text(device, "device_type", path) == "switch":
            switches.add(which)
    if not names:
        raise wrong("nodes", None, "groups with compounded_nodes")
    aside = hosts_aside(n for i, n in names.items() if i not in switches)
    attached: dict[str, set[str]] = {names[i]: set() for i in switches}
    links: dict[str, set[str]] = {names[i]: set() for i in switches}
    cables: Counter[tuple[str, str]] = Counter()
    for path, link in get_maps(graph, "links", ""):
        ends = [get_text(link, key, path) for key in ("src", "target")]
        for key, end in zip(("src", "target"), ends, strict=True):
            if end not in names:
                raise wrong(f"{path}.{key}", end or None, "the id of a device in nodes")
        if switches.issuperset(ends):
            low, high = sorted((names[end] for end in ends), key=str.encode)
            cables[low, high] += 1
        for a, b in (ends, ends[::-1]):
            if a in switches and b in switches:
                links[names[a]].add(names[b])
            elif a in switches and names[b] not in aside:
                attached[names[a]].add(names[b])
    hosts = sorted((n for i, n in names.items() if i not in switches and n not in aside), key=str.encode)
    notes = []
    if aside:
        text = f"storage and management, not nodes: {some(sorted(aside, key=str.encode))}"
        notes.append(Notice("left-aside", text, numbers={"count": len(aside)}))
    notes += apart_notices(set(hosts).difference(*attached.values()))
    ranks = switch_ranks(attached, links)
    notes += weak_joins(attached)
    notes += apart_notices(switches=set(attached) - set(ranks))
    hypernodes = group_switches(attached, links, ranks, notes)
    return FabricRecords(
        hypernodes, tuple(make_node(name) for name in hosts), notes=tuple(notes), wiring=Wiring(attached, cables)
    )


def _devices(group: Mapping[str, Any], key: str, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All devices in a group and its nested groups, in order, each with its path."""
    waiting = list(get_maps(group, key, where))[::-1]
    while waiting:
        path, item = waiting.pop()
        inner = list(get_maps(item, "compounded_nodes", path))
        if inner:
            waiting += inner[::-1]
        elif item.get("node_type", "device") == "device":
            yield path, item


def read_netq_inventory(text: str, source: str) -> FabricRecords:
    """Read nodes from NetQ's inventory of compute nodes, with their number of GPUs and the label `DOMAIN_LABEL`.

    Raises InputError: a node without a name, or named twice; the field is named.
    """
    nodes: dict[str, Any] = {}
    unhealthy = []
    try:
        for path, item in get_maps({"": _parse(text, source)}, "", ""):
            name = get_text(item, "Name", path)
            if not name:
                raise wrong(f"{path}.Name", item.get("Name"), "the node's name")
            if name in nodes:
                raise InputError("the same node twice", where=f"{path}.Name", got=name, expected="each node once")
            domain = get_text(item, "DomainUUID", path)
            gpus = len(get_list(item, "GpuIDList", path))
            nodes[name] = make_node(name, {DOMAIN_LABEL: domain} if domain else {}, {_GPUS: gpus} if gpus else {})
            if get_text(item, "Health", path) not in ("", "HEALTHY"):
                unhealthy.append(name)
    except InputError as error:
        raise error.at(source=source) from None
    text = f"not healthy says NetQ, taken like the others: {some(sorted(unhealthy))}"
    notes = (Notice("unhealthy-nodes", text, numbers={"count": len(unhealthy)}),) if unhealthy else ()
    return FabricRecords(nodes=tuple(nodes[name] for name in sorted(nodes, key=str.encode)), notes=notes)


def _parse(text: str, source: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {error.msg}", source=source, where=where, expected="JSON from NetQ") from None


def _first(sample: Sample) -> Mapping[str, Any]:
    """The first object of a JSON list, or the object itself if the text is no list."""
    value = sample.json
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}


def _is_graph(sample: Sample) -> bool:
    first = _first(sample)
    groups = first.get("nodes")
    return (
        {"links", "nodes"} <= first.keys()
        and isinstance(groups, list)
        and any(isinstance(group, dict) and "compounded_nodes" in group for group in groups)
    )


def _is_inventory(sample: Sample) -> bool:
    return isinstance(sample.json, list) and {"Name", "DomainUUID"} <= _first(sample).keys()


NETQ_GRAPH = FabricFormat("netq", "NetQ topology graph (JSON)", detect=_is_graph, read=read_netq_graph)
NETQ_INVENTORY = FabricFormat(
    "netq-inventory", "NetQ inventory of compute nodes (JSON)", detect=_is_inventory, read=read_netq_inventory
)
