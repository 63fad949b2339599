"""`gpu-simple`: NVIDIA's fallback, the free GPUs with the lowest numbers."""

from __future__ import annotations

from workbench.policies.gpu.base import NodeGpus, PerPodGpuPolicy, lowest_indices

__all__ = ["GpuSimple", "simple_set"]


class GpuSimple(PerPodGpuPolicy):
    """GPU policy that gives a pod the free GPUs with the lowest numbers, without regard to links."""

    name = "gpu-simple"

    def choose_one(self, gpus: NodeGpus, count: int) -> int:
        return simple_set(gpus.free, 0, count)


def simple_set(available: int, required: int, size: int) -> int:
    """Mask of ``size`` GPUs: the required ones and the lowest other available ones.

    Parameters
    ----------
    available : int
        Mask of the free GPUs.
    required : int
        Mask of the GPUs that must be in the set.
    size : int
        GPUs wanted.

    Returns
    -------
    int
        0 if refused: `size` is below 1 or above the number of available GPUs, more GPUs are required than wanted, or a
        required GPU is not available.
    """
    if size < 1 or size > available.bit_count() or required & ~available or required.bit_count() > size:
        return 0
    return required | lowest_indices(available & ~required, size - required.bit_count())
