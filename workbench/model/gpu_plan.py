"""GPU plans of Koordinator: the node and GPUs that a GPU group has reserved for each of its pods."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from workbench.model.extras import GpuGroup

__all__ = ["GpuPlan", "PlannedPod"]


@dataclass(frozen=True)
class PlannedPod:
    """One pod of a GPU plan: the pod's name, its node's name, and its GPUs as a bit mask (bit i: GPU i of the node)."""

    name: str
    node: str
    gpu_mask: int


@dataclass(frozen=True)
class GpuPlan:
    """Nodes and GPUs reserved for the pods of one GPU group; until the plan expires, other groups cannot use the GPUs.

    `pods`: pods of the plan that are not bound yet. `made_at`: ISO 8601 time; empty: unknown, and the plan then never
    expires.

    Notes
    -----
    Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "main steps".
    """

    namespace: str
    group: GpuGroup
    pods: tuple[PlannedPod, ...]
    made_at: str = ""

    def pod(self, name: str) -> PlannedPod | None:
        """The node and GPUs planned for the pod of that name; None if the plan has no such pod."""
        return next((pod for pod in self.pods if pod.name == name), None)

    def without_pods(self, gone: Collection[tuple[str, str]]) -> GpuPlan:
        """A copy of the plan that leaves out the pods in `gone`, given as (namespace, name)."""
        return replace(self, pods=tuple(pod for pod in self.pods if (self.namespace, pod.name) not in gone))

    def age_s(self, now: str) -> float:
        """Age of the plan in seconds at `now` (ISO 8601); minus infinity if the two times cannot be compared."""
        try:
            return (datetime.fromisoformat(now) - datetime.fromisoformat(self.made_at)).total_seconds()
        except (ValueError, TypeError):
            return -float("inf")
