"""Places a job's pods one by one on the nodes of a HyperNode: Volcano's inner routine (a *pass* is one such fill).

Each pod in turn goes to the node with the highest sum of node scores among those that fit; a sole candidate is taken
unscored; ties: the smallest name (upstream: at random). Source: docs/reference/volcano-topology.md, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from workbench.kernels.domains import NO_RECORD, TopologyScores
from workbench.kernels.dry_run_values import Counts, DomainTotals, Trials
from workbench.kernels.fading import Fading
from workbench.model.arrays import Floats, Ints, Longs
from workbench.policies.request import Request
from workbench.policies.volcano.parts.job_parts import JobProgress, cache_names
from workbench.policies.volcano.parts.scored_nodes import FillContext, domain_used
from workbench.policies.volcano.parts.task_order import runs_of_gang

__all__ = ["FillPass", "Filling", "NodeExplainer"]


@dataclass(frozen=True, eq=False)
class FillPass:
    """Result of one fill of nodes with a job's pods (a pass); every array is in the order of placement.

    Attributes
    ----------
    progress : JobProgress
        Counts after the pass.
    roles : ndarray of shape (p,), int32
        Role of each pod placed.
    pods : ndarray of shape (p,), int64
        Position of each pod in the gang.
    nodes : ndarray of shape (p,), int32
        Node of each pod placed.
    scores : ndarray of shape (p,), float64
        Score of each pod's node when the pod was placed.
    failed : int, optional
        Role of the first pod that fitted on no node in the last round; None: every pod tried was placed.
    record : int
        HyperNode in which the job is allocated after the pass (its record).
    """

    progress: JobProgress
    roles: Ints
    pods: Longs
    nodes: Ints
    scores: Floats
    failed: int | None
    record: int

    @property
    def n_placed(self) -> int:
        """Number of pods that the pass placed."""
        return len(self.nodes)

    def enter(self, node: Ints) -> None:
        """Write the node of each placed pod into ``node`` (int32, one entry per pod of the gang)."""
        node[self.pods] = self.nodes

    def idle_after(self, request: Request) -> Longs:
        """Idle resources of the nodes after the pass, int64 (n, r); `request` is the request before the pass."""
        left = request.demand.idle.copy()
        np.subtract.at(left, self.nodes, request.demand.rows[self.roles])
        return left


class Filling:
    """The cluster's nodes while one job is placed on them in several passes (fills).

    A pass sees the pods of earlier ones.

    Parameters
    ----------
    context : FillContext
        The nodes before the first pass.
    scores : TopologyScores, optional
        Scores of nodes by their closeness to the record (the HyperNode in which the job is allocated so far); None:
        closeness adds nothing to node scores.
    fading : Fading, optional
        Score by how full the HyperNodes around a node are, by tier; counts only without `scores`; None: there is none.
    even : bool
        Whether to score taints even if all nodes score alike, because sums of scores are compared between HyperNodes.
    """

    def __init__(
        self,
        context: FillContext,
        *,
        scores: TopologyScores | None = None,
        fading: Fading | None = None,
        even: bool = False,
    ) -> None:
        self.context = context
        self.fades = scores is None and fading is not None
        demand, seen = context.request.demand, context.scored
        # Shapes and entries are numbered like the roles; those without a request have no pods left and count for the
        # minimums alone.
        n_roles = len(seen.rows)
        self._shapes = np.arange(n_roles, dtype=np.int32)
        self._names = _numbers_of(cache_names(context.request.gang))
        # Of each run of pods: its role, and the pods of that role up to its end.
        self.run_role, self._run_upto = runs_of_gang(context.request.gang)
        self._runs = seen.dry_runs(
            context.request,
            context.weights,
            states=context.states,
            scores=scores,
            fading=fading if self.fades else None,
            totals=self._totals() if self.fades else None,
        )
        for role in range(n_roles):
            extra = context.extra(role, even=even)
            self._runs.add_shape(seen.rows[role], feasible=demand.restriction(role), extra=extra)

    def _totals(self) -> DomainTotals:
        """Used and allocatable resources of each HyperNode, which the score for full HyperNodes (`fading`) reads."""
        request, pad = self.context.request, self.context.scored.pad
        allocatable = pad(request.snapshot.domain_allocatable)
        return DomainTotals(pad(domain_used(request)), allocatable, *request.snapshot.topology.node_domains)

    def left_in_runs(self, progress: JobProgress) -> Longs:
        """Pods still to place in each run (consecutive pods of one role), int64; below 1: none.

        Counted from the role's next pod to the run's end.
        """
        if not any(progress.given):
            return self._run_upto
        left: Longs = self._run_upto - np.array(progress.given, dtype=np.int64)[self.run_role]
        return left

    def ask(
        self,
        progress: JobProgress,
        *,
        record: int = NO_RECORD,
        update_record: bool = False,
        tasks_on_leaf: Longs | None = None,
        total_tasks: int = 1,
        every: bool = False,
    ) -> None:
        """Set the pods that the next passes place, and the HyperNode near which pods score higher (the job's record).

        Parameters
        ----------
        progress : JobProgress
            Counts of the pods placed and left.
        record : int
            HyperNode in which the job is allocated so far, by whose closeness the first pod is scored; `NO_RECORD`:
            none.
        update_record : bool
            Whether each pod widens the record for the pods after it.
        tasks_on_leaf : ndarray of shape (d,), int64, optional
            Pods of the job that each leaf holds already; None: none.
        total_tasks : int
            All tasks of the job.
        every : bool
            Whether to place the pods of all following rounds at once. False: only the pods of one round, which ends
            with the pod that makes the gang ready.
        """
        counts = Counts(
            shapes=self._shapes,
            left=np.array(progress.left, dtype=np.int64),
            present=np.array(progress.present, dtype=np.int64),
            minimums=np.array(progress.minimums, dtype=np.int64),
            names=self._names,
            min_available=progress.min_available,
            counted=progress.counted,
            after_failure="stop" if progress.min_available == progress.total else "by-minimums",
            runs=(self.run_role, self.left_in_runs(progress)),
            every=every,
        )
        self._runs.ask(
            counts,
            record=record,
            update_record=update_record,
            tasks_on_leaf=tasks_on_leaf,
            total_tasks=total_tasks,
        )

    def try_each(self, domains: Ints, sums: Floats) -> Trials:
        """Place the pods set by `ask` in each of some HyperNodes as a trial, as `DryRuns.try_each` does.

        ``sums`` has the value with which each HyperNode's sum of scores starts.
        """
        return self._runs.try_each(domains, sums)

    def settle(self, domain: int, progress: JobProgress) -> FillPass:
        """Place the pods set by `ask` in one HyperNode for good (-1: on any node); `progress` as given to `ask`."""
        settled = self._runs.settle(domain)
        roles = settled.entries
        first = self.context.request.gang.role_start[:-1] + progress.given
        after = progress.copy()
        for role, (placed, left) in enumerate(zip(settled.placed.tolist(), settled.left.tolist(), strict=True)):
            after.place(role, placed)
            after.skip(role, after.left[role] - left)
        failed = None if settled.failed < 0 else settled.failed
        pods = first.take(roles) + settled.pods
        return FillPass(after, roles, pods, settled.nodes, settled.scores, failed, settled.record)

    def place_alike(self, role: int, count: int) -> Ints:
        """Place ``count`` pods of one role for good and return their nodes; fewer if no node takes one more."""
        shape = np.array([role], dtype=np.int32)
        self._runs.ask(Counts(shapes=shape, left=np.array([count], dtype=np.int64), min_available=count))
        return self._runs.settle(-1).nodes

    def node_scores(
        self,
        role: int,
        domain: int = -1,
        *,
        record: int = NO_RECORD,
        tasks_on_leaf: Longs | None = None,
        total_tasks: int = 1,
    ) -> tuple[Floats, Floats]:
        """Scores of a HyperNode's nodes for the first pod of a role; nothing is placed.

        Call `ask` again before the next pass.

        Returns tuple of (ndarray of shape (n,), float64, ndarray of shape (n,), float64): the nodes' own part of the
        score and the total, by node of the cluster; -inf for a node outside the HyperNode or without room for the pod.

        `role`: index of the role in the gang. `domain`: the HyperNode; -1: every node. `record`, `tasks_on_leaf`,
        `total_tasks`: as for `ask`.
        """
        nothing = Counts(shapes=self._shapes, left=np.zeros(len(self._shapes), dtype=np.int64), min_available=0)
        self._runs.ask(nothing, record=record, tasks_on_leaf=tasks_on_leaf, total_tasks=total_tasks)
        return self._runs.node_scores(domain, role)


class NodeExplainer(Protocol):
    """Records how nodes score for a pod; handed in by whoever makes a policy, because it takes part in no decision."""

    def nodes(
        self,
        filling: Filling,
        role: int,
        domain: int = -1,
        *,
        record: int = NO_RECORD,
        tasks_on_leaf: Longs | None = None,
        total_tasks: int = 0,
    ) -> None:
        """Record each node of a HyperNode for the first pod of a role; no effect if the request has no recorder.

        `filling`: the cluster's nodes before a pod of the job is placed. `role`, `domain`, `record`, `tasks_on_leaf`:
        as for `Filling.node_scores`. `total_tasks`: all tasks of the job; 0: the pod has no topology constraint.
        """


def _numbers_of(names: list[str]) -> Ints | None:
    """Number the names so that equal names get equal numbers, int32; None if all names differ."""
    numbers = {name: i for i, name in enumerate(names)}
    return None if len(numbers) == len(names) else np.array([numbers[name] for name in names], dtype=np.int32)
