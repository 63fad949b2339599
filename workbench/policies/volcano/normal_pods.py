"""Pods without a topology in the newest Volcano: drawn to full HyperNodes, closer tiers counting more.

The score of a node depends on every HyperNode around it and changes with every pod, which the fill kernel does not
know; here each pod looks at all its candidates again. Source: volcano-topology.md 7.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import Fill, Placed, ScoreWeights
from workbench.model.topology import Topology
from workbench.policies.base import Request
from workbench.policies.volcano.hypernode_scores import fading_weights, utilisation

__all__ = ["NormalFill", "NormalPods", "normal_scores"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NormalPods:
    """How pods without a topology are scored.

    Attributes
    ----------
    enabled : bool
    topology : Topology
    allocatable : ndarray of shape (d + 1, r), int64
        Per HyperNode, the virtual top last.
    weights : ndarray of shape (r,), float64
        Of the resources.
    fading : float
    scale : float
        What the score, 0 to 1, is multiplied by.
    """

    enabled: bool
    topology: Topology
    allocatable: Longs
    weights: Floats
    fading: float
    scale: float


def normal_scores(settings: NormalPods, used: Longs, request: Longs, nodes: Ints) -> Floats:
    """Score of some nodes for one more pod, before scaling.

    Parameters
    ----------
    settings : NormalPods
    used : ndarray of shape (d + 1, r), int64
        Per HyperNode at this moment.
    request : ndarray of shape (r,), int64
    nodes : ndarray of int32

    Returns
    -------
    ndarray of shape (len(nodes),), float64
        Weighted mean over the tiers: 1 where the node is in no HyperNode of the tier, else how full that HyperNode
        becomes. Of several HyperNodes of a tier around one node the smallest name counts.
    """
    topology = settings.topology
    full = utilisation(used, settings.allocatable, request, settings.weights)
    score = np.zeros(len(nodes), dtype=np.float64)
    total = 0.0
    for tier, weight in fading_weights(topology, settings.fading):
        if tier == topology.top_tier:
            score += weight * full[-1]
        else:
            around = topology.domain_of_node(tier)[nodes]
            score += weight * np.where(around < 0, 1.0, full[around])
        total += weight
    return score / total if total > 0.0 else score


@dataclass(eq=False)
class _Shape:
    role: int
    row: Longs
    feasible: npt.NDArray[np.bool_]
    extra: Floats | None
    part: Floats = field(default_factory=lambda: np.zeros(0))


class NormalFill:
    """Places pods one by one on the best of some nodes; ties: the smallest name."""

    def __init__(
        self,
        nodes: Ints,
        request: Request,
        weights: ScoreWeights,
        settings: NormalPods,
        idle: Longs,
        used: Longs,
        domain_used: Longs,
    ) -> None:
        self.nodes = nodes
        self._request = request
        self._weights = weights
        self._settings = settings
        self._idle = idle.copy()
        self._used = used.copy()
        self._domain_used = domain_used.copy()
        self._rank = request.snapshot.topology.node_rank[nodes]
        self._shapes: list[_Shape] = []

    @property
    def idle(self) -> Longs:
        """What is idle now, by position in `nodes`."""
        return self._idle[self.nodes]

    def add_role(self, role: int, extra: Floats | None) -> int:
        """Add the pods of a role; the number of its shape."""
        demand = self._request.demand
        shape = _Shape(role, demand.rows[role], demand.feasible(role)[self.nodes].astype(np.bool_), extra)
        shape.part = self._parts(shape, self.nodes)
        self._shapes.append(shape)
        return len(self._shapes) - 1

    def place(self, shape: int, count: int) -> Placed:
        """As `workbench.kernels.domains.Fill.place`."""
        positions, scores = [], []
        for _ in range(count):
            _, totals = self.node_scores(shape)
            fitting = np.flatnonzero(totals > -np.inf)
            if len(fitting) == 0:
                break
            best = fitting[totals[fitting] == totals[fitting].max()]
            position = int(best[np.argmin(self._rank[best])])
            positions.append(position)
            scores.append(float(totals[position]) if len(fitting) > 1 else 0.0)
            self._put(position, self._shapes[shape].row)
        found = np.array(scores, dtype=np.float64)
        return Placed(np.array(positions, dtype=np.int32), found, float(sum(scores)))

    def node_scores(self, shape: int) -> tuple[Floats, Floats]:
        """Node part and total of each candidate for the next pod, by position; -inf: does not fit."""
        chosen = self._shapes[shape]
        asked = chosen.row > 0
        fits = chosen.feasible & (self._idle[self.nodes][:, asked] >= chosen.row[asked]).all(axis=1)
        normal = normal_scores(self._settings, self._domain_used, chosen.row, self.nodes) * 100.0
        totals = chosen.part + normal * self._settings.scale
        return chosen.part, np.where(fits, totals, -np.inf)

    def _put(self, position: int, row: Longs) -> None:
        topology = self._settings.topology
        node = int(self.nodes[position])
        self._idle[node] -= row
        self._used[node] += row
        start, domains = topology.node_domains
        self._domain_used[domains[start[node] : start[node + 1]]] += row
        self._domain_used[-1] += row
        one = self.nodes[position : position + 1]
        for shape in self._shapes:
            shape.part[position] = self._parts(shape, one)[0]

    def _parts(self, shape: _Shape, nodes: Ints) -> Floats:
        """Node part whether or not the pod fits: with room for it everywhere."""
        snapshot = self._request.snapshot
        fill = Fill(
            np.arange(len(nodes), dtype=np.int32),
            np.tile(shape.row, (len(nodes), 1)),
            self._used[nodes],
            snapshot.allocatable[nodes],
            snapshot.topology.node_rank[nodes],
            weights=self._weights,
        )
        extra = None if shape.extra is None else shape.extra[nodes]
        return fill.node_scores(fill.add_shape(shape.row, extra=extra))[0]
