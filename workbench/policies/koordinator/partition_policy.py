"""`gpu-koordinator-partition`: GPU policy that gives out the sets of Koordinator's built-in partition table.

The table has the only sets of GPUs that machines with a managed fabric give to pods. Source: Koordinator, deviceshare
GPU allocator, partition table; docs/reference/gpu-topology.md, part (b).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.policies.gpu.base import GpuPolicy, NodeGpus, lowest_indices
from workbench.policies.parameters import parameter

__all__ = ["HOPPER_TABLE", "GpuPartition", "PartitionParameters", "choose_partition"]

_EIGHT = 0xFF

# Weight of a partition that stays whole, by its size.
_BIN_PACK = ((8, 10_000), (4, 100), (2, 1))

#: Built-in table of the models H100, H800 and H20: by number of GPUs the sets, as masks with bit i for minor number i.
#: Singles, neighbours, halves, all of eight GPUs.
HOPPER_TABLE: Mapping[int, tuple[int, ...]] = {
    size: tuple(((1 << size) - 1) << first for first in range(0, 8, size)) for size in (1, 2, 4, 8)
}


@dataclass(frozen=True)
class PartitionParameters:
    """Parameters of `gpu-koordinator-partition`."""

    policy: str = parameter(
        "Prefer",
        "nothing but partitions, or partitions where one is free",
        choices=("Prefer", "Honor"),
        source="Koordinator, node label gpu-partition-policy",
    )


class GpuPartition(GpuPolicy):
    """GPU policy by Koordinator's built-in partition table: one, two, four or eight neighbours, packed well.

    Every machine is treated as one of the models that have the built-in table (H100, H800, H20). If no partition serves
    a pod, the policy ``Prefer`` gives it the lowest free indices and ``Honor`` refuses. Of several pods on a node the
    larger ones are served first.

    Source: Koordinator, deviceshare GPU allocator. Its topology scopes are left out, because they need the PCIe roots
    and NUMA nodes of a Device, which a GPU policy does not see.
    """

    name = "gpu-koordinator-partition"

    def __init__(self, parameters: PartitionParameters) -> None:
        self._parameters = parameters
        self.counts_only = parameters.policy == "Prefer"

    def fits(self, gpus: NodeGpus, requests: Sequence[int]) -> bool:
        return self.choose(gpus, requests) is not None

    def score(self, gpus: NodeGpus, requests: Sequence[int]) -> float:
        """Percentage of the pods that get a partition of their size on the node."""
        free, served = gpus.free, 0
        for count in sorted(requests, reverse=True):
            mask = self._partition(free, count)
            served += mask is not None
            free &= ~(lowest_indices(free, count) if mask is None else mask)
        return 100.0 * served / len(requests)

    def choose(self, gpus: NodeGpus, requests: Sequence[int]) -> tuple[int, ...] | None:
        free = gpus.free
        if sum(requests) > free.bit_count():
            return None
        masks = [0] * len(requests)
        for pod in sorted(range(len(requests)), key=lambda i: (-requests[i], i)):
            mask = self._partition(free, requests[pod])
            if mask is None:
                if self._parameters.policy == "Honor":
                    return None
                mask = lowest_indices(free, requests[pod])
            masks[pod] = mask
            free &= ~mask
        return tuple(masks)

    @staticmethod
    def _partition(free: int, count: int) -> int | None:
        if free > _EIGHT:
            return None
        return choose_partition(count, used=_EIGHT & ~free, present=_EIGHT)


def choose_partition(count: int, used: int, present: int) -> int | None:
    """Choose the partition of `count` GPUs that leaves most whole partitions for other pods.

    `count`: GPUs wanted. `used`: mask of the GPUs that pods use wholly or in part. `present`: mask of healthy GPUs.
    Returns int or None: mask of the chosen partition; None if the table has no free partition of this size. Ties: the
    first partition of the table (upstream's sort is not stable).
    """
    free = [mask for mask in HOPPER_TABLE.get(count, ()) if not mask & used and not mask & ~present]
    return max(free, key=lambda mask: _left_whole(count, used | mask), default=None)


def _left_whole(count: int, used: int) -> int:
    """Weighted number of partitions of at least `count` GPUs, none of which is in the mask `used`."""
    sizes = [(size, weight) for size, weight in _BIN_PACK if size >= count]
    return sum(weight * sum(not mask & used for mask in HOPPER_TABLE[size]) for size, weight in sizes)
