"""Divide a set of GPUs of one machine between two pods, optimally, on machines of any size.

More pods make the question NP-hard (Maximum Dispersion with Cardinality Constraints, arXiv 2604.24285); up to 16
devices `workbench.kernels.bottleneck` answers it for any number. Plain Python over numpy rows: a decision costs O(n^2),
and there is one per halving of the distinct weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_number
from workbench.kernels.gpu_sets import indices_of, mask_of

__all__ = ["split_in_two"]

#: One connected component of the graph of pairs that are too slow to share a pod: the devices of its two sides, its
#: lowest device in the first side.
Piece = tuple[list[int], list[int]]


def split_in_two(pair_weight_gb_s: object, mask: int, n_first: int) -> tuple[int, int]:
    """Divide a set of devices between two pods so that the slower pod is as fast as possible.

    `pair_weight_gb_s` (ndarray of shape (n, n), float64): weight of each pair, the same both ways; the diagonal is
    ignored. `mask`: devices to divide, at least two; every one is given to a pod. `n_first`: number of devices of the
    first pod; the second pod gets the others. Returns: masks of the two pods' devices. Ties: the lexicographically
    smallest set for the first pod. Raises InputError: devices outside the matrix, fewer than two, an empty pod.

    Notes
    -----
    Both pods can have all their pairs at a weight t or above if every pair below t can be separated: the graph of these
    pairs must be two-colourable, and one side of each connected piece goes to the first pod so that the first pod gets
    `n_first` devices (a subset sum over at most n pieces). The largest such t is found by bisection over the distinct
    weights.
    """
    weights: NDArray[np.float64] = as_array("pair_weight_gb_s", pair_weight_gb_s, np.float64, 2)
    devices = list(indices_of(mask))
    if len(devices) < 2 or devices[-1] >= len(weights):
        raise InputError("not devices of this machine", source="mask", expected=f"two or more of {len(weights)}")
    check_number("n_first", n_first, 1, len(devices) - 1)
    inside = weights[np.ix_(devices, devices)]
    levels = np.unique(inside[np.triu_indices(len(devices), 1)])
    low, high = 0, len(levels) - 1
    best = _deal(inside, float(levels[0]), n_first)
    while low < high:
        middle = (low + high + 1) // 2
        found = _deal(inside, float(levels[middle]), n_first)
        if found is None:
            high = middle - 1
        else:
            low, best = middle, found
    assert best is not None, "nothing is below the lowest weight"
    first = mask_of(devices[i] for i in best)
    return first, mask & ~first


def _deal(weights: NDArray[np.float64], threshold: float, n_first: int) -> list[int] | None:
    """The smallest list of ``n_first`` devices such that no pair of them, nor of the others, is below ``threshold``."""
    pieces = _pieces(weights < threshold)
    if pieces is None:
        return None
    # reachable[i]: bit s set means that the pieces from i on can give s devices to the first pod.
    reachable = [1]
    for one, other in reversed(pieces):
        reachable.append(reachable[-1] << len(one) | reachable[-1] << len(other))
    reachable.reverse()
    if not reachable[0] >> n_first & 1:
        return None
    chosen: list[int] = []
    left = n_first
    for (one, other), rest in zip(pieces, reachable[1:], strict=True):
        # Components come by lowest device: taking that device's side whenever the rest still adds up gives the smallest
        # list.
        take = one if left >= len(one) and rest >> (left - len(one)) & 1 else other
        chosen += take
        left -= len(take)
    return sorted(chosen)


def _pieces(cut: NDArray[np.bool_]) -> list[Piece] | None:
    """Split each connected piece of a graph into two sides such that every edge joins the two sides.

    ``cut`` (n, n) is True for the edges. Pieces come in the order of their lowest vertices. None if a piece has an odd
    cycle and so cannot be split.
    """
    side = [-1] * len(cut)
    pieces: list[Piece] = []
    for start in range(len(cut)):
        if side[start] >= 0:
            continue
        side[start] = 0
        piece: Piece = ([start], [])
        waiting = [start]
        while waiting:
            device = waiting.pop()
            for other in np.flatnonzero(cut[device]).tolist():
                if other == device:
                    continue
                if side[other] < 0:
                    side[other] = 1 - side[device]
                    piece[side[other]].append(other)
                    waiting.append(other)
                elif side[other] == side[device]:
                    return None
        pieces.append(piece)
    return pieces
