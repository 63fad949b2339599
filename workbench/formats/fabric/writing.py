"""Helpers of all topology writers: a snapshot's HyperNode tree as lists, its nodes as manifests, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from workbench.model.counted import counted, name_list
from workbench.model.labels import NODE_NAME_FIELD
from workbench.model.resources import PODS, UNLIMITED
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.node import Node, node_manifest
from workbench.topology.objects_of import nodes_in

__all__ = ["TopologyShape", "listed", "losses_beside", "node_manifests", "shape_of"]


@dataclass(frozen=True, eq=False)
class TopologyShape:
    """The HyperNode tree of a topology as plain lists, for writers.

    `own`: for each HyperNode the nodes that are in none of its children, in byte order. `children`: for each HyperNode
    the indices of its children, in byte order of their names.
    """

    topology: Topology
    own: list[list[str]]
    children: list[list[int]]

    @property
    def names(self) -> tuple[str, ...]:
        return self.topology.domain_names

    @cached_property
    def root_first(self) -> list[int]:
        """Indices of the HyperNodes by depth, roots first, then in byte order of their names."""
        depth = self.topology.forest.depth
        return [int(j) for j in np.lexsort((self.topology.domain_rank, depth))]

    @cached_property
    def height(self) -> list[int]:
        """Height of each HyperNode: 1 without children, else one more than its highest child."""
        height = [1] * len(self.names)
        for j in reversed(self.root_first):
            parent = int(self.topology.parent[j])
            if parent >= 0:
                height[parent] = max(height[parent], height[j] + 1)
        return height

    @cached_property
    def empty(self) -> list[int]:
        """Indices of the HyperNodes that hold no node."""
        return [j for j in range(len(self.names)) if not len(self.topology.nodes_of(j))]

    @cached_property
    def free(self) -> list[str]:
        """Names of the nodes in no HyperNode, in byte order."""
        return [self.topology.node_names[i] for i in self.topology.direct_nodes_of(-1)]


def shape_of(topology: Topology) -> TopologyShape:
    """The nodes and children of each HyperNode of a topology as plain lists."""
    domains = range(topology.n_domains)
    own = [[topology.node_names[i] for i in topology.direct_nodes_of(j)] for j in domains]
    return TopologyShape(topology, own, [topology.children[j].tolist() for j in domains])


def listed(what: str, names: Sequence[str]) -> str:
    """A number of things and the first names or ranges of names as text: ``2 nodes (a, b)``; `what` is the noun."""
    return f"{counted(len(names), what)} ({name_list(names)})"


def losses_beside(snapshot: ClusterSnapshot, shape: TopologyShape, keeps: frozenset[str] = frozenset()) -> list[str]:
    """One sentence for each part of a snapshot that a format does not hold.

    `shape`: the topology of the snapshot as lists. `keeps`: parts that the format holds: any of ``tiers``,
    ``tier-names``, ``free`` (nodes in no HyperNode), ``empty`` (HyperNodes without nodes), ``resources``, ``labels``,
    ``taints``, ``switches``. GPUs, matrices, queues and running pods are held by the snapshot format alone.
    """
    topology = snapshot.topology
    found: dict[str, str | None] = {
        "empty": listed("HyperNode", [shape.names[j] for j in shape.empty]) + " without nodes" if shape.empty else None,
        "free": f"{listed('node', shape.free)} in no HyperNode" if shape.free else None,
        "tiers": _other_tiers(shape),
        "tier-names": _loss("tier name", sum(1 for name in set(topology.tier_names) if name)),
        "resources": _loss(
            "node", int(_declared(snapshot).any(axis=1).sum()), " with resources (the format cluster holds them)"
        ),
        "labels": _loss("label key", len(set(snapshot.labels.columns) - {NODE_NAME_FIELD}), " of nodes"),
        "taints": _loss("node", _restricted(snapshot), " with taints, cordoned or not ready"),
        "gpus": _loss("node", _odd_gpus(snapshot), " whose GPUs are not all healthy and free"),
        "switches": None if snapshot.switches is None else "the switch table (order, addresses, positions, states)",
        "matrices": _loss("bandwidth matrix", len(snapshot.matrices)),
        "queues": _loss("queue", len(set(snapshot.queues) - {"default"})),
        "running": _loss("running pod", len(snapshot.running)),
        "problems": _loss("problem", len(topology.problems), " of the topology (see topology lint)"),
    }
    return [f"not written: {text}" for aspect, text in found.items() if text is not None and aspect not in keeps]


def _loss(what: str, count: int, more: str = "") -> str | None:
    many = f"{what[:-1]}ces" if what.endswith("matrix") else ""
    return f"{counted(count, what, many)}{more}" if count else None


def _other_tiers(shape: TopologyShape) -> str | None:
    tiers = shape.topology.tier.tolist()
    other = [shape.names[j] for j in range(len(tiers)) if tiers[j] != shape.height[j]]
    return f"the tier of {listed('HyperNode', other)}, which is not its height" if other else None


def _declared(snapshot: ClusterSnapshot) -> np.ndarray:
    amounts = snapshot.allocatable.copy()
    pods = snapshot.resources.index(PODS)
    amounts[amounts[:, pods] == UNLIMITED, pods] = 0
    return amounts > 0


def _restricted(snapshot: ClusterSnapshot) -> int:
    tainted = np.array([bool(some) for some in snapshot.taints.sets] + [False], dtype=np.bool_)
    codes = snapshot.taints.codes
    return int((tainted[codes] | snapshot.closed).sum()) if len(codes) else 0


def _odd_gpus(snapshot: ClusterSnapshot) -> int:
    counted = snapshot.allocatable[:, list(snapshot.gpu_columns)].sum(axis=1)
    free = np.bitwise_count(snapshot.gpu_free).sum(axis=1)
    return int((free != counted).sum())


def node_manifests(snapshot: ClusterSnapshot, labels: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """The manifest of each node of a snapshot, in byte order of the nodes' names.

    `snapshot`: labels, taints, cordons, addresses and allocatable resources are written; a resource of amount 0 is left
    out. `labels`: further labels by node, which override the snapshot's.
    """
    nodes = sorted(nodes_in(snapshot), key=lambda node: node.name.encode())
    return [node_manifest(_with_labels(node, labels.get(node.name, {}))) for node in nodes]


def _with_labels(node: Node, labels: Mapping[str, str]) -> Node:
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, **labels}))
