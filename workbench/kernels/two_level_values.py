"""Input arrays and results of the two-level search, which places a job and its sub-jobs in HyperNodes.

Owns no checks: the search checks what it is given. The three classes of columns are not frozen, because a frozen one
takes three times as long to make, and one of each is made for every placement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.node_states import NodeStates

__all__ = ["VERDICTS", "AttemptSteps", "JobColumns", "Nodes", "Shape", "SubJobColumns", "TriedDomains"]


@dataclass(slots=True, eq=False)
class Nodes:
    """Idle, used and allocatable amounts of n nodes, and their sums over d domains (HyperNodes).

    The virtual top, which holds every node, is the last row of the sums.

    Parameters
    ----------
    idle, used, allocatable : ndarray of shape (n, r), int64
        In base units, at most `MAX_QUANTITY`; idle may be negative. Sums go up to `MAX_SUM`.
    domain_used, domain_allocatable : ndarray of shape (d + 1, r), int64
        Used and allocatable amounts summed over the nodes of each domain.
    idle_at_open : ndarray of shape (d + 1, r), int64
        Idle amounts of the domains when the session began; they decide whether a HyperNode is large enough for a job.
    states : NodeStates, optional
        Groups of nodes with equal idle, used and allocatable amounts; None: the search computes them.
    """

    idle: NDArray[np.int64]
    used: NDArray[np.int64]
    allocatable: NDArray[np.int64]
    domain_used: NDArray[np.int64]
    domain_allocatable: NDArray[np.int64]
    idle_at_open: NDArray[np.int64]
    states: NodeStates | None = None


class Shape(NamedTuple):
    """A pod shape: pods with equal request, allowed nodes and extra node scores.

    `request` (ndarray of shape (r,), int64): amounts that one pod requests, in base units. `feasible` (ndarray of shape
    (n,), uint8): 0 where the pods may not run; None: they may run everywhere. `extra` (ndarray of shape (n,), float64):
    score of each node to add to the other parts; None: 0.
    """

    request: NDArray[np.int64]
    feasible: NDArray[np.uint8] | None = None
    extra: NDArray[np.float64] | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class JobColumns:
    """A job as input of the two-level search: pods to place by role, minimums, highest allowed tier, HyperNode so far.

    Parameters
    ----------
    left : ndarray of shape (m,), int64
        Pods to place of each role. Role i has shape i; roles beyond the shapes have no pods to place and count for the
        minimums alone.
    present, minimums : ndarray of shape (m,), int64, optional
        For each role its pods that count already, and its minimum; None: 0.
    names : ndarray of shape (m,), int32, optional
        Roles with equal numbers are given up together; None: no two are equal.
    min_available, counted : int
        The job is ready when ``min_available`` pods count, of which ``counted`` do already, every minimum is met
        (looked at only while they do not exceed ``min_available`` together) and ``wanted`` sub-jobs of each policy are
        ready.
    after_failure : {"by-minimums", "stop", "go-on"}
        For a job that is not grouped: what follows a pod that fits nowhere, see
        `workbench.kernels.dry_run_values.Counts`.
    grouped : bool
        Whether the job has sub-groups; if not, the progress of its one sub-job is the job's.
    limit : int, optional
        Highest tier that the job's HyperNode may have; None: only the virtual top is tried.
    minimum : ndarray of shape (r,), int64, optional
        Resources; a HyperNode is tried only if it had them idle when the session began. None: no such condition.
    record : int
        Domain in which the job is allocated so far, -1 for the virtual top, or `NO_RECORD`.
    wanted : ndarray of shape (policies,), int64
        Number of sub-jobs of each sub-group policy that must be ready.
    """

    left: NDArray[np.int64]
    min_available: int
    present: NDArray[np.int64] | None = None
    minimums: NDArray[np.int64] | None = None
    names: NDArray[np.int32] | None = None
    counted: int = 0
    after_failure: str = "by-minimums"
    grouped: bool = True
    limit: int | None = None
    minimum: NDArray[np.int64] | None = None
    record: int = NO_RECORD
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(slots=True, kw_only=True, eq=False)
class SubJobColumns:
    """The s sub-jobs of a job as input of the two-level search: one array for each property.

    Parameters
    ----------
    start : ndarray of shape (s + 1,), int64
        Offsets into ``shapes`` and ``left``, ascending from 0.
    shapes : ndarray of int32
        Roles of sub-job i in the order in which they are tried: ``shapes[start[i]:start[i + 1]]``. Ignored for a job
        that is not grouped.
    left : ndarray of int64
        Pods to place of each role in ``shapes``.
    min_available, counted, total : ndarray of shape (s,), int64
        Minimum, pods that count already, and all tasks (running ones included) of each sub-job.
    stop_after_failure : ndarray of shape (s,), bool
        Whether the rest of the sub-job is skipped after a pod that fits nowhere.
    limit : ndarray of shape (s,), int64
        Highest tier that the sub-job's HyperNode may have; -1: no limit, and the sub-job uses the job's HyperNode.
    limited : ndarray of shape (s,), bool, optional
        Whether the sub-job has a limit; None: every one has.
    scored : ndarray of shape (s,), bool
        Whether the sub-job's pods are scored by its record.
    policy : ndarray of shape (s,), int32
        Entry of ``JobColumns.wanted`` that the sub-job counts for; -1: none.
    rank : ndarray of shape (s,), int32, optional
        Position of each sub-job in the order of sub-jobs; no two are equal. None: the order given.
    grade : ndarray of shape (s,), int32, below s, optional
        Sort key that is compared before the readiness of sub-jobs, smaller first; None: there is none.
    runs : tuple of ndarray of shape (s + 1,), int64, ndarray of int32 and ndarray of int64, optional
        The order of the pods. Sub-job i has the runs ``runs[0][i]`` to ``runs[0][i + 1]``; ``runs[1]`` has the shape of
        each run, ``runs[2]`` the number of the sub-job's pods of that shape up to the end of the run. None: role by
        role.
    record : ndarray of shape (s,), int32, optional
        Domain in which each sub-job is allocated so far, -1 for the virtual top, or `NO_RECORD`; None: `NO_RECORD` for
        every sub-job.
    request, pending : ndarray of shape (s, r), int64
        Summed requests of all tasks, which score a HyperNode, and of the pending ones, which it must be able to hold.
    running_start : ndarray of shape (s + 1,), int64, optional
        Offsets into ``running``, ascending from 0.
    running : ndarray of int32, optional
        Nodes of the running pods, -1 for an unknown node; sub-job i: ``running_start[i]`` to ``[i + 1]``. None: no pod
        runs.
    """

    start: NDArray[np.int64]
    shapes: NDArray[np.int32]
    left: NDArray[np.int64]
    min_available: NDArray[np.int64]
    counted: NDArray[np.int64]
    total: NDArray[np.int64]
    stop_after_failure: NDArray[np.bool_]
    limit: NDArray[np.int64]
    scored: NDArray[np.bool_]
    policy: NDArray[np.int32]
    request: NDArray[np.int64]
    pending: NDArray[np.int64]
    rank: NDArray[np.int32] | None = None
    limited: NDArray[np.bool_] | None = None
    record: NDArray[np.int32] | None = None
    running_start: NDArray[np.int64] | None = None
    running: NDArray[np.int32] | None = None
    grade: NDArray[np.int32] | None = None
    runs: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]] | None = None


class TriedDomains(NamedTuple):
    """The k HyperNodes in which the last turn tried to place the job, with the result in each.

    They are ordered by tier and preorder, up to the first tier in which the job can start. If there is one,
    HyperNodes that could not have the best score may be missing. A turn places the job's sub-jobs in one HyperNode
    until the job is ready.

    Attributes
    ----------
    domains : ndarray of shape (k,), int32
        The HyperNodes; -1: the virtual top.
    holds : ndarray of shape (k,), int64
        Upper bound on the job's remaining pods that fit in each HyperNode.
    kept : ndarray of shape (k,), bool
        Whether the job can start in each HyperNode.
    scores : ndarray of shape (k,), float64
        Sum of the sub-jobs' scores in each HyperNode; 0 if the job cannot start there.
    stuck : ndarray of shape (k,), int32
        First sub-job that found no place in each HyperNode; -1: none; -2: not tried, because too few pods fit.
    """

    domains: NDArray[np.int32]
    holds: NDArray[np.int64]
    kept: NDArray[np.bool_]
    scores: NDArray[np.float64]
    stuck: NDArray[np.int32]


VERDICTS = ("too small", "too few", "no fit", "solves")
"""Meaning of the numbers in `AttemptSteps.verdict`, for one HyperNode and one sub-job.

