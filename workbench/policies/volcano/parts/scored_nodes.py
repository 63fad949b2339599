"""The nodes as Volcano's scores see them: amounts, weights, and score parts that placed pods do not change.

The scores least and most requested use what Kubernetes assumes for containers that state no cpu or memory request
(`workbench.model.gang.Role.assumed`), both of running and pending pods; all other scores use requests. The kernels
therefore get two further columns with cpu and memory including the assumed amounts. These columns limit nothing, and
only least and most read them. If every container states its requests, the columns are left out and nothing is copied.

Score parts that pods placed in a session do not change are one number for each node and role::

    least, most, balanced
              of the plugin nodeorder as the session found the nodes, where nobody tells it of the pods placed since
    gpu, taints, …
              those of `workbench.policies.volcano.parts.node_scores`

Source: Volcano, plugin nodeorder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from workbench.kernels.domains import MAX_QUANTITY, ScoreWeights, TopologyScores, pods_per_node
from workbench.kernels.dry_run_values import Counts, DomainTotals
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.fading import Fading
from workbench.kernels.node_states import NodeStates
from workbench.model.arrays import Floats, Ints, Longs
from workbench.model.resources import ASSUMED
from workbench.policies.request import Request
from workbench.policies.volcano.parts.node_scores import NodeScore

__all__ = [
    "ASSUMED_COLUMNS",
    "FillContext",
    "FixedScores",
    "NodeOrderAtOpen",
    "ScoredNodes",
    "assumed_of",
    "domain_used",
    "nodeorder_at_open",
    "scored_columns",
    "without_nodeorder",
]


#: Names of the two columns; no resource is called so.
ASSUMED_COLUMNS = tuple(f"{name} with what is assumed" for name in ASSUMED)


class ScoredNodes(NamedTuple):
    """Amounts of the nodes and requests of the pods in the columns that scores use.

    `columns`: the snapshot's resources, followed by `ASSUMED_COLUMNS` if the scores use assumed cpu and memory. `idle`,
    `used`, `allocatable`: ndarray of shape (n, c), int64; amounts of the nodes. `rows`: ndarray of shape (roles, c),
    int64; request of one pod of each role.
    """

    columns: tuple[str, ...]
    idle: Longs
    used: Longs
    allocatable: Longs
    rows: Longs

    @classmethod
    def of(cls, request: Request, idle: Longs, used: Longs, assumed: Longs | None) -> ScoredNodes:
        """Make the amounts and requests that node scores read from a ledger's amounts.

        `idle`, `used`: ndarray of shape (n, r), int64; amounts of the nodes by resource. `assumed`: ndarray of shape
        (n, 2), int64, or None; CPU and memory on each node that Kubernetes assumes for containers of running pods that
        request none; None: the scores use requests alone, without further columns.
        """
        snapshot, demand = request.snapshot, request.demand
        resources, rows = snapshot.resources, demand.rows
        if assumed is None:
            return cls(resources, idle, used, snapshot.allocatable, rows)
        both = [resources.index(name) for name in ASSUMED]
        return cls(
            (*resources, *ASSUMED_COLUMNS),
            np.concatenate([idle, np.full_like(assumed, MAX_QUANTITY)], axis=1),
            np.concatenate([used, used[:, both] + assumed], axis=1),
            np.concatenate([snapshot.allocatable, snapshot.allocatable[:, both]], axis=1),
            np.concatenate([rows, rows[:, both] + demand.gang.assumed], axis=1),
        )

    def dry_runs(
        self,
        request: Request,
        weights: ScoreWeights,
        *,
        states: NodeStates | None = None,
        scores: TopologyScores | None = None,
        fading: Fading | None = None,
        totals: DomainTotals | None = None,
    ) -> DryRuns:
        """Make the kernel that places pods one by one on these nodes, with the given score weights.

        `request`: request whose snapshot has the HyperNodes. `weights`: weights over the columns. `states`: groups of
        nodes with equal amounts; None: unknown. `scores`, `fading`, `totals`: as for
        `workbench.kernels.dry_runs.DryRuns`.
        """
        return DryRuns(
            self.idle,
            self.used,
            self.allocatable,
            request.snapshot.topology.domain_nodes,
            weights=weights,
            scores=scores,
            fading=fading,
            totals=totals,
            states=states,
        )

    def pad(self, amounts: Longs) -> Longs:
        """Append zeros to the last axis of ``amounts``, for the columns of assumed cpu and memory."""
        given = amounts.shape[-1]
        if given == len(self.columns):
            return amounts
        # numpy.pad takes as long as the rest of a small search.
        wide = np.zeros((*amounts.shape[:-1], len(self.columns)), dtype=amounts.dtype)
        wide[..., :given] = amounts
        return wide


def assumed_of(request: Request) -> Longs | None:
    """Cpu and memory on each node that Kubernetes assumes for containers without a request: int64 of shape (n, 2).

    None if all pods of the cluster and of the gang state cpu and memory requests.
    """
    if request.ledger.assumed is None and request.gang.assumes:
        return np.zeros((request.snapshot.n_nodes, len(ASSUMED)), dtype=np.int64)
    return request.ledger.assumed


def scored_columns(request: Request) -> tuple[str, ...]:
    """Names of the columns that node scores read for a request: its resources, and assumed cpu and memory if needed."""
    resources = request.snapshot.resources
    wide = request.ledger.assumed is not None or request.gang.assumes
    return (*resources, *ASSUMED_COLUMNS) if wide else resources


def domain_used(request: Request) -> Longs:
    """Used resources of each HyperNode, pods of this session included: int64 (d + 1, r), the virtual top last."""
    snapshot, used = request.snapshot, request.ledger.used
    if used is snapshot.used:
        return snapshot.domain_used
    # Cheaper than finding the nodes that changed, on clusters of any size.
    return snapshot.topology.domain_sums(used)


#: Parts of nodeorder that look at what is used: the name shown, and the field of `ScoreWeights`.
_NODEORDER = {"least": "least_requested", "most": "most_requested", "balanced": "balanced"}


@dataclass(frozen=True, eq=False)
class NodeOrderAtOpen:
    """Parts of the plugin nodeorder's score that read used resources as they were when the session began, by name.

    Each part is given as weights in which only this part counts.
    """

    parts: dict[str, ScoreWeights]

    def scores(self, request: Request, role: int) -> dict[str, Floats]:
        """Nodeorder's score of every node for a pod of a role when the session began, by part: float64 (n,) each.

        0 if a pod did not fit then, since it will not fit later either.
        """
        opened = request if request.opened is None else replace(request, ledger=request.opened)
        seen = ScoredNodes.of(request, opened.ledger.idle, opened.ledger.used, assumed_of(opened))
        first = Counts(shapes=np.zeros(1, dtype=np.int32), left=np.ones(1, dtype=np.int64), min_available=1)
        found = {}
        for name, weights in self.parts.items():
            runs = seen.dry_runs(request, weights)
            shape = runs.add_shape(seen.rows[role], feasible=request.demand.restriction(role))
            runs.ask(first)
            scores = runs.node_scores(-1, shape)[0]
            found[name] = np.where(np.isfinite(scores), scores, 0.0)
        return found


def nodeorder_at_open(weights: ScoreWeights) -> NodeOrderAtOpen:
    """Split off the parts of the score weights that nodeorder computes from the nodes at the session's start."""
    none = replace(without_nodeorder(weights), binpack=0.0)
    given = {name: getattr(weights, field) for name, field in _NODEORDER.items()}
    return NodeOrderAtOpen(
        {name: replace(none, **{_NODEORDER[name]: weight}) for name, weight in given.items() if weight}
    )


