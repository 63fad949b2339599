"""Convert a graph of nodes and switches to HyperNodes, and back; used for GraphML and networkx.

A directed graph is a tree of containment, edges from the HyperNode to what is inside it. An undirected one is a wiring
plan: hosts and switches with the links between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricRecords, make_node, switch_heights
from workbench.formats.fabric.hosts import host_role, hosts_aside, some
from workbench.formats.fabric.switch_groups import group_switches, group_tree, switch_ranks, weak_joins
from workbench.formats.fabric.writing import TopologyShape
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.hypernode import HyperNode, make_hypernode
from workbench.objects.node import Node
from workbench.topology.objects_of import nodes_in

__all__ = ["Graph", "graph_of", "graph_records"]

#: Prefixes of the attributes that hold a node's labels and resources (base units).
LABEL, ALLOCATABLE = "label:", "allocatable:"

_KIND_KEYS = ("kind", "type", "role")
_NODE_KINDS = frozenset({"node", "host", "server", "compute", "machine", "worker"})
_SWITCH_KINDS = frozenset({"hypernode", "switch", "leaf", "spine", "core", "tor", "router", "rack", "block"})


@dataclass
class Graph:
    """A graph: attributes of each vertex by its id, and edges as pairs of ids."""

    directed: bool
    vertices: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)


def graph_of(shape: TopologyShape, snapshot: ClusterSnapshot | None = None) -> Graph:
    """The HyperNode tree of a topology as a graph, with node labels and resources of the snapshot if one is given.

    Vertex ids are names, but ``HyperNode/NAME`` if a node has the name of a HyperNode.
    """
    topology = shape.topology
    graph = Graph(directed=True)
    ids = [f"HyperNode/{name}" if topology.has_node(name) else name for name in shape.names]
    for j in shape.root_first:
        attributes: dict[str, Any] = {"kind": "HyperNode", "tier": int(topology.tier[j])}
        if topology.tier_names[j]:
            attributes["tierName"] = topology.tier_names[j]
        if ids[j] != shape.names[j]:
            attributes["name"] = shape.names[j]
        graph.vertices[ids[j]] = attributes
    said = {} if snapshot is None else {node.name: _said(node) for node in nodes_in(snapshot)}
    for name in sorted(topology.node_names, key=str.encode):
        graph.vertices[name] = {"kind": "Node", **said.get(name, {})}
    for j in shape.root_first:
        graph.edges += [(ids[j], ids[c]) for c in shape.children[j]]
        graph.edges += [(ids[j], name) for name in shape.own[j]]
    return graph


def _said(node: Node) -> dict[str, Any]:
    said: dict[str, Any] = {f"{LABEL}{key}": value for key, value in node.metadata.labels.items()}
    return said | {f"{ALLOCATABLE}{name}": amount for name, amount in node.allocatable.items()}


def graph_records(graph: Graph, source: str) -> FabricRecords:
    """Convert a graph to HyperNodes and nodes; `source` names the graph in errors.

    A vertex is a node if its attribute ``kind``, ``type`` or ``role`` says so (node, host, server, …). Without such
    attributes, the nodes are the vertices without an outgoing edge (directed graph) or with at most one link
    (undirected graph).

    In a directed graph a HyperNode's tier is its attribute ``tier``. If no vertex has one, tiers are heights, and
    redundant switches are one HyperNode (`group_tree`). In an undirected graph the rank of a switch is its distance to
    the nearest node, and switches are joined as `group_switches` says; storage, management and login hosts are left
    aside, with a notice.

    Raises InputError: no node, an edge to a missing vertex, two vertices of one kind with one name, a bad attribute.
    """
    names = {vertex: str(attributes.get("name") or vertex) for vertex, attributes in graph.vertices.items()}
    for a, b in graph.edges:
        for end in (a, b):
            if end not in names:
                raise InputError(
                    "an edge to a vertex that is not there", source=source, where=f"edge {a} - {b}", got=end
                )
    hosts = _hosts(graph)
    if not hosts:
        raise InputError("no node in it", source=source, got=f"{len(names)} vertices", expected="a vertex of kind node")
    aside = set() if graph.directed else _aside(graph, hosts, names)
    hosts -= aside
    nodes = _nodes([(names[v], attributes) for v, attributes in graph.vertices.items() if v in hosts], source)
    _check_distinct([node.name for node in nodes], "node", source)
    _check_distinct([names[v] for v in graph.vertices if v not in hosts and v not in aside], "HyperNode", source)
    notes: list[Notice] = []
    if aside:
        text = f"{source}: hosts that are no compute nodes: {some(sorted((names[v] for v in aside), key=str.encode))}"
        notes.append(Notice("left-aside", text, numbers={"count": len(aside)}))
    if graph.directed:
        hypernodes = _contained(graph, hosts, names, source, notes)
    else:
        hypernodes = _wired(graph, hosts, aside, names, source, notes)
    return FabricRecords(hypernodes, tuple(nodes), notes=tuple(notes))


def _hosts(graph: Graph) -> set[str]:
    said: dict[str, str] = {}
    for vertex, attributes in graph.vertices.items():
        for key in _KIND_KEYS:
            kind = str(attributes.get(key, "")).lower()
            if kind in _NODE_KINDS or kind in _SWITCH_KINDS:
                said[vertex] = kind
                break
    if any(kind in _NODE_KINDS for kind in said.values()):
        return {vertex for vertex, kind in said.items() if kind in _NODE_KINDS}
    degree = dict.fromkeys(graph.vertices, 0)
    for a, b in graph.edges:
        degree[a] += 1
        if not graph.directed:
            degree[b] += 1
    most = 0 if graph.directed else 1
    return {vertex for vertex, count in degree.items() if count <= most and vertex not in said}


def _aside(graph: Graph, hosts: set[str], names: Mapping[str, str]) -> set[str]:
    """Vertices that are hosts, but no compute nodes: by their kind, or among `hosts` by their names."""
    by_name = hosts_aside(names[v] for v in hosts)
    kinds = {v: str(next((a[key] for key in _KIND_KEYS if key in a), "")) for v, a in graph.vertices.items()}
    return {
        v
        for v, kind in kinds.items()
        if (v in hosts and names[v] in by_name) or host_role(kind) not in ("compute", "unnamed")
    }


def _nodes(named: Sequence[tuple[str, Mapping[str, Any]]], source: str) -> list[Node]:
    """Make the nodes of vertices, which are given as names and attributes."""
    # What each attribute is, and the label or resource that it says: nodes have the same ones.
    meanings: dict[str, tuple[str, str]] = {}
    nodes = []
    for name, attributes in named:
        labels: dict[str, str] = {}
        allocatable: dict[str, int] = {}
        for key, value in attributes.items():
            meaning = meanings.get(key)
            if meaning is None:
                prefix = next((prefix for prefix in (LABEL, ALLOCATABLE) if key.startswith(prefix)), "")
                meaning = meanings[key] = prefix, key[len(prefix) :]
            prefix, what = meaning
            if prefix == LABEL:
                labels[what] = str(value)
            elif prefix == ALLOCATABLE:
                if type(value) is not int or not 0 <= value < 2**63:
                    raise InputError("not an amount", source=source, where=f"{name}, {key}", got=repr(value))
                allocatable[what] = value
        nodes.append(make_node(name, labels, allocatable))
    return nodes


def _check_distinct(names: Sequence[str], kind: str, source: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two vertices are the {kind} {twice}", source=source, expected="each name once")


def _contained(
    graph: Graph, hosts: set[str], names: Mapping[str, str], source: str, notes: list[Notice]
) -> tuple[HyperNode, ...]:
    children: dict[str, list[str]] = {names[v]: [] for v in graph.vertices if v not in hosts}
    nodes: dict[str, list[str]] = {name: [] for name in children}
    for a, b in graph.edges:
        if a in hosts:
            raise InputError(
                "an edge out of a node", source=source, where=f"edge {a} - {b}", expected="HyperNode to node"
            )
        (nodes if b in hosts else children)[names[a]].append(names[b])
    attributes = {names[v]: graph.vertices[v] for v in graph.vertices if v not in hosts}
    if not any("tier" in said for said in attributes.values()):
        tier_names = {name: str(said.get("tierName", "")) for name, said in attributes.items()}
        return group_tree(children, nodes, notes, tier_names)
    result = []
    for name, height in switch_heights(children, nodes).items():
        said = attributes[name]
        tier = said.get("tier", height)
        if type(tier) is not int or not -(2**31) <= tier < 2**31:
            raise InputError("not a tier", source=source, where=name, got=repr(tier), expected="a whole number")
        tier_name = str(said.get("tierName", ""))
        result.append(make_hypernode(name, tier, nodes=nodes[name], children=children[name], tier_name=tier_name))
    return tuple(result)


def _wired(
    graph: Graph, hosts: set[str], aside: set[str], names: Mapping[str, str], source: str, notes: list[Notice]
) -> tuple[HyperNode, ...]:
    attached: dict[str, dict[str, None]] = {names[v]: {} for v in graph.vertices if v not in hosts and v not in aside}
    links: dict[str, dict[str, None]] = {switch: {} for switch in attached}
    for a, b in graph.edges:
        for one, other in ((a, b), (b, a)):
            if one not in hosts and one not in aside and other not in aside:
                (attached if other in hosts else links)[names[one]][names[other]] = None
    ranks = switch_ranks(attached, links)
    lost = len(attached) - len(ranks)
    if lost:
        notes.append(
            Notice(
                "switches-without-nodes",
                f"{source}: {counted(lost, 'switch is', 'switches are')} linked to no node: left aside",
                numbers={"count": lost},
            )
        )
    notes += weak_joins(attached)
    return group_switches(attached, links, ranks, notes)
