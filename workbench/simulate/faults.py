"""Broken nodes and GPUs in a snapshot."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from workbench.errors import InputError
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["break_gpus", "break_node"]


def break_node(snapshot: ClusterSnapshot, node: int) -> ClusterSnapshot:
    """The snapshot after a node has failed: it is not ready, so that no pod is placed on it. `node` is its index."""
    not_ready = snapshot.not_ready.copy()
    not_ready[node] = True
    return dataclasses.replace(snapshot, not_ready=not_ready)


def break_gpus(snapshot: ClusterSnapshot, node: int, gpus: Sequence[int]) -> ClusterSnapshot:
    """The snapshot after some GPUs of a node have failed: the node offers fewer GPUs.

    Parameters
    ----------
    snapshot : ClusterSnapshot
    node : int
        Index of the node.
    gpus : sequence of int
        Numbers of the failed GPUs.

    Raises
    ------
    InputError
        The node has no healthy GPU of such a number.
    """
    total, free = snapshot.gpu_total.copy(), snapshot.gpu_free.copy()
    allocatable = snapshot.allocatable.copy()
    for gpu in gpus:
        word, bit = divmod(gpu, 64)
        mask = np.uint64(1) << np.uint64(bit)
        if gpu < 0 or word >= total.shape[1] or not total[node, word] & mask:
            name = snapshot.topology.node_names[node]
            raise InputError(
                "no such healthy GPU", source="fault", where=name, got=str(gpu), expected="a GPU of the node"
            )
        total[node, word] &= ~mask
        free[node, word] &= ~mask
        for column in snapshot.gpu_columns:
            if allocatable[node, column] > 0:
                allocatable[node, column] -= 1
                break
    return dataclasses.replace(snapshot, gpu_total=total, gpu_free=free, allocatable=allocatable)
