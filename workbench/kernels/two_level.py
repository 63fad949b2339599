"""Volcano 1.15's topology search: HyperNodes for a job, and inside them HyperNodes for its sub-jobs.

Checked interface of ``_core.two_level``. The record of a job or sub-job is the HyperNode in which it is allocated so
far. ``policies`` decide what a sub-job is, which tiers are allowed and how records are recovered from running pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workbench._core import two_level as _core
from workbench._core.hypernode_tree import HyperNodeTree
from workbench._core.ranges import first_outside, is_offsets, is_order, is_sound
from workbench.errors import CapacityError, InputError
from workbench.kernels.checks import as_array, check_length, check_number, check_range, checked, checked_columns
from workbench.kernels.domains import (
    MAX_PODS_PER_CALL,
    MAX_QUANTITY,
    MAX_SCORE,
    MAX_SUM,
    NO_RECORD,
    ScoreWeights,
    TopologyScores,
    checked_leaves,
)
from workbench.kernels.fading import MAX_WEIGHT, Fading, Rings
from workbench.kernels.tiers import VIRTUAL_TOP, Forest
from workbench.kernels.two_level_values import (
    VERDICTS,
    AttemptSteps,
    JobColumns,
    Nodes,
    Shape,
    SubJobColumns,
    TriedDomains,
)

__all__ = [
    "VERDICTS",
    "AttemptSteps",
    "DomainTree",
    "JobColumns",
    "Nodes",
    "Shape",
    "SubJobColumns",
    "TriedDomains",
    "TwoLevel",
]

_INT32, _INT64 = np.iinfo(np.int32), np.iinfo(np.int64)

_RULES = {"by-minimums": 0, "stop": 1, "go-on": 2}


class DomainTree:
    """The HyperNodes of a cluster (called domains, by number) and the nodes in them.

    The arrays are checked once; all searches share this object.

    Parameters
    ----------
    forest : Forest
        The tree of the d domains, which are numbered in the order of their names.
    walk, end : ndarray of shape (d,), int32
        Position of each domain in preorder of the forest, and one past the last position of its subtree.
    member_start : ndarray of shape (d + 1,), int64
        Offsets into ``members``, ascending from 0.
    members : ndarray of shape (member_start[d],), int32
        Nodes of domain j, each once, ascending: ``members[member_start[j]:member_start[j + 1]]``.
    node_start : ndarray of shape (n + 1,), int64
        Offsets into ``node_domains``, ascending from 0.
    node_domains : ndarray of shape (node_start[n],), int32
        Domains that hold node i: ``node_domains[node_start[i]:node_start[i + 1]]``.
    name_rank, leaf : ndarray of shape (n,), int32
        Rank of each node's name; leaf domain of each node, -1 for none.
    spans : ndarray of shape (d, 2), int32, optional
        First node of each domain and one past its last, if the nodes of every domain are consecutive; None: they need
        not be.
    nested : bool
        Whether every domain holds the nodes of the domains below it; False: a domain's pod count is no bound for those
        below.
    leaves : tuple of (ndarray of shape (n + 1,), int64, ndarray of shape (m,), int32), optional
        Every leaf domain that holds node i, if leaves overlap: ``leaves[1][leaves[0][i]:leaves[0][i + 1]]``. None: no
        node is in two.
    """

    def __init__(
        self,
        forest: Forest,
        walk: NDArray[np.int32],
        end: NDArray[np.int32],
        member_start: NDArray[np.int64],
        members: NDArray[np.int32],
        node_start: NDArray[np.int64],
        node_domains: NDArray[np.int32],
        name_rank: NDArray[np.int32],
        leaf: NDArray[np.int32],
        *,
        spans: NDArray[np.int32] | None = None,
        nested: bool = True,
        leaves: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
    ) -> None:
        d = len(forest)
        self.forest = forest
        self.walk = as_array("walk", walk, np.int32, 1)
        check_length("walk", walk, d)
        if not is_order(self.walk, np.zeros(d, dtype=np.uint8)):
            raise InputError("no order", source="walk", expected=f"each of 0..{d - 1} once")
        self.end = as_array("end", end, np.int32, 1)
        check_length("end", end, d)
        check_range("end", end, 1, d)
        self.name_rank = as_array("name_rank", name_rank, np.int32, 1)
        self.n = n = self.name_rank.shape[0]
        check_range("name_rank", self.name_rank, 0, n - 1)
        self.leaf = as_array("leaf", leaf, np.int32, 1)
        check_length("leaf", leaf, n)
        check_range("leaf", leaf, VIRTUAL_TOP, d - 1)
        self.member_start, self.members = _csr("member", member_start, members, d, n)
        self.node_start, self.node_domains = _csr("node", node_start, node_domains, n, d)
        self.spans = None
        if spans is not None:
            self.spans = as_array("spans", spans, np.int32, 2)
            if self.spans.shape != (d, 2):
                raise InputError("wrong shape", source="spans", got=str(self.spans.shape), expected=f"({d}, 2)")
            check_range("spans", self.spans, 0, n)
        self.leaves = None if leaves is None else checked_leaves(leaves, n, d)
        self.nested = nested
        self.proper = nested and self._proper()
        """Besides, any two domains that share a node are nested, and tiers grow towards the root."""
        covered = self.leaf >= 0
        self.contained = self.proper and np.array_equal(
            self.forest.depth[self.leaf[covered]] + 1, np.diff(self.node_start)[covered]
        )
        """Besides, the leaf of a node is the deepest domain that holds it, if it has one."""
        tiers, tier_of = np.unique(forest.tier, return_inverse=True)
        self.tiers = tiers.astype(np.int64)
        self.tier_of = tier_of.reshape(-1).astype(np.int32)
        self.tier_domains = np.lexsort((self.walk, self.tier_of)).astype(np.int32)
        counts = np.bincount(self.tier_of, minlength=len(tiers))
        self.tier_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.place_in_tier = np.empty(d, dtype=np.int32)
        self.place_in_tier[self.tier_domains] = np.arange(d, dtype=np.int32)
        self.largest = np.zeros(len(tiers) + 1, dtype=np.int64)
        self.largest[-1] = n
        np.maximum.at(self.largest, self.tier_of, np.diff(self.member_start))
        self.top_tier = max(int(tiers[-1]) + 1, 1) if d else 1
        """The largest tier plus one, at least 1."""
        self.compiled = self._compiled()
        """The same for compiled searches, which share it."""

    def _compiled(self) -> HyperNodeTree:
        made = HyperNodeTree()
        made.set_nodes(self.leaf, self.member_start, self.members)
        if self.leaves is not None:
            made.set_leaves(*self.leaves)
        made.set_tree(
            self.forest.parent,
            self.tiers,
            self.tier_start,
            self.tier_domains,
            self.tier_of,
            self.walk,
            self.end,
            self.place_in_tier,
            self.largest,
            self.node_start,
            self.node_domains,
            self.spans,
            self.top_tier,
            self.nested,
            self.proper,
            self.contained,
        )
        return made

    @cached_property
    def rings(self) -> Rings:
        """Nodes grouped by the domains (HyperNodes) around them, an argument of `workbench.kernels.fading.Fading`."""
        return Rings.of(self.node_start, self.node_domains, self.tier_of, len(self.tiers))

    def _proper(self) -> bool:
        parent, tier = self.forest.parent, self.forest.tier
        inner = np.flatnonzero(parent >= 0)
        if bool((tier[parent[inner]] <= tier[inner]).any()):
            return False
        holders = np.diff(self.node_start)
        held = np.flatnonzero(holders)
        if len(held) == 0:
            return True
        # The deepest holder's ancestors hold the node, too: when they are as many as its holders, there are no others.
        deepest = np.maximum.reduceat(self.forest.depth[self.node_domains], self.node_start[held])
        return np.array_equal(deepest + 1, holders[held])


class TwoLevel:
    """Places one job with sub-jobs in HyperNodes as Volcano does, one turn at a time.

    A turn places all sub-jobs in order until the job is ready to start. The record of a job or sub-job is the HyperNode
    in which it is allocated so far.

    Parameters
    ----------
    tree : DomainTree
    nodes : Nodes
        Amounts of the nodes. The search copies the arrays that it changes; allocatable and idle_at_open must not
        change.
    shapes : sequence of Shape
        Pod shapes: request, allowed nodes and extra scores of the pods of one role.
    job : JobColumns
    subs : SubJobColumns
    weights : ScoreWeights
        Weights of the node score.
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

    An object must not be used by several threads at once.

    Raises
    ------
    InputError
        Wrong dtype or shape, a number out of range.
    """

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
        n, d, r = tree.n, len(tree.forest), _columns(nodes.idle)
        self._n, self._d, self._shapes = n, d, tuple(shapes)
        self._n_subs = len(subs.start) - 1
        idle, used, allocatable = _of_nodes(nodes, (n, r))
        domain_used = _amounts("domain_used", nodes.domain_used, (d + 1, r), 0, MAX_SUM)
        domain_allocatable = _amounts("domain_allocatable", nodes.domain_allocatable, (d + 1, r), 0, MAX_SUM)
        idle_at_open = _amounts("idle_at_open", nodes.idle_at_open, (d + 1, r), -MAX_SUM, MAX_SUM)
        packing = as_array("packing", packing, np.float64, 1)
        check_length("packing", packing, r)
        check_range("packing", packing, -1, MAX_WEIGHT)
        if not abs(scale) <= MAX_SCORE:
            raise InputError("not finite or too large", source="scale", expected=f"-{MAX_SCORE:g}..{MAX_SCORE:g}")
        check_length("scores", scores.value, d)
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
        self._add(shapes, n, r)
        c.bound(MAX_QUANTITY, MAX_SUM, MAX_PODS_PER_CALL)
        self._set_job(job, len(shapes))
        c.set_totals(
            domain_used, domain_allocatable, idle_at_open, packing, float(scale), np.ascontiguousarray(job.left)
        )
        if fading is not None:
            c.set_fading(*fading.arguments(n, d, r))
        self._set_subs(subs, job, len(shapes))

    def _add(self, shapes: Sequence[Shape], n: int, r: int) -> None:
        for shape in shapes:
            self._c.add_shape(_amounts("request", shape.request, (r,), 0), *_node_arrays(shape, n))

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
            _RULES.get(job.after_failure),
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
            self._c.set_job(*given[:3], *_checked_job(job, n_shapes, self._d, self._c.r))

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
            self._c.set_subs(*_checked_subs(subs, job, n_shapes, self._n, self._d, self._c.r))

    def update_nodes(self, idle: NDArray[np.int64], used: NDArray[np.int64], shapes: Sequence[Shape]) -> None:
        """Give the search the present amounts of the nodes, if other jobs were placed or removed since its last turn.

        A turn places the job's sub-jobs in one HyperNode until the job is ready.

        Parameters
        ----------
        idle, used : ndarray of shape (n, r), int64
            Present amounts, including the pods that this search placed.
        shapes : sequence of Shape
            Shapes with the same requests as before; their allowed nodes and extra scores may differ.

        Raises
        ------
        InputError
            Wrong dtype or shape, an amount out of range; then nothing has changed.
        """
        n, r = self._n, self._c.r
        if len(shapes) != len(self._shapes):
            raise InputError("other shapes", source="shapes", got=str(len(shapes)), expected=str(len(self._shapes)))
        arrays = [_node_arrays(shape, n) for shape in shapes]
        self._c.update_nodes(_amounts("idle", idle, (n, r), -MAX_QUANTITY), _amounts("used", used, (n, r), 0))
        for i, (before, (feasible, extra)) in enumerate(zip(self._shapes, arrays, strict=True)):
            if not (_same(before.feasible, feasible) and _same(before.extra, extra)):
                self._c.see_shape(i, feasible, extra)
        self._shapes = tuple(shapes)

    def left(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Pods still to place in later turns, by sub-job and shape.

        A turn places the job's sub-jobs in one HyperNode until the job is ready.

        Returns
        -------
        sub, shape : ndarray of shape (entries,), int32
            An entry is one role of one sub-job; the shape is the number of its pods' shape.
        left : ndarray of shape (entries,), int64
            Pods of the entry that are not placed and not given up.
        """
        return self._c.left()

    def order_key(self, sub: int, ready: bool) -> int:
        """Sort key of sub-job ``sub`` in the queue of sub-jobs, smallest first.

        ``ready`` says whether the sub-job is taken to have its minimum of pods, which need not be true now.
        """
        return self._c.job.queue_key(check_number("sub", sub, 0, self._n_subs - 1), ready)

    def cap(self, left: NDArray[np.int64]) -> None:
        """Give up, for good, the pods beyond a limit.

        Parameters
        ----------
        left : ndarray of shape (entries,), int64
            Pods that each entry (role of a sub-job, numbered as in `left`) may still place.
        """
        self._c.cap(_amounts("left", left, self._c.left()[2].shape, 0))

    def explain_in(self, domain: int, *, inner: bool = False) -> AttemptSteps:
        """Steps by which the next turn would place the job's sub-jobs in one HyperNode; the search is left unchanged.

        A turn places the job's sub-jobs in one HyperNode until the job is ready.

        Parameters
        ----------
        domain : int
            The HyperNode; -1: the virtual top, which holds every node.
        inner : bool
            Also trace every HyperNode that the sub-jobs compare, which costs a trial each for sub-jobs of several
            roles.
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

        Computed as if the sub-job fitted in each.

        Returns
        -------
        ndarray of shape (m, 2), float64
            Scores before they are multiplied by ``100 * scale``. The share is 0 unless several domains are equally
            full.
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
        pods. Until then the search may be read, but `cap` and `update_nodes` are not allowed. A turn places the job's
        sub-jobs in one HyperNode until the job is ready.
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

        Pods of sub-jobs that were dropped, and pods given up, do not count. A turn places the job's sub-jobs in one
        HyperNode until the job is ready.
        """
        return self._c.pods_left

    @property
    def record(self) -> int:
        """HyperNode in which the job is allocated so far, as a domain number; -1: the virtual top.

        `NO_RECORD`: none.
        """
        return self._c.record

    @property
    def score(self) -> float:
        """Score of the HyperNode chosen in the last turn: the sum of the scores of the sub-jobs placed there.

        A turn places the job's sub-jobs in one HyperNode until the job is ready.
        """
        return self._c.last_score

    @property
    def n_placed(self) -> int:
        """Number of pods placed in all turns so far.

        `placed` takes this number as ``first`` to list only the pods of later turns. A turn places the job's sub-jobs
        in one HyperNode until the job is ready.
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
        start, shapes = _csr("", start, shapes, self._n_subs, len(self._shapes))
        first, positions = _csr("position", first, positions, len(shapes), len(node), dtype=np.int64)
        self._c.enter_nodes(start, shapes, first, positions, as_array("node", node, np.int32, 1))

    def tried(self) -> TriedDomains:
        """The HyperNodes that the last turn (or `look`) tried, with the result in each."""
        return TriedDomains(*self._c.rows())


def _checked_job(job: JobColumns, n_shapes: int, d: int, r: int) -> tuple[Any, ...]:
    """Columns of a job as the kernel takes them, C-contiguous; an InputError says what is wrong with one."""
    left = as_array("left", job.left, np.int64, 1)
    m = len(left)
    left, present, minimums, names = checked_columns(
        m,
        ("left", left, np.int64, 0, MAX_QUANTITY),
        ("present", job.present, np.int64, 0, MAX_QUANTITY),
        ("minimums", job.minimums, np.int64, 0, MAX_QUANTITY),
        ("names", job.names, np.int32, _INT32.min, _INT32.max),
    )
    if m < n_shapes:
        raise InputError("fewer roles than shapes", source="left", got=str(m), expected=f">= {n_shapes}")
    if m > n_shapes and left[n_shapes:].any():
        raise InputError("a role without a shape has pods left", source="left", expected="0")
    _check_pods(left)
    if job.after_failure not in _RULES:
        raise InputError("no such rule", source="after_failure", got=job.after_failure, expected=", ".join(_RULES))
    return (
        None if job.minimum is None else _amounts("minimum", job.minimum, (r,), 0, MAX_SUM),
        left,
        present,
        minimums,
        names,
        _RULES[job.after_failure],
        check_number("min_available", job.min_available, 0, MAX_QUANTITY),
        check_number("counted", job.counted, 0, MAX_QUANTITY),
        check_number("record", job.record, NO_RECORD, d - 1),
        checked("wanted", job.wanted, np.int64, None, 0, MAX_QUANTITY),
    )


def _checked_subs(subs: SubJobColumns, job: JobColumns, n_shapes: int, n: int, d: int, r: int) -> tuple[Any, ...]:
    """Columns of sub-jobs as the kernel takes them, C-contiguous; an InputError says what is wrong with one."""
    s = len(subs.start) - 1
    rank = subs.rank
    if rank is not None:
        rank = as_array("rank", rank, np.int32, 1)
        check_length("rank", rank, s)
        if not is_order(rank, np.zeros(s, dtype=np.uint8)):
            raise InputError("no order", source="rank", expected=f"each of 0..{s - 1} once")
    if not job.grouped and s != 1:
        raise InputError("a job that is not grouped has one sub-job", source="start", got=str(s), expected="1")
    start, shapes = _csr("", subs.start, subs.shapes, s, n_shapes)
    left = _amounts("left", subs.left, shapes.shape, 0)
    if job.grouped:
        _check_pods(left)
    min_available, counted, total, limit, policy, grade, record = checked_columns(
        s,
        ("min_available", subs.min_available, np.int64, 0, MAX_QUANTITY),
        ("counted", subs.counted, np.int64, 0, MAX_QUANTITY),
        ("total", subs.total, np.int64, 1, MAX_QUANTITY),
        ("limit", subs.limit, np.int64, _INT64.min, _INT64.max),
        ("policy", subs.policy, np.int32, -1, len(job.wanted) - 1),
        ("grade", subs.grade, np.int32, 0, s - 1),
        ("record", subs.record, np.int32, NO_RECORD, d - 1),
    )
    return (
        start,
        shapes,
        left,
        min_available,
        counted,
        total,
        _flags("stop_after_failure", subs.stop_after_failure, s),
        limit,
        None if subs.limited is None else _flags("limited", subs.limited, s),
        _flags("scored", subs.scored, s),
        policy,
        rank,
        grade,
        record,
        _amounts("request", subs.request, (s, r), 0, MAX_SUM),
        _amounts("pending", subs.pending, (s, r), 0, MAX_SUM),
        *_running(subs, s, n),
        *_runs(subs, s, n_shapes),
    )


def _running(subs: SubJobColumns, s: int, n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]] | tuple[None, None]:
    if subs.running_start is None or subs.running is None:
        return None, None
    return _csr("running", subs.running_start, subs.running, s, n, lowest=-1)


def _runs(
    subs: SubJobColumns, s: int, n_shapes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]] | tuple[None, None, None]:
    if subs.runs is None:
        return None, None, None
    start, shapes = _csr("run", subs.runs[0], subs.runs[1], s, n_shapes)
    return start, shapes, _amounts("upto", subs.runs[2], shapes.shape, 0)


def _check_pods(left: NDArray[np.int64]) -> None:
    pods = sum(left.tolist())
    if pods > MAX_PODS_PER_CALL:
        raise CapacityError(f"left: {pods} pods, at most {MAX_PODS_PER_CALL}")


def _flags(name: str, value: NDArray[np.bool_], s: int) -> NDArray[np.bool_]:
    array = as_array(name, value, np.bool_, 1)
    check_length(name, array, s)
    return array


def _node_arrays(shape: Shape, n: int) -> tuple[NDArray[np.uint8] | None, NDArray[np.float64] | None]:
    """Check a shape's arrays over ``n`` nodes (where its pods may run, their extra scores) and return them.

    None if absent.
    """
    feasible, extra = shape.feasible, shape.extra
    if feasible is not None:
        feasible = as_array("feasible", feasible, np.uint8, 1)
        check_length("feasible", feasible, n)
    if extra is not None:
        extra = as_array("extra", extra, np.float64, 1)
        check_length("extra", extra, n)
        if first_outside(np.ascontiguousarray(extra), -MAX_SCORE, MAX_SCORE) >= 0:
            limits = f"-{MAX_SCORE:g}..{MAX_SCORE:g}"
            raise InputError("not finite or too large", source="extra", expected=limits)
    return feasible, extra


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def _columns(array: NDArray[np.int64]) -> int:
    return int(as_array("idle", array, np.int64, 2).shape[1])


def _of_nodes(nodes: Nodes, shape: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Idle, used and allocatable amounts, checked for ``shape`` (nodes, resources).

    Not checked again if ``nodes`` has `NodeStates` that were made of these arrays.
    """
    if nodes.states is not None:
        if not nodes.states.are_of(nodes.idle, nodes.used, nodes.allocatable):
            raise InputError("of other arrays", source="states", expected="those of idle, used and allocatable")
        if nodes.idle.shape == shape:
            idle, used, allocatable = map(np.ascontiguousarray, (nodes.idle, nodes.used, nodes.allocatable))
            return idle, used, allocatable
    return (
        _amounts("idle", nodes.idle, shape, -MAX_QUANTITY),
        _amounts("used", nodes.used, shape, 0),
        _amounts("allocatable", nodes.allocatable, shape, 0),
    )


