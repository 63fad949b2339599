"""Resources of the nodes on which a job's pods are placed, with the weights of the node scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.kernels.domains import ScoreWeights, pods_per_node
from workbench.kernels.node_states import NodeStates
from workbench.model.arrays import Floats, Ints, Longs
from workbench.policies.request import Request
from workbench.policies.volcano.parts.fixed_scores import FixedScores
from workbench.policies.volcano.parts.scored_nodes import ScoredNodes

__all__ = ["FillContext"]


@dataclass(eq=False)
class FillContext:
    """Resources of the nodes and weights of the node scores, as a fill (placing a job's pods one by one) needs them.

    Made for one call of `place`.

    Attributes
    ----------
    request : Request
        The gang and its ledger.
    weights : ScoreWeights
        Weights of the score parts that placed pods change.
    fixed : FixedScores, optional
        Score parts that no pod of the session changes; None: there are none.
    idle, used : ndarray of shape (n, r), int64
        Present amounts of the nodes.
    assumed : ndarray of shape (n, 2), int64, optional
        CPU and memory that scores assume beyond requests; None: there are none.
    leaf : ndarray of shape (n,), int32, optional
        Leaf HyperNode of each node, by which a fill groups nodes; None: all nodes are one group.
    """

    request: Request
    weights: ScoreWeights
    fixed: FixedScores | None
    idle: Longs
    used: Longs
    assumed: Longs | None = None

    @property
    def scored(self) -> ScoredNodes:
        """The nodes' amounts with the further columns that node scores read; the kernels get these."""
        return ScoredNodes.of(self.request, self.idle, self.used, self.assumed)

    @property
    def states(self) -> NodeStates | None:
        """Groups of nodes with equal amounts, as computed for the snapshot.

        None if pods were placed since the snapshot or scores assume cpu and memory beyond requests.
        """
        snapshot = self.request.snapshot
        untouched = self.idle is snapshot.idle and self.used is snapshot.used and self.assumed is None
        return snapshot.node_states if untouched else None

    def capacity(self, role: int, cap: int) -> Longs:
        """Number of pods of the role that fit on each node, at most `cap`: int64 of shape (n,)."""
        demand, states = self.request.demand, self.states
        if states is None:
            return demand.capacity(role, self.idle, cap)
        held = pods_per_node(self.idle[states.first], demand.rows[role], cap=cap).take(states.index)
        accepting = demand.restriction(role)
        return held if accepting is None else np.where(accepting, held, 0)

    def put(self, roles: Ints, nodes: Ints) -> None:
        """Take the requests of placed pods from the idle amounts, given the role and node of each pod (int32).

        The arrays are copied at the first call.
        """
        demand = self.request.demand
        if self.idle is demand.idle:
            self.idle, self.used = self.idle.copy(), self.used.copy()
            self.assumed = None if self.assumed is None else self.assumed.copy()
        np.subtract.at(self.idle, nodes, demand.rows[roles])
        np.add.at(self.used, nodes, demand.rows[roles])
        if self.assumed is not None:
            np.add.at(self.assumed, nodes, demand.gang.assumed[roles])

    def extra(self, role: int, *, even: bool = False) -> Floats | None:
        """Summed score parts of each node that placing pods does not change, float64 (n,); as `FixedScores.extra`."""
        return None if self.fixed is None else self.fixed.extra(role, even=even)
