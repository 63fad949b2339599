"""Write the nodes of a snapshot as Kubernetes manifests; reading them gives equal nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.node import Node, node_manifest
from workbench.topology.objects_of import nodes_in

__all__ = ["node_manifests"]


def node_manifests(snapshot: ClusterSnapshot, labels: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """The manifest of each node of a snapshot, in byte order of the nodes' names.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        Labels, taints, cordons, addresses and allocatable resources are written; a resource of amount 0 is left out.
    labels : mapping of str to mapping
        Further labels by node, which override the snapshot's.
    """
    nodes = sorted(nodes_in(snapshot), key=lambda node: node.name.encode())
    return [node_manifest(_with_labels(node, labels.get(node.name, {}))) for node in nodes]


def _with_labels(node: Node, labels: Mapping[str, str]) -> Node:
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, **labels}))
