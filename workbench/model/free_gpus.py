"""Number of free GPUs per node, from bit masks of GPUs and from resource amounts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["capped_by_gpus", "gpu_counts"]

Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


def gpu_counts(words: Words) -> Longs:
    """Number of set bits in each row of a GPU bit mask, uint64 of shape (n, w); the result is int64 of shape (n,)."""
    bits = np.bitwise_count(words)
    counts: Longs = bits[:, 0].astype(np.int64) if bits.shape[1] == 1 else bits.sum(axis=1, dtype=np.int64)
    return counts


def capped_by_gpus(idle: Longs, gpu_free: Words, gpu_columns: Sequence[int]) -> Longs:
    """Idle amounts of each node, with the GPU columns limited to the number of GPUs that are free.

    Parameters
    ----------
    idle : ndarray of shape (n, r), int64
    gpu_free : ndarray of shape (n, w), uint64
        Bits of the free GPUs of each node.
    gpu_columns : sequence of int
        Columns of `idle` that count GPUs.

    Returns
    -------
    ndarray of shape (n, r), int64
        `idle` itself if no amount is above the limit, else a read-only copy.
    """
    columns = list(gpu_columns)
    free = gpu_counts(gpu_free)[:, None]
    if not (idle[:, columns] > free).any():
        return idle
    capped = idle.copy()
    capped[:, columns] = np.minimum(capped[:, columns], free)
    capped.flags.writeable = False
    return capped
