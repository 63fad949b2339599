"""Nodes and requests as Volcano's scores see them if some container states no cpu or memory request.

The scores least and most requested use what Kubernetes assumes for such containers
(`workbench.model.gang.Role.assumed`), both of running and pending pods; all other scores use requests. The kernels
therefore get two further columns with cpu and memory including the assumed amounts. These columns limit nothing, and
only least and most read them. If every container states its requests, the columns are left out and nothing is copied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.kernels.domains import MAX_QUANTITY, ScoreWeights, TopologyScores
from workbench.kernels.dry_run_values import DomainTotals
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.fading import Fading
from workbench.kernels.node_states import NodeStates
from workbench.model.arrays import Longs
from workbench.model.resources import ASSUMED
from workbench.policies.request import Request

__all__ = ["ASSUMED_COLUMNS", "ScoredNodes", "assumed_of", "domain_used", "scored_columns"]


#: Names of the two columns; no resource is called so.
ASSUMED_COLUMNS = tuple(f"{name} with what is assumed" for name in ASSUMED)


class ScoredNodes(NamedTuple):
    """Amounts of the nodes and requests of the pods in the columns that scores use.

    Attributes
    ----------
    columns : tuple of str
        The snapshot's resources, followed by `ASSUMED_COLUMNS` if the scores use assumed cpu and memory.
    idle, used, allocatable : ndarray of shape (n, c), int64
        Amounts of the nodes.
    rows : ndarray of shape (roles, c), int64
        Request of one pod of each role.
    """

    columns: tuple[str, ...]
    idle: Longs
    used: Longs
    allocatable: Longs
    rows: Longs

    @classmethod
    def of(cls, request: Request, idle: Longs, used: Longs, assumed: Longs | None) -> ScoredNodes:
        """Make the amounts and requests that node scores read from a ledger's amounts.

        Parameters
        ----------
        idle, used : ndarray of shape (n, r), int64
            Amounts of the nodes by resource.
        assumed : ndarray of shape (n, 2), int64, or None
            CPU and memory on each node that Kubernetes assumes for containers of running pods that request none; None:
            the scores use requests alone, without further columns.
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

        Parameters
        ----------
        request : Request
            Request whose snapshot has the HyperNodes.
        weights : ScoreWeights
            Weights over the columns.
        states : NodeStates, optional
            Groups of nodes with equal amounts; None: unknown.
        scores, fading, totals : optional
            As for `workbench.kernels.dry_runs.DryRuns`.
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
