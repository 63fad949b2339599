"""Koordinator's partition tables: the only sets of GPUs that machines with a managed fabric give to pods.

Source: Koordinator, deviceshare GPU allocator, partition table; docs/reference/gpu-topology.md, part (b).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

__all__ = ["HOPPER_MODELS", "HOPPER_TABLE", "Partition", "PartitionTable", "choose_partition"]

# Weight of a partition that stays whole, by its size.
_BIN_PACK = ((8, 10_000), (4, 100), (2, 1))


@dataclass(frozen=True)
class Partition:
    """One row of a partition table: a set of GPUs.

    Attributes
    ----------
    mask : int
        The GPUs: bit i set means minor number i.
    score : int
        allocationScore of the table.
    ring_bandwidth_gb_s : float, optional
        ringBusBandwidth; None: not given, then no demand for it is met.
    """

    mask: int
    score: int = 1
    ring_bandwidth_gb_s: float | None = None


#: Partitions by number of GPUs.
PartitionTable = Mapping[int, Sequence[Partition]]

#: Models that have the built-in table (label node.koordinator.sh/gpu-model).
HOPPER_MODELS = frozenset({"H100", "H800", "H20"})

#: Singles, neighbours, halves, all of eight GPUs.
HOPPER_TABLE: PartitionTable = {
    size: tuple(Partition(((1 << size) - 1) << first) for first in range(0, 8, size)) for size in (1, 2, 4, 8)
}


def choose_partition(
    table: PartitionTable,
    count: int,
    used: int,
    present: int,
    ring_bandwidth_gb_s: float | None = None,
    restricted: bool = False,
) -> int | None:
    """Choose the partition of `count` GPUs that leaves most whole partitions for other pods.

    Parameters
    ----------
    table : PartitionTable
        Partitions by number of GPUs.
    count : int
        GPUs wanted.
    used : int
        Mask of the GPUs that pods use wholly or in part.
    present : int
        Mask of healthy GPUs.
    ring_bandwidth_gb_s : float, optional
        Least ring bus bandwidth; None: any.
    restricted : bool
        Consider only partitions of the first allocation score.

    Returns
    -------
    int or None
        Mask of the chosen partition; None if the table has no free partition of this size that meets the demands.

    Notes
    -----
    As in upstream's code, the *lowest* allocation score comes first, although a comment there says the highest. Ties:
    the first partition of the table (upstream's sort is not stable).
    """
    for _, group in _by_score(table.get(count, ())):
        feasible = [p for p in group if _free(p, used, present) and _wide(p, ring_bandwidth_gb_s)]
        if feasible:
            return max(feasible, key=lambda p: _left_whole(table, count, used | p.mask)).mask
        if restricted:
            break
    return None


def _by_score(partitions: Sequence[Partition]) -> list[tuple[int, list[Partition]]]:
    ordered = sorted(partitions, key=lambda p: p.score)
    return [(score, list(group)) for score, group in groupby(ordered, key=lambda p: p.score)]


def _free(partition: Partition, used: int, present: int) -> bool:
    return not partition.mask & used and not partition.mask & ~present


def _wide(partition: Partition, wanted: float | None) -> bool:
    if wanted is None:
        return True
    return partition.ring_bandwidth_gb_s is not None and partition.ring_bandwidth_gb_s >= wanted


def _left_whole(table: PartitionTable, count: int, used: int) -> int:
    """Weighted number of partitions, not smaller than the wanted one, none of whose GPUs is used.

    The more, the better the GPUs are packed. ``used`` is the mask of used GPUs, ``count`` the size of the wanted
    partition.
    """
    total = 0
    for size, weight in _BIN_PACK:
        groups = _by_score(table.get(size, ())) if size >= count else []
        if groups:
            total += weight * sum(p.score for p in groups[0][1] if not p.mask & used)
    return total
