"""`gpu-best-effort`: the GPU choice of NVIDIA's device plugin, by points for the links between GPUs.

All free GPUs are split into sets of the pod's size, and the split with the most points in total gives the pod's set.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.kernels.subsets import device_lists, enumerate_masks, rank
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.notice import Notice
from workbench.policies.gpu.base import NodeGpus, PerPodGpuPolicy, lowest_indices, unlooked_notices
from workbench.policies.gpu.link_scores import LastPairScores
from workbench.policies.parameters import NoParameters

__all__ = ["MAX_DEVICES", "GpuBestEffort", "best_effort_sets", "first_sets"]

Masks = npt.NDArray[np.int64]

#: Less than the points of any split, and left negative by adding points to it.
_NO_SPLIT = -(1 << 40)

#: Above, upstream's enumeration of all splits does not end within the life of a pod (22 million splits at 16).
MAX_DEVICES = 16


class GpuBestEffort(PerPodGpuPolicy):
    """GPU policy of NVIDIA's device plugin: splits all free GPUs into sets of the pod's size and takes one of them.

    Each pair of GPUs gets points for the type of its link (`workbench.policies.gpu.link_scores`); measured bandwidths
    are not looked at. Of all ways to split the free GPUs into sets of the pod's size the one with the most points in
    total is chosen, and the pod gets that set of it which has the most points. On a node without a bandwidth matrix,
    or with more than 16 GPUs, the pod gets the free GPUs with the lowest indices.

    Source: NVIDIA go-gpuallocator, besteffort_policy.go. See `best_effort_sets` for what is not ported.
    """

    name = "gpu-best-effort"

    def __init__(self, _: NoParameters) -> None:
        self._scores = LastPairScores()

    def choose_one(self, gpus: NodeGpus, count: int) -> int:
        if gpus.matrix is None or len(gpus.matrix) > MAX_DEVICES:
            return lowest_indices(gpus.free, count)
        return int(best_effort_sets(self._scores(gpus.matrix), np.array([gpus.free]), 0, count)[0])

    def choose_singles(
        self, matrix: BandwidthMatrix, free: npt.NDArray[np.uint64], n_gpus: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.uint64] | None:
        """Choose GPUs for one pod on each of many nodes that share a bandwidth matrix, by NVIDIA's best-effort rule.

        None if the machine has more than 16 GPUs.
        """
        if len(matrix) > MAX_DEVICES:
            return None
        chosen = np.zeros_like(free)
        for size in np.unique(n_gpus):
            here = n_gpus == size
            chosen[here] = best_effort_sets(self._scores(matrix), free[here].astype(np.int64), 0, int(size))
        return chosen

    def warnings(self, questions: Sequence[tuple[NodeGpus, Sequence[int], int]]) -> list[Notice]:
        blind = sum(nodes for gpus, _, nodes in questions if gpus.matrix is None)
        large = sum(nodes for gpus, _, nodes in questions if gpus.matrix is not None and len(gpus.matrix) > MAX_DEVICES)
        return unlooked_notices(self.name, blind, large, f"more than {MAX_DEVICES} GPUs")


def best_effort_sets(scores: npt.NDArray[np.int64], available: Masks, required: int, size: int) -> Masks:
    """Choose GPUs by NVIDIA's best-effort rule, for many sets of free GPUs of one machine.

    Returns ndarray of shape (m,), int64: mask of the chosen set; 0: refused, because `size` is below 1 or above the
    number of free GPUs, or more GPUs are required than `size`, or a required GPU is not free.

    `scores`: ndarray of shape (n, n), int64; points for the links of each pair, the same both ways; n <= 16.
    `available`: ndarray of shape (m,), int64; masks of the GPUs that are free. `required`: mask of the GPUs that must
    be in the set. `size`: GPUs per set: the number that the pod asks for.

    Notes
    -----
    Considered are all splits of the available GPUs into sets of `size` (the last set may be smaller) that have the
    required GPUs in one full set. The split with the largest sum of points is chosen, and of its full sets with the
    required GPUs the one with the most points; ties: the first in the order in which upstream enumerates. Upstream
    walks through all splits (n!/(k!^m m!)); here equal remainders are solved once, which gives the same split.

    Not ported: with seven or more sets upstream overwrites the split that it stored, and it may answer with the
    incomplete set if this has the most points.
    """
    answers = np.zeros(len(available), dtype=np.int64)
    if size < 1 or required.bit_count() > size:
        return answers
    served = (np.bitwise_count(available) >= size) & (required & ~available == 0)
    asked = available[served]
    if size == 1:
        answers[served] = required or asked & -asked
        return answers
    points = _set_scores(np.ascontiguousarray(scores, dtype=np.int64).tobytes(), len(scores))
    first = _first_of_best_split(points, asked, required, size)
    chosen, most, rest = np.zeros_like(asked), np.full_like(asked, -1), asked
    while rest.any():
        part = first[rest]
        better = (np.bitwise_count(part) == size) & (required & ~part == 0) & (points[part] > most)
        chosen, most, rest = np.where(better, part, chosen), np.where(better, points[part], most), rest & ~part
    answers[served] = chosen
    return answers


def _first_of_best_split(points: npt.NDArray[np.int64], asked: Masks, required: int, size: int) -> Masks:
    """For every mask of free GPUs, the first set of its best split into sets of ``size``: int64, indexed by mask.

    Computed for the masks in ``asked`` and for all that remain of them while they are split; ``points`` are by mask of
    a set.
    """
    most = np.full(len(points), _NO_SPLIT)
    most[0] = 0
    first = np.zeros(len(points), dtype=np.int64)
    for remainders, sets in reversed(_remainders(asked, size, len(points))):
        totals = points[sets] + most[remainders[:, None] & ~sets]
        if required:
            inside = sets & required
            totals[(inside != 0) & ((inside != required) | (np.bitwise_count(sets) < size))] = _NO_SPLIT
        # argmax takes the first of equal ones, as upstream keeps the first of equal splits.
        best = totals.argmax(axis=1)
        row = np.arange(len(best))
        first[remainders], most[remainders] = sets[row, best], totals[row, best]
    return first


def _remainders(asked: Masks, size: int, n_masks: int) -> list[tuple[Masks, Masks]]:
    """Masks of devices that can remain when the masks in ``asked`` are split into sets of ``size``, set by set.

    Each pair holds the masks, (m,), and for each the sets that can be split off next, (m, s). Remainders with
    equally many GPUs form one group, so that numpy handles them at once.
    """
    reached: dict[int, npt.NDArray[np.bool_]] = {}

    def reach(count: int, masks: Masks) -> None:
        if count not in reached:
            reached[count] = np.zeros(n_masks, dtype=np.bool_)
        reached[count][masks] = True

    counts = np.bitwise_count(asked)
    for count in set(counts.tolist()):
        reach(count, asked[counts == count])
    found = []
    while reached:
        count = max(reached)
        remainders = np.flatnonzero(reached.pop(count))
        sets = first_sets(remainders, size)
        found.append((remainders, sets))
        sizes = np.bitwise_count(sets[0])
        for taken in {min(size, count), size - -count % size} - {count}:
            reach(count - taken, remainders[:, None] & ~sets[:, sizes == taken])
    return found


def first_sets(remainders: Masks, size: int) -> Masks:
    """Every set that can come first when devices are split into sets of `size`, in upstream's order.

    The first set holds the lowest device. If the number of devices is no multiple of `size`, upstream pads the devices,
    and one set takes all the padding; the first set can then be the one that is smaller by that number. Order:
    lexicographic by position, padding behind every device.

    `remainders`: ndarray of shape (m,), int64; masks of the devices to split; all have the same number of devices, at
    least one. `size`: devices per set. Returns ndarray of shape (m, s), int64: masks of the s possible first sets of
    each remainder.
    """
    devices = device_lists(remainders.astype(np.uint64)[:, None])
    return (1 << devices) @ _first_positions(devices.shape[1], size)


@lru_cache(maxsize=1 << 8)
def _first_positions(count: int, size: int) -> Masks:
    """Sets that can come first when devices 0 to ``count - 1`` are split by ``size``: 0 or 1, int64 (count, s)."""
    behind = (1 << count) - 2
    padding = -count % size
    sets = enumerate_masks(behind, size - 1, n_words=1)
    if padding:
        # Devices beyond the last one stand for the padding: a set has all of them or none.
        pads = ((1 << padding) - 1) << count
        short = enumerate_masks(behind, size - 1 - padding, n_words=1) | np.uint64(pads)
        sets = np.concatenate([sets, short])
        sets = sets[np.argsort(rank(behind | pads, sets))]
    positions = np.arange(count, dtype=np.uint64)
    return ((sets.T | np.uint64(1)) >> positions[:, None] & np.uint64(1)).astype(np.int64)


@lru_cache(maxsize=8)
def _set_scores(scores: bytes, n: int) -> npt.NDArray[np.int64]:
    """Sum of the link points of all pairs within each set of n devices: int64 (2^n,), indexed by the mask of the set.

    ``scores`` are the points of the pairs, an (n, n) int64 array as bytes.
    """
    pairs = np.frombuffer(scores, dtype=np.int64).reshape(n, n)
    table = np.zeros(1 << n, dtype=np.int64)
    for device in range(n):
        to_device = np.zeros(1 << device, dtype=np.int64)
        for other in range(device):
            to_device[1 << other : 2 << other] = to_device[: 1 << other] + pairs[device, other]
        table[1 << device : 2 << device] = table[: 1 << device] + to_device
    return table
