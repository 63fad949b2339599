"""Read and write network topologies as GraphML text and as networkx graphs.

Entities and external references are refused (`workbench.formats.xml_input`). networkx is imported only when one of its
graphs is made.
"""

from __future__ import annotations

from typing import Any

from workbench.cluster.assemble import assemble
from workbench.errors import InputError, named_arguments
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, Written
from workbench.formats.fabric.graph import Graph, graph_of, graph_records
from workbench.formats.fabric.writing import losses_beside, shape_of
from workbench.formats.xml_input import xml_root
from workbench.model.scenario import Scenario, snapshot_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.kinds import ClusterObjects

__all__ = ["GRAPHML", "from_networkx", "route_between", "to_networkx"]

_SPACE = "http://graphml.graphdrawing.org/xmlns"
_KEEPS = frozenset({"tiers", "tier-names", "free", "empty", "resources", "labels"})


@named_arguments
def to_networkx(cluster: ClusterSnapshot | Scenario | Topology) -> Any:
    """The HyperNode tree of a snapshot or topology as a networkx DiGraph, with edges from a HyperNode to its members.

    Vertices are called by the names of HyperNodes and nodes (``HyperNode/NAME`` if a node has the HyperNode's name).
    Their attributes are ``kind``, ``tier`` and ``tierName``; nodes have ``label:KEY`` and ``allocatable:RESOURCE``, in
    base units.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.to_networkx(wb.generate_scenario("three-level-tree")).number_of_nodes()
    15
    """
    import networkx

    if isinstance(cluster, Topology):
        graph = graph_of(shape_of(cluster))
    else:
        snapshot = snapshot_of(cluster)
        graph = graph_of(shape_of(snapshot.topology), snapshot)
    result = networkx.DiGraph()
    result.add_nodes_from((vertex, attributes) for vertex, attributes in graph.vertices.items())
    result.add_edges_from(graph.edges)
    return result


def route_between(topology: Topology, a: str, b: str) -> list[str]:
    """The way between two nodes up and down the HyperNode tree, both ends included.

    Returns names of the vertices of `to_networkx` on the shortest way; empty if no HyperNode holds both nodes.

    `a`, `b`: names of nodes.
    """
    import networkx

    try:
        return [str(name) for name in networkx.shortest_path(to_networkx(topology).to_undirected(), a, b)]
    except networkx.NetworkXNoPath:
        return []


@named_arguments
def from_networkx(graph: Any) -> ClusterSnapshot:
    """Make a snapshot from a networkx graph, directed or not; vertex attributes are those of a GraphML file.

    Raises InputError: as `workbench.formats.fabric.graph.graph_records`.

    Examples
    --------
    >>> import workbench as wb
    >>> import networkx
    >>> wb.from_networkx(networkx.balanced_tree(2, 3)).topology
    Topology(8 nodes, 7 HyperNodes (4 of tier 1, 2 of tier 2, 1 of tier 3))
    """
    vertices = {str(vertex): {str(k): v for k, v in data.items()} for vertex, data in graph.nodes(data=True)}
    edges = [(str(a), str(b)) for a, b in graph.edges()]
    records = graph_records(Graph(graph.is_directed(), vertices, edges), "graph")
    cluster = ClusterObjects(
        nodes={node.name: node for node in records.nodes}, hypernodes={h.name: h for h in records.hypernodes}
    )
    return assemble(cluster, source="graph")[0]


def _read(text: str, source: str) -> FabricRecords:
    return graph_records(_parse(text, source), source)


