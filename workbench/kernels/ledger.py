"""Add the resources and GPUs that pods take to the amounts of their nodes.

Checked interface of the ``ledger`` kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench._core import ledger as kernel
from workbench.errors import InputError
from workbench.kernels.checks import are_arrays, as_array, check_length, checked
from workbench.kernels.domains import MAX_QUANTITY

__all__ = ["add_pods", "lowest_gpus", "whole_nodes"]


def add_pods(
    sign: int,
    nodes: NDArray[np.int32],
    rows: NDArray[np.int64],
    words: NDArray[np.uint64] | None,
    used: NDArray[np.int64],
    idle: NDArray[np.int64],
    gpu_free: NDArray[np.uint64],
) -> None:
    """Add the resources and GPUs of pods to the sums of their nodes, or subtract them.

    Raises InputError: wrong dtype or shape, a node out of range; nothing is changed then.

    Parameters
    ----------
    sign : {1, -1}
    nodes : ndarray of shape (p,), int32
        Node of each pod; a node may appear several times.
    rows : ndarray of shape (p, r), int64
        Request of each pod; a single row, of shape (1, r), is the request of every pod.
    words : ndarray of shape (p, w), uint64, optional
        GPUs that each pod takes or gives back, disjoint; None: no pod has any.
    used, idle : ndarray of shape (n, r), int64
        Changed in place: ``used`` grows by what ``idle`` loses.
    gpu_free : ndarray of shape (n, w), uint64
        Masks of free GPUs; changed in place.
    """
    if not are_arrays(b"i1q2q2q2Q2", nodes, rows, used, idle, gpu_free):
        nodes = as_array("nodes", nodes, np.int32, 1)
        rows = as_array("rows", rows, np.int64, 2)
        changed = (("used", used, np.int64), ("idle", idle, np.int64), ("gpu_free", gpu_free, np.uint64))
        for name, array, dtype in changed:
            if as_array(name, array, dtype, 2) is not array:
                raise InputError("not C-contiguous, and is to be changed", source=name)
    check_length("idle", idle, used.shape[0])
    check_length("gpu_free", gpu_free, used.shape[0])
    if rows.shape[0] != 1:
        check_length("rows", rows, nodes.shape[0])
    if words is not None:
        words = as_array("words", words, np.uint64, 2)
        check_length("words", words, nodes.shape[0])
    width = 0 if words is None else words.shape[1] - gpu_free.shape[1]
    if rows.shape[1] != used.shape[1] or idle.shape[1] != used.shape[1] or width:
        raise InputError("wrong number of columns", source="rows, words")
    done = kernel.add_pods(sign, nodes, rows, words, used, idle, gpu_free)
    if done < len(nodes):
        raise InputError("no such node", source="nodes", where=f"pod {done}", got=str(int(nodes[done])))


def whole_nodes(nodes: NDArray[np.int32], n_gpus: int, gpu_free: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
    """GPU masks of pods if each pod takes all free GPUs of its node and has the node to itself; else None.

    `nodes` (ndarray of shape (p,), int32): node of each pod. `n_gpus`: GPUs that each pod takes. `gpu_free` (ndarray of
    shape (n, w), uint64): masks of the free GPUs of each node, as uint64 words. Returns: ndarray of shape (p, w),
    uint64, or None: the masks; None if a pod has no node, shares its node with another pod, or does not take all its
    free GPUs. Raises InputError: wrong dtype or shape.
    """
    nodes = as_array("nodes", nodes, np.int32, 1)
    gpu_free = as_array("gpu_free", gpu_free, np.uint64, 2)
    words = np.empty((nodes.shape[0], gpu_free.shape[1]), dtype=np.uint64)
    return words if kernel.whole_nodes(nodes, n_gpus, gpu_free, words) == len(nodes) else None


def lowest_gpus(
    node: NDArray[np.int32], role: NDArray[np.int32], n_gpus: NDArray[np.int64], gpu_free: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], int]:
    """Choose for each pod, in the order given, the free GPUs with the lowest numbers on its node.

    `node` (ndarray of shape (p,), int32): node of each pod, -1 for none. `role` (ndarray of shape (p,), int32): role of
    each pod. `n_gpus` (ndarray of shape (roles,), int64): GPUs of a pod of each role. `gpu_free` (ndarray of shape (n,
    w), uint64): masks of the free GPUs of each node, as uint64 words; not changed. Raises InputError: wrong dtype or
    shape, a number out of range.

    Returns
    -------
    words : ndarray of shape (p, w), uint64
        GPUs of each pod.
    n_nodes : int
        Nodes that provide GPUs; -1: a node has fewer free GPUs than its pods request, and ``words`` is meaningless.
    """
    gpu_free = as_array("gpu_free", gpu_free, np.uint64, 2)
    node = checked("node", node, np.int32, None, -1, gpu_free.shape[0] - 1)
    n_gpus = checked("n_gpus", n_gpus, np.int64, None, 0, MAX_QUANTITY)
    role = checked("role", role, np.int32, len(node), 0, len(n_gpus) - 1)
    return kernel.lowest_gpus(node, role, n_gpus, gpu_free)
