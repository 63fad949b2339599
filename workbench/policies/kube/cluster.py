"""`KubeCluster`: nodes as kube-scheduler sees them, and what the pods on them hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.model.cluster_facts import ClusterFacts
from workbench.model.labels import FilterCache, NodeFilter, NodeLabels, NodeTaints, Toleration
from workbench.model.ledger import Ledger
from workbench.model.pod_counts import PodCounts
from workbench.model.resources import ASSUMED, request_vector
from workbench.model.value import Value, Working
from workbench.policies.kube.shape import PodShape

__all__ = ["KubeCluster", "KubeNodes", "follow_searches"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Bytes of the block that `_keep_freed_memory` frees; glibc takes no notice of more than 32 MiB.
_BLOCK = 16 << 20

#: Where a snapshot keeps its `KubeNodes`, beside its cached properties: copies do not get it.
_KEPT = "kube_nodes"

#: Where the ledger of a session keeps `KubeCluster.start`.
_START = "kube_start"


@dataclass(frozen=True, eq=False)
class KubeNodes(Value):
    """The nodes of a cluster, without pods.

    `unschedulable`: ndarray of shape (n,), bool. `resources`: columns of `allocatable`; cpu, memory and pods are among
    them. `allocatable`: ndarray of shape (n, r), int64; base units. `closed`: ndarray of shape (n,), bool; nodes that
    no pod may use whatever it tolerates, such as nodes that are not ready.
    """

    names: tuple[str, ...]
    labels: NodeLabels
    taints: NodeTaints
    unschedulable: Mask
    resources: tuple[str, ...]
    allocatable: Longs
    closed: Mask

    @classmethod
    def of_snapshot(cls, snapshot: ClusterFacts) -> KubeNodes:
        """The nodes of a snapshot, in its order: one value as long as the snapshot lives, with what it has derived."""
        kept: KubeNodes | None = snapshot.__dict__.get(_KEPT)
        if kept is not None:
            return kept
        _keep_freed_memory()
        nodes = snapshot.__dict__[_KEPT] = cls(
            snapshot.topology.node_names,
            snapshot.labels,
            snapshot.taints,
            snapshot.unschedulable,
            snapshot.resources,
            snapshot.allocatable,
            snapshot.not_ready,
        )
        nodes.__dict__["rank"] = snapshot.topology.node_rank
        return nodes

    @property
    def n(self) -> int:
        return len(self.names)

    @cached_property
    def by_name(self) -> Ints:
        """Nodes in the byte order of their names: int32 of shape (n,), read-only."""
        order = np.argsort(self.rank).astype(np.int32)
        order.flags.writeable = False
        return order

    def selected(self, condition: NodeFilter) -> Mask:
        """Nodes whose labels meet a filter without tolerations, whatever their taints: read-only bool (n,)."""
        return self._by_labels.mask(condition)

    def tolerated(self, tolerations: tuple[Toleration, ...]) -> Mask:
        """Nodes whose taints NoSchedule and NoExecute are tolerated: bool of shape (n,), read-only."""
        return self._by_taints.mask(NodeFilter(tolerations=tolerations))

    def avoided(self, tolerations: tuple[Toleration, ...]) -> Longs | None:
        """Untolerated PreferNoSchedule taints of each node: int64 of shape (n,); None if no node has any."""
        return self._by_taints.avoided(tolerations)

    @cached_property
    def _by_labels(self) -> FilterCache:
        untainted = NodeTaints(((),), np.zeros(self.n, dtype=np.int32))
        return FilterCache(self.labels, untainted, np.zeros(self.n, dtype=np.bool_))

    @cached_property
    def _by_taints(self) -> FilterCache:
        return FilterCache(self.labels, self.taints, np.zeros(self.n, dtype=np.bool_))

    @cached_property
    def rank(self) -> Ints:
        """Place of each node in the byte order of names: int32 of shape (n,)."""
        rank = np.empty(self.n, dtype=np.int32)
        rank[sorted(range(self.n), key=lambda i: self.names[i].encode())] = np.arange(self.n, dtype=np.int32)
        return rank

    def codes(self, key: str) -> tuple[Ints, int]:
        """Values of a label key as numbers, int32 (n,), -1 for nodes without the key; and how many values there are."""
        found = self.labels.columns.get(key)
        if found is None:
            return np.full(self.n, -1, dtype=np.int32), 0
        return found[0], len(found[1])

    def sum_in_domain(self, key: str, amounts: Longs, counted: Mask | None = None) -> Longs:
        """Sum an amount over the nodes with each node's own value of a label key: int64 of shape (n,).

        A node without the label has 0.

        `amounts`: ndarray of shape (n,), int64; of each node, such as the number of its pods. `counted`: ndarray of
        shape (n,), bool; nodes whose amounts are summed; None: all.
        """
        codes, n_values = self.codes(key)
        inside = codes >= 0 if counted is None else counted & (codes >= 0)
        # The code -1 of nodes without the label finds the last element.
        sums = np.bincount(codes[inside], amounts[inside], minlength=n_values + 1).astype(np.int64)
        found: Longs = sums[codes]
        return found

    def column(self, resource: str) -> int | None:
        """Column of a resource; None if no node has it."""
        return self._columns.get(resource)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.resources)}


def _keep_freed_memory() -> None:
    """Have the C library keep what one decision frees for the next one, up to twice `_BLOCK`.

    By default glibc hands freed memory back to the system from 128 KiB on, and the arrays of each decision on a large
    cluster come as new pages again, which takes a third of its time. It raises that bound by itself to twice the size
    of the largest block that was freed.
    """
    np.empty(_BLOCK, dtype=np.uint8)


def follow_searches(ledger: Ledger) -> None:
    """Have each limited search on a ledger begin where the last one ended, as those of one scheduler do."""
    ledger.__dict__[_START] = 0


class KubeCluster(Working):
    """The working copy of a cluster: what is requested on each node, changed pod by pod.

    `pods`: iterable of (PodShape, int); pods that have a node, with the index of the node. `namespaces`: labels of the
    namespaces.

    Attributes
    ----------
    requested : ndarray of shape (n, r), int64
        Base units, in the columns of the nodes; a pod counts 1 in the column pods.
    assumed : ndarray of shape (n, 2), int64
        CPU and memory that scores assume beyond `requested` for containers without a request.
    start : int
        Place in the order of nodes at which the next search starts, if only a share of the nodes is looked at.
    """

    def __init__(
        self,
        nodes: KubeNodes,
        pods: Iterable[tuple[PodShape, int]] = (),
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.nodes = nodes
        self.start = 0
        self.pods = PodCounts(nodes.n, namespaces)
        self.requested = np.zeros_like(nodes.allocatable)
        self.assumed = np.zeros((nodes.n, len(ASSUMED)), dtype=np.int64)
        self._rows: dict[PodShape, tuple[Longs, Longs, tuple[str, ...]]] = {}
        for shape, node in pods:
            self.assume(shape, node)

    @classmethod
    def of_ledger(cls, ledger: Ledger, idle: Longs) -> KubeCluster:
        """The cluster as a ledger has it; the pods are the ledger's own, so take away what you put there.

        `idle`: ndarray of shape (n, r), int64; idle resources of its nodes.
        """
        nodes = KubeNodes.of_snapshot(ledger.snapshot)
        cluster = cls(nodes)
        cluster.pods = ledger.pods
        cluster.start = ledger.__dict__.get(_START, 0)
        cluster.requested = nodes.allocatable - idle
        if ledger.assumed is not None:
            cluster.assumed = ledger.assumed.copy()
        return cluster

    def keep_start(self, ledger: Ledger) -> None:
        """Tell a ledger of `follow_searches` where the next search begins."""
        if _START in ledger.__dict__:
            ledger.__dict__[_START] = self.start

    def _kept(self) -> dict[str, Any]:
        # Shapes are compared by identity, so a pickled copy asks anew.
        return {**super()._kept(), "_rows": {}}

    def assume(self, shape: PodShape, *nodes: int) -> None:
        """Put a pod on each of some nodes; a node given twice gets two."""
        self._change(shape, nodes, 1)

    def forget(self, shape: PodShape, *nodes: int) -> None:
        """Take a pod from each of some nodes; the opposite of `assume`."""
        self._change(shape, nodes, -1)

    def _change(self, shape: PodShape, nodes: tuple[int, ...], sign: int) -> None:
        row, assumed, _ = self.rows(shape)
        if len(nodes) == 1:
            self.requested[nodes[0]] += sign * row
            self.assumed[nodes[0]] += sign * assumed
        else:
            at = np.array(nodes, dtype=np.int64)
            np.add.at(self.requested, at, sign * row)
            np.add.at(self.assumed, at, sign * assumed)
        self.pods.add(shape.kind, nodes, sign)

    def rows(self, shape: PodShape) -> tuple[Longs, Longs, tuple[str, ...]]:
        """A pod's request in the nodes' columns, its assumed cpu and memory, and requested resources without column."""
        found = self._rows.get(shape)
        if found is None:
            row, missing = request_vector(self.nodes.resources, shape.requests)
            assumed = np.array([shape.assumed.get(name, 0) for name in ASSUMED], dtype=np.int64)
            found = self._rows[shape] = row, assumed, missing
        return found
