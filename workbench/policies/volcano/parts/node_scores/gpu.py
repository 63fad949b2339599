"""Node score part: how well the GPU policy likes the free GPUs of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from workbench.policies.request import Request
from workbench.policies.volcano.parts.node_scores.base import NodeScore

__all__ = ["GpuScore"]


@dataclass(frozen=True)
class GpuScore(NodeScore):
    """Score of a node by the GPU policy, 0 to 100, times the parameter ``gpu_weight``."""

    weight: float

    name = "gpu"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self | None:
        weight = settings["gpu_weight"]
        return cls(weight) if weight else None

    def scores(self, request: Request, role: int) -> npt.NDArray[np.float64] | None:
        found = request.gpus.scores(request.gang.roles[role].n_gpus)
        return None if found is None else found * self.weight

    def independent_of_pods(self, request: Request) -> bool:
        return not any(role.n_gpus for role in request.gang.roles)