def _amounts(
    name: str, value: NDArray[np.int64], shape: tuple[int, ...], low: int, high: int = MAX_QUANTITY
) -> NDArray[np.int64]:
    if is_sound(value, 8, shape, low, high):
        return value
    array: NDArray[np.int64] = as_array(name, value, np.int64, len(shape))
    if array.shape != shape:
        raise InputError("wrong shape", source=name, got=str(array.shape), expected=str(shape))
    check_range(name, array, low, high)
    return array


def _csr(
    name: str,
    start: NDArray[np.int64],
    entries: NDArray[Any],
    rows: int,
    size: int,
    lowest: int = 0,
    dtype: DTypeLike = np.int32,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    itemsize = 4 if dtype is np.int32 else 8
    sound = is_sound(entries, itemsize, (-1,), lowest, size - 1) and is_sound(start, 8, (rows + 1,), 0, len(entries))
    if sound and is_offsets(start, len(entries)):
        return start, entries
    source = f"{name}_start".lstrip("_")
    start = as_array(source, start, np.int64, 1)
    check_length(source, start, rows + 1)
    entries = as_array(source.replace("start", "entries"), entries, dtype, 1)
    if not is_offsets(start, entries.shape[0]):
        raise InputError("no CSR offsets", source=source, expected=f"ascending from 0 to {entries.shape[0]}")
    check_range(source.replace("start", "entries"), entries, lowest, size - 1)
    return start, entries
