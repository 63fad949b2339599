"""Koordinator's partition table: the only sets of GPUs that machines with a managed fabric give to pods.

Source: Koordinator, deviceshare GPU allocator, partition table; docs/reference/gpu-topology.md, part (b).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["HOPPER_TABLE", "choose_partition"]

# Weight of a partition that stays whole, by its size.
_BIN_PACK = ((8, 10_000), (4, 100), (2, 1))

#: Built-in table of the models H100, H800 and H20: by number of GPUs the sets, as masks with bit i for minor number i.
#: Singles, neighbours, halves, all of eight GPUs.
HOPPER_TABLE: Mapping[int, tuple[int, ...]] = {
    size: tuple(((1 << size) - 1) << first for first in range(0, 8, size)) for size in (1, 2, 4, 8)
}


def choose_partition(count: int, used: int, present: int) -> int | None:
    """Choose the partition of `count` GPUs that leaves most whole partitions for other pods.

    Parameters
    ----------
    count : int
        GPUs wanted.
    used : int
        Mask of the GPUs that pods use wholly or in part.
    present : int
        Mask of healthy GPUs.

    Returns
    -------
    int or None
        Mask of the chosen partition; None if the table has no free partition of this size. Ties: the first partition
        of the table (upstream's sort is not stable).
    """
    free = [mask for mask in HOPPER_TABLE.get(count, ()) if not mask & used and not mask & ~present]
    return max(free, key=lambda mask: _left_whole(count, used | mask), default=None)


def _left_whole(count: int, used: int) -> int:
    """Weighted number of partitions of at least `count` GPUs, none of which is in the mask `used`."""
    sizes = [(size, weight) for size, weight in _BIN_PACK if size >= count]
    return sum(weight * sum(not mask & used for mask in HOPPER_TABLE[size]) for size, weight in sizes)
