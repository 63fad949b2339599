"""Sets of GPUs as bit masks, and the results of searches for the best of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError

__all__ = ["BestSubset", "GroupSplit", "indices_of", "mask_of", "words_to_mask"]


def mask_of(indices: Iterable[int]) -> int:
    """Bit mask of some device indices (bit i set means device i), as a Python int; InputError for a negative index."""
    mask = 0
    for index in indices:
        if index < 0:
            raise InputError("negative device index", source="indices", got=str(index), expected="0 or more")
        mask |= 1 << int(index)
    return mask


def indices_of(mask: int) -> tuple[int, ...]:
    """Device indices, ascending, of a bit mask (bit i set means device i)."""
    if mask < 0:
        raise InputError("negative mask", source="mask", got=str(mask), expected="0 or more")
    indices = []
    while mask:
        low = mask & -mask
        indices.append(low.bit_length() - 1)
        mask ^= low
    return tuple(indices)


@dataclass(frozen=True, slots=True)
class BestSubset:
    """The best set of k devices (GPUs) of one machine, with the equally good sets and the proof of how good it can be.

    Attributes
    ----------
    mask : int
        The chosen devices.
    bottleneck_gb_s : float
        Lowest pair weight in the set; inf for one device.
    pair : tuple of int or None
        First pair (i, j), i < j, that has this weight; None for one device.
    ties : tuple of int
        Sets with the same objective in lexicographic order, at most as many as were asked for. The chosen set is always
        among them: if the list is cut before it, it takes the last place. The list holds the chosen set alone if
        ``tie_break_complete`` is False because the weight inside the best link class is unproven.
    optimal_sets : int
        Number of sets with the best value; a lower bound when ``optimal_sets_complete`` is False.
    optimal_sets_complete : bool
        Whether ``optimal_sets`` is the exact number, not only a lower bound.
    upper_bound_gb_s : float
        No set of k free devices with the required ones can have a larger bottleneck: the highest weight at which
        enough devices have k - 1 neighbours that fast among themselves (found without the search). inf for one device.
    exact : bool
        Whether the objective's value is proven: the bottleneck, or with link classes the class. Always True.
    tie_break_complete : bool
        Whether the choice among ties is proven, with link classes also the weight inside the class. False: the limit of
        work was reached before.
    """

    mask: int
    bottleneck_gb_s: float
    pair: tuple[int, int] | None
    ties: tuple[int, ...]
    optimal_sets: int
    optimal_sets_complete: bool
    upper_bound_gb_s: float
    exact: bool
    tie_break_complete: bool


@dataclass(frozen=True, slots=True)
class GroupSplit:
    """The best set of devices for several pods on one machine, and the best way to divide it among the pods.

    Attributes
    ----------
    union : int
        Mask of the devices of all pods together.
    union_bottleneck_gb_s : float
        Lowest pair weight in the union.
    masks : tuple of int
        Devices of each pod, in the order of ``sizes``.
    bottlenecks_gb_s : tuple of float
        Each pod's own lowest pair weight, ascending; inf for pods of one device, last.
    optimal_splits : tuple of (int, tuple of int)
        All splits as good as the chosen one, as (union, masks in the order of ``sizes``), at most ``max_splits``. Of
        equal pods the lexicographically smaller set comes first.
    optimal_splits_complete : bool
        Whether ``optimal_splits`` lists all of them; False: the list is cut off at ``max_splits``.
    """

    union: int
    union_bottleneck_gb_s: float
    masks: tuple[int, ...]
    bottlenecks_gb_s: tuple[float, ...]
    optimal_splits: tuple[tuple[int, tuple[int, ...]], ...]
    optimal_splits_complete: bool


def words_to_mask(words: NDArray[np.uint64]) -> int:
    """One row of 64-bit words (uint64, least significant word first) as a single Python int."""
    return int.from_bytes(words.astype("<u8").tobytes(), "little")
