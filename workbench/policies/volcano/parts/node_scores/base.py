"""The interface of a node score part that does not change when pods are placed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from workbench.policies.request import Request

__all__ = ["NodeScore"]

_NONE: Mapping[str, Any] = MappingProxyType({})


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

        Parameters
        ----------
        settings : mapping of str to object
            Value of every argument in `weights` and `texts`: 0 for a negative weight, the default for an argument that
            is missing or of the wrong type. If `plugin` is empty, the parameters of the policy.

        Returns
        -------
        NodeScore or None
            None if every node scores 0.
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
