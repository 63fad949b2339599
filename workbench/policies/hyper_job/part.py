"""The part of a cluster inside one HyperNode, as a snapshot of its own."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from workbench.model.ledger import Ledger
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["Parts"]


class Parts:
    """Cuts HyperNodes out of the present state of a ledger.

    `ledger`: read only; its topology must be laminar and nested.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._running: dict[int, list[RunningPod]] = defaultdict(list)
        for pod in ledger.snapshot.running:
            self._running[pod.node].append(pod)

    def of(self, domain: int) -> ClusterSnapshot:
        """A snapshot of the HyperNode `domain` alone: its nodes in their order, the HyperNodes below it, and its pods.

        A table of switches is left out, so that the tier-1 HyperNodes are the switches.
        """
        ledger, whole = self._ledger, self._ledger.snapshot
        nodes = whole.topology.nodes_of(domain)
        first = int(nodes[0])
        running = tuple(
            replace(pod, node=pod.node - first) for node in nodes.tolist() for pod in self._running.get(node, ())
        )
        return ClusterSnapshot(
            topology=whole.topology.inside(domain),
            resources=whole.resources,
            allocatable=whole.allocatable[nodes],
            used=ledger.used[nodes],
            labels=whole.labels.only(nodes),
            taints=whole.taints.only(nodes),
            unschedulable=whole.unschedulable[nodes],
            not_ready=whole.not_ready[nodes],
            gpu_total=whole.gpu_total[nodes],
            gpu_free=ledger.gpu_free[nodes],
            matrices=whole.matrices,
            node_matrix=whole.node_matrix[nodes],
            queues=whole.queues,
            running=running,
            source=whole.source,
            taken_at=whole.taken_at,
            gpu_shares=None if ledger.gpu_shares is None else np.ascontiguousarray(ledger.gpu_shares[nodes]),
        )

    def likeness(self, domain: int) -> tuple[object, ...] | None:
        """What a HyperNode has in common with those that differ from it in names and labels alone.

        Of HyperNodes with equal values the snapshots of `of` differ in nothing that a policy without
        `SchedulerTraits.reads_names` looks at. None for a HyperNode with running pods, which is like no other.
        """
        ledger, whole, topology = self._ledger, self._ledger.snapshot, self._ledger.topology
        nodes = topology.nodes_of(domain)
        first, end = int(nodes[0]), int(nodes[-1]) + 1
        if not self._running.keys().isdisjoint(range(first, end)):
            return None
        place, place_end = topology.preorder
        inside = np.flatnonzero((place >= place[domain]) & (place < place_end[domain]))
        shape = tuple(
            (
                -1 if j == domain else int(inside.searchsorted(topology.parent[j])),
                int(topology.tier[j]),
                topology.tier_names[j],
                (topology.nodes_of(j) - first).tobytes(),
            )
            for j in inside.tolist()
        )
        columns = (
            np.argsort(topology.node_rank[first:end]),
            whole.allocatable[first:end],
            ledger.used[first:end],
            whole.taints.codes[first:end],
            whole.unschedulable[first:end],
            whole.not_ready[first:end],
            whole.gpu_total[first:end],
            ledger.gpu_free[first:end],
            whole.node_matrix[first:end],
            *(() if ledger.gpu_shares is None else (ledger.gpu_shares[first:end],)),
        )
        return shape, *(column.tobytes() for column in columns)
