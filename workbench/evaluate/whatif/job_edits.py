"""Edits of the pending job: tier, minimum, replicas, tolerations, selectors, dependencies, priority."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.evaluate.whatif.edit import Edit, EditedSession, every_role
from workbench.model.counted import counted
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, MemberJob, Role, SubGroup, TopologyConstraint, lower_minimum, needed_of_jobs
from workbench.model.kube_group import KubeGroup
from workbench.model.labels import NodeFilter, Requirement, Taint, Toleration
from workbench.model.resources import PODS

__all__ = [
    "AllowTier",
    "ChangeSelector",
    "DropAffinity",
    "DropDependency",
    "FewerReplicas",
    "JobEdit",
    "LowerMinimum",
    "RaisePriority",
    "Tolerate",
    "has_minimum",
    "minimum_name",
    "minimum_of",
    "requirement_text",
    "taint_text",
]


@dataclass(frozen=True)
class JobEdit(Edit):
    """An edit of the pending job.

    Attributes
    ----------
    job : str
        ``namespace/name``.
    """

    job: str

    category = "job"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session with the changed job."""
        return case.with_gang(self.changed(case.gang))

    def changed(self, gang: Gang) -> Gang:
        """The job after the edit."""
        raise NotImplementedError

    @property
    def subject(self) -> str:
        return f"job {self.job}"


@dataclass(frozen=True)
class AllowTier(JobEdit):
    """Let the job, and its sub-groups and Jobs with a lower limit, use HyperNodes up to a tier.

    Attributes
    ----------
    old : int, str or None
        The present limit: highestTierAllowed, a tier name, or None where the constraint names no tier.
    tier : int
        The new highestTierAllowed.
    """

    old: int | str | None
    tier: int

    kind = "tier"

    def changed(self, gang: Gang) -> Gang:
        """The job with the higher limit of tiers, wherever it has a hard constraint with a lower limit."""
        groups = tuple(dataclasses.replace(g, constraint=self._widened(g.constraint)) for g in gang.sub_groups)
        members = tuple(
            part if part.gang is None else MemberJob(part.name, self.changed(part.gang), part.record)
            for part in gang.jobs
        )
        constraint = self._widened(gang.constraint)
        return dataclasses.replace(gang, constraint=constraint, sub_groups=groups, jobs=members)

    def _widened(self, constraint: TopologyConstraint | None) -> TopologyConstraint | None:
        if constraint is None or constraint.mode == "soft":
            return constraint
        if constraint.highest_tier is not None and constraint.highest_tier >= self.tier:
            return constraint
        return dataclasses.replace(constraint, mode="hard", highest_tier=self.tier, highest_tier_name=None)

    @property
    def before(self) -> int | str | None:
        return self.old

    @property
    def after(self) -> int:
        return self.tier

    @property
    def text(self) -> str:
        return f"allow tier {self.tier}"


#: What the minimum of a gang is called in its object, by kind.
_MINIMUM_NAMES = {
    "Job": "minAvailable",
    "HyperJob": "minAvailable",
    "PodGroup": "minMember",
    "Deployment": "group-min-member",
}


def minimum_name(gang: Gang) -> str:
    """What a user calls the minimum of a gang: the field, or the end of the annotation, in which it is written."""
    if gang.kind == "PodGroup" and gang.extra(KubeGroup).given:
        return "minCount"
    return _MINIMUM_NAMES.get(gang.kind, "the minimum")


def has_minimum(gang: Gang) -> bool:
    """Whether the object of a gang has a field for its minimum; a Job of Kubernetes, for example, has none."""
    return gang.kind in _MINIMUM_NAMES


def minimum_of(gang: Gang) -> int:
    """The minAvailable that a user sees: pods of a gang, Jobs of a HyperJob (those that run count)."""
    if not gang.jobs:
        return gang.min_available
    return sum(gang.min_subgroups.values()) + sum(part.gang is None for part in gang.jobs)


@dataclass(frozen=True)
class LowerMinimum(JobEdit):
    """Let the job start with fewer pods, or a HyperJob with fewer Jobs (a lower minAvailable).

    Attributes
    ----------
    old, new : int
        Minimum before and after, counting what runs already.
    name : str
        What the minimum is called in the job's object.
    """

    old: int
    new: int
    name: str = "minAvailable"

    kind = "min-available"
    category = "shrink"

    def changed(self, gang: Gang) -> Gang:
        """The job with the lower minimum, and with minResources of the pods that it then needs."""
        if gang.jobs:
            waiting = [part.gang for part in gang.jobs if part.gang is not None]
            needed = max(self.new - (len(gang.jobs) - len(waiting)), 0)
            pods, resources = needed_of_jobs(waiting, needed)
            lower = dataclasses.replace(
                gang,
                min_subgroups=dict.fromkeys(gang.min_subgroups, needed) if needed else {},
                min_available=pods,
            )
            return lower.with_extra(dataclasses.replace(gang.extra(VolcanoMemory), min_resources=resources))
        return _with_resources_of(gang, dataclasses.replace(gang, min_available=self.new))

    @property
    def text(self) -> str:
        return f"lower {self.name} from {self.old} to {self.new}"


