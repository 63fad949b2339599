"""Koordinator's pre-allocation cache: the plans of GPU groups, how a plan is used, and the GPUs that plans reserve.

Values only: the cache of a session is made from the snapshot and goes back into the decisions.
Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "main steps"; docs/reference/gpu-topology.md,
section A2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.model.arrays import Words
from workbench.model.cluster_facts import ClusterFacts
from workbench.model.extras import GpuGroup, GpuPlan
from workbench.model.gpu_shares import words_of_mask

__all__ = ["PlanAction", "PlanCache", "node_scores", "plan_action"]

PlanAction = Literal["use-plan", "place-this-pod", "replan-group"]


def plan_action(bound: int, planned_node_feasible: bool) -> PlanAction:
    """Decide what happens to a pod for which its group has a plan (a node and GPUs).

    `bound`: pods of the group that are bound already. `planned_node_feasible`: the planned node is among those that
    passed the filters, and the planned GPUs are free and healthy.

    Returns {"use-plan", "place-this-pod", "replan-group"}: follow the plan if possible. Otherwise place this pod by
    itself if a pod of the group is bound already, or else make a new plan for the whole group.
    """
    if planned_node_feasible:
        return "use-plan"
    return "place-this-pod" if bound else "replan-group"


def node_scores(planned: str, nodes: Iterable[str]) -> dict[str, int]:
    """Score of each node for a pod: 100 for the node ``planned`` for the pod (empty: no node is), 0 for the others."""
    return {node: 100 if node == planned else 0 for node in nodes}


@dataclass(frozen=True)
class PlanCache:
    """The live plans (nodes and GPUs for the pods of a GPU group) of all groups. `plans`: at most one per group."""

    plans: tuple[GpuPlan, ...] = ()

    @classmethod
    def of(cls, snapshot: ClusterFacts, time_to_live_s: float) -> PlanCache:
        """The live plans of a snapshot.

        Dropped are entries of pods that are bound, plans older than `time_to_live_s` at the time of the snapshot
        (unless it is 0 or one of the two times is unknown), and plans without entries. After a restart there are no
        plans: the GPUs of bound pods are known from their annotations.
        """
        bound = {(pod.namespace, pod.name) for pod in snapshot.running}
        plans = (
            plan.without_pods(bound)
            for plan in snapshot.gpu_plans
            if not time_to_live_s or plan.age_s(snapshot.taken_at) <= time_to_live_s
        )
        return cls(tuple(plan for plan in plans if plan.pods))

    def plan_of(self, namespace: str, group: GpuGroup) -> GpuPlan | None:
        """The plan of a GPU group; None if it has none."""
        return next((p for p in self.plans if p.namespace == namespace and p.group == group), None)

    def without(self, namespace: str, group: GpuGroup) -> PlanCache:
        """Return a cache without the plan of a group that has ended or whose last pod is bound."""
        return PlanCache(tuple(p for p in self.plans if (p.namespace, p.group) != (namespace, group)))

    def reserved(self, snapshot: ClusterFacts, namespace: str = "", group: GpuGroup | None = None) -> Words:
        """GPUs that the plans of other groups reserve.

        `namespace`: namespace of the group's pods. `group`: the group whose own plan is left out; None: the plans of
        all groups count. Returns ndarray of shape (n, w), uint64: bits of the reserved GPUs of each node.
        """
        words = np.zeros_like(snapshot.gpu_free)
        for plan in self.plans:
            if group is not None and (plan.namespace, plan.group) == (namespace, group):
                continue
            for pod in plan.pods:
                if pod.gpu_mask and snapshot.topology.has_node(pod.node):
                    node = snapshot.topology.node(pod.node)
                    words[node] |= words_of_mask(pod.gpu_mask & ((1 << 64 * words.shape[1]) - 1), words.shape[1])
        return words
