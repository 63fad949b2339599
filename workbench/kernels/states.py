"""Bottleneck bandwidths of many sets of GPUs, and groups of nodes with equal GPUs and pods (kernel ``states``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench._core import states as kernel
from workbench.errors import CapacityError, InputError, named_arguments
from workbench.kernels.checks import as_array, check_length, check_range

__all__ = ["MAX_TABLE_DEVICES", "alike", "best_bottlenecks", "bottlenecks"]

MAX_TABLE_DEVICES = 16


@named_arguments
def best_bottlenecks(pair_weight_gb_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """The best bottleneck (lowest pair bandwidth) that k GPUs can have, for every set of free GPUs and every k.

    `pair_weight_gb_s` (ndarray of shape (n, n), float64): weight of each pair, the same both ways (symmetrised), no
    NaN; the diagonal is ignored. 1 <= n <= 16. Returns: ndarray of shape (2^n, n + 1), float64: entry [mask, k], for
    the mask of the free GPUs, in GB/s. inf for k = 1; NaN for k = 0 and if fewer than k are free. Raises CapacityError:
    more than 16 GPUs: the table has a row per state; InputError: not square, or not the same both ways.

    Notes
    -----
    The bottleneck that `BottleneckSolver.solve` finds without link classes (docs/decisions.md, decision 1), for every
    set of free GPUs at once. Cost: O(2^n n^2).

    Examples
    --------
    >>> import workbench as wb
    >>> table = wb.best_bottlenecks(wb.machine("dgx1-v100").pair_weights_gb_s())
    >>> float(table[0b11111111, 4])
    25.0
    """
    weights = _checked(pair_weight_gb_s)
    if len(weights) > MAX_TABLE_DEVICES:
        raise CapacityError(
            f"best_bottlenecks: a table of every state has at most {MAX_TABLE_DEVICES} GPUs, not {len(weights)}"
        )
    return kernel.best_bottlenecks(weights)


def bottlenecks(pair_weight_gb_s: NDArray[np.float64], sets: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Lowest pair weight (GB/s) within each of many sets of GPUs.

    `pair_weight_gb_s` (ndarray of shape (n, n), float64): as in `best_bottlenecks`; any n. `sets` (ndarray of shape (m,
    w), uint64): masks, little-endian words, w = (n + 63) // 64. Returns: ndarray of shape (m,), float64: inf for sets
    of fewer than two GPUs. Raises InputError: wrong dtype or shape, a GPU outside the machine.
    """
    weights = _checked(pair_weight_gb_s)
    n, words = len(weights), (len(weights) + 63) // 64
    masks: NDArray[np.uint64] = as_array("sets", sets, np.uint64, 2)
    if masks.shape[1] != words:
        raise InputError("wrong number of words", source="sets", got=str(masks.shape[1]), expected=str(words))
    if n % 64 and len(masks) and int(masks[:, -1].max()) >> n % 64:
        raise InputError("device outside the machine", source="sets", expected=f"bits 0 to {n - 1}")
    return kernel.bottlenecks(weights, masks)


def alike(
    matrix: NDArray[np.int32],
    free: NDArray[np.uint64],
    wanted: NDArray[np.int64],
    first: NDArray[np.int64],
    count: NDArray[np.int64],
) -> list[NDArray[np.intp]]:
    """Group nodes with equal bandwidth matrix and free GPUs whose pods want the same numbers of GPUs in the same order.

    The answer to a question about GPUs is then the same for all nodes of a group.

    Returns: list of ndarray of intp: nodes of each group, ascending; groups in the order of their first nodes. Raises
    InputError: wrong dtype or shape, pods outside of `wanted`.

    Parameters
    ----------
    matrix : ndarray of shape (m,), int32
        Number of each node's bandwidth matrix.
    free : ndarray of shape (m, w), uint64
        Free GPUs of each node, as bit mask in words.
    wanted : ndarray of shape (pods,), int64
        GPUs of each pod; the pods of node i are ``wanted[first[i]:first[i] + count[i]]``.
    first, count : ndarray of shape (m,), int64
        Position of the first pod of each node in ``wanted``, and number of its pods.
    """
    matrix, free = as_array("matrix", matrix, np.int32, 1), as_array("free", free, np.uint64, 2)
    first, count = as_array("first", first, np.int64, 1), as_array("count", count, np.int64, 1)
    wanted = as_array("wanted", wanted, np.int64, 1)
    for name, array in (("free", free), ("first", first), ("count", count)):
        check_length(name, array, len(matrix))
    check_range("first", first, 0, len(wanted))
    check_range("count", count, 0, len(wanted))
    if len(matrix) and int((first + count).max()) > len(wanted):
        raise InputError("pods that are not there", source="count", expected=f"first + count <= {len(wanted)}")
    kinds, firsts = kernel.kinds_of_nodes(matrix, free, wanted, first, count)
    if len(firsts) < 2:
        return [np.arange(len(kinds))] if len(firsts) else []
    order = np.argsort(kinds, kind="stable")
    ends = np.bincount(kinds).cumsum().tolist()
    return [order[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def _checked(given: NDArray[np.float64]) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = as_array("pair_weight_gb_s", given, np.float64, 2)
    if weights.shape[0] != weights.shape[1] or not len(weights):
        raise InputError("not square", source="pair_weight_gb_s", got=" x ".join(map(str, weights.shape)))
    off_diagonal = ~np.eye(len(weights), dtype=np.bool_)
    if (weights != weights.T)[off_diagonal].any():  # also true for NaN, which differs from itself
        raise InputError("the two directions differ: symmetrise first", source="pair_weight_gb_s")
    return weights
