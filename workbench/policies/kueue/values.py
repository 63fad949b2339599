"""Values of Kueue's topology-aware placement: nodes, flavors, pod sets, their topology requests, and assignments.

Resources are integers by Kubernetes' name: ``cpu`` in thousandths of a core, all others in base units. Levels of a
topology are node label keys, widest first; that is the opposite of tiers, where 1 is the closest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from workbench.model.kueue import Flavor, PodSet, PreferredTerm, SliceLayer, TopologyRequest
from workbench.model.kueue import TopologyAssignment as Assignment
from workbench.model.labels import Taint

__all__ = [
    "Assignment",
    "DomainUsage",
    "Flavor",
    "KueueNode",
    "Outcome",
    "PodSet",
    "PreferredTerm",
    "Replacement",
    "SliceLayer",
    "TopologyRequest",
]

Resources: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class KueueNode:
    """A node as Kueue sees it.

    `ready`: whether its condition Ready is True. `unschedulable`: whether it is cordoned.
    """

    name: str
    labels: Mapping[str, str]
    allocatable: Resources
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    unschedulable: bool = False


@dataclass(frozen=True)
class DomainUsage:
    """Resources that pods hold in one domain of the lowest level.

    `values`: as in `Assignment.domains`. `requests`: requests of one pod, without the resource ``pods``.
    """

    values: tuple[str, ...]
    requests: Resources
    count: int


@dataclass(frozen=True)
class Replacement:
    """A second placement of pods whose node failed.

    `assignments`: what each pod set holds; pod sets without an entry are placed afresh. `owned_by_pod`: the workload is
    owned by exactly one Pod and no pod group: its assignment is kept.
    """

    unhealthy_nodes: tuple[str, ...]
    assignments: Mapping[str, Assignment]
    owned_by_pod: bool = False


@dataclass(frozen=True)
class Outcome:
    """Answer for one pod set: its assignment, or None with the reason in Kueue's words.

    `crashed` says that Kueue itself ends with a runtime error here.

    A pod set without pods to place, and Kueue's own defects, give an assignment with fewer pods and no reason.
    """

    assignment: Assignment | None
    reason: str = ""
    crashed: bool = False
