"""`schedule_alike`: many pods of one shape, one after another, without looking at every node for each of them.

A pod without rules about other pods, which no pod's rules concern, changes the answer for the next one on its own node
only. What a node answers after so many pods more is asked for all nodes at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.one_pod import (
    NODE_FILTERS,
    SCORES,
    PodChoice,
    filter_pod,
    looks_at_all,
    schedule_pod,
    score_pod,
)
from workbench.policies.kube.resources import (
    NodeAmounts,
    amounts_of,
    balanced_step,
    evenness,
    pods_that_fit,
    strategy_scores,
)
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.spread import default_constraints

__all__ = ["NodeLevels", "independent", "schedule_alike"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Scores that are relative to the best of the feasible nodes.
_RELATIVE = ("TaintToleration", "NodeAffinity")
#: Weights of those that each node has by itself.
_FIT_WEIGHT, _ = SCORES["NodeResourcesFit"]
_BALANCED_WEIGHT, _ = SCORES["NodeResourcesBalancedAllocation"]

#: Lower than any score.
_NEVER = -1


def schedule_alike(
    cluster: KubeCluster, shape: PodShape, count: int, candidates: Ints, settings: KubeSettings
) -> tuple[list[int], PodChoice | None]:
    """Put pods of one shape on nodes, one after another, until one finds none.

    `cluster`: holds the pods afterwards. `count`: number of pods. `candidates`: ndarray of shape (k,), int32; as for
    `schedule_pod`.

    Returns
    -------
    nodes : list of int
        Node of each pod that found one, as `schedule_pod` would choose them.
    failure : PodChoice or None
        The answer about the first pod that found none; None: all did.
    """
    at_once = settings.ties == "name" and count > 2 and looks_at_all(shape, len(candidates), settings)
    if at_once and independent(cluster, shape, settings):
        nodes = NodeLevels(cluster, shape, candidates, settings, count).place(count)
        cluster.assume(shape, *nodes)
        if settings.percentage is not None and len(candidates):
            cluster.start %= len(candidates)
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
    """Whether neither the pod's rules nor those of any other pod relate it to other pods."""
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

    A level is the number of pods that a candidate has got. Candidates are kept in the order of their names, so that the
    first of the best is the smallest name; or by falling room, so that those which take more pods are the first ones.

    `candidates`: ndarray of shape (k,), int32. `most`: levels that may be needed. `by_room`: whether candidates are
    kept by falling room, and levels ask only those that have it. `room`: ndarray of shape (k,), int64; pods that each
    candidate takes, at most `most`.
    """

    cluster: KubeCluster
    shape: PodShape
    candidates: Ints
    settings: KubeSettings
    most: int
    by_room: bool = False
    room: Longs = field(init=False)
    _scores: list[Longs] = field(default_factory=list)
    _fit: list[NodeAmounts] = field(init=False)
    _balanced: list[NodeAmounts] = field(default_factory=list)
    # With as many pods as there are scores.
    _even: Longs = field(init=False)

    def __post_init__(self) -> None:
        cluster, shape, settings = self.cluster, self.shape, self.settings
        order = np.argsort(cluster.nodes.rank[self.candidates], kind="stable")
        self.candidates = self.candidates[order]
        # Room is what `filter_fit` asks for, and no rule relates the pods to others.
        passed = filter_pod(cluster, shape, self.candidates, settings, NODE_FILTERS).passed
        self.room = np.where(passed, pods_that_fit(cluster, shape, settings, self.candidates, self.most), 0)
        if self.by_room:
            # Numbers of few bits are sorted by counting.
            order = np.argsort((self.most - self.room).astype(np.min_scalar_type(self.most)), kind="stable")
            self.candidates, self.room = self.candidates[order], self.room[order]
        self._fit = amounts_of(cluster, shape, settings.resources, self.candidates, assumed=True)
        if any(shape.requests.get(name) for name, _ in settings.balanced):
            self._balanced = amounts_of(cluster, shape, settings.balanced, self.candidates, assumed=False)
        self._even = evenness(self._balanced, len(order), 0)

    def place(self, count: int) -> list[int]:
        """Nodes of the pods that find one."""
        nodes: list[int] = []
        level = np.zeros(len(self.candidates), dtype=np.int64)
        feasible = self.room > 0
        absolute = self.at(0).copy()
        total = self._total(feasible, absolute)
        while len(nodes) < count and len(total):
            best = int(total.argmax())
            if total[best] == _NEVER:
                break
            nodes.append(int(self.candidates[best]))
            level[best] += 1
            if level[best] < self.room[best]:
                score = self.at(int(level[best]))[best]
                total[best] += score - absolute[best]
                absolute[best] = score
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

    def at(self, level: int) -> Longs:
        """Scores of each candidate that are not relative, for a further pod after `level` of them: int64 (k,).

        Only those of candidates with more `room` mean anything; `by_room` only they are there.
        """
        while len(self._scores) <= level:
            pods, k = len(self._scores) + 1, len(self.candidates)
            if self.by_room:
                k = int(np.count_nonzero(self.room >= pods))
            score = strategy_scores(self.settings, self._fit, k, pods)
            if _FIT_WEIGHT != 1:
                score *= _FIT_WEIGHT
            if self._balanced:
                before, self._even = self._even[:k], evenness(self._balanced, k, pods)
                score += _BALANCED_WEIGHT * balanced_step(before, self._even)
            self._scores.append(score)
        return self._scores[level]
