"""`schedule_alike`: many pods of one shape, one after another, without looking at every node for each of them.

A pod without rules about other pods, which no pod's rules concern, changes the answer for the next one on its own node
only. What a node answers after so many pods more is asked for all nodes at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.one_pod import PodChoice, filter_pod, schedule_pod, score_pod
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.spread import default_constraints

__all__ = ["NodeLevels", "independent", "schedule_alike"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Scores that are relative to the best of the feasible nodes, and those that each node has by itself.
_RELATIVE = ("TaintToleration", "NodeAffinity")
_ABSOLUTE = ("NodeResourcesFit", "NodeResourcesBalancedAllocation")

#: Lower than any score.
_NEVER = -1


def schedule_alike(
    cluster: KubeCluster, shape: PodShape, count: int, candidates: Ints, settings: KubeSettings
) -> tuple[list[int], PodChoice | None]:
    """Put pods of one shape on nodes, one after another, until one finds none.

    Parameters
    ----------
    cluster : KubeCluster
        Holds the pods afterwards.
    shape : PodShape
    count : int
        Number of pods.
    candidates : ndarray of shape (k,), int32
        As for `schedule_pod`.
    settings : KubeSettings

    Returns
    -------
    nodes : list of int
        Node of each pod that found one, as `schedule_pod` would choose them.
    failure : PodChoice or None
        The answer about the first pod that found none; None: all did.
    """
    if settings.ties == "name" and settings.percentage is None and count > 2 and independent(cluster, shape, settings):
        nodes = NodeLevels(cluster, shape, candidates, settings).place(count)
        cluster.assume(shape, *nodes)
    else:
        nodes = []
        while len(nodes) < count:
            choice = schedule_pod(cluster, shape, candidates, settings)
            if choice.node < 0:
                return nodes, choice
            cluster.assume(shape, choice.node)
            nodes.append(choice.node)
    if len(nodes) == count:
        return nodes, None
    return nodes, schedule_pod(cluster, shape, candidates, settings)


def independent(cluster: KubeCluster, shape: PodShape, settings: KubeSettings) -> bool:
    """Whether neither the pod's rules nor those of any other pod relate it to other pods.

    Parameters
    ----------
    cluster : KubeCluster
    shape : PodShape
        The pod.
    settings : KubeSettings
    """
    if shape.rules.spread or shape.rules.names_pods or default_constraints(shape, settings):
        return False
    for kind, _ in cluster.pods.with_rules():
        rules = kind.rules
        terms = (*rules.affinity, *rules.anti_affinity, *rules.preferred_affinity, *rules.preferred_anti_affinity)
        if any(cluster.pods.selects(term.selector, shape.kind) for term in terms):
            return False
    return True


@dataclass(eq=False)
class NodeLevels:
    """What each candidate answers with so many pods of the shape more: all candidates at once, level by level.

    Candidates are kept in the order of their names, so that the first of the best is the smallest name.
    """

    cluster: KubeCluster
    shape: PodShape
    candidates: Ints
    settings: KubeSettings
    _fits: list[Mask] = field(default_factory=list)
    _scores: list[Longs] = field(default_factory=list)

    def __post_init__(self) -> None:
        order = np.argsort(self.cluster.nodes.rank[self.candidates], kind="stable")
        self.candidates = self.candidates[order]

    def place(self, count: int) -> list[int]:
        """Nodes of the pods that find one."""
        nodes: list[int] = []
        level = np.zeros(len(self.candidates), dtype=np.int64)
        feasible, absolute = self.at(0)[0].copy(), self.at(0)[1].copy()
        total = self._total(feasible, absolute)
        while len(nodes) < count and len(total):
            best = int(total.argmax())
            if total[best] == _NEVER:
                break
            nodes.append(int(self.candidates[best]))
            level[best] += 1
            fits, scores = self.at(int(level[best]))
            if fits[best]:
                total[best] += scores[best] - absolute[best]
                absolute[best] = scores[best]
            else:
                # The relative scores may change where the best of the nodes is full.
                feasible[best] = False
                total = self._total(feasible, absolute)
        return nodes

    def _total(self, feasible: Mask, absolute: Longs) -> Longs:
        """Score of each candidate that is feasible, else `_NEVER`."""
        total = np.full(len(feasible), _NEVER, dtype=np.int64)
        mine = self.candidates[feasible]
        parts = score_pod(self.cluster, self.shape, mine, self.settings, _RELATIVE)
        total[feasible] = absolute[feasible] + sum(parts.values(), np.zeros(len(mine), dtype=np.int64))
        return total

    def at(self, level: int) -> tuple[Mask, Longs]:
        """Whether each candidate takes a further pod after `level` of them, and its scores that are not relative."""
        while len(self._fits) <= level:
            cluster, more = self.cluster, len(self._fits)
            row, assumed, _ = cluster.rows(self.shape)
            requested, before = cluster.requested, cluster.assumed
            try:
                cluster.requested, cluster.assumed = requested + more * row, before + more * assumed
                self._fits.append(filter_pod(cluster, self.shape, self.candidates, self.settings).passed)
                parts = score_pod(cluster, self.shape, self.candidates, self.settings, _ABSOLUTE)
            finally:
                cluster.requested, cluster.assumed = requested, before
            self._scores.append(sum(parts.values(), np.zeros(len(self.candidates), dtype=np.int64)))
        return self._fits[level], self._scores[level]
