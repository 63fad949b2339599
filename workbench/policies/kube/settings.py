"""`KubeSettings`: the configuration of the default profile of kube-scheduler that the policies of this package read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.model.labels import Requirement
from workbench.model.pod_rules import NodePreference, SpreadConstraint
from workbench.model.resources import CPU, MEMORY

__all__ = ["SCHEDULES", "SYSTEM_SPREAD", "KubeSettings", "Strategy"]

Strategy = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]

#: Names in schedulerName of the pods that kube-scheduler places: the API server writes it into pods without one.
SCHEDULES = frozenset({"default-scheduler"})

#: Spreading that upstream's default profile adds to pods without constraints of their own that a Service selects.
SYSTEM_SPREAD = (
    SpreadConstraint("kubernetes.io/hostname", 3, hard=False),
    SpreadConstraint("topology.kubernetes.io/zone", 5, hard=False),
)

_CPU_AND_MEMORY = ((CPU, 1), (MEMORY, 1))


@dataclass(frozen=True)
class KubeSettings:
    """Configuration of the default profile; the defaults are upstream's.

    Attributes
    ----------
    strategy : {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"}
        Scoring strategy of NodeResourcesFit.
    resources : tuple of (str, int)
        Resources of that strategy with their weights.
    curve : tuple of (int, int)
        Points (utilization in percent, score from 0 to 10) of RequestedToCapacityRatio, by rising utilization.
    balanced : tuple of (str, int)
        Resources of NodeResourcesBalancedAllocation; the weights are not read.
    ignored, ignored_groups : tuple of str
        Extended resources, and groups of them, that NodeResourcesFit does not filter by.
    hard_affinity_weight : int
        Weight of other pods' required affinity in the score of InterPodAffinity.
    ignore_preferred_of_others : bool
        Whether preferred terms of pods with a node do not count for a pod that has none itself.
    added_affinity : tuple of tuple of Requirement
        Node affinity terms that every pod must meet in addition, one of them; empty: none.
    added_preferences : tuple of NodePreference
        Preferred node affinity terms of every pod.
    services : tuple of tuple of Requirement
        Selectors of the Services of the pod's namespace, for the system's spreading; empty: there are none.
    ties : {"name", "heap"}
        Among nodes with the highest score: the smallest name, or the node that upstream's heap answers first.
    percentage : int, optional
        Share of the nodes, in percent, after which no more feasible nodes are sought (percentageOfNodesToScore);
        0: upstream's adaptive share, None: all nodes are looked at.
    """

    strategy: Strategy = "LeastAllocated"
    resources: tuple[tuple[str, int], ...] = _CPU_AND_MEMORY
    curve: tuple[tuple[int, int], ...] = ((0, 0), (100, 10))
    balanced: tuple[tuple[str, int], ...] = _CPU_AND_MEMORY
    ignored: tuple[str, ...] = ()
    ignored_groups: tuple[str, ...] = ()
    hard_affinity_weight: int = 1
    ignore_preferred_of_others: bool = False
    added_affinity: tuple[tuple[Requirement, ...], ...] = ()
    added_preferences: tuple[NodePreference, ...] = ()
    services: tuple[tuple[Requirement, ...], ...] = ()
    ties: Literal["name", "heap"] = "name"
    percentage: int | None = None
