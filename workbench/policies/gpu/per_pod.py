"""Base of GPU policies that serve one pod at a time, as a device plugin does, without knowledge of the gang."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from workbench.policies.gpu.base import GpuPolicy, NodeGpus

__all__ = ["PerPodGpuPolicy"]


class PerPodGpuPolicy(GpuPolicy):
    """GPU policy that serves the pods of a node one after another, each from the GPUs that the earlier pods left."""

    @abstractmethod
    def choose_one(self, gpus: NodeGpus, count: int) -> int | None:
        """Mask of `count` free GPUs for one pod; None if the policy refuses."""

    def fits(self, gpus: NodeGpus, requests: Sequence[int]) -> bool:
        if self.counts_only:
            return super().fits(gpus, requests)
        return self.choose(gpus, requests) is not None

    def score(self, gpus: NodeGpus, requests: Sequence[int]) -> float:
        """Score 0 for every node: the policy has no preference among nodes."""
        return 0.0

    def choose(self, gpus: NodeGpus, requests: Sequence[int]) -> tuple[int, ...] | None:
        masks = []
        for count in requests:
            mask = self.choose_one(gpus, count)
            if mask is None:
                return None
            masks.append(mask)
            gpus = NodeGpus(gpus.free & ~mask, gpus.matrix)
        return tuple(masks)