def without_nodeorder(weights: ScoreWeights) -> ScoreWeights:
    """The score weights without nodeorder's parts, which are computed from used resources."""
    return replace(weights, least_requested=0.0, most_requested=0.0, balanced=0.0)


@dataclass(frozen=True, eq=False)
class FixedScores:
    """Parts of the node scores for one gang that do not change when pods are placed in the session.

    `given`: score parts that never change in a session, in the order in which they are added up. `at_open`: parts that
    nodeorder computes from the nodes as they were when the session began; None: nodeorder scores the present nodes,
    which the kernels do.
    """

    request: Request
    given: Sequence[NodeScore] = ()
    at_open: NodeOrderAtOpen | None = None

    def parts(self, role: int, *, even: bool = False) -> dict[str, Floats]:
        """Every score part that differs between nodes, by the name that explanations show: float64 (n,) each.

        With `even`, also the parts that are equal for all nodes.
        """
        found: dict[str, Floats] = {} if self.at_open is None else self.at_open.scores(self.request, role)
        for part in self.given:
            scores = part.scores(self.request, role)
            if scores is None and even and part.uniform_score:
                scores = np.full(self.request.snapshot.n_nodes, part.uniform_score)
            if scores is not None:
                found[part.name] = scores
        return found

    def extra(self, role: int, *, even: bool = False) -> Floats | None:
        """Sum of the score parts that placing pods does not change, for each node of the cluster: float64 (n,).

        None if there is no such part for the role. `even` is as in `parts`.
        """
        parts = list(self.parts(role, even=even).values())
        if len(parts) < 2:
            return parts[0] if parts else None
        total: Floats = np.sum(parts, axis=0)
        return total


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
