"""`Nomination`: the flavors and domains that a workload would get in a cycle, and why it does not get them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from workbench.model.kueue import PodSet, TopologyAssignment
from workbench.model.kueue_queues import PodSetAdmission, QueuedWorkload, WorkloadAdmission
from workbench.policies.kueue.cycle.cluster import CycleQueue, Taken
from workbench.policies.kueue.messages import join_reasons
from workbench.policies.kueue.quota import FlavorResource
from workbench.policies.kueue.values import DomainUsage

__all__ = ["FlavorChoice", "Mode", "Nomination", "PodSetChoice", "Tried"]

#: For each pod set, by resource: index of the flavor that was tried last; -1 after the last one.
Tried = tuple[Mapping[str, int], ...]


class Mode(IntEnum):
    """What a nomination needs, from the worst to the best."""

    NO_FIT = 0
    PREEMPT = 1
    FIT = 2


@dataclass(slots=True)
class FlavorChoice:
    """The flavor that a pod set gets for a resource.

    `borrow`: height of the subtree from which quota is borrowed; 0: none is. `tried`: as in `Tried`. `in_vain`: whether
    no preemption would free enough of this resource, even if the workload needed nothing else.
    """

    flavor: str
    mode: Mode
    borrow: int = 0
    tried: int = 0
    in_vain: bool = False


@dataclass(slots=True)
class PodSetChoice:
    """What one pod set gets.

    `requests`: requests of all pods, by resource. `flavors`: flavors by resource. `error`: why Kueue cannot decide at
    all; empty: it can. `delayed`: as in `PodSetAdmission`.
    """

    pod_set: PodSet
    count: int
    requests: dict[str, int]
    flavors: dict[str, FlavorChoice] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    error: str = ""
    assignment: TopologyAssignment | None = None
    delayed: str | None = None

    @property
    def mode(self) -> Mode:
        """The worst mode of its flavors."""
        if not (self.error or self.reasons):
            return Mode.FIT
        if self.error or not self.flavors:
            return Mode.NO_FIT
        return min(choice.mode for choice in self.flavors.values())

    def set_mode(self, mode: Mode) -> None:
        """Give every flavor a mode."""
        for choice in self.flavors.values():
            choice.mode = mode


class Nomination:
    """Flavors and domains of the pod sets of a workload in one cycle.

    Attributes
    ----------
    choices : list of PodSetChoice
        In the order in which groups of pod sets were tried; pod sets after one that fits nowhere are missing.
    borrowing : int
        Height of the largest subtree from which quota is borrowed.
    quota : dict
        What the choices use, by flavor and resource.
    short : bool
        Whether quota is short for a pod set, or no flavor is for it: room on nodes alone does not help.
    """

    # Choices are added by `append`, changed by `set_mode` and `fail`; what follows is computed: `mode`, `message`,
    # `total`, `needing_preemption`, `pods`, `taken`, and `admission`, the form that is kept once it is admitted.

    def __init__(self) -> None:
        self.short = False
        self.choices: list[PodSetChoice] = []
        self.borrowing = 0
        self.quota: dict[FlavorResource, int] = {}
        self.tried: Tried = ()
        self._mode: Mode | None = None

    def append(self, choice: PodSetChoice) -> None:
        """Add what a pod set gets, and what it uses of the quota."""
        self.choices.append(choice)
        for resource, chosen in choice.flavors.items():
            self.borrowing = max(self.borrowing, chosen.borrow)
            key = (chosen.flavor, resource)
            self.quota[key] = self.quota.get(key, 0) + choice.requests.get(resource, 0)
        self.tried = (*self.tried, {resource: chosen.tried for resource, chosen in choice.flavors.items()})

    def choice(self, name: str) -> PodSetChoice | None:
        """What a pod set gets, by its name."""
        return next((each for each in self.choices if each.pod_set.name == name), None)

    @property
    def mode(self) -> Mode:
        """The worst mode of the pod sets; that set last by `set_mode`."""
        if self._mode is None:
            self._mode = min((each.mode for each in self.choices), default=Mode.NO_FIT)
        return self._mode

    def set_mode(self, choice: PodSetChoice, mode: Mode) -> None:
        """Change the mode of a pod set and, by that, of the whole."""
        choice.set_mode(mode)
        self._mode = mode

    def fail(self, choice: PodSetChoice, error: str) -> None:
        """Note that Kueue cannot decide about a pod set."""
        choice.error = error
        self._mode = None

    @property
    def message(self) -> str:
        """Why the workload does not get it, pod set by pod set; empty if it does."""
        parts = []
        for each in self.choices:
            if each.error:
                return f"failed to assign flavors to pod set {each.pod_set.name}: {each.error}"
            if each.reasons:
                reasons = join_reasons(each.reasons)
                parts.append(f"couldn't assign flavors to pod set {each.pod_set.name}: {reasons}")
        return "; ".join(parts)

    def total(self) -> dict[FlavorResource, int]:
        """Quota that the pod sets need, by flavor and resource; nothing for what they ask none of."""
        found: dict[FlavorResource, int] = {}
        for each in self.choices:
            for resource, amount in each.requests.items():
                if amount and resource in each.flavors:
                    key = (each.flavors[resource].flavor, resource)
                    found[key] = found.get(key, 0) + amount
        return found

    @property
    def in_vain(self) -> bool:
        """Whether all that is short is one resource of one flavor, for which no preemption frees enough."""
        short = [chosen for each in self.choices for chosen in each.flavors.values() if chosen.in_vain]
        return bool(short) and len(self.needing_preemption) == 1

    @property
    def needing_preemption(self) -> frozenset[FlavorResource]:
        """Flavors and resources that are free only after a preemption."""
        return frozenset(
            (chosen.flavor, resource)
            for each in self.choices
            for resource, chosen in each.flavors.items()
            if chosen.mode is Mode.PREEMPT
        )

    @property
    def whole(self) -> bool:
        """Whether it is for all pods of its pod sets."""
        return all(each.count == each.pod_set.count for each in self.choices)

    def pods(self, queue: CycleQueue, workload: QueuedWorkload) -> dict[str, list[DomainUsage]]:
        """Pods on domains that the workload would take beyond those that it holds, by flavor."""
        found: dict[str, list[DomainUsage]] = {}
        for each in self.choices:
            flavors = sorted({chosen.flavor for chosen in each.flavors.values()} & queue.topologies)
            if each.assignment is None or len(flavors) != 1:
                continue
            before = held_domains(workload.admission, each.pod_set.name)
            for values, count in each.assignment.domains:
                more = count - before.get(values, 0)
                if more > 0:
                    found.setdefault(flavors[0], []).append(DomainUsage(values, each.pod_set.requests, more))
        return found

    def taken(self, queue: CycleQueue, workload: QueuedWorkload) -> Taken:
        """What the workload would take; no quota if it holds quota already."""
        quota = {} if workload.admission is not None else dict(self.quota)
        return Taken(quota, self.pods(queue, workload))

    def admission(self, queue: str) -> WorkloadAdmission:
        """The nomination as an admission."""
        return WorkloadAdmission(
            queue,
            tuple(
                PodSetAdmission(
                    each.pod_set.name,
                    {resource: chosen.flavor for resource, chosen in each.flavors.items()},
                    {resource: each.requests.get(resource, 0) for resource in each.flavors},
                    each.count,
                    each.assignment,
                    each.delayed,
                )
                for each in self.choices
            ),
        )


def held_domains(admission: WorkloadAdmission | None, name: str) -> dict[tuple[str, ...], int]:
    """Pods of a pod set on each domain by an admission."""
    found: dict[tuple[str, ...], int] = {}
    for each in admission.pod_sets if admission is not None else ():
        if each.name == name and each.assignment is not None:
            for values, count in each.assignment.domains:
                found[values] = found.get(values, 0) + count
    return found
