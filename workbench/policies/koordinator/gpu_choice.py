"""Chooses the GPUs of one node for the pods of a group placed there: the best set for all, divided among the pods.

Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "Pick GPUs of Node"; how the set is divided among
the pods is left open there (docs/reference/gpu-topology.md, section A4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.kernels.bottleneck import MAX_SPLIT_DEVICES, BottleneckSolver
from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.kernels.two_pods import split_in_two
from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.policies.gpu.lowest_index import deal_lowest

__all__ = ["GpuChoice"]

# Ways to deal that are compared by their union where the pods' own bottlenecks come first.
_MOST_SPLITS = 2_000


@dataclass(frozen=True)
class GpuChoice:
    """Rule by which `koordinator-gpu` compares sets of GPUs of one node.

    Attributes
    ----------
    symmetric : {"min", "max", "mean"}
        How the two directions of a pair become one weight.
    link_classes : bool
        Compare link classes before raw bandwidth.
    pods_first : bool
        False: maximise the bottleneck of the union (the GPUs of all pods together) first, as in the document, then the
        ascending list of the pods' own bottlenecks. True: the pods' own bottlenecks first, for pods that communicate
        more inside than with each other.
    """

    symmetric: Symmetric = "min"
    link_classes: bool = False
    pods_first: bool = False

    def value(self, matrix: BandwidthMatrix | None, free: int, count: int, bound: int) -> float:
        """Bottleneck in GB/s of the best set of free GPUs.

        `count`: GPUs to choose. `matrix`, `free`, `bound`: as for `values`.
        """
        return self.values(matrix, free, (count,), bound)[0]

    def values(self, matrix: BandwidthMatrix | None, free: int, counts: Sequence[int], bound: int) -> list[float]:
        """Bottleneck in GB/s of the best set of free GPUs, for each number of GPUs to choose.

        Returns the bottlenecks; inf where fewer than two GPUs, including those in `bound`, are in the set; -1 where the
        matrix is unknown.

        `matrix`: matrix of the node; None: unknown. `free`: mask of the free GPUs. `counts`: numbers of GPUs to choose.
        `bound`: mask of the GPUs that the group already holds on the node; their pairs count too.
        """
        held = bound.bit_count()
        solver = self._solver(matrix) if matrix is not None else None
        values = []
        for count in counts:
            if count + held < 2:
                values.append(float("inf"))
            else:
                values.append(-1.0 if solver is None else solver.value(self._union(solver, free, count, bound) | bound))
        return values

    def masks(self, matrix: BandwidthMatrix | None, free: int, sizes: Sequence[int], bound: int) -> tuple[int, ...]:
        """Choose disjoint sets of GPUs on one node for the pods of a group placed there; return a mask per pod.

        `matrix`: matrix of the node; None: unknown, the lowest indices are taken. `free`: mask of the free GPUs; at
        least sum(sizes). `sizes`: GPUs of each pod, 1 or more; of equal sizes the earlier pod gets the
        lexicographically smaller set. `bound`: mask of the GPUs that the group already holds on the node.

        Notes
        -----
        Exact up to 16 GPUs per machine. On larger machines the union of all pods' GPUs is exact, and dividing it among
        the pods is exact up to 16 GPUs in all. A larger union for two pods is divided so that the slower pod is as fast
        as possible, compared by raw bandwidth; for more pods it is divided by index (`undealt`). The bottleneck of
        single pods comes before that of the union only up to 16 GPUs. If several unions are equally good, on large
        machines and beside `bound` GPUs, the first one is divided.
        """
        if matrix is None:
            return deal_lowest(free, sizes)
        solver = self._solver(matrix)
        small = solver.n <= MAX_SPLIT_DEVICES
        if small and self.pods_first and (len(sizes) > 1 or bound):
            return _pods_first(solver, free, sizes, bound)
        if small and len(sizes) > 1 and not bound:
            return solver.group(free, sizes, max_splits=1).masks
        union = self._union(solver, free, sum(sizes), bound)
        if len(sizes) == 1:
            return (union,)
        if small:
            return tuple(solver.split(union, sizes))
        if union.bit_count() <= MAX_SPLIT_DEVICES:
            return self._deal_part(matrix, union, sizes)
        if len(sizes) == 2:
            return self._deal_two(matrix, union, sizes)
        return deal_lowest(union, sizes)

    def undealt(self, matrix: BandwidthMatrix | None, sizes: Sequence[int]) -> bool:
        """Whether `masks` is not exact for pods of these sizes on a machine.

        If True, `masks` divides the best set by device number, or puts the bottleneck of all pods together first
        although `pods_first` is set.
        """
        if matrix is None or len(matrix) <= MAX_SPLIT_DEVICES or len(sizes) < 2:
            return False
        return self.pods_first or (len(sizes) > 2 and sum(sizes) > MAX_SPLIT_DEVICES)

    def _solver(self, matrix: BandwidthMatrix) -> BottleneckSolver:
        return matrix.solver(self.symmetric, self.link_classes)

    @staticmethod
    def _union(solver: BottleneckSolver, free: int, count: int, bound: int) -> int:
        if not bound or not count:
            return solver.choose(free, count)
        found = solver.solve(free | bound, count + bound.bit_count(), require=bound, max_ties=1)
        return found.mask & ~bound

    def _deal_part(self, matrix: BandwidthMatrix, union: int, sizes: Sequence[int]) -> tuple[int, ...]:
        """Divide a set of GPUs (mask ``union``) of a large machine among pods exactly, as it has at most 16 GPUs."""
        gpus = indices_of(union)
        square = np.ix_(gpus, gpus)
        weights = np.ascontiguousarray(matrix.pair_weights_gb_s(self.symmetric)[square])
        classes = np.ascontiguousarray(matrix.link_classes(self.symmetric)[square]) if self.link_classes else None
        part = BottleneckSolver(weights, classes).split((1 << len(gpus)) - 1, sizes)
        return tuple(mask_of(gpus[i] for i in indices_of(mask)) for mask in part)

    def _deal_two(self, matrix: BandwidthMatrix, union: int, sizes: Sequence[int]) -> tuple[int, ...]:
        """Divide more than 16 GPUs (mask ``union``) between two pods so that the slower pod is as fast as possible.

        The larger or earlier pod gets the lexicographically smaller set.
        """
        weights = matrix.pair_weights_gb_s(self.symmetric)
        larger, other = split_in_two(weights, union, max(sizes))
        return (larger, other) if sizes[0] >= sizes[1] else (other, larger)


def _pods_first(solver: BottleneckSolver, free: int, sizes: Sequence[int], bound: int) -> tuple[int, ...]:
    """Masks of GPUs for each pod such that the ascending list of the pods' own bottlenecks is the largest.

    Ties: the best bottleneck of all pods together with the GPUs in ``bound``, then lexicographic order. Pods of one
    GPU have no pair and change no list: they share what the others leave, so that the union is the best. The GPUs
    that nobody gets count as such pods, too.
    """
    large = [pod for pod, size in enumerate(sizes) if size > 1]
    asked = [sizes[pod] for pod in large]
    dealt: dict[tuple[int, ...], None] = {(): None}
    if large:
        splits = solver.group(free, [*asked, *[1] * (free.bit_count() - sum(asked))], max_splits=_MOST_SPLITS)
        found = (masks[: len(large)] for _, masks in splits.optimal_splits)
        dealt = dict.fromkeys((splits.masks[: len(large)], *found))

    def union(masks: tuple[int, ...]) -> int:
        whole = bound
        for mask in masks:
            whole |= mask
        if len(large) == len(sizes):
            return whole
        count = sum(sizes) + bound.bit_count()
        return solver.solve(free | bound, count, require=whole, max_ties=1).mask

    unions = {masks: union(masks) for masks in dealt}
    best = max(unions, key=lambda masks: solver.value(unions[masks]))
    left = unions[best] & ~bound
    for mask in best:
        left &= ~mask
    given = dict(zip(large, best, strict=True))
    singles = iter(indices_of(left))
    return tuple(given[pod] if pod in given else 1 << next(singles) for pod in range(len(sizes)))
