"""Filling the nodes of a HyperNode for a sub-job of the newest Volcano, and telling how they look to its first pod."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import Fill, ScoreWeights, TopologyScores
from workbench.kernels.fading import Fading
from workbench.model.topology import Topology
from workbench.policies.base import Request
from workbench.policies.volcano.allocate import Workplace
from workbench.policies.volcano.explaining import record_nodes
from workbench.policies.volcano.splitting import SubJob

__all__ = ["Board"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Board:
    """The nodes as a request shows them, and what fills some of them pod by pod.

    Parameters
    ----------
    request : Request
    weights : ScoreWeights
    scores : TopologyScores
        Of pods whose sub-job has a topology.
    fading : Fading, optional
        Of the others; None: they gain nothing.
    gpu_weight : float
    """

    def __init__(
        self, request: Request, weights: ScoreWeights, scores: TopologyScores, fading: Fading | None, gpu_weight: float
    ) -> None:
        self.request = request
        self.topology = request.snapshot.topology
        self._weights = weights
        self._scores = scores
        self._fading = fading
        self._gpu_weight = gpu_weight
        self._idle = request.demand.idle
        self._used = request.ledger.used

    @cached_property
    def _domain_used(self) -> Longs:
        return self.topology.domain_sums(self._used)

    def filler(self, domain: int, sub: SubJob, record: int, on_nodes: Ints) -> tuple[Fill, dict[int, int], Ints]:
        """What places a sub-job's pods in a HyperNode.

        Parameters
        ----------
        domain : int
        sub : SubJob
        record : int
            Of the sub-job so far; pods are scored by it, and it widens with every pod.
        on_nodes : ndarray of int32
            Nodes of its pods that are placed or running.

        Returns
        -------
        filler : Fill
        shapes : dict of int to int
            Per role of the sub-job the number of its shape.
        nodes : ndarray of int32
            Nodes by the filler's positions.
        """
        nodes = self.topology.nodes_of(domain)
        fill, shapes = self.fill(nodes, tuple(sub.pods), topology=sub.topology)
        if sub.topology:
            fill.set_topology(
                self._scores,
                record=record,
                tasks_in_group=on_groups(self.topology, fill.groups, on_nodes),
                total_tasks=sub.total,
                update_record=True,
                leaves=self.topology.leaves_of_node,
            )
        return fill, shapes, nodes

    def fill(self, nodes: Ints, roles: Sequence[int], *, topology: bool) -> tuple[Fill, dict[int, int]]:
        """A fill of some nodes for pods of some roles, without a record, and the number of each role's shape.

        `topology`: the pods have one; those that have none are drawn to full HyperNodes.
        """
        snapshot, demand = self.request.snapshot, self.request.demand
        fading = None if topology else self._fading
        leaf = self.topology.leaf_of_node if topology else None
        fill = Fill(
            nodes,
            self._idle,
            self._used,
            snapshot.allocatable,
            self.topology.node_rank,
            leaf=leaf if fading is None else fading.rings.of_node,
            weights=self._weights,
        )
        if fading is not None:
            fill.set_fading(fading, self._domain_used, snapshot.domain_allocatable, *self.topology.node_domains)
        shapes = {
            role: fill.add_shape(demand.rows[role], feasible=demand.restriction(role), extra=self._gpu_extra(role))
            for role in roles
        }
        return fill, shapes

    def _gpu_extra(self, role: int) -> npt.NDArray[np.float64] | None:
        if self._gpu_weight == 0:
            return None
        scores = self.request.gpus.scores(self.request.gang.roles[role].n_gpus)
        return None if scores is None else scores * self._gpu_weight

    def record_nodes(self, domain: int, sub: SubJob, record: int) -> None:
        """Tell the recorder how the nodes of a HyperNode look to the first pod of a sub-job."""
        if self.request.recorder is not None:
            leaf = self.topology.leaf_of_node if sub.topology else None
            workplace = Workplace(self.request, self._weights, self._gpu_weight, self._idle, self._used, leaf)
            fill, shapes, _ = self.filler(domain, sub, record, sub.running_nodes)
            without_tasks, _, _ = self.filler(domain, sub, record, sub.running_nodes[:0])
            record_nodes(workplace, fill, shapes, without_tasks if sub.topology else None)


def on_groups(topology: Topology, groups: Ints, on_nodes: Ints) -> Longs:
    """Pods on some nodes by the leaves that a fill groups its nodes by; -1, no leaf, holds none."""
    if len(on_nodes) == 0:
        return np.zeros(len(groups), dtype=np.int64)
    return np.append(topology.count_on_leaves(on_nodes), 0)[groups]
