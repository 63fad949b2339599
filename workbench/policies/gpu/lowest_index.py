"""Policies that take the free GPUs with the lowest numbers: `gpu-lowest-index`, and NVIDIA's fallback `gpu-simple`."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.policies.gpu.base import GpuPolicy, NodeGpus, PerPodGpuPolicy, lowest_indices

__all__ = ["GpuLowestIndex", "GpuSimple", "deal_lowest", "simple_set"]


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


class GpuSimple(PerPodGpuPolicy):
    """GPU policy that gives a pod the free GPUs with the lowest numbers, without regard to links."""

    name = "gpu-simple"

    def choose_one(self, gpus: NodeGpus, count: int) -> int:
        return simple_set(gpus.free, 0, count)


def simple_set(available: int, required: int, size: int) -> int:
    """Mask of ``size`` GPUs: the required ones and the lowest other available ones.

    `available`: mask of the free GPUs. `required`: mask of the GPUs that must be in the set. `size`: GPUs wanted.
    Returns 0 if refused: `size` is below 1 or above the number of available GPUs, more GPUs are required than wanted,
    or a required GPU is not available.
    """
    if size < 1 or size > available.bit_count() or required & ~available or required.bit_count() > size:
        return 0
    return required | lowest_indices(available & ~required, size - required.bit_count())
