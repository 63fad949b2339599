"""Face of the ``sub_jobs`` kernel: the pods of a gang, dealt to its sub-jobs and counted role by role."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench._core import sub_jobs as kernel
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.domains import MAX_QUANTITY, MAX_SUM

__all__ = ["Dealt", "deal_pods"]


class Dealt(NamedTuple):
    """The s sub-jobs of a gang; their entries are one per sub-job and role with pods to place."""

    size: NDArray[np.int64]
    """Pods of each sub-job."""
    start: NDArray[np.int64]
    """Entries of sub-job i: ``start[i]`` to ``start[i + 1]``, as roles are tried."""
    shapes: NDArray[np.int32]
    """Place of the entry's role among those tried."""
    left: NDArray[np.int64]
    """Pods of the entry."""
    first: NDArray[np.int64]
    """``positions[first[e]:first[e + 1]]`` are the pods of entry e, in the order given."""
    positions: NDArray[np.int64]
    pending: NDArray[np.int64]
    """What all pods of each sub-job ask for together, (s, r), at most `MAX_SUM`."""
    counted: NDArray[np.int64]
    """Pods of each sub-job whose role is not tried."""
    priority: NDArray[np.int64]
    """Highest of the roles of each sub-job; 0 where it has no pods."""


def deal_pods(
    positions: NDArray[np.int64],
    sizes: NDArray[np.int64],
    role_of_pod: NDArray[np.int32],
    place: NDArray[np.int32],
    n_tried: int,
    rows: NDArray[np.int64],
    priority: NDArray[np.int64],
    *,
    default: bool,
) -> Dealt:
    """Deal the pods of a gang to its sub-groups, and those of none to one more sub-job at the end.

    Parameters
    ----------
    positions : ndarray of int64
        Pods of the sub-groups, one sub-group after another.
    sizes : ndarray of shape (groups,), int64
        How many of them each has.
    role_of_pod : ndarray of shape (n_pods,), int32
    place : ndarray of shape (roles,), int32
        Number of each role in the order in which roles are tried, each once.
    n_tried : int
        Roles numbered from here on are not tried: their pods only count.
    rows : ndarray of shape (roles, r), int64
        Request of one pod.
    priority : ndarray of shape (roles,), int64
    default : bool
        The last sub-job is there even without pods.

    Raises
    ------
    InputError
        Wrong dtype or shape, a number out of range.
    """
    positions, sizes = as_array("positions", positions, np.int64, 1), as_array("sizes", sizes, np.int64, 1)
    role_of_pod, place = as_array("role_of_pod", role_of_pod, np.int32, 1), as_array("place", place, np.int32, 1)
    rows, priority = as_array("rows", rows, np.int64, 2), as_array("priority", priority, np.int64, 1)
    m = rows.shape[0]
    check_length("place", place, m)
    check_length("priority", priority, m)
    check_range("positions", positions, 0, role_of_pod.shape[0] - 1)
    check_range("sizes", sizes, 0, positions.shape[0])
    check_range("role_of_pod", role_of_pod, 0, m - 1)
    check_range("place", place, 0, m - 1)
    check_range("rows", rows, 0, MAX_QUANTITY)
    if int(sizes.sum()) != positions.shape[0]:
        raise InputError("not the number of pods", source="sizes", got=str(sizes.sum()), expected=str(len(positions)))
    return Dealt(
        *kernel.pods_of_sub_jobs(positions, sizes, role_of_pod, place, n_tried, rows, priority, MAX_SUM, default)
    )