def _parse(text: str, source: str) -> Graph:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError

    try:
        root = xml_root(text)
    except ParseError as error:
        line, column = error.position
        raise InputError(
            "not XML", source=source, where=f"line {line}, column {column + 1}", got=str(error).partition(":")[0]
        ) from None
    except DefusedXmlException as error:
        raise InputError(
            "XML that is not read", source=source, got=type(error).__name__, expected="no DTD, no entity"
        ) from None
    keys = {}
    for element in root:
        if _tag(element) == "key":
            keys[element.get("id")] = (
                element.get("attr.name") or element.get("id"),
                element.get("attr.type", "string"),
            )
    graphs = [element for element in root if _tag(element) == "graph"]
    if _tag(root) != "graphml" or len(graphs) != 1:
        got = f"<{_tag(root)}> with {len(graphs)} graphs"
        raise InputError(
            "not a GraphML file of one graph", source=source, got=got, expected="<graphml> with one <graph>"
        )
    graph = Graph(directed=graphs[0].get("edgedefault") == "directed")
    # Elements of one name share their tag.
    tags: dict[str, str] = {}
    for element in graphs[0]:
        tag = tags.get(element.tag) or tags.setdefault(element.tag, _tag(element))
        if tag == "node":
            vertex = _attribute(element, "id", source)
            if vertex in graph.vertices:
                raise InputError("the same vertex twice", source=source, got=vertex, expected="each id once")
            graph.vertices[vertex] = _attributes(element, keys, tags, source, vertex)
        elif tag == "edge":
            graph.edges.append((_attribute(element, "source", source), _attribute(element, "target", source)))
    return graph


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _attribute(element: Any, name: str, source: str) -> str:
    value = element.get(name)
    if not value:
        raise InputError(f"a {_tag(element)} without {name}", source=source, expected=f'{name}="..."')
    return str(value)


def _attributes(
    element: Any, keys: dict[Any, tuple[str, str]], tags: dict[str, str], source: str, vertex: str
) -> dict[str, Any]:
    """What the ``data`` elements of a vertex say; ``tags`` has the names of elements without their namespace."""
    found: dict[str, Any] = {}
    for data in element:
        entry = keys.get(data.get("key"))
        if entry is not None and (tags.get(data.tag) or tags.setdefault(data.tag, _tag(data))) == "data":
            name, kind = entry
            text = data.text or ""
            if kind not in ("int", "long"):
                found[name] = text
                continue
            try:
                found[name] = int(text)
            except ValueError:
                where = f"{vertex}, {name}"
                raise InputError("not a number", source=source, where=where, got=repr(text), expected=kind) from None
    return found


def _detect(sample: Sample) -> bool:
    return "<graphml" in sample.text[:4096]


def _write(snapshot: ClusterSnapshot) -> Written:
    from xml.sax.saxutils import escape, quoteattr

    shape = shape_of(snapshot.topology)
    graph = graph_of(shape, snapshot)
    names = sorted({name for attributes in graph.vertices.values() for name in attributes})
    numbers = {
        name for attributes in graph.vertices.values() for name, value in attributes.items() if type(value) is int
    }
    keys = {name: f"d{i}" for i, name in enumerate(names)}
    lines = ["<?xml version='1.0' encoding='utf-8'?>", f'<graphml xmlns="{_SPACE}">']
    for name, key in keys.items():
        kind = "long" if name in numbers else "string"
        lines.append(f'  <key id="{key}" for="node" attr.name={quoteattr(name)} attr.type="{kind}"/>')
    lines.append('  <graph edgedefault="directed">')
    for vertex, attributes in graph.vertices.items():
        inside = "".join(f'<data key="{keys[k]}">{escape(str(value))}</data>' for k, value in attributes.items())
        lines.append(f"    <node id={quoteattr(vertex)}>{inside}</node>")
    lines += [f"    <edge source={quoteattr(a)} target={quoteattr(b)}/>" for a, b in graph.edges]
    lines += ["  </graph>", "</graphml>", ""]
    return Written("\n".join(lines), tuple(losses_beside(snapshot, shape, _KEEPS)))


GRAPHML = FabricFormat(
    "graphml", "GraphML: a tree (directed) or a wiring plan (undirected)", detect=_detect, read=_read, write=_write
)
