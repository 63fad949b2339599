"""What goes into the two-level search as arrays, and what it tells (`workbench.kernels.two_level`).

Owns no checks: the search checks what it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.node_states import NodeStates

__all__ = ["VERDICTS", "JobColumns", "Nodes", "Shape", "SubJobColumns", "Told", "Tried"]


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """What is on the nodes and, summed, in the domains; the virtual top is the last row of the sums.

    Parameters
    ----------
    idle, used, allocatable : ndarray of shape (n, r), int64
        In base units, at most `MAX_QUANTITY`; idle may be negative. Sums go up to `MAX_SUM`.
    domain_used, domain_allocatable : ndarray of shape (d + 1, r), int64
    idle_at_open : ndarray of shape (d + 1, r), int64
        When the session began: what "large enough" is measured by.
    states : NodeStates, optional
        Of idle, used and allocatable; None: the search finds them.
    """

    idle: NDArray[np.int64]
    used: NDArray[np.int64]
    allocatable: NDArray[np.int64]
    domain_used: NDArray[np.int64]
    domain_allocatable: NDArray[np.int64]
    idle_at_open: NDArray[np.int64]
    states: NodeStates | None = None


class Shape(NamedTuple):
    """Pods that ask for the same: request (r,) int64, feasible (n,) uint8 or None, extra score (n,) float64 or None."""

    request: NDArray[np.int64]
    feasible: NDArray[np.uint8] | None = None
    extra: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobColumns:
    """The job as a whole.

    Parameters
    ----------
    left, present, minimums : ndarray of shape (m,), int64
        Per role its pods to place, those that count already, its own minimum. Role i has shape i; roles beyond the
        shapes have nothing to place and count for the minimums alone.
    names : ndarray of shape (m,), int32
        Roles of one number are given up together.
    min_available, counted : int
        Ready when so many pods count, every minimum is met (looked at only while they do not exceed ``min_available``
        together) and of each policy ``wanted`` sub-jobs are ready.
    after_failure : {"by-minimums", "stop", "go-on"}
        Of a job that is not grouped, see `workbench.kernels.dry_runs.Counts`.
    grouped : bool
        False: its one sub-job's progress is its own.
    limit : int, optional
        Highest tier of its HyperNode; None: the virtual top is tried alone.
    minimum : ndarray of shape (r,), int64, optional
        A HyperNode that was smaller when the session began is not tried; None: all are.
    record : int
        `NO_RECORD`, -1 the virtual top, or a domain.
    wanted : ndarray of shape (policies,), int64
    """

    left: NDArray[np.int64]
    present: NDArray[np.int64]
    minimums: NDArray[np.int64]
    names: NDArray[np.int32]
    min_available: int
    counted: int = 0
    after_failure: str = "by-minimums"
    grouped: bool = True
    limit: int | None = None
    minimum: NDArray[np.int64] | None = None
    record: int = NO_RECORD
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubJobColumns:
    """The s sub-jobs of a job, as columns.

    Parameters
    ----------
    start : ndarray of shape (s + 1,), int64
    shapes : ndarray of int32
        Roles of sub-job i in the order in which they are tried: ``shapes[start[i]:start[i + 1]]``. Not looked at for a
        job that is not grouped.
    left : ndarray of int64
        Their pods to place.
    min_available, counted, total : ndarray of shape (s,), int64
        ``total``: all its tasks, running ones included.
    stop_after_failure : ndarray of shape (s,), bool
        Nothing more of it is tried after a pod that fits nowhere.
    limit : ndarray of shape (s,), int64
        Highest tier; -1: none, then the job's HyperNode is taken as it is.
    limited : ndarray of shape (s,), bool
        Whether it has a limit at all.
    scored : ndarray of shape (s,), bool
        Its pods are scored by its record.
    policy : ndarray of shape (s,), int32
        Which of ``JobColumns.wanted`` it counts for; -1: none.
    rank : ndarray of shape (s,), int32
        Its place in the order of sub-jobs, each once.
    grade : ndarray of shape (s,), int32, below s, optional
        What comes before whether a sub-job is ready, smaller first; None: nothing does.
    runs : tuple of ndarray of shape (s + 1,), int64, ndarray of int32 and ndarray of int64, optional
        The order of the pods of sub-job i: for its runs, ``runs[0][i]`` to ``runs[0][i + 1]``, the shape, which the
        sub-job has, and the number of its pods of that shape up to the end of the run. None: role by role.
    record : ndarray of shape (s,), int32
    request, pending : ndarray of shape (s, r), int64
        What all its tasks ask for, and the pending ones: the score of a HyperNode and its size go by them.
    running_start : ndarray of shape (s + 1,), int64
    running : ndarray of int32
        Nodes of its running pods, -1 for a node that is not there.
    """

    start: NDArray[np.int64]
    shapes: NDArray[np.int32]
    left: NDArray[np.int64]
    min_available: NDArray[np.int64]
    counted: NDArray[np.int64]
    total: NDArray[np.int64]
    stop_after_failure: NDArray[np.bool_]
    limit: NDArray[np.int64]
    limited: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    policy: NDArray[np.int32]
    rank: NDArray[np.int32]
    record: NDArray[np.int32]
    request: NDArray[np.int64]
    pending: NDArray[np.int64]
    running_start: NDArray[np.int64]
    running: NDArray[np.int32]
    grade: NDArray[np.int32] | None = None
    runs: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]] | None = None


class Tried(NamedTuple):
    """The HyperNodes of the last turn's gradients in the order of tier and walk, up to the tier that decided.

    After a turn with a solution some that could not win are left out.
    """

    domains: NDArray[np.int32]
    holds: NDArray[np.int64]
    """Pods that the HyperNode holds at most of those left."""
    kept: NDArray[np.bool_]
    """Whether the job can start in it."""
    scores: NDArray[np.float64]
    """Sum of its sub-jobs' scores; 0 where it is not kept."""
    stuck: NDArray[np.int32]
    """The first sub-job that found no place; -1: none; -2: not tried, it holds too few pods."""


VERDICTS = ("too small", "too few", "no fit", "solves")
"""In `Told.verdict`, by number: when the session began less was idle than the pending pods ask for; the counts, or a
trial, tell that it cannot hold enough; it has a solution."""


class Told(NamedTuple):
    """One attempt, step by step; a step is one sub-job's, and a sub-job may come more than once."""

    kept: bool
    """Whether the job can start."""
    sub: NDArray[np.int64]
    domain: NDArray[np.int64]
    """Where it went, -1 the virtual top; -3: it found no place and is dropped."""
    pods: NDArray[np.int64]
    """How many of its pods were placed."""
    needs: NDArray[np.int64]
    """Pods without which it is not ready, at least 1."""
    score: NDArray[np.float64]
    """Before it is multiplied by ``100 * scale``."""
    parts: NDArray[np.float64]
    """What each resource adds to it, (steps, r); the rest is the share of its tasks inside."""
    step: NDArray[np.int64]
    """Step of each HyperNode looked at, tier by tier up to the one that decides."""
    looked: NDArray[np.int64]
    holds: NDArray[np.int64]
    """Of the sub-job's pods left, by the counts at most."""
    verdict: NDArray[np.int64]
    packed: NDArray[np.float64]
    """How full it becomes; 0 without a solution."""
    share: NDArray[np.float64]
    """Of the sub-job's tasks, where several share the greatest; the score is the sum of both."""
