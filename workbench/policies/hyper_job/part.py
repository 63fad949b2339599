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

    Parameters
    ----------
    ledger : Ledger
        Read only; its topology must be laminar and nested.
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