Too small: less was idle than the pending pods ask for when the session began. Too few, no fit: the counts, or a trial,
show that too few pods fit. Solves: the HyperNode has a solution."""


class AttemptSteps(NamedTuple):
    """Trace of placing a job in one HyperNode: one row per step, a step being one sub-job that is tried once.

    A sub-job may have several steps. The m HyperNodes that the steps compared have arrays of their own.

    Attributes
    ----------
    kept : bool
        Whether the job can start in the HyperNode.
    sub : ndarray of shape (steps,), int64
        Sub-job of each step.
    domain : ndarray of shape (steps,), int64
        HyperNode in which each step placed its sub-job; -1: the virtual top; -3: the sub-job found no place and is
        dropped.
    pods : ndarray of shape (steps,), int64
        Number of the sub-job's pods placed in each step.
    needs : ndarray of shape (steps,), int64
        Number of pods that each step's sub-job needs to be ready, at least 1.
    score : ndarray of shape (steps,), float64
        Score of each step before it is multiplied by ``100 * scale``.
    parts : ndarray of shape (steps, r), float64
        Part of the score from each resource; the rest of the score is the share of the sub-job's tasks inside.
    step : ndarray of shape (m,), int64
        Step that compared each HyperNode of ``looked``.
    looked : ndarray of shape (m,), int64
        HyperNodes that each step compared, tier by tier up to the first tier in which the sub-job found a place.
    holds : ndarray of shape (m,), int64
        Upper bound on the sub-job's remaining pods that fit in each HyperNode.
    verdict : ndarray of shape (m,), int64
        Result in each HyperNode, as an index in `VERDICTS`.
    packed : ndarray of shape (m,), float64
        Packing score of each HyperNode; 0 if the sub-job does not fit there.
    share : ndarray of shape (m,), float64
        Share of the sub-job's tasks in each HyperNode if several have the best packing, else 0. The HyperNode's score
        is ``packed + share``.
    """

    kept: bool
    sub: NDArray[np.int64]
    domain: NDArray[np.int64]
    pods: NDArray[np.int64]
    needs: NDArray[np.int64]
    score: NDArray[np.float64]
    parts: NDArray[np.float64]
    step: NDArray[np.int64]
    looked: NDArray[np.int64]
    holds: NDArray[np.int64]
    verdict: NDArray[np.int64]
    packed: NDArray[np.float64]
    share: NDArray[np.float64]
