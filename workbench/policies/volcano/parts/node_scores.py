"""Parts of node scores that do not change when pods are placed in a session: their interface, and one class each.

Source: Volcano, plugin nodeorder; Kubernetes, plugin TaintToleration, which nodeorder asks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from workbench.policies.request import Request

__all__ = ["GpuScore", "NodeScore", "TaintScore"]

_NONE: Mapping[str, Any] = MappingProxyType({})

#: Score of a node without an untolerated PreferNoSchedule taint.
_MOST = 100


class NodeScore(ABC):
    """Base class of node score parts that do not change when pods are placed: one number per node and role.

    Attributes
    ----------
    name : str
        The name that explanations show.
    plugin : str
        The plugin of ``volcano-scheduler.conf`` that gives the score. Its switch ``enableNodeOrder`` turns the score
        off, and so does a configuration without the plugin. Empty: parameters of the policy set the score.
    weights : mapping of str to int
        Arguments of the plugin that are whole numbers from 0 to `MAX_WEIGHT`, with their defaults.
    texts : mapping of str to str
        Arguments of the plugin that are texts, with their defaults.
    """

    name: ClassVar[str]
    plugin: ClassVar[str] = ""
    weights: ClassVar[Mapping[str, int]] = _NONE
    texts: ClassVar[Mapping[str, str]] = _NONE

    @classmethod
    @abstractmethod
    def of(cls, settings: Mapping[str, Any]) -> Self | None:
        """Make the score part from its settings; called once, when a policy is made.

        Raises InputError: a value that the plugin does not accept; the error's `where` is the argument.

        `settings`: value of every argument in `weights` and `texts`: 0 for a negative weight, the default for an
        argument that is missing or of the wrong type. If `plugin` is empty, the parameters of the policy. Returns None
        if every node scores 0.
        """

    @abstractmethod
    def scores(self, request: Request, role: int) -> npt.NDArray[np.float64] | None:
        """Score of every node of the cluster for a pod of a role, weight included: float64 (n,).

        None if every node has the same score, which `uniform_score` gives.
        """

    @property
    def uniform_score(self) -> float:
        """Score that every node gets if `scores` returns None.

        Needed where sums of scores are compared between HyperNodes.
        """
        return 0.0

    def independent_of_pods(self, request: Request) -> bool:
        """Whether the scores of a gang do not depend on other pods, so that they may be reused after these change."""
        return True


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
