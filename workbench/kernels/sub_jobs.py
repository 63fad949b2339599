"""Assign a gang's pods to its sub-jobs (Volcano's subGroupPolicy), and count and order them.

Checked interface of the ``sub_jobs`` kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench._core import sub_jobs as kernel
from workbench._core.ranges import is_offsets, is_order
from workbench.errors import InputError
from workbench.kernels.checks import are_arrays, as_array, check_range, checked
from workbench.kernels.domains import MAX_QUANTITY, MAX_SUM

__all__ = ["Runs", "SubJobPods", "deal_pods", "runs_of_queues"]


#: Start of each queue's runs, role of each run, pods of that role in the queue up to the end of the run.
Runs = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]


class SubJobPods(NamedTuple):
    """The pods of a gang by sub-job; an "entry" of the arrays is one role of one sub-job with pods to place.

    Attributes
    ----------
    size : ndarray of shape (s,), int64
        Number of pods of each of the s sub-jobs.
    start : ndarray of shape (s + 1,), int64
        Entries of sub-job i: ``start[i]`` to ``start[i + 1]``, in the order in which roles are tried.
    shapes : ndarray of shape (entries,), int32
        Role of each entry, as its number in the order in which roles are tried.
    left : ndarray of shape (entries,), int64
        Number of pods of each entry.
    first : ndarray of shape (entries + 1,), int64
        Offsets into ``positions``, ascending from 0.
    positions : ndarray of int64
        Pods of entry e, in the order given: ``positions[first[e]:first[e + 1]]``.
    pending : ndarray of shape (s, r), int64
        Summed requests of the pods of each sub-job, at most `MAX_SUM`.
    counted : ndarray of shape (s,), int64
        Number of pods of each sub-job whose role is not tried.
    priority : ndarray of shape (s,), int64
        Highest priority among the roles of each sub-job, at least 0.
    """

    size: NDArray[np.int64]
    start: NDArray[np.int64]
    shapes: NDArray[np.int32]
    left: NDArray[np.int64]
    first: NDArray[np.int64]
    positions: NDArray[np.int64]
    pending: NDArray[np.int64]
    counted: NDArray[np.int64]
    priority: NDArray[np.int64]


def deal_pods(
    groups: Sequence[Sequence[int]],
    role_of_pod: NDArray[np.int32],
    place: NDArray[np.int32],
    n_tried: int,
    rows: NDArray[np.int64],
    priority: NDArray[np.int64],
    *,
    default: bool,
) -> SubJobPods:
    """Assign the pods of a gang to its sub-groups; pods of no sub-group form one more sub-job at the end.

    Raises InputError: wrong dtype or shape, a number out of range.

    Parameters
    ----------
    groups : sequence of sequence of int
        Pods of each sub-group, as positions in the gang.
    role_of_pod : ndarray of shape (n_pods,), int32
        Role of each pod.
    place : ndarray of shape (roles,), int32
        Position of each role in the order in which roles are tried, from 0; a permutation.
    n_tried : int
        Number of roles that are tried, the first ones in that order; pods of the other roles are only counted.
    rows : ndarray of shape (roles, r), int64
        Request of one pod of each role.
    priority : ndarray of shape (roles,), int64
        Priority of each role.
    default : bool
        Keep the sub-job for the pods of no sub-group, the last one, even if it has no pods.
    """
    # The kernel checks the numbers; what an array is, is told by one call more.
    if are_arrays(b"i1i1q2q1", role_of_pod, place, rows, priority):
        dealt = kernel.pods_of_sub_jobs(
            groups, role_of_pod, place, n_tried, rows, priority, MAX_QUANTITY, MAX_SUM, default
        )
        if dealt is not None:
            return SubJobPods(*dealt)
    rows = as_array("rows", rows, np.int64, 2)
    m, n = rows.shape[0], as_array("role_of_pod", role_of_pod, np.int32, 1).shape[0]
    check_range("groups", np.fromiter(chain.from_iterable(groups), dtype=np.int64), 0, n - 1)
    role_of_pod = checked("role_of_pod", role_of_pod, np.int32, n, 0, m - 1)
    place = checked("place", place, np.int32, m, 0, m - 1)
    priority = checked("priority", priority, np.int64, m)
    check_range("rows", rows, 0, MAX_QUANTITY)
    # Sound, but not contiguous as given.
    dealt = kernel.pods_of_sub_jobs(groups, role_of_pod, place, n_tried, rows, priority, MAX_QUANTITY, MAX_SUM, default)
    assert dealt is not None
    return SubJobPods(*dealt)


def runs_of_queues(
    start: NDArray[np.int64],
    positions: NDArray[np.int64],
    rank: NDArray[np.int64],
    role_of_pod: NDArray[np.int32],
    n_roles: int,
) -> Runs:
    """Order the pods of several queues (one per sub-job) by rank, and join neighbours of one role into runs.

    Raises InputError: wrong dtype or shape, a number out of range, a pod in two places.

    Parameters
    ----------
    start : ndarray of shape (queues + 1,), int64
        Offsets into ``positions``, ascending from 0.
    positions : ndarray of shape (start[-1],), int64
        Pods of queue i, each once: ``positions[start[i]:start[i + 1]]``, in any order.
    rank : ndarray of shape (n_pods,), int64
        Rank of each pod, a permutation of 0..n_pods - 1: the pods of a queue are taken in the order of their ranks.
    role_of_pod : ndarray of shape (n_pods,), int32
        Role of each pod.
    n_roles : int
        Number of roles.

    Returns
    -------
    start : ndarray of shape (queues + 1,), int64
        Runs of queue i: ``start[i]`` to ``start[i + 1]``.
    roles : ndarray of shape (runs,), int32
        Role of each run.
    upto : ndarray of shape (runs,), int64
        Pods of the run's role in the queue up to the end of the run.
    """
    n = as_array("rank", rank, np.int64, 1).shape[0]
    rank = checked("rank", rank, np.int64, None, 0, n - 1)
    role_of_pod = checked("role_of_pod", role_of_pod, np.int32, n, 0, n_roles - 1)
    positions = checked("positions", positions, np.int64, None, 0, n - 1)
    start = as_array("start", start, np.int64, 1)
    if not is_offsets(start, len(positions)):
        raise InputError("no offsets", source="start", expected=f"ascending from 0 to {len(positions)}")
    if not is_order(rank.astype(np.int32), np.zeros(n, dtype=np.uint8)):
        raise InputError("no order", source="rank", expected=f"each of 0..{n - 1} once")
    runs = kernel.runs_of_queues(start, positions, rank, role_of_pod, n_roles)
    if runs is None:
        raise InputError("a pod stands twice", source="positions", expected="each pod once")
    return runs
