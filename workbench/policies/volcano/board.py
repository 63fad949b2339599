"""The state of nodes and HyperNodes while one gang is tried: what is idle, what is used, how many pods fit."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import Fill, ScoreWeights, TopologyScores
from workbench.kernels.fading import Fading
from workbench.policies.base import Request
from workbench.policies.volcano.allocate import Workplace
from workbench.policies.volcano.explaining import record_nodes
from workbench.policies.volcano.splitting import SubJob

__all__ = ["Board"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Board:
    """A working copy for one call of `place`; what is put on it can be taken back in the reverse order.

    Parameters
    ----------
    request : Request
    weights : ScoreWeights
    scores : TopologyScores
        Of pods whose sub-job has a topology.
    fading : Fading, optional
        Of the others; None: they gain nothing.
    gpu_weight : float

    Attributes
    ----------
    idle, used : ndarray of shape (n, r), int64
    """

    def __init__(
        self, request: Request, weights: ScoreWeights, scores: TopologyScores, fading: Fading | None, gpu_weight: float
    ) -> None:
        self.request = request
        self.topology = request.snapshot.topology
        self.allocatable = request.snapshot.domain_allocatable
        self._domain_used: Longs | None = None
        # Copied and counted when first asked for: the compiled search does that on its own.
        self._capacity: dict[int, Longs] = {}
        self._domain_capacity: dict[int, Longs] = {}
        self._weights = weights
        self._scores = scores
        self._fading = fading
        self._gpu_weight = gpu_weight
        self._log: list[tuple[int, Ints]] = []

    @cached_property
    def idle(self) -> Longs:
        return self.request.demand.idle.copy()

    @cached_property
    def used(self) -> Longs:
        return self.request.ledger.used.copy()

    @property
    def domain_used(self) -> Longs:
        """Sums of `used` over the nodes of each HyperNode, int64 (d + 1, r), the virtual top last."""
        if self._domain_used is None:
            self._domain_used = self.topology.domain_sums(self.used)
        return self._domain_used

    @property
    def domain_capacity(self) -> dict[int, Longs]:
        """Per role with a request how many of its pods each HyperNode holds, int64 (d + 1,), the virtual top last.

        Summed over the nodes, of which each counts at most the pods of the role.
        """
        if not self._capacity:
            request = self.request
            for role in request.demand.order:
                per_node = request.demand.capacity(role, self.idle, request.gang.roles[role].count)
                self._capacity[role] = per_node
                self._domain_capacity[role] = self.topology.domain_sums(per_node[:, None])[:, 0]
        return self._domain_capacity

    def put(self, role: int, nodes: Ints) -> None:
        """Pods of a role on their nodes."""
        self._apply(role, nodes, 1)
        self._log.append((role, nodes))

    def mark(self) -> int:
        return len(self._log)

    def take_back(self, mark: int) -> None:
        """Undo everything after a mark."""
        while len(self._log) > mark:
            role, nodes = self._log.pop()
            self._apply(role, nodes, -1)

    def _apply(self, role: int, nodes: Ints, sign: int) -> None:
        row = self.request.demand.rows[role] * sign
        np.add.at(self.used, nodes, row)
        np.subtract.at(self.idle, nodes, row)
        start, domains = self.topology.node_domains
        if self._domain_used is not None:
            for node in nodes:
                self._domain_used[domains[start[node] : start[node + 1]]] += row
            self._domain_used[-1] += row * len(nodes)
        touched = np.unique(nodes)
        for other, capacity in self._capacity.items():
            fits = self.request.demand.capacity_of(touched, other, self.idle, self.request.gang.roles[other].count)
            change = fits - capacity[touched]
            capacity[touched] = fits
            total = self._domain_capacity[other]
            for node, amount in zip(touched.tolist(), change.tolist(), strict=True):
                if amount:
                    total[domains[start[node] : start[node + 1]]] += amount
            total[-1] += change.sum()

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
        snapshot, demand = self.request.snapshot, self.request.demand
        fading = None if sub.topology else self._fading
        leaf = self.topology.leaf_of_node if sub.topology else None
        fill = Fill(
            nodes,
            self.idle,
            self.used,
            snapshot.allocatable,
            self.topology.node_rank,
            leaf=leaf if fading is None else fading.rings.of_node,
            weights=self._weights,
        )
        if fading is not None:
            fill.set_fading(fading, self.domain_used, self.allocatable, *self.topology.node_domains)
        shapes = {
            role: fill.add_shape(demand.rows[role], feasible=demand.feasible(role), extra=self._gpu_extra(role))
            for role in sub.pods
        }
        if sub.topology:
            fill.set_topology(
                self._scores,
                record=record,
                tasks_in_group=self._on_leaves(fill.groups, on_nodes),
                total_tasks=sub.total,
                update_record=True,
            )
        return fill, shapes, nodes

    def _gpu_extra(self, role: int) -> npt.NDArray[np.float64] | None:
        if self._gpu_weight == 0:
            return None
        scores = self.request.gpus.scores(self.request.gang.roles[role].n_gpus)
        return None if scores is None else scores * self._gpu_weight

    def _on_leaves(self, groups: Ints, on_nodes: Ints) -> Longs:
        counts = np.zeros(len(groups), dtype=np.int64)
        known = on_nodes[on_nodes >= 0]
        if len(known):
            leaves = self.topology.leaf_of_node[known]
            place = np.searchsorted(groups, leaves)
            inside = place < len(groups)
            inside[inside] = groups[place[inside]] == leaves[inside]
            np.add.at(counts, place[inside & (leaves >= 0)], 1)
        return counts

    def record_nodes(self, domain: int, sub: SubJob, record: int) -> None:
        """Tell the recorder how the nodes of a HyperNode look to the first pod of a sub-job."""
        if self.request.recorder is not None:
            leaf = self.topology.leaf_of_node if sub.topology else None
            workplace = Workplace(self.request, self._weights, self._gpu_weight, self.idle, self.used, leaf)
            fill, shapes, _ = self.filler(domain, sub, record, sub.running_nodes)
            without_tasks, _, _ = self.filler(domain, sub, record, sub.running_nodes[:0])
            record_nodes(workplace, fill, shapes, without_tasks if sub.topology else None)
