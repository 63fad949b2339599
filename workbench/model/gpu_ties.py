"""Ties between sets of GPUs of one machine, broken by NUMA node where it is known (docs/decisions.md, decision 1).

The search of `workbench.kernels.bottleneck` knows no NUMA nodes. Its list of ties is put into the order of decision 1
here, where that list is complete; the value that all ties share never changes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.kernels.bottleneck import BottleneckSolver
from workbench.kernels.gpu_sets import BestSubset, GroupSplit, indices_of
from workbench.model.bandwidth import BandwidthMatrix, Symmetric

__all__ = ["TieOrder", "numa_names", "solve_by_numa", "split_by_numa"]

#: Ties inside one union of NUMA nodes that are compared: all sets of 8 of 16 GPUs, and some more.
_MOST_TIES = 20_000
#: Beyond 16 GPUs each comparison of what a set leaves over is a search of its own.
_MOST_SEARCHES = 500
_TABLE = 16
#: Unions of NUMA nodes that are searched.
_MOST_UNIONS = 300
_MOST_SPLITS = 2_000
_UNKNOWN = frozenset({"", "N/A", "NA", "-1", "-"})


def numa_names(matrix: BandwidthMatrix) -> tuple[str, ...]:
    """NUMA node of each GPU; empty unless the node of every GPU is known and there are two nodes or more."""
    names = matrix.parts.numa if matrix.parts is not None else ()
    return names if len(set(names)) > 1 and not _UNKNOWN & {name.upper() for name in names} else ()


@dataclass(frozen=True)
class TieOrder:
    """The order of decision 1 between sets of GPUs with the same objective.

    `symmetric`: {"min", "max", "mean"}; how the two directions of a pair become one weight. `link_classes`: whether the
    link class is maximised before the weight. `numa`: NUMA node of each GPU; empty where unknown.
    """

    matrix: BandwidthMatrix
    symmetric: Symmetric
    link_classes: bool
    numa: tuple[str, ...]

    @cached_property
    def _pair_weights(self) -> npt.NDArray[np.float64]:
        return self.matrix.pair_weights_gb_s(self.symmetric)

    @cached_property
    def _classes(self) -> npt.NDArray[np.int32]:
        return self.matrix.link_classes(self.symmetric)

    def span(self, mask: int) -> int:
        """Number of NUMA nodes of the GPUs in a mask; 1 where they are unknown."""
        return len({self.numa[gpu] for gpu in indices_of(mask)}) if self.numa else 1

    def objective(self, mask: int) -> tuple[float, float]:
        """Lowest link class (infinity without link classes) and lowest weight in GB/s inside a set; -infinity for no
        set.
        """
        if not mask:
            return -math.inf, -math.inf
        gpus = indices_of(mask)
        if len(gpus) == 1:
            return math.inf, math.inf
        # On the diagonal stand infinity and the fastest class, which never are the lowest.
        inside = np.ix_(gpus, gpus)
        lowest = float(self._classes[inside].min()) if self.link_classes else math.inf
        return lowest, float(self._pair_weights[inside].min())

    def best(self, masks: Iterable[int], left_over: Callable[[int], tuple[float, float]]) -> int:
        """The first of some sets with the same objective.

        `masks`: masks of sets of one size. `left_over`: objective of the best set of that size that a set leaves for
        the next request.

        Order: fewest NUMA nodes, the best set left over, the larger ascending vector of pair weights, the lowest
        indices.
        """
        found = list(masks)
        fewest = min(map(self.span, found))
        found = [mask for mask in found if self.span(mask) == fewest]
        if len(found) > 1:
            left = [left_over(mask) for mask in found]
            found = [mask for mask, value in zip(found, left, strict=True) if value == max(left)]
        return min(found, key=lambda mask: ([-w for w in sorted(self._weights(mask).tolist())], indices_of(mask)))

    def slowest_pair(self, mask: int) -> tuple[int, int] | None:
        """The first pair with the lowest weight inside a set; None for one GPU."""
        gpus = indices_of(mask)
        if len(gpus) < 2:
            return None
        pairs = list(itertools.combinations(gpus, 2))
        return pairs[int(self._weights(mask).argmin())]

    def _weights(self, mask: int) -> npt.NDArray[np.float64]:
        """Weights of the pairs of a set, in the order of its indices."""
        gpus = indices_of(mask)
        weights = self._pair_weights[np.ix_(gpus, gpus)]
        found: npt.NDArray[np.float64] = weights[np.triu_indices(len(gpus), 1)]
        return found


def solve_by_numa(
    matrix: BandwidthMatrix,
    free: int,
    k: int,
    required: int = 0,
    symmetric: Symmetric = "min",
    link_classes: bool = False,
    max_ties: int | None = 100,
) -> BestSubset:
    """Choose k free GPUs as `BottleneckSolver.solve` does, and break ties by NUMA node where it is known.

    `free`, `required`: masks of the GPUs that may and that must be chosen. `k`: at most as many as are free.
    `symmetric`: {"min", "max", "mean"}. `max_ties`: as for `BottleneckSolver.solve`. Returns BestSubset:
    ``tie_break_complete`` is False where the ties were too many to compare all of them.
    """
    solver = matrix.solver(symmetric, link_classes)
    found = solver.solve(free, k, required, max_ties)
    order = TieOrder(matrix, symmetric, link_classes, numa_names(matrix))
    at_least = max(1, order.span(required))
    if not order.numa or not found.tie_break_complete or order.span(found.mask) == at_least:
        return found

    def left_over(mask: int) -> tuple[float, float]:
        return order.objective(solver.choose(free & ~mask, k))

    ties, complete = _ties_in_fewest_nodes(solver, order, found, free, k, required)
    if not ties:
        # The search prefers its choice to all ties, so also to those in as few nodes.
        return found if complete else replace(found, tie_break_complete=False)
    if len(matrix) > _TABLE and len(ties) > _MOST_SEARCHES:
        ties, complete = ties[:_MOST_SEARCHES], False
    mask = order.best(ties, left_over)
    shown = found.ties if mask in found.ties else (*found.ties[:-1], mask)
    return replace(found, mask=mask, pair=order.slowest_pair(mask), ties=shown, tie_break_complete=complete)


def _ties_in_fewest_nodes(
    solver: BottleneckSolver, order: TieOrder, found: BestSubset, free: int, k: int, required: int
) -> tuple[list[int], bool]:
    """Sets as good as `found` in the fewest NUMA nodes that have one, and whether these are all of them.

    Every such set lies in a union of as many nodes, so that no list of all ties is needed. No set: none lies in fewer
    nodes than `found`.
    """
    nodes: dict[str, int] = {}
    for gpu in indices_of(free):
        nodes[order.numa[gpu]] = nodes.get(order.numa[gpu], 0) | 1 << gpu
    best, tried, complete = order.objective(found.mask), 0, True
    for size in range(max(1, order.span(required)), order.span(found.mask)):
        ties: list[int] = []
        for union in itertools.combinations(nodes.values(), size):
            inside = sum(union)
            if required & ~inside or inside.bit_count() < k:
                continue
            tried += 1
            if tried > _MOST_UNIONS:
                return ties, False
            # Without required GPUs a look into the table, up to 16 GPUs, says whether there is a tie at all.
            if not required and order.objective(solver.choose(inside, k)) < best:
                continue
            here = solver.solve(inside, k, required, _MOST_TIES)
            if order.objective(here.mask) == best:
                ties += here.ties
                complete = complete and here.optimal_sets_complete and len(here.ties) == here.optimal_sets
        if ties:
            return ties, complete
    return [], complete


def split_by_numa(
    matrix: BandwidthMatrix,
    free: int,
    sizes: Sequence[int],
    required: int = 0,
    symmetric: Symmetric = "min",
    link_classes: bool = False,
) -> GroupSplit:
    """Choose GPUs for several pods as `BottleneckSolver.group` does, and break ties by NUMA node where it is known.

    `matrix`: of at most 16 GPUs. `free`, `required`: masks of the GPUs that may be chosen and of those that must be.
    `sizes`: GPUs of each pod. `symmetric`: {"min", "max", "mean"}. Returns GroupSplit: order of ties: fewest NUMA nodes
    summed over the pods, then of all pods together; then the order of `TieOrder` for the union and that of
    `BottleneckSolver.split` for the division. More than 2,000 ties are left as the search has them.
    """
    solver = matrix.solver(symmetric, link_classes)
    numa = numa_names(matrix)
    found = solver.group(free, sizes, required, max_splits=_MOST_SPLITS if numa else 1)
    order = TieOrder(matrix, symmetric, link_classes, numa)
    if not numa or not found.optimal_splits_complete:
        return found

    def spans(split: tuple[int, tuple[int, ...]]) -> tuple[int, int]:
        return sum(map(order.span, split[1])), order.span(split[0])

    def left_over(mask: int) -> tuple[float, float]:
        return order.objective(solver.choose(free & ~mask, mask.bit_count()))

    fewest = min(map(spans, found.optimal_splits))
    if spans((found.union, found.masks)) == fewest:
        return found
    splits = [split for split in found.optimal_splits if spans(split) == fewest]
    union = order.best({split[0] for split in splits}, left_over)
    largest_first = sorted(range(len(sizes)), key=lambda pod: -sizes[pod])
    masks = min(
        (split[1] for split in splits if split[0] == union),
        key=lambda masks: [indices_of(masks[pod]) for pod in largest_first],
    )
    return replace(found, union=union, union_bottleneck_gb_s=solver.value(union), masks=masks)
