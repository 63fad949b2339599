"""`gpu-lowest-index`: gives pods the free GPUs with the lowest numbers, as a plain device plugin does."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.policies.gpu.base import GpuPolicy, NodeGpus, lowest_indices

__all__ = ["GpuLowestIndex", "deal_lowest"]


class GpuLowestIndex(GpuPolicy):
    """GPU policy that gives each pod in turn the free GPUs with the lowest numbers, without regard to links."""

    name = "gpu-lowest-index"
    lowest_unknown = True

    def score(self, gpus: NodeGpus, requests: Sequence[int]) -> float:
        """Score 0 for every node: no set of GPUs is better than another."""
        return 0.0

    def choose(self, gpus: NodeGpus, requests: Sequence[int]) -> tuple[int, ...]:
        return deal_lowest(gpus.free, requests)


def deal_lowest(free: int, requests: Sequence[int]) -> tuple[int, ...]:
    """Masks of the lowest free GPUs for each pod in turn.

    ``free`` is a mask, ``requests`` the number of GPUs per pod.
    """
    masks = []
    for count in requests:
        mask = lowest_indices(free, count)
        masks.append(mask)
        free ^= mask
    return tuple(masks)
