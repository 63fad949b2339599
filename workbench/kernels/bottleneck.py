"""Checked interface of the ``bottleneck`` kernel: the best GPU subsets of one machine by bottleneck bandwidth.

The bottleneck of a set of GPUs is its lowest pair bandwidth.

Owns the checks of arguments, the conversion of masks to Python ints, and the error messages. The objective, the ties
and their order are the kernel's (``_core/bottleneck.pyx``; docs/decisions.md, decision 1). Symmetrising a measured
matrix and finding its link classes belong to ``workbench.model.bandwidth``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench._core import bottleneck as kernel
from workbench._core import clique_search
from workbench.cancel import check
from workbench.errors import CapacityError, InputError
from workbench.kernels.checks import as_array, check_number
from workbench.kernels.gpu_sets import BestSubset, GroupSplit, indices_of, words_to_mask
from workbench.kernels.subsets import masks_of_words

__all__ = ["MAX_DEVICES", "MAX_SPLIT_DEVICES", "UNLIMITED", "BottleneckSolver"]

MAX_DEVICES = 1024
MAX_SPLIT_DEVICES = 16
# A search over noisy weights may take hours, so it can be cancelled.
clique_search.watch(check)
# A budget that no search uses up. A list of "all" ties holds at most a million.
UNLIMITED = 2**62
_MOST_TIES = 1_000_000


class BottleneckSolver:
    """Finds the GPU subsets of one machine whose slowest pair is fastest; the matrix is checked once and never changes.

    `pair_weight_gb_s` (ndarray of shape (n, n), float64): weight of each pair in GB/s, the same both ways
    (symmetrised); finite, >= 0; the diagonal is ignored. 1 <= n <= 1024. `link_class` (ndarray of shape (n, n), int32):
    class of each pair, higher is faster, the same both ways: the lowest class in the set is then maximised first and
    the lowest weight second. None: only the lowest weight is. Raises InputError: not square, not symmetric, negative,
    infinite or NaN; CapacityError: more than 1,024 devices.

    Attributes
    ----------
    n : int
        Number of devices.
    default_budget : int
        Limit of the work for the tie-break, 12 n^2 units (one unit reads about one word of a bitset); with link classes
        half of it is for the weight inside the best class. It counts work, not time, so that every computer stops at
        the same place.
    choose : callable
        ``choose(free, k) -> mask``: the set that `solve` chooses without ``require``; 0 when k < 1 or fewer than k are
        free. Up to 64 devices this is the compiled object's own method (about 0.05 us a call); it raises ValueError or
        OverflowError for a mask outside the machine and TypeError for what is no int.

    Notes
    -----
    Ties (docs/decisions.md, decision 1): the set that leaves the best set for the next equal request, then the larger
    ascending vector of pair weights, then the lexicographically smallest ascending indices. Exact: tables for n <= 16
    (first queries of a size build them), threshold and clique search above; the search can be interrupted and
    cancelled. Raw noisy weights above 16 devices are exact too but may take long (NP-hard); link classes keep it short.
    Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "Pick GPUs of Node"; docs/decisions.md,
    decisions 1, 2.
    """

    # Overview:
    #   choose, choose_many   the best set alone: up to 16 devices from a table of all sets, else by clique search
    #   solve                 the best set with its ties and certificate
    #   split, group          the division of a set among pods; for a group, the choice of the set before that

    __slots__ = ("_c_solver", "choose", "default_budget", "n")

    n: int
    default_budget: int
    choose: Callable[[int, int], int]

    def __init__(self, pair_weight_gb_s: object, link_class: object = None) -> None:
        weights: NDArray[np.float64] = as_array("pair_weight_gb_s", pair_weight_gb_s, np.float64, 2)
        _check_square("pair_weight_gb_s", weights)
        off_diagonal = ~np.eye(len(weights), dtype=bool)
        if not (np.isfinite(weights) & (weights >= 0))[off_diagonal].all():
            row, column = np.argwhere(~(np.isfinite(weights) & (weights >= 0)) & off_diagonal)[0]
            raise InputError(
                "bad bandwidth",
                source="pair_weight_gb_s",
                where=f"[{row}, {column}]",
                got=str(weights[row, column]),
                expected="a finite number of at least 0",
            )
        _check_symmetric("pair_weight_gb_s", weights, off_diagonal)
        classes: NDArray[np.int32] | None = None
        if link_class is not None:
            classes = as_array("link_class", link_class, np.int32, 2)
            if classes.shape != weights.shape:
                raise InputError(
                    "shape differs from the matrix",
                    source="link_class",
                    got=str(classes.shape),
                    expected=str(weights.shape),
                )
            _check_symmetric("link_class", classes, off_diagonal)
        solver = kernel.Solver(weights, classes)
        object.__setattr__(self, "_c_solver", solver)
        object.__setattr__(self, "n", solver.n)
        object.__setattr__(self, "default_budget", solver.default_budget)
        # Store the bound method itself: another Python frame would cost more than the query.
        object.__setattr__(self, "choose", solver.choose if solver.n <= 64 else self._choose_large)

    _c_solver: kernel.Solver

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _choose_large(self, free: int, k: int) -> int:
        return words_to_mask(self._c_solver.choose_words(self._words("free", free), k))

    def choose_many(self, free: NDArray[np.uint64], k: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Choose k devices out of a mask of free ones, as `choose` does, for each of m pairs of mask and k.

        `free` (ndarray of shape (m,), uint64): mask of the free devices of each question. `k` (ndarray of shape (m,),
        int32): devices wanted in each question. Returns: ndarray of shape (m,), uint64: chosen masks; 0 where k < 1 or
        fewer than k are free. Raises CapacityError: the machine has more than 64 devices, more than a uint64 mask
        holds.
        """
        if self.n > 64:
            raise CapacityError(f"choose_many: at most 64 devices fit a mask of one word, not {self.n}; use choose")
        masks: NDArray[np.uint64] = as_array("free", free, np.uint64, 1)
        counts: NDArray[np.int32] = as_array("k", k, np.int32, 1)
        if masks.shape != counts.shape:
            raise InputError("lengths differ", source="k", got=str(len(counts)), expected=str(len(masks)))
        if masks.size and int(masks.max()) >> self.n:
            raise InputError("device outside the machine", source="free", expected=f"bits 0 to {self.n - 1}")
        return self._c_solver.choose_many(masks, counts)

    def solve(
        self, free: int, k: int, require: int = 0, max_ties: int | None = 100, budget: int | None = None
    ) -> BestSubset:
        """Choose the best set of k free devices; return it with its ties and certificate.

        Raises InputError: ``k`` is below 1, above the number of free devices or below the number of required ones; a
        mask has a device that the machine lacks; a required device is not free.

        Parameters
        ----------
        free : int
            Mask of the free devices.
        k : int
            Devices wanted.
        require : int
            Devices that must be in the set, all of them free.
        max_ties : int or None
            How many ties to list; None: all (at most 1,000,000).
        budget : int or None
            Limit of the work for the tie-break, and again for listing and counting ties, in the units of
            `default_budget`, which None stands for; ``UNLIMITED``: no limit.
        """
        free_words = self._words("free", free)
        require_words = self._words("require", require)
        if require & ~free:
            missing = ", ".join(map(str, indices_of(require & ~free)))
            raise InputError("required devices are not free", source="require", got=missing)
        check_number("k", k, max(1, require.bit_count()), free.bit_count())
        if max_ties is not None:
            check_number("max_ties", max_ties, 1, _MOST_TIES)
        if budget is not None:
            check_number("budget", budget, 0, UNLIMITED)
        words, ties, count, complete, upper, exact, tie_break_complete = self._c_solver.solve(
            free_words,
            k,
            require_words,
            _MOST_TIES if max_ties is None else max_ties,
            -1 if budget is None else budget,
        )
        bottleneck, i, j = self._c_solver.value(words)
        return BestSubset(
            mask=words_to_mask(words),
            bottleneck_gb_s=bottleneck,
            pair=None if i < 0 else (i, j),
            ties=tuple(masks_of_words(ties)),
            optimal_sets=count,
            optimal_sets_complete=complete,
            upper_bound_gb_s=upper,
            exact=exact,
            tie_break_complete=tie_break_complete,
        )

    def value(self, mask: int) -> float:
        """Lowest pair weight (GB/s) of a set of devices; inf below two."""
        if self.n <= 64 and type(mask) is int and not mask >> self.n:
            return self._c_solver.lowest_pair(mask)
        return self._c_solver.value(self._words("mask", mask))[0]

    def split(self, mask: int, sizes: Sequence[int]) -> list[int]:
        """Divide a set of devices among pods that share the machine.

        The division maximises the ascending list of the pods' own bottlenecks, compared lexicographically; a pod of one
        device has the bottleneck inf. Ties: pod after pod gets the lexicographically smallest set, the pods taken by
        size, largest first, and equal ones in the order given.

        `mask`: mask of the devices to divide; all are given to pods. `sizes`: devices per pod; their sum is the number
        of devices in ``mask``. Returns a mask per pod, in the order of ``sizes``. Raises CapacityError: machine of more
        than 16 devices: the exact split is a table over masks; InputError: a size below 1, or sizes whose sum is not
        the number of devices in ``mask``.
        """
        order = self._check_sizes(mask, sizes, exactly=True)
        *_, row = self._c_solver.split(mask, [sizes[i] for i in order], 0, True, 1)
        return _in_given_order(row.tolist(), order)

    def group(self, free: int, sizes: Sequence[int], require: int = 0, max_splits: int = 100) -> GroupSplit:
        """Choose devices for several pods on one machine and divide them among the pods.

        The set of sum(sizes) devices for all pods together (the union) has the best objective. Of all such unions and
        all ways to divide them, the choice has the lexicographically largest ascending list of the pods' own
        bottlenecks. Ties: the union that `solve` prefers, then the division that `split` prefers.

        `free`, `require`: as in `solve`. `sizes`: devices per pod. `max_splits`: how many of the equally good divisions
        to list. Raises CapacityError: machine of more than 16 devices; InputError: as `solve` and `split`.
        """
        order = self._check_sizes(free, sizes, exactly=False)
        self._words("require", require)
        if require & ~free:
            missing = ", ".join(map(str, indices_of(require & ~free)))
            raise InputError("required devices are not free", source="require", got=missing)
        check_number("sizes", sum(sizes), require.bit_count(), free.bit_count())
        check_number("max_splits", max_splits, 1, _MOST_TIES)
        unions, rows, complete, union, row = self._c_solver.split(
            free, [sizes[i] for i in order], require, False, max_splits
        )
        masks = _in_given_order(row.tolist(), order)
        return GroupSplit(
            union=int(union),
            union_bottleneck_gb_s=self.value(int(union)),
            masks=tuple(masks),
            bottlenecks_gb_s=tuple(sorted(self.value(mask) for mask in masks)),
            optimal_splits=tuple(
                (one_union, tuple(_in_given_order(one, order)))
                for one_union, one in zip(unions.tolist(), rows.tolist(), strict=True)
            ),
            optimal_splits_complete=complete,
        )

    def _check_sizes(self, mask: int, sizes: Sequence[int], *, exactly: bool) -> list[int]:
        """Indices into ``sizes`` (devices per pod) by falling size, equal sizes in the order given.

        Raises InputError if a size is below 1 or the sizes sum to more than the devices of ``mask`` (with ``exactly``:
        to another number than that), and CapacityError for a machine of more than 16 devices.
        """
        if self.n > MAX_SPLIT_DEVICES:
            raise CapacityError(
                f"split: exact up to {MAX_SPLIT_DEVICES} devices, this machine has {self.n}; "
                "solve the part of the machine that holds the pods"
            )
        self._words("mask" if exactly else "free", mask)
        if not sizes:
            raise InputError("no pods", source="sizes", expected="at least one size")
        for size in sizes:
            check_number("sizes", size, 1, self.n)
        if sum(sizes) > mask.bit_count() or (exactly and sum(sizes) != mask.bit_count()):
            raise InputError(
                "sizes do not fit the devices",
                source="sizes",
                got=f"{sum(sizes)} in all",
                expected=f"{'exactly' if exactly else 'at most'} {mask.bit_count()}",
            )
        return sorted(range(len(sizes)), key=lambda pod: -sizes[pod])

    def _words(self, name: str, mask: int) -> NDArray[np.uint64]:
        if isinstance(mask, bool) or not isinstance(mask, int) or mask < 0 or mask >> self.n:
            raise InputError(
                "not a mask of this machine",
                source=name,
                got=repr(mask) if not isinstance(mask, int) or mask < 0 else f"bit {mask.bit_length() - 1}",
                expected=f"an int with bits 0 to {self.n - 1}",
            )
        if self.n <= 64:
            return np.array((mask,), dtype=np.uint64)
        return np.frombuffer(mask.to_bytes(8 * ((self.n + 63) // 64), "little"), dtype="<u8").astype(np.uint64)


def _in_given_order(masks: list[int], order: list[int]) -> list[int]:
    out = [0] * len(order)
    for mask, pod in zip(masks, order, strict=True):
        out[pod] = mask
    return out


def _check_square(name: str, matrix: NDArray[np.float64]) -> None:
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        raise InputError(
            "not square", source=name, got=f"{rows} rows, {columns} columns", expected="as many, at least 1"
        )
    if rows > MAX_DEVICES:
        raise CapacityError(f"{name}: {rows} devices, at most {MAX_DEVICES:,} are supported")


def _check_symmetric(name: str, matrix: NDArray[np.float64] | NDArray[np.int32], where: NDArray[np.bool_]) -> None:
    wrong = np.argwhere((matrix != matrix.T) & where)
    if len(wrong):
        row, column = wrong[0]
        raise InputError(
            "the two directions differ: symmetrise first",
            source=name,
            where=f"[{row}, {column}]",
            got=f"{matrix[row, column]} and {matrix[column, row]}",
        )
