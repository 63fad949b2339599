"""Node score part: the fewer PreferNoSchedule taints a pod does not tolerate, the better the node.

Source: Volcano, plugin nodeorder; Kubernetes, plugin TaintToleration, which nodeorder asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from workbench.policies.request import Request
from workbench.policies.volcano.parts.node_scores.base import NodeScore

__all__ = ["TaintScore"]

_MOST = 100


@dataclass(frozen=True)
class TaintScore(NodeScore):
    """Score of a node by its untolerated PreferNoSchedule taints: 0 to 100 (fewest), times ``taint_weight``."""

    weight: int

    name = "taints"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self | None:
        weight = settings["taint_weight"]
        return cls(weight) if weight else None

    def scores(self, request: Request, role: int) -> npt.NDArray[np.float64] | None:
        found = _scores(request, role)
        return None if found is None else found * self.weight

    @property
    def uniform_score(self) -> float:
        return float(_MOST * self.weight)

    def independent_of_pods(self, request: Request) -> bool:
        """Whether other pods leave a gang's scores unchanged: True if its pods tolerate every PreferNoSchedule taint.

        Otherwise the scale of the score depends on the nodes that have room.
        """
        avoided = request.snapshot.filters.avoided
        return all(avoided(role.filter.tolerations) is None for role in request.gang.roles)


def _scores(request: Request, role: int) -> npt.NDArray[np.float64] | None:
    """Score of each node for a pod of a role, 0 to 100 (fewest untolerated PreferNoSchedule taints).

    None: 100 everywhere. The number of taints that scores 0 is the largest among the nodes on which a pod of the
    role fits now. Kubernetes takes the largest among the nodes that a pod may still go to, which in Volcano are
    those of one HyperNode; here it is one number for the whole cluster, because fixed parts are made once for all
    HyperNodes. So scores differ where the node with most such taints lies outside the HyperNode; nodes keep their
    order by this part.
    """
    snapshot, demand = request.snapshot, request.demand
    counts = snapshot.filters.avoided(request.gang.roles[role].filter.tolerations)
    if counts is None:
        return None
    fits = demand.capacity(role, demand.idle, 1) > 0
    most = int(counts[fits].max(initial=0))
    if most == 0:
        return None
    scores: npt.NDArray[np.float64] = np.maximum(_MOST - _MOST * counts // most, 0).astype(np.float64)
    return scores