def _with_resources_of(before: Gang, after: Gang) -> Gang:
    """The changed job with minResources as the controller would write them, for the pods that it now needs.

    The part of minResources beyond the pending pods needed before, such as running pods, is kept.
    """
    resources = before.extra(VolcanoMemory).min_resources
    if resources is None:
        return after
    old, new = _needed(before), _needed(after)
    changed = {}
    for name, amount in resources.items():
        plain = name.removeprefix("requests.").removeprefix("limits.").removeprefix("count/")
        changed[name] = max(amount - old.get(plain, 0) + new.get(plain, 0), 0)
    return after.with_extra(dataclasses.replace(after.extra(VolcanoMemory), min_resources=changed))


def _needed(gang: Gang) -> dict[str, int]:
    """Summed requests of the pending pods that a job needs: roles of higher priority first, all pods of a role."""
    left = max(gang.min_available - gang.ready, 0)
    total: dict[str, int] = {PODS: 0}
    for role in sorted(gang.roles, key=lambda role: -role.priority):
        count = min(role.count, left)
        left -= count
        total[PODS] += count
        for name, amount in role.requests.items():
            total[name] = total.get(name, 0) + amount * count
    return total


@dataclass(frozen=True)
class FewerReplicas(JobEdit):
    """Give one role fewer pods, and the gang a minimum that is lower by as many.

    Attributes
    ----------
    old, new : int
        Number of pending pods of the role before and after.
    lower : int
        By how much the minimum of the gang falls: it stays above what runs.
    name : str
        What the minimum is called in the job's object.
    """

    role: str
    old: int
    new: int
    lower: int
    name: str = "minAvailable"

    kind = "replicas"
    category = "shrink"

    @classmethod
    def of(cls, gang: Gang, role: Role, new: int) -> FewerReplicas:
        """The edit that leaves a role of a gang fewer pending pods.

        Parameters
        ----------
        role : Role
            One of its roles.
        new : int
            Number of pending pods that are left.
        """
        fewer = role.count - new
        return cls(
            gang.key,
            role.name,
            role.count,
            new,
            gang.min_available - lower_minimum(gang.min_available, fewer, gang.ready),
            minimum_name(gang),
        )

    def changed(self, gang: Gang) -> Gang:
        """The job without the last pods of the role."""
        number = next(i for i, role in enumerate(gang.roles) if role.name == self.role)
        fewer = self.old - self.new
        role = gang.roles[number]
        first, last = int(gang.role_start[number]) + self.new, int(gang.role_start[number]) + self.old
        gone = frozenset(range(first, last))
        groups = tuple(
            _without_pods(group, gone) for group in gang.sub_groups if group.running or gone.isdisjoint(group.pods)
        )
        names = set(gang.pod_names(np.arange(first, last)))
        roles = (*gang.roles[:number], _smaller(role, self.new, fewer), *gang.roles[number + 1 :])
        order = tuple(name for name in gang.order if name not in names)
        minimum = lower_minimum(gang.min_available, fewer, gang.ready)
        shrunk = dataclasses.replace(gang, min_available=minimum, roles=roles, sub_groups=groups, order=order)
        return _with_resources_of(gang, shrunk)

    @property
    def text(self) -> str:
        least = f", {self.name} lower by {self.lower}" if self.lower else ""
        return f"{self.new} instead of {counted(self.old, 'pod')} of {self.role}{least}"

    @property
    def details(self) -> Mapping[str, Any]:
        return {"role": self.role}


