"""Link classes of a machine with their measurement noise, and links that look suspicious.

The bandwidths, and the rule that divides links into classes, are in `workbench.model.bandwidth`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.model.bandwidth import BandwidthMatrix, SuspiciousLinks

__all__ = [
    "NOISE",
    "SLOW_DIRECTION",
    "LinkClass",
    "class_speeds_gb_s",
    "link_class_table",
    "pairs_text",
    "suspicious_links",
]

#: A direction below this part of the other one is suspicious. Measured machines without a fault stay above 0.82.
SLOW_DIRECTION = 0.8

#: Measurements of one speed differ by no more than this factor: on public machines up to 1.2. Neighbours below the gap
#: of 10 % may chain further, as 17 to 24 GB/s between K80 boards, where the difference is real.
NOISE = 1.25

_NAMED = 3
_LISTED = 4


@dataclass(frozen=True)
class LinkClass:
    """One link class of a bandwidth matrix: a group of GPU-to-GPU links with similar bandwidth.

    Attributes
    ----------
    name : str
        The link types in it, the most frequent first (ties: by name), such as ``NV2`` or ``PIX/PXB``; empty where the
        matrix does not know types.
    low_gb_s, high_gb_s : float
        Slowest and fastest measurement.
    n_links : int
        Number of directed links.
    noise : float
        Standard deviation over mean of its measurements; 0 for a class of zeros.
    median_gb_s : float
        Median of its measurements.
    """

    name: str
    low_gb_s: float
    high_gb_s: float
    n_links: int
    noise: float
    median_gb_s: float

    @property
    def is_noise(self) -> bool:
        """Whether its measurements may be one speed and noise: the fastest is at most `NOISE` times the slowest."""
        return _is_noise(self.low_gb_s, self.high_gb_s)


def link_class_table(matrix: BandwidthMatrix) -> tuple[LinkClass, ...]:
    """The link classes of a bandwidth matrix, slowest first, each with its name, range and measurement noise.

    The classes are those of `BandwidthMatrix.class_floors_gb_s` (docs/decisions.md, decision 1); every direction of a
    pair is a link of its own.
    """
    off_diagonal = ~np.eye(len(matrix), dtype=np.bool_)
    values, which = matrix.gb_s[off_diagonal], _class_of(matrix)[off_diagonal]
    types: list[Counter[str]] = [Counter() for _ in matrix.class_floors_gb_s]
    if matrix.link_types:
        names = [name for i, row in enumerate(matrix.link_types) for j, name in enumerate(row) if i != j]
        for k, name in zip(which.tolist(), names, strict=True):
            types[k][name] += 1
    found = []
    for k, counts in enumerate(types):
        inside = values[which == k]
        mean = float(inside.mean())
        noise = float(inside.std()) / mean if mean > 0 else 0.0
        low, high = float(inside.min()), float(inside.max())
        found.append(LinkClass(_name(counts), low, high, len(inside), noise, float(np.median(inside))))
    return tuple(found)


def class_speeds_gb_s(matrix: BandwidthMatrix) -> npt.NDArray[np.float64]:
    """The matrix without its noise: links that differ by noise only have the median of all of them.

    Where the matrix names link types, these are the links of one type in one link class; otherwise all links of a
    class. Links of a class that is too wide for noise (`LinkClass.is_noise`) keep their values.

    Returns ndarray of shape (n, n), float64: the diagonal is 0.
    """
    off_diagonal = ~np.eye(len(matrix), dtype=np.bool_)
    speeds = matrix.gb_s.copy()
    np.fill_diagonal(speeds, 0.0)
    if len(matrix) < 2:
        return speeds
    names = {name: code for code, name in enumerate(sorted({name for row in matrix.link_types for name in row}))}
    alike = _class_of(matrix) * max(len(names), 1)
    if names:
        alike += np.array([[names[name] for name in row] for row in matrix.link_types])
    which, values = np.unique(alike[off_diagonal], return_inverse=True)[1], matrix.gb_s[off_diagonal]
    # The values of each group stand together, so that each is cut out once.
    groups = np.split(values[np.argsort(which, kind="stable")], np.cumsum(np.bincount(which))[:-1])
    medians = np.array([np.median(group) if _is_noise(group.min(), group.max()) else np.nan for group in groups])[which]
    speeds[off_diagonal] = np.where(np.isnan(medians), values, medians)
    return speeds


def _class_of(matrix: BandwidthMatrix) -> npt.NDArray[np.int64]:
    """Link class of each entry, from 0, the slowest; int64 of shape (n, n)."""
    return np.searchsorted(matrix.class_floors_gb_s, matrix.gb_s, side="right") - 1


def _is_noise(low_gb_s: float, high_gb_s: float) -> bool:
    return high_gb_s <= NOISE * low_gb_s


def suspicious_links(matrix: BandwidthMatrix) -> tuple[SuspiciousLinks, ...]:
    """Links whose one direction is much slower than the other, then the links that the matrix's source found
    suspicious.

    The latter are `BandwidthMatrix.suspicious`, as set when the printout was read.
    """
    low = np.argwhere((matrix.asymmetry() < SLOW_DIRECTION) & (matrix.gb_s < matrix.gb_s.T))
    if not len(low):
        return matrix.suspicious
    pairs = tuple((int(i), int(j)) for i, j in low)
    shown = [
        f"{i} → {j} has {matrix.gb_s[i, j]:.4g} GB/s, {j} → {i} {matrix.gb_s[j, i]:.4g}" for i, j in pairs[:_LISTED]
    ]
    more = f"; and {len(pairs) - _LISTED} more" if len(pairs) > _LISTED else ""
    slow = SuspiciousLinks("one-slow-direction", pairs, f"one slow direction: {'; '.join(shown)}{more}")
    return (slow, *matrix.suspicious)


def pairs_text(pairs: Sequence[tuple[int, int]], n: int) -> str:
    """Directed GPU pairs of a machine with n GPUs, in words: "all", the first few pairs, or their number."""
    if len(pairs) == n * (n - 1):
        return "between all GPUs"
    shown = ", ".join(f"{i} → {j}" for i, j in pairs[:_LISTED])
    return shown if len(pairs) <= _LISTED else f"{shown} and {len(pairs) - _LISTED} more"


def _name(types: Counter[str]) -> str:
    ordered = [name for name, _ in sorted(types.items(), key=lambda item: (-item[1], item[0])) if name]
    return "/".join(ordered[:_NAMED]) + ("/…" if len(ordered) > _NAMED else "")
