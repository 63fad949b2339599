"""`BandwidthMatrix`: measured bandwidth between the GPUs of one machine, with its pair weights and link classes.

The choice of GPUs from a matrix is in `workbench.model.best_gpus`; the search behind it is in `workbench.kernels`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from workbench.errors import CapacityError, InputError
from workbench.kernels.bottleneck import BottleneckSolver
from workbench.model.arrays import distinct
from workbench.model.counted import counted
from workbench.model.display import Displayed, Plotted, Tabular
from workbench.model.machine_parts import MachineParts
from workbench.model.value import Value

__all__ = ["CLASS_GAP", "MAX_GPUS", "BandwidthMatrix", "SuspiciousLinks", "Symmetric"]

Symmetric = Literal["min", "max", "mean"]
SYMMETRIC = ("min", "max", "mean")

MAX_GPUS = 1024

#: Beyond any link by far; sums and means of a million such numbers are still finite.
_LARGEST_GB_S = 1e300

#: Two neighbouring measurements this far apart (as a ratio minus one) belong to different link classes (decision 1).
CLASS_GAP = 0.10


@dataclass(frozen=True, eq=False, repr=False)
class BandwidthMatrix(Value, Displayed, Plotted, Tabular):
    """Measured bandwidth between every two GPUs of a machine.

    Raises InputError: not square; an entry is negative, NaN or infinite (its position is named); or there are not n
    labels or n rows of n link types; or the parts are for another number of GPUs. Raises CapacityError: more than 1,024
    GPUs.

    Source: Koordinator proposal "GPU topology-aware scheduling", "GPU topology resource reporting"; the checks are
    those of docs/reference/gpu-topology.md, section A1. Equality compares the numbers and the labels. ``numpy.asarray``
    gives the numbers.

    Parameters
    ----------
    gb_s : array_like of shape (n, n)
        Entry [i, j] is the bandwidth from GPU i to GPU j in GB/s; finite, >= 0, may be asymmetric.
        The diagonal is kept but never used. 1 <= n <= 1024. A pandas DataFrame gives the labels, too; its rows and
        columns must have the same names in the same order.
    labels : sequence of str, optional
        Names of the GPUs; by default those of a DataFrame, else ``gpu_0`` ….
    source : str
        Origin of the bandwidths, such as a file name; shown in results.
    link_types : sequence of n sequences of n str, optional
        Type of the link from GPU i to GPU j as the source names it (``NV2``, ``PIX``); the diagonal is ignored.
    suspicious : sequence of SuspiciousLinks, optional
        Doubts that the source of the numbers raised; `workbench.model.links.suspicious_links` adds those seen in the
        matrix.
    parts : MachineParts, optional
        NICs and NUMA nodes that the source tells.

    Examples
    --------
    >>> import workbench as wb
    >>> matrix = wb.BandwidthMatrix([[0, 48], [48, 0]], labels=["a", "b"])
    >>> matrix.gb_s[0, 1]
    np.float64(48.0)
    """

    gb_s: npt.NDArray[np.float64]
    labels: tuple[str, ...] = ()
    source: str = "array"
    link_types: tuple[tuple[str, ...], ...] = ()
    suspicious: tuple[SuspiciousLinks, ...] = ()
    parts: MachineParts | None = None
    # Not of __init__: `dataclasses.replace` would hand the searches of the old numbers to the new ones.
    _solvers: dict[tuple[str, bool], BottleneckSolver] = field(init=False, default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        gb_s = _checked_matrix(self.gb_s, self.source)
        n = len(gb_s)
        labels = tuple(self.labels) or _names_of(self.gb_s, self.source) or tuple(f"gpu_{i}" for i in range(n))
        if len(labels) != n:
            raise InputError(
                "the matrix and its labels differ in number",
                source=self.source,
                got=f"{len(labels)} labels",
                expected=f"{n}, one per row",
            )
        object.__setattr__(self, "gb_s", gb_s)
        types = tuple(tuple(row) for row in self.link_types)
        if types and (len(types) != n or any(len(row) != n for row in types)):
            raise InputError("link types of another size", source=self.source, expected=f"{n} rows of {n}")
        if self.parts is not None and self.parts.n_gpus not in (0, n):
            got = f"parts for {counted(self.parts.n_gpus, 'GPU')}"
            raise InputError("parts of another machine", source=self.source, got=got, expected=str(n))
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "link_types", types)
        object.__setattr__(self, "suspicious", tuple(self.suspicious))

    def __len__(self) -> int:
        return len(self.gb_s)

    def __iter__(self) -> Iterator[npt.NDArray[np.float64]]:
        # Rows, as of an array: pandas asks for `__array__` only where a value can be iterated.
        return iter(self.gb_s)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.gb_s, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BandwidthMatrix):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.gb_s, other.gb_s)

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return (
            f"BandwidthMatrix({counted(len(self), 'GPU')}, "
            f"{counted(len(self.class_floors_gb_s), 'link class', 'link classes')}, from {self.source})"
        )

    @cached_property
    def checksum(self) -> str:
        """SHA-256, in hex, of the matrix entries (little-endian float64, row by row) and the GPU labels."""
        digest = hashlib.sha256(self.gb_s.astype("<f8").tobytes())
        digest.update("\0".join(self.labels).encode())
        return digest.hexdigest()

    def pair_weights_gb_s(self, symmetric: Symmetric = "min") -> npt.NDArray[np.float64]:
        """Reduce the two directions of each GPU pair to one weight in GB/s.

        `symmetric`: {"min", "max", "mean"}; which value of the two directions becomes the weight. Returns ndarray of
        shape (n, n), float64: symmetric; the diagonal is infinite, so that it never is the smallest.
        """
        if symmetric not in SYMMETRIC:
            raise InputError(
                "unknown direction rule", source="symmetric", got=repr(symmetric), expected="min, max or mean"
            )
        forth, back = self.gb_s, self.gb_s.T
        weights: npt.NDArray[np.float64]
        if symmetric == "min":
            weights = np.minimum(forth, back)
        elif symmetric == "max":
            weights = np.maximum(forth, back)
        else:
            weights = (forth + back) / 2.0
        np.fill_diagonal(weights, np.inf)
        return weights

    @cached_property
    def class_floors_gb_s(self) -> npt.NDArray[np.float64]:
        """Smallest bandwidth in GB/s of each link class, ascending: float64 of shape (number of classes,).

        A link class is a group of similar bandwidths: all off-diagonal entries are sorted, and a new class begins where
        an entry is at least 10 % above the one before it (docs/decisions.md, decision 1). Entries of zero (no link)
        form a class of their own.
        """
        n = len(self)
        values = distinct(self.gb_s[~np.eye(n, dtype=np.bool_)])
        if len(values) == 0:
            return values
        # In tenths, so that a gap of exactly 10 % between decimal printouts splits.
        starts = np.concatenate([[True], values[1:] * 10.0 >= values[:-1] * (10.0 + 10.0 * CLASS_GAP)])
        floors: npt.NDArray[np.float64] = values[starts]
        floors.flags.writeable = False
        return floors

    def link_classes(self, symmetric: Symmetric = "min") -> npt.NDArray[np.int32]:
        """Number of the link class of each GPU pair: int32 of shape (n, n), 0 the slowest class.

        The diagonal has the fastest. `symmetric` says which of a pair's two directions counts, or their mean. A weight
        that falls between two classes, which only ``mean`` can produce, belongs to the lower one. The classes are those
        of `class_floors_gb_s`.
        """
        weights = self.pair_weights_gb_s(symmetric)
        classes = np.searchsorted(self.class_floors_gb_s, weights, side="right") - 1
        return np.ascontiguousarray(classes, dtype=np.int32)

    def asymmetry(self) -> npt.NDArray[np.float64]:
        """Ratio of the slower to the faster direction of each GPU pair: float64 of shape (n, n), in 0 to 1.

        1 means equal directions; two directions of 0 GB/s also count as equal.
        """
        low, high = np.minimum(self.gb_s, self.gb_s.T), np.maximum(self.gb_s, self.gb_s.T)
        ratio: npt.NDArray[np.float64] = np.ones_like(low)
        np.divide(low, high, out=ratio, where=high > 0)
        np.fill_diagonal(ratio, 1.0)
        return ratio

    def near(self, gpus: Iterable[int]) -> dict[str, Any]:
        """The NICs nearest to some GPUs, and the NUMA nodes of these GPUs (`MachineParts.near`).

        Raises InputError: no such GPU.

        Returns dict: ``near_nics`` and ``numa_nodes``; empty without GPUs, or where the source of the matrix tells no
        parts.
        """
        gpus = tuple(gpus)
        for gpu in gpus:
            if not 0 <= gpu < len(self):
                raise InputError("no such GPU", source="gpus", got=str(gpu), expected=f"0 to {len(self) - 1}")
        return self.parts.near(gpus) if self.parts is not None and gpus else {}

    def solver(self, symmetric: Symmetric = "min", link_classes: bool = False) -> BottleneckSolver:
        """The exact search for the best GPU set in this matrix, built on the first call for each pair of arguments and
        cached.

        `symmetric` says how the two directions of a pair become one weight; with `link_classes` the search maximises
        the link class first and the bandwidth second.
        """
        key = (symmetric, link_classes)
        if key not in self._solvers:
            classes = self.link_classes(symmetric) if link_classes else None
            self._solvers[key] = BottleneckSolver(self.pair_weights_gb_s(symmetric), classes)
        return self._solvers[key]


def _names_of(given: Any, source: str) -> tuple[str, ...]:
    """Names of the GPUs in a matrix, or in a table whose rows or columns somebody named; empty for anything else."""
    if isinstance(given, BandwidthMatrix):
        return given.labels
    rows, columns = (tuple(getattr(given, axis, ())) for axis in ("index", "columns")) if _is_table(given) else ((), ())
    numbered = tuple(range(len(rows)))
    if rows == columns == numbered:
        return ()
    if numbered in (rows, columns):
        rows = columns = columns if rows == numbered else rows
    if rows != columns:
        raise InputError(
            "rows and columns have other names",
            source=source,
            got=f"rows {', '.join(map(str, rows[:4]))}, columns {', '.join(map(str, columns[:4]))}",
            expected="the same names in the same order",
        )
    return tuple(map(str, rows))


def _is_table(given: Any) -> bool:
    return hasattr(given, "columns") and hasattr(given, "to_numpy")


def _checked_matrix(given: Any, source: str) -> npt.NDArray[np.float64]:
    try:
        gb_s = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(
            "the matrix has rows of unequal length or entries that are no numbers",
            source=source,
            expected="n rows of n numbers in GB/s",
        ) from error
    if gb_s.ndim != 2 or gb_s.shape[0] != gb_s.shape[1] or gb_s.shape[0] == 0:
        raise InputError(
            "the matrix is not square",
            source=source,
            got=" x ".join(str(s) for s in gb_s.shape),
            expected="n rows of n numbers, n >= 1",
        )
    if len(gb_s) > MAX_GPUS:
        raise CapacityError(f"{source}: {counted(len(gb_s), 'GPU')} in one matrix, at most {MAX_GPUS} are supported")
    off_diagonal = ~np.eye(len(gb_s), dtype=np.bool_)
    bad = (~np.isfinite(gb_s) | (gb_s < 0) | (gb_s > _LARGEST_GB_S)) & off_diagonal
    if bad.any():
        row, column = (int(x) for x in np.argwhere(bad)[0])
        raise InputError(
            "not a bandwidth",
            source=source,
            where=f"row {row}, column {column}",
            got=str(gb_s[row, column]),
            expected=f"a finite number >= 0, in GB/s, of at most {_LARGEST_GB_S:g}",
        )
    gb_s.flags.writeable = False
    return gb_s


@dataclass(frozen=True)
class SuspiciousLinks:
    """GPU-to-GPU links of one machine that are suspicious for a common reason.

    Attributes
    ----------
    code : str
        ``one-slow-direction``, ``p2p-slower-than-staging``, ``p2p-disabled`` or ``no-direct-link``.
    pairs : tuple of (int, int)
        The links as (from GPU, to GPU), ascending.
    message : str
        What is suspicious about the links.
    fact : str
        The message without what a reader put in the place of a missing bandwidth, for a matrix that has a measured one;
        empty: the message.
    """

    code: str
    pairs: tuple[tuple[int, int], ...]
    message: str
    fact: str = field(default="", compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The fields of ``suspicious_links`` in `workbench gpus -o json`."""
        return {"code": self.code, "pairs": [list(pair) for pair in self.pairs], "message": self.message}
