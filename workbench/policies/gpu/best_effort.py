"""`gpu-best-effort`: what NVIDIA's device plugin prefers, link counts summed over a split of all free GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.bottleneck import indices_of, mask_of
from workbench.model.bandwidth import BandwidthMatrix
from workbench.policies.gpu.base import NodeGpus, lowest_indices
from workbench.policies.gpu.link_scores import pair_scores
from workbench.policies.gpu.per_pod import PerPodGpuPolicy
from workbench.policies.parameters import NoParameters

__all__ = ["MAX_DEVICES", "GpuBestEffort", "best_effort_set", "first_sets"]

#: Above, upstream's enumeration of all splits does not end within the life of a pod (22 million splits at 16).
MAX_DEVICES = 16


class GpuBestEffort(PerPodGpuPolicy):
    """The split of the free GPUs into sets of the pod's size with the most points, and in it the best set.

    It sees link types (`workbench.policies.gpu.link_scores`), never a measured bandwidth. A node without a matrix, or
    with more than 16 GPUs, gets the lowest indices.

    Notes
    -----
    Source: NVIDIA go-gpuallocator, besteffort_policy.go. See `best_effort_set` for what is not ported.
    """

    name = "gpu-best-effort"

    def __init__(self, _: NoParameters) -> None:
        self._scored: tuple[BandwidthMatrix, npt.NDArray[np.int64]] | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {}

    def choose_one(self, gpus: NodeGpus, count: int) -> int:
        if gpus.matrix is None or len(gpus.matrix) > MAX_DEVICES:
            return lowest_indices(gpus.free, count)
        return best_effort_set(self._scores(gpus.matrix), gpus.free, 0, count)

    def _scores(self, matrix: BandwidthMatrix) -> npt.NDArray[np.int64]:
        """Of the matrix that was asked about last they are known: they cost far more than the choice itself."""
        scored = self._scored
        # By identity: equal matrices may have other link types.
        if scored is None or scored[0] is not matrix:
            self._scored = scored = matrix, pair_scores(matrix)
        return scored[1]

    def warnings(self, questions: Sequence[tuple[NodeGpus, Sequence[int], int]]) -> list[str]:
        blind = sum(nodes for gpus, _, nodes in questions if gpus.matrix is None)
        large = sum(nodes for gpus, _, nodes in questions if gpus.matrix is not None and len(gpus.matrix) > MAX_DEVICES)
        found = []
        if blind:
            found.append(f"{self.name}: {blind} nodes have no bandwidth matrix, lowest indices taken")
        if large:
            what = "node has" if large == 1 else "nodes have"
            found.append(f"{self.name}: {large} {what} more than {MAX_DEVICES} GPUs, lowest indices taken")
        return found


def best_effort_set(scores: npt.NDArray[np.int64], available: int, required: int, size: int) -> int:
    """One answer of the best-effort policy.

    Parameters
    ----------
    scores : ndarray of shape (n, n), int64
        Points for the links of each pair, the same both ways; n <= 16.
    available, required : int
        Masks of the GPUs that are free, and of those that must be in the set.
    size : int

    Returns
    -------
    int
        Mask of the set; 0: refused (size below 1 or above what is free, more GPUs required than asked for, one of
        them not free).

    Notes
    -----
    Of all splits of the available GPUs into sets of `size` (a last set may be smaller) that have the required ones in
    one full set, the first with the largest sum of points, in the order in which upstream enumerates; of its full sets
    with the required GPUs the first with the most points. Upstream walks through all splits (n!/(k!^m m!)); here equal
    remainders are solved once, which gives the same split.

    Not ported: with seven or more sets upstream overwrites the split that it stored; and it may answer with the
    incomplete set when that has the most points.
    """
    if size < 1 or size > available.bit_count() or required & ~available or required.bit_count() > size:
        return 0
    if size == 1:
        return required or available & -available
    points = _set_scores(np.ascontiguousarray(scores, dtype=np.int64).tobytes(), len(scores))
    best: dict[int, tuple[int, int]] = {0: (0, 0)}

    def solve(rest: int) -> int:
        """Most points of a split of `rest`; the first set of the first such split is remembered."""
        if rest not in best:
            most, first = -1, 0
            for chosen in first_sets(rest, size):
                inside = chosen & required
                if inside and (inside != required or chosen.bit_count() < size):
                    continue
                below = solve(rest & ~chosen)
                if below >= 0 and int(points[chosen]) + below > most:
                    most, first = int(points[chosen]) + below, chosen
            best[rest] = (most, first)
        return best[rest][0]

    solve(available)
    split, rest = [], available
    while rest:
        split.append(best[rest][1])
        rest &= ~split[-1]
    full = [chosen for chosen in split if chosen.bit_count() == size and not required & ~chosen]
    return max(full, key=lambda chosen: int(points[chosen]))


@lru_cache(maxsize=1 << 12)
def first_sets(devices: int, size: int) -> tuple[int, ...]:
    """Every set that can come first when devices are split into sets of `size`, in upstream's order.

    The first set holds the lowest device. Where the number of devices is no multiple of `size`, upstream pads it, and
    one set takes all the padding: then a set that is so much smaller is possible too. Order: lexicographic by position,
    padding behind every device.
    """
    lowest, *rest = indices_of(devices)
    padding = -devices.bit_count() % size
    beyond = devices.bit_length()
    found = list(combinations(rest, size - 1))
    if padding:
        found += [chosen + (beyond,) * padding for chosen in combinations(rest, size - 1 - padding)]
        found.sort()
    return tuple(mask_of((lowest, *(i for i in chosen if i < beyond))) for chosen in found)


@lru_cache(maxsize=8)
def _set_scores(scores: bytes, n: int) -> npt.NDArray[np.int64]:
    """Sum of the points of all pairs of every set, by mask."""
    pairs = np.frombuffer(scores, dtype=np.int64).reshape(n, n)
    table = np.zeros(1 << n, dtype=np.int64)
    for device in range(n):
        to_device = np.zeros(1 << device, dtype=np.int64)
        for other in range(device):
            to_device[1 << other : 2 << other] = to_device[: 1 << other] + pairs[device, other]
        table[1 << device : 2 << device] = table[: 1 << device] + to_device
    return table
