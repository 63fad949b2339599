"""Volcano's inner allocation routine: places a gang's pods on a list of nodes.

Each pod in turn goes to the node with the highest sum of node scores among those that fit; a sole candidate is taken
unscored; ties: the smallest name (upstream: at random). Source: docs/reference/volcano-topology.md, section 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import Fill, ScoreWeights, TopologyScores, pods_per_node
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.node_states import NodeStates
from workbench.model.gang import Gang
from workbench.policies.base import Request
from workbench.policies.volcano.fixed_scores import FixedScores
from workbench.policies.volcano.job_parts import JobProgress
from workbench.policies.volcano.scored_nodes import ScoredNodes

__all__ = ["Pass", "Workplace", "passes"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(eq=False)
class Workplace:
    """State of the cluster and score weights that a fill of nodes needs, for one call of `place`.

    Attributes
    ----------
    request : Request
    weights : ScoreWeights
    fixed : FixedScores, optional
        Score parts that no pod of the session changes; None: there are none.
    idle, used : ndarray of shape (n, r), int64
    assumed : ndarray of shape (n, 2), int64, optional
        CPU and memory that scores assume beyond requests; None: there are none.
    leaf : ndarray of shape (n,), int32, optional
        Group of each node in a fill; None: one group.
    """

    request: Request
    weights: ScoreWeights
    fixed: FixedScores | None
    idle: Longs
    used: Longs
    assumed: Longs | None = None
    leaf: Ints | None = None

    @property
    def scored(self) -> ScoredNodes:
        """The nodes in the columns of the kernels, over which the weights are defined."""
        return ScoredNodes.of(self.request, self.idle, self.used, self.assumed)

    @property
    def states(self) -> NodeStates | None:
        """Groups of nodes with equal amounts, as the snapshot knows them.

        None if something was taken since the snapshot.
        """
        snapshot = self.request.snapshot
        untouched = self.idle is snapshot.idle and self.used is snapshot.used and self.assumed is None
        return snapshot.node_states if untouched else None

    def capacity(self, role: int, cap: int) -> Longs:
        """Pods of the role that each node holds, at most `cap`: int64 of shape (n,)."""
        demand, states = self.request.demand, self.states
        if states is None:
            return demand.capacity(role, self.idle, cap)
        held = pods_per_node(self.idle[states.first], demand.rows[role], cap=cap)[states.state_of]
        accepting = demand.restriction(role)
        return held if accepting is None else np.where(accepting, held, 0)

    def put(self, role: int, nodes: Ints) -> None:
        """Add pods of a role to some nodes; the arrays are copies from then on."""
        demand = self.request.demand
        if self.idle is demand.idle:
            self.idle, self.used = self.idle.copy(), self.used.copy()
            self.assumed = None if self.assumed is None else self.assumed.copy()
        np.subtract.at(self.idle, nodes, demand.rows[role])
        np.add.at(self.used, nodes, demand.rows[role])
        if self.assumed is not None:
            np.add.at(self.assumed, nodes, demand.gang.assumed[role])

    def fill(self, nodes: Ints, roles: Sequence[int] | None = None) -> tuple[Fill, dict[int, int]]:
        """Make a fill of some nodes, and the number of each role's shape.

        None for `roles` means each with a request.
        """
        demand, snapshot, scored = self.request.demand, self.request.snapshot, self.scored
        fill = Fill(
            nodes,
            scored.idle,
            scored.used,
            scored.allocatable,
            snapshot.topology.node_rank,
            leaf=self.leaf,
            weights=self.weights,
        )
        shapes = {
            role: fill.add_shape(scored.rows[role], feasible=demand.restriction(role), extra=self.extra(role))
            for role in (demand.order if roles is None else roles)
        }
        return fill, shapes

    def dry_runs(self, roles: Sequence[int], scores: TopologyScores) -> DryRuns:
        """Make trial placements on every HyperNode, with added scores.

        The shape of a role is its position in `roles`.
        """
        demand, topology, scored = self.request.demand, self.request.snapshot.topology, self.scored
        runs = DryRuns(
            scored.idle,
            scored.used,
            scored.allocatable,
            topology.node_rank,
            topology.leaf_of_node,
            topology.member_start,
            topology.member_nodes,
            weights=self.weights,
            scores=scores,
            update_record=True,
            leaves=topology.leaves_of_node,
            states=self.states,
        )
        for role in roles:
            extra = self.extra(role, even=True)
            runs.add_shape(scored.rows[role], feasible=demand.restriction(role), extra=extra)
        return runs

    def extra(self, role: int, *, even: bool = False) -> Floats | None:
        """Sum of the fixed score parts for each node of the cluster, as `FixedScores.extra`."""
        return None if self.fixed is None else self.fixed.extra(role, even=even)


@dataclass(eq=False)
class Pass:
    """The result of one pass over the pods of a job.

    Attributes
    ----------
    progress : JobProgress
        Counts after the pass.
    placed : list of (role, first, nodes)
        Placed pods in order of placement: those of a role from the first-th on; nodes by index of the cluster.
    scores : list of ndarray
        Score of each placed pod, in the same order.
    failed : list of int
        Roles of which a pod fitted on no node.
    """

    progress: JobProgress
    placed: list[tuple[int, int, Ints]] = field(default_factory=list)
    scores: list[Floats] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)

    @property
    def n_placed(self) -> int:
        return sum(len(nodes) for _, _, nodes in self.placed)

    def enter(self, gang: Gang, node: Ints) -> None:
        """Write the node of each pod that was placed at the pod's position in the gang."""
        for role, number, nodes in self.placed:
            first = int(gang.role_start[role]) + number
            node[first : first + len(nodes)] = nodes

    @classmethod
    def run(
        cls, fill: Fill, shapes: Mapping[int, int], nodes: Ints, progress: JobProgress, *, stop_when_ready: bool
    ) -> Pass:
        """Place the pods of a job in their order.

        Parameters
        ----------
        fill : Fill
            The nodes; holds the placed pods afterwards.
        shapes : mapping of int to int
            Number of each role's shape in the fill.
        nodes : ndarray of shape (c,), int32
            Node of each position of the fill.
        progress : JobProgress
            Counts before the pass; not changed.
        stop_when_ready : bool
            End with the pod that makes the gang ready (1.13: the others come one per turn). False: take all turns at
            once, which gives the same result if each turn looks at the same nodes; only a turn in which a pod fitted
            nowhere ends the pass, since the next turn begins with an empty role cache.
        """
        done = cls(progress.copy())
        now = done.progress
        for role, count in now.runs():
            if any(now.names[role] == now.names[failed] for failed in done.failed):
                now.skip(role, count)
                continue
            wanted = min(count, now.until_ready(role)) if stop_when_ready else count
            placed = fill.place(shapes[role], wanted)
            found = len(placed.positions)
            if found:
                done.placed.append((role, now.given[role], nodes[placed.positions]))
                done.scores.append(placed.scores)
                now.place(role, found)
            if found < wanted:
                # The role cache: pods of its name are taken from the queue and skipped.
                done.failed.append(role)
                now.skip(role, count - found)
                if not now.go_on(done.failed):
                    break
            elif (stop_when_ready or done.failed) and now.ready:
                break
        return done


def passes(fill: Fill, shapes: Mapping[int, int], nodes: Ints, progress: JobProgress, *, every: bool) -> Iterator[Pass]:
    """Take the next turn of a job on the same nodes, or all its turns in as few passes as possible.

    Parameters
    ----------
    fill : Fill
        The nodes; holds the placed pods afterwards.
    shapes : mapping of int to int
        Number of each role's shape in the fill.
    nodes : ndarray of shape (c,), int32
        Node of each position of the fill.
    progress : JobProgress
        Counts before the first turn; not changed.
    every : bool
        Whether to take all turns.

    Yields
    ------
    Pass
    """
    while True:
        done = Pass.run(fill, shapes, nodes, progress, stop_when_ready=not every)
        yield done
        progress = done.progress
        if not (every and progress.ready and done.placed and sum(progress.left)):
            return