def _smaller(role: Role, count: int, fewer: int) -> Role:
    def cut(values: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if values is None else values[:count]

    minimum = None if role.min_available is None else max(role.min_available - fewer, 0)
    return dataclasses.replace(
        role,
        count=count,
        min_available=minimum,
        pod_names=cut(role.pod_names),
        pod_uids=cut(role.pod_uids),
        pod_resource_versions=cut(role.pod_resource_versions),
    )


def _without_pods(group: SubGroup, gone: frozenset[int]) -> SubGroup:
    """A sub-group without the pods at some positions, the later positions moved down."""
    kept = [pod for pod in group.pods if pod not in gone]
    pods = tuple(pod - sum(one < pod for one in gone) for pod in kept)
    least = max(group.min_available - (len(group.pods) - len(kept)), 0)
    return dataclasses.replace(group, pods=pods, min_available=least)


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it: ``team=inference:NoSchedule``."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


@dataclass(frozen=True)
class Tolerate(JobEdit):
    """Add a toleration for one taint to every role of the job."""

    taint: Taint

    kind = "toleration"

    @property
    def _toleration(self) -> Toleration:
        return Toleration(self.taint.key, "Equal", self.taint.value, self.taint.effect)

    def changed(self, gang: Gang) -> Gang:
        """The job with the toleration."""

        def more(role: Role) -> Role:
            tolerations = (*role.filter.tolerations, self._toleration)
            return dataclasses.replace(role, filter=dataclasses.replace(role.filter, tolerations=tolerations))

        return every_role(gang, more)

    @property
    def before(self) -> None:
        return None

    @property
    def after(self) -> list[dict[str, str]]:
        return [dataclasses.asdict(self._toleration)]

    @property
    def text(self) -> str:
        return f"tolerate the taint {taint_text(self.taint)}"


def requirement_text(requirement: Requirement) -> str:
    """A condition on a label in words: ``gpu=h200``, ``zone in (a, b)``, ``gpu exists``."""
    key, values = requirement.key, ", ".join(requirement.values)
    match requirement.operator:
        case "In" if len(requirement.values) == 1:
            return f"{key}={values}"
        case "Exists":
            return f"{key} exists"
        case "DoesNotExist":
            return f"{key} does not exist"
        case "Gt" | "Lt":
            return f"{key} {'>' if requirement.operator == 'Gt' else '<'} {values}"
        case _:
            return f"{key} {'not in' if requirement.operator == 'NotIn' else 'in'} ({values})"


@dataclass(frozen=True)
class ChangeSelector(JobEdit):
    """Drop one entry of nodeSelector, or give it another value, in every role that has it.

    Attributes
    ----------
    new : Requirement or None
        None: the entry is dropped.
    """

    requirement: Requirement
    new: Requirement | None = None

    kind = "selector"

    def changed(self, gang: Gang) -> Gang:
        """The job with the entry dropped or changed."""

        def other(role: Role) -> Role:
            changed = ((self.new if one == self.requirement else one) for one in role.filter.required)
            required = tuple(one for one in changed if one is not None)
            return dataclasses.replace(role, filter=dataclasses.replace(role.filter, required=required))

        return every_role(gang, other)

    @property
    def before(self) -> dict[str, Any]:
        return _requirement_dict(self.requirement)

    @property
    def after(self) -> dict[str, Any] | None:
        return None if self.new is None else _requirement_dict(self.new)

    @property
    def text(self) -> str:
        if self.new is None:
            return f"drop the nodeSelector {requirement_text(self.requirement)}"
        return f"change the nodeSelector {requirement_text(self.requirement)} to {requirement_text(self.new)}"


def _requirement_dict(requirement: Requirement) -> dict[str, Any]:
    return {**dataclasses.asdict(requirement), "values": list(requirement.values)}


@dataclass(frozen=True)
class DropAffinity(JobEdit):
    """Drop the required node affinity of every role.

    Attributes
    ----------
    terms : tuple of tuple of Requirement
        The terms of the first role that has some.
    """

    terms: tuple[tuple[Requirement, ...], ...]

    kind = "affinity"

    def changed(self, gang: Gang) -> Gang:
        """The job without required node affinity."""

        def freed(role: Role) -> Role:
            condition = NodeFilter(role.filter.required, (), role.filter.tolerations)
            return dataclasses.replace(role, filter=condition)

        return every_role(gang, freed)

    @property
    def before(self) -> list[list[dict[str, Any]]]:
        return [[_requirement_dict(one) for one in term] for term in self.terms]

    @property
    def after(self) -> None:
        return None

    @property
    def text(self) -> str:
        return "drop the required node affinity"


@dataclass(frozen=True)
class DropDependency(JobEdit):
    """Create the pods of a role at once instead of after those of other roles (dependsOn).

    Attributes
    ----------
    names : tuple of str
        Roles that it depends on.
    """

    role: str
    names: tuple[str, ...]

    kind = "dependency"

    def changed(self, gang: Gang) -> Gang:
        """The job whose role depends on no other."""

        def freed(role: Role) -> Role:
            return dataclasses.replace(role, depends_on=()) if role.name == self.role else role

        return every_role(gang, freed)

    @property
    def before(self) -> list[str]:
        return list(self.names)

    @property
    def after(self) -> list[str]:
        return []

    @property
    def text(self) -> str:
        return f"remove dependsOn {', '.join(self.names)} from {self.role}"

    @property
    def details(self) -> Mapping[str, Any]:
        return {"role": self.role}


@dataclass(frozen=True)
class RaisePriority(JobEdit):
    """Put the job before the other jobs of its session by a higher priority.

    Attributes
    ----------
    old, new : int
        Priority before and after.
    """

    old: int
    new: int

    kind = "priority"
    category = "queue"

    def changed(self, gang: Gang) -> Gang:
        """The job with the higher priority."""
        return dataclasses.replace(gang, priority=self.new)

    @property
    def text(self) -> str:
        return f"raise its priority from {self.old} to {self.new}"
