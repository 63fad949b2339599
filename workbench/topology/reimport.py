"""`import_over`: draw imported objects, keeping an earlier drawing's data about nodes that the import only names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.objects.hypernode import resolve_members
from workbench.objects.kinds import ClusterObjects
from workbench.objects.node import Node
from workbench.objects.selectors import NameIndex
from workbench.topology.draft import Draft
from workbench.topology.draft_objects import draft_of, nodes_of

__all__ = ["import_over"]


def import_over(draft: Draft, cluster: ClusterObjects) -> Draft:
    """Make a drawing of imported objects, completed with an earlier drawing's data about nodes of equal names.

    `draft`: the earlier drawing; not changed. `cluster`: the import. If it has no Node, the patterns, label selectors
    and exact names of its HyperNodes select nodes of the earlier drawing, and nodes that are not selected are dropped.

    Returns
    -------
    Draft
        A node that the import describes with resources is as described. A node that the import only names keeps its
        resources, taints, address and cordon. In both cases labels and annotations are merged, and those of the import
        take precedence.
    """
    known = {node.name: node for node in nodes_of(draft)}
    imported = cluster.nodes or _selected(known, cluster)
    nodes = [_with_known(node, known[name]) if name in known else node for name, node in imported.items()]
    return draft_of(cluster.hypernodes.values(), nodes)


def _selected(known: Mapping[str, Node], cluster: ClusterObjects) -> dict[str, Node]:
    """Nodes of the earlier drawing, `known`, that members of the imported HyperNodes select, by name."""
    names = list(known)
    index = NameIndex(names, [node.metadata.labels for node in known.values()])
    members = [member for hypernode in cluster.hypernodes.values() for member in hypernode.members]
    index.prepare(member.selector.pattern or "" for member in members if member.selector.exact is None)
    found = {i for hypernode in cluster.hypernodes.values() for i in resolve_members(hypernode, index)[0]}
    return {names[i]: known[names[i]] for i in sorted(found)}


def _with_known(node: Node, known: Node) -> Node:
    was, now = known.metadata, node.metadata
    metadata = replace(now, labels={**was.labels, **now.labels}, annotations={**was.annotations, **now.annotations})
    if node.allocatable:
        return replace(node, metadata=metadata)
    return replace(
        known,
        metadata=metadata,
        taints=node.taints or known.taints,
        unschedulable=node.unschedulable or known.unschedulable,
        not_ready=node.not_ready or known.not_ready,
        internal_ip=node.internal_ip or known.internal_ip,
    )
