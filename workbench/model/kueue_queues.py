"""Kueue's queues and workloads: quotas, ClusterQueues, cohorts, and workloads with their admission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.model.kueue import PodSet, TopologyAssignment

__all__ = [
    "ClusterQueue",
    "Cohort",
    "FlavorQuotas",
    "PodSetAdmission",
    "QueueCheck",
    "QueuedWorkload",
    "Quota",
    "WorkloadAdmission",
]


@dataclass(frozen=True)
class Quota:
    """Quota of one resource in one flavor, in base units.

    `borrowing_limit`: most that may be borrowed from the cohort; None: no limit. `lending_limit`: most of the nominal
    quota that others may borrow; None: all of it.
    """

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True)
class FlavorQuotas:
    """Quotas of one flavor, by resource."""

    flavor: str
    quotas: Mapping[str, Quota]


@dataclass(frozen=True)
class QueueCheck:
    """An admission check of a ClusterQueue.

    `flavors`: flavors that the check is for; empty: all. `provisioning`: whether it asks for machines
    (ProvisioningRequest): the topology is then assigned after the machines are there. `missing`: whether no
    AdmissionCheck has the name: the ClusterQueue is then inactive.
    """

    name: str
    flavors: tuple[str, ...] = ()
    provisioning: bool = False
    missing: bool = False


@dataclass(frozen=True)
class ClusterQueue:
    """A ClusterQueue.

    Attributes
    ----------
    cohort : str
        Empty: none.
    groups : tuple of tuple of FlavorQuotas
        Resource groups, each with its flavors in the order in which they are tried.
    within_queue, reclaim_in_cohort : str
        Which workloads of its own queue, and of other queues of the cohort that borrow, a workload may preempt:
        ``Never``, ``LowerPriority``, ``LowerOrNewerEqualPriority`` or ``Any``.
    borrows_while_preempting : bool
        Whether a workload may preempt in other queues and borrow at once (borrowWithinCohort).
    borrow_max_priority : int, optional
        Only workloads of at most this priority are then preempted; None: any below the preemptor's.
    try_next_if_borrowing, try_next_if_preempting : bool
        Whether the next flavor is tried although this one fits by borrowing, or would fit after a preemption.
    preempts_before_borrowing : bool
        Whether of two flavors that one which needs less borrowed quota is better, even if it needs a preemption
        (flavorFungibility.preference PreemptionOverBorrowing); False: that one which needs less preemption.
    strict : bool
        Whether a workload that does not fit holds back the others of the queue (queueingStrategy StrictFIFO).
    stopped : bool
        Whether it admits nothing (stopPolicy).
    weight : float, optional
        By which its share is divided under fair sharing; None: 1.
    """

    name: str
    cohort: str = ""
    groups: tuple[tuple[FlavorQuotas, ...], ...] = ()
    within_queue: str = "Never"
    reclaim_in_cohort: str = "Never"
    borrows_while_preempting: bool = False
    borrow_max_priority: int | None = None
    try_next_if_borrowing: bool = False
    try_next_if_preempting: bool = True
    checks: tuple[QueueCheck, ...] = ()
    strict: bool = False
    stopped: bool = False
    preempts_before_borrowing: bool = False
    weight: float | None = None


@dataclass(frozen=True)
class Cohort:
    """A cohort of ClusterQueues: its parent cohort (empty: none), the quotas that it has itself, and its weight."""

    name: str
    parent: str = ""
    groups: tuple[tuple[FlavorQuotas, ...], ...] = ()
    weight: float | None = None


@dataclass(frozen=True)
class PodSetAdmission:
    """What one pod set was admitted with.

    `flavors`: flavor of each resource. `usage`: quota that all pods use, by resource, in base units. `delayed`:
    ``Pending``: the topology is assigned later; ``Ready``: it has been; None: it is not delayed.
    """

    name: str
    flavors: Mapping[str, str]
    usage: Mapping[str, int]
    count: int
    assignment: TopologyAssignment | None = None
    delayed: str | None = None


@dataclass(frozen=True)
class WorkloadAdmission:
    """The ClusterQueue in which a workload holds quota, and what its pod sets were admitted with."""

    cluster_queue: str
    pod_sets: tuple[PodSetAdmission, ...]


@dataclass(frozen=True)
class QueuedWorkload:
    """A workload as Kueue's scheduler sees it.

    Attributes
    ----------
    key : str
        ``namespace/name``.
    cluster_queue : str
        Empty: its LocalQueue is unknown.
    created : float, optional
        Seconds by which the queue is ordered; None: older than all others.
    reserved_at : float, optional
        Seconds at which its quota was reserved; None: unknown.
    admission : WorkloadAdmission, optional
        None: it is pending.
    admitted : bool
        Whether all admission checks let it run.
    checks : mapping of str to str
        State of its admission checks (``Pending``, ``Ready``, ``Retry``, ``Rejected``).
    owned_by_pod : bool
        Whether exactly one Pod, which is in no pod group, owns it.
    evicted : bool
        Whether it is being evicted already.
    """

    key: str
    cluster_queue: str
    pod_sets: tuple[PodSet, ...]
    priority: int = 0
    created: float | None = None
    uid: str = ""
    reserved_at: float | None = None
    admission: WorkloadAdmission | None = None
    admitted: bool = False
    checks: Mapping[str, str] = field(default_factory=dict)
    unhealthy_nodes: tuple[str, ...] = ()
    owned_by_pod: bool = False
    evicted: bool = False
