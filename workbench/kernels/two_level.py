"""Volcano 1.15's topology search: HyperNodes for a job, and inside them HyperNodes for its sub-jobs.

Checked interface of ``_core.two_level``. The record of a job or sub-job is the HyperNode in which it is allocated so
far. ``policies`` decide what a sub-job is, which tiers are allowed and how records are recovered from running pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench._core import two_level as _core
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_number, check_range
from workbench.kernels.domain_tree import DomainTree
from workbench.kernels.domains import MAX_PODS_PER_CALL, MAX_QUANTITY, MAX_SCORE, MAX_SUM, ScoreWeights, TopologyScores
from workbench.kernels.fading import Fading
from workbench.kernels.tiers import VIRTUAL_TOP
from workbench.kernels.two_level_checks import (
    RULES,
    checked_amounts,
    checked_arrays,
    checked_job,
    checked_nodes,
    checked_positions,
    checked_shape,
    checked_subs,
    checked_totals,
)
from workbench.kernels.two_level_values import (
    VERDICTS,
    AttemptSteps,
    JobColumns,
    Nodes,
    Shape,
    SubJobColumns,
    TriedDomains,
)

__all__ = ["VERDICTS", "AttemptSteps", "JobColumns", "Nodes", "Shape", "SubJobColumns", "TriedDomains", "TwoLevel"]


class TwoLevel:
    """Places one job with sub-jobs in HyperNodes as Volcano does, one turn at a time.

    A turn places all sub-jobs in order until the job is ready to start.

    Parameters
    ----------
    nodes : Nodes
        Amounts of the nodes. The search copies the arrays that it changes; allocatable and idle_at_open must not
        change.
    shapes : sequence of Shape
        Pod shapes: request, allowed nodes and extra scores of the pods of one role.
    scores : TopologyScores
        Scores for sub-jobs that are scored by closeness to a record.
    packing : ndarray of shape (r,), float64
        Weight of each resource in the score of a HyperNode. 0: it adds nothing, but a HyperNode in which it would
        overflow scores 0; negative: it is not looked at.
    scale : float
        The score of a HyperNode, 0 to 1, is multiplied by 100 and by this factor. 0: HyperNodes have neither a score
        nor a share of tasks.
    fading : Fading, optional
        Score by which the other sub-jobs prefer full domains, made with the tree's `rings`; None: they have no such
        preference.

    Notes
    -----
    **A turn** tries every HyperNode of the job's gradients, tier by tier, and stops after the first tier with a
    HyperNode in which the job can start. In each HyperNode the sub-jobs are placed one after another until the job is
    ready (first those that ``wanted`` needed before the first turn; then by grade; ready ones last; then by rank). A
    sub-job is placed in the best HyperNode of the closest tier of its own that holds it, its pods on nodes as in
    `workbench.kernels.dry_runs.DryRuns`; a sub-job without a place is dropped. The HyperNode with the greatest sum of
    the sub-jobs' scores is taken, each sum added up in the order of placement.

    **Score of a HyperNode** for a sub-job: weighted mean of ``(used + request) / allocatable`` over the resources that
    are requested and have a weight; 0 if one of them would overflow. If several HyperNodes of a tier share the greatest
    score, the share of the sub-job's tasks that a HyperNode already holds is added to its score.

    **Ties**: the smallest domain number, that is, name; among nodes the smallest name rank. HyperNodes that the search
    skips cannot hold the job or cannot win.

    Source: docs/reference/volcano-topology.md, sections 5.5, 5.6, 7.2.

    An object must not be used by several threads at once. A wrong dtype or shape, and a number out of range raise
    InputError.
    """

    # Overview:
    #   __init__      checks everything once: nodes, tree, shapes, job and sub-jobs
    #   update_nodes  what other jobs have changed since
    #   turn          = look (the best HyperNode of the lowest tier that can start the job) + take (place its pods)
    #   turns         until no pod is left, or the job can start nowhere
    #   explain_in, scores_of, tried, fit_in, room   what an explanation reads; these place nothing

    def __init__(
        self,
        tree: DomainTree,
        nodes: Nodes,
        shapes: Sequence[Shape],
        job: JobColumns,
        subs: SubJobColumns,
        *,
        weights: ScoreWeights,
        scores: TopologyScores,
        packing: NDArray[np.float64],
        scale: float = 1.0,
        fading: Fading | None = None,
    ) -> None:
        n, d = tree.n, tree.d
        self._n, self._d, self._shapes = n, d, tuple(shapes)
        self._n_subs = len(subs.start) - 1
        idle, used, allocatable = checked_nodes(nodes, n)
        r = idle.shape[1]
        totals = checked_totals(nodes, packing, d, r)
        if not abs(scale) <= MAX_SCORE:
            raise InputError("not finite or too large", source="scale", expected=f"-{MAX_SCORE:g}..{MAX_SCORE:g}")
        if len(scores.value) != d:
            raise InputError("wrong length", source="scores", got=str(len(scores.value)), expected=str(d))
        self._c = c = _core.TwoLevel(
            idle,
            used,
            allocatable,
            tree.name_rank,
            tree.compiled,
            *weights.checked(r),
        )
        if nodes.states is not None:
            c.know_states(nodes.states.state_of, nodes.states.first)
        c.set_topology(*scores.arguments())
        for shape in shapes:
            c.add_shape(*checked_shape(shape, n, r))
        c.bound(MAX_QUANTITY, MAX_SUM, MAX_PODS_PER_CALL)
        self._set_job(job, len(shapes))
        c.set_totals(*totals, float(scale), np.ascontiguousarray(job.left))
        if fading is not None:
            c.set_fading(*fading.arguments(n, d, r))
        self._set_subs(subs, job, len(shapes))

    def _set_job(self, job: JobColumns, n_shapes: int) -> None:
        given: tuple[Any, ...] = (
            job.grouped,
            job.limit is not None,
            0 if job.limit is None else job.limit,
            job.minimum,
            job.left,
            job.present,
            job.minimums,
            job.names,
            RULES.get(job.after_failure),
            job.min_available,
            job.counted,
            job.record,
            job.wanted,
        )
        # The kernel checks what it reads; only what it refuses is looked at here, and told in words.
        try:
            sound = self._c.set_job(*given)
        except (TypeError, ValueError, OverflowError):
            sound = False
        if not sound:
            self._c.set_job(*given[:3], *checked_job(job, n_shapes, self._d, self._c.r))

    def _set_subs(self, subs: SubJobColumns, job: JobColumns, n_shapes: int) -> None:
        given: tuple[Any, ...] = (
            subs.start,
            subs.shapes,
            subs.left,
            subs.min_available,
            subs.counted,
            subs.total,
            subs.stop_after_failure,
            subs.limit,
            subs.limited,
            subs.scored,
            subs.policy,
            subs.rank,
            subs.grade,
            subs.record,
            subs.request,
            subs.pending,
            subs.running_start,
            subs.running,
            *((None, None, None) if subs.runs is None else subs.runs),
        )
        try:
            sound = self._c.set_subs(*given)
        except (TypeError, ValueError):
            sound = False
        if not sound:
            self._c.set_subs(*checked_subs(subs, job, n_shapes, self._n, self._d, self._c.r))

    def update_nodes(self, idle: NDArray[np.int64], used: NDArray[np.int64], shapes: Sequence[Shape]) -> None:
        """Give the search the present amounts of the nodes, if other jobs were placed or removed since its last turn.

        Parameters
        ----------
        idle, used : ndarray of shape (n, r), int64
            Present amounts, including the pods that this search placed.
        shapes : sequence of Shape
            Shapes with the same requests as before; their allowed nodes and extra scores may differ.

        After an InputError nothing has changed.
        """
        n, r = self._n, self._c.r
        if len(shapes) != len(self._shapes):
            raise InputError("other shapes", source="shapes", got=str(len(shapes)), expected=str(len(self._shapes)))
        arrays = [checked_arrays(shape, n) for shape in shapes]
        self._c.update_nodes(
            checked_amounts("idle", idle, (n, r), -MAX_QUANTITY), checked_amounts("used", used, (n, r), 0)
        )
        for i, (before, (feasible, extra)) in enumerate(zip(self._shapes, arrays, strict=True)):
            if not (_same(before.feasible, feasible) and _same(before.extra, extra)):
                self._c.see_shape(i, feasible, extra)
        self._shapes = tuple(shapes)

    def left(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Pods still to place in later turns: sub-job (int32), shape (int32) and number of pods (int64) of each entry.

        An entry is one role of one sub-job. Pods that are given up do not count.
        """
        return self._c.left()

    def order_key(self, sub: int, ready: bool) -> int:
        """Sort key of sub-job ``sub`` in the queue of sub-jobs, smallest first.

        ``ready`` says whether the sub-job is taken to have its minimum of pods, which need not be true now.
        """
        return self._c.job.queue_key(check_number("sub", sub, 0, self._n_subs - 1), ready)

    def cap(self, left: NDArray[np.int64]) -> None:
        """Give up, for good, the pods beyond a limit.

        `left` (ndarray of shape (entries,), int64): pods that each entry (role of a sub-job, numbered as in `left`) may
        still place.
        """
        self._c.cap(checked_amounts("left", left, self._c.left()[2].shape, 0))

    def explain_in(self, domain: int, *, inner: bool = False) -> AttemptSteps:
        """Steps by which the next turn would place the job's sub-jobs in one HyperNode; the search is left unchanged.

        `domain`: the HyperNode; -1: the virtual top, which holds every node. `inner`: also trace every HyperNode that
        the sub-jobs compare, which costs a trial each for sub-jobs of several roles.
        """
        domain = check_number("domain", domain, VIRTUAL_TOP, self._d - 1)
        kept, steps, scores, parts, looked, looked_scores = self._c.explain_in(domain, inner)
        sub, where, pods, needs = steps.T
        step, candidate, holds, verdict = looked.T
        return AttemptSteps(
            kept, sub, where, pods, needs, scores, parts, step, candidate, holds, verdict, *looked_scores.T
        )

    def scores_of(self, sub: int, domains: NDArray[np.int32]) -> NDArray[np.float64]:
        """Parts of a sub-job's score in some HyperNodes: how full they become, and the share of its tasks inside.

        Computed as if the sub-job fitted in each: float64 (m, 2), before it is multiplied by ``100 * scale``. The share
        is 0 unless several domains are equally full.
        """
        domains = as_array("domains", domains, np.int32, 1)
        check_range("domains", domains, VIRTUAL_TOP, self._d - 1)
        return self._c.scores_of(check_number("sub", sub, 0, self._n_subs - 1), domains)

    def turn(self) -> bool:
        """Place the job's sub-jobs in the best HyperNode until the job is ready to start (one turn).

        Return False, and leave the search unchanged, if the job can start in no HyperNode.
        """
        return self._c.turn()

    def turns(self) -> float:
        """Take turns until no pod is left or the job can start in no HyperNode; return the sum of their scores."""
        search, total = self._c, 0.0
        while search.pods_left and search.turn():
            total += search.last_score
        return total

    def look(self) -> bool:
        """Find the HyperNode in which the next turn would place the job, without placing a pod; False if there is none.

        All HyperNodes are tried, also those that cannot win, so that `tried` has a row for each. `take` then places the
        pods. Until then the search may be read, but `cap` and `update_nodes` are not allowed.
        """
        return self._c.look()

    def take(self) -> bool:
        """Place pods in the HyperNode that `look` found.

        Return False, and leave the search unchanged, if `look` found none.
        """
        return self._c.take()

    @property
    def ready(self) -> bool:
        """Whether the job may start: enough of its pods and of its sub-jobs have a node."""
        return self._c.ready

    @property
    def pods_left(self) -> int:
        """Number of pods still to place in later turns.

        Pods of sub-jobs that were dropped, and pods given up, do not count.
        """
        return self._c.pods_left

    @property
    def record(self) -> int:
        """HyperNode in which the job is allocated so far: its number, -1 for the virtual top, `NO_RECORD` for none."""
        return self._c.record

    @property
    def score(self) -> float:
        """Score of the HyperNode chosen in the last turn: the sum of the scores of the sub-jobs placed there."""
        return self._c.last_score

    @property
    def n_placed(self) -> int:
        """Number of pods placed in all turns so far.

        `placed` takes this number as ``first`` to list only the pods of later turns.
        """
        return self._c.n_placed

    def fit_in(self, domain: int) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]:
        """Try the first sub-job with pods left in one HyperNode (-1: on all nodes); nothing is placed.

        Returns
        -------
        shape : int
            Shape of the first pod that fits nowhere, or of the sub-job's first role if all pods fit; -1: no sub-job has
            pods left.
        shapes, nodes : ndarray of shape (p,), int32
            Shape and node of each of the p pods that found a node, in the order of placement.
        """
        return self._c.fit_in(check_number("domain", domain, VIRTUAL_TOP, self._d - 1))

    def room(self, domains: NDArray[np.int32]) -> NDArray[np.int64]:
        """Upper bound on the number of the job's remaining pods that fit in each of the given HyperNodes.

        ``domains`` is int32 of shape (m,), -1 for the virtual top; the result int64 of shape (m,).
        """
        domains = as_array("domains", domains, np.int32, 1)
        check_range("domains", domains, VIRTUAL_TOP, self._d - 1)
        return self._c.room(domains)

    def takes_one(self) -> NDArray[np.bool_]:
        """For each pod shape, whether at least one node has room for a pod of it now; bool (shapes,)."""
        return self._c.takes_one()

    def records(self) -> NDArray[np.int32]:
        """HyperNode in which each sub-job is allocated so far, as a domain number; int32 (s,).

        -1: the virtual top; `NO_RECORD`: none.
        """
        return self._c.records()

    def placed(self, first: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Sub-job, shape and node of each placed pod, in the order of placement, as three int32 arrays of equal length.

        The first ``first`` pods are left out.
        """
        return self._c.placed(check_number("first", first, 0, self.n_placed))

    def enter_nodes(
        self,
        start: NDArray[np.int64],
        shapes: NDArray[np.int32],
        first: NDArray[np.int64],
        positions: NDArray[np.int64],
        node: NDArray[np.int32],
    ) -> None:
        """Write the node of every pod that this search placed into an array over the gang's pods.

        Parameters
        ----------
        start : ndarray of shape (s + 1,), int64
            First entry of each sub-job.
        shapes : ndarray of shape (entries,), int32
            Sub-job i has the entries ``start[i]`` to ``start[i + 1]``, one per shape.
        first : ndarray of shape (entries + 1,), int64
            Entry e has the positions ``positions[first[e]:first[e + 1]]``, which its pods take in their order.
        positions : ndarray of shape (pods,), int64
            Positions in the gang of the pods of all entries.
        node : ndarray of shape (n_pods,), int32
            Written in place; entries of pods that were not placed stay as they are.
        """
        given = start, shapes, first, positions, node
        self._c.enter_nodes(*checked_positions(*given, self._n_subs, len(self._shapes)))

    def tried(self) -> TriedDomains:
        """The HyperNodes that the last turn (or `look`) tried, with the result in each."""
        return TriedDomains(*self._c.rows())


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
