"""Rules that choose the leaf switches of a job and the number of its pods under each.

Checked interface of the ``switch_rules`` kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench._core import switch_rules as kernel
from workbench.errors import InputError
from workbench.kernels.checks import are_arrays, as_array, check_length
from workbench.kernels.switches import SUMS

__all__ = [
    "CLOSEST",
    "COMMON",
    "FALL_BACK",
    "FOUNDATION",
    "ONE",
    "OPENED",
    "PADDING",
    "WHOLE",
    "place_closest",
    "place_new",
]

#: Kinds of job (`place_new`).
PADDING, FOUNDATION, COMMON = 0, 1, 2
#: Rules by which a switch is taken (`place_new`).
ONE, WHOLE, CLOSEST, OPENED, FALL_BACK = 0, 1, 2, 3, 4


def place_new(
    sums: NDArray[np.int64],
    free: NDArray[np.int64],
    job: int,
    n_pods: int,
    per_switch: int,
    max_shared: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8], int]:
    """Choose the leaf switches of a new job (MindCluster's switch affinity) and the number of its pods under each.

    Every order below is by number of free nodes, ties in the order of the switches; a switch without a free node takes
    no part.

    - `ONE`, for padding jobs and other jobs with fewer pods than a switch has nodes: one switch that holds the whole
      job, searched in the classes exclusive, unhealthy shared, healthy shared and idle, in this order; in a class the
      switch with the fewest free nodes. Foundation-model jobs enter no unhealthy switch.
    - `WHOLE`: idle switches are filled completely, those with many free nodes first, up to the first one that has more
      free nodes than pods are left.
    - `CLOSEST`, for the pods left: healthy shared switches, chosen as by `place_closest`.
    - `OPENED`, if those do not hold the pods left: the idle switch with the fewest free nodes that holds them.
    - `FALL_BACK`, for the pods left of a common job, when every idle switch is taken whole: unhealthy shared switches,
      then healthy ones that no foundation-model job crosses, each class with few free nodes first.

    Raises InputError: wrong dtype or shape, a negative number of free nodes.

    Parameters
    ----------
    sums : ndarray of shape (7, s), int64
        Sums over running pods and jobs, as `switches.add_jobs` makes them.
    free : ndarray of shape (s,), int64
        Number of free nodes under each switch.
    job : {PADDING, FOUNDATION, COMMON}
    n_pods, per_switch : int
        Number of pods of the job; number of nodes of a switch.
    max_shared : int
        Most shared switches that the job may use, the fall-back apart.

    Returns
    -------
    switch, taken : ndarray of shape (k,), int64
        The switches in the order of the job's ranks, and the pods under each.
    rule : ndarray of shape (k,), int8
        Rule by which each switch was taken.
    missing : int
        Number of pods without a node; above 0, the job cannot be placed, and the switches are those taken before the
        shortage was found.

    Notes
    -----
    Source: switch affinity document and MindCluster documents (docs/reference/switch-affinity.md, section 5). Cost:
    O(s) and the most free nodes of a switch.
    """
    if not are_arrays(b"q1q2", free, sums):
        free = as_array("free", free, np.int64, 1)
        sums = as_array("sums", sums, np.int64, 2)
    check_length("sums", sums, SUMS)
    if sums.shape[1] != free.shape[0]:
        raise InputError("wrong number of columns", source="sums", got=str(sums.shape[1]), expected=str(free.shape[0]))
    answer = kernel.place_new(sums, free, job, n_pods, per_switch, max_shared)
    if answer[3] < 0:
        raise InputError("a negative number of free nodes", source="free")
    return answer


def place_closest(
    allowed: NDArray[np.bool_], free: NDArray[np.int64], n_pods: int, max_shared: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose the one or two leaf switches on which the fewest nodes stay free (the shared-switch rule).

    Each pod takes a node for itself, and a switch is as large as its number of free nodes. Ties: two switches before
    one; of several pairs the one whose smaller switch is smallest; then the order of the switches. Of two switches the
    smaller is filled first.

    Returns: ndarray of shape (0,), (1,) or (2,), int64: the switches, and the number of pods under each; empty if the
    allowed switches do not hold the pods. Raises InputError: wrong dtype or shape, a negative number of free nodes.

    `allowed` (ndarray of shape (s,), bool): switches that may be taken; each of them must have a free node. `free`
    (ndarray of shape (s,), int64): free nodes under each switch. `n_pods`: at least 1. `max_shared`: how many switches
    may be taken; more than two never are.
    """
    free = as_array("free", free, np.int64, 1)
    allowed = as_array("allowed", allowed, np.bool_, 1)
    check_length("allowed", allowed, free.shape[0])
    switch, taken = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    found = kernel.place_closest(allowed.view(np.int8), free, n_pods, max_shared, switch, taken)
    if found < 0:
        raise InputError("a negative number of free nodes", source="free")
    return switch[:found], taken[:found]
