"""Changes that make a job smaller: a lower minimum of pods, and fewer replicas of a role."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.evaluate.whatif.job_edits import JobEdit
from workbench.model.counted import counted
from workbench.model.extras import RoleSize, RoleSizes, VolcanoMemory
from workbench.model.gang import Gang, Role, SubGroup, lower_minimum, needed_of_jobs
from workbench.model.kube_group import KubeGroup
from workbench.model.resources import PODS

__all__ = ["FewerReplicas", "LowerMinimum", "has_minimum", "minimum_name", "minimum_of"]

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

    `old`, `new`: minimum before and after, counting what runs already. `name`: what the minimum is called in the job's
    object.
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
    """The changed job with minResources for the pods that it needs; what counted beyond pending pods is kept."""
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
        What the minimum is called in the job's object; empty: it has no such field.
    size : RoleSize, optional
        The field with the number of pods; None: the replicas of a task, or pods without a common object.
    """

    role: str
    old: int
    new: int
    lower: int
    name: str = "minAvailable"
    size: RoleSize | None = None

    kind = "replicas"
    category = "shrink"

    @classmethod
    def of(cls, gang: Gang, role: Role, new: int) -> FewerReplicas:
        """The edit that leaves a role of a gang fewer pending pods.

        `role`: one of its roles. `new`: number of pending pods that are left.
        """
        fewer = role.count - new
        return cls(
            gang.key,
            role.name,
            role.count,
            new,
            gang.min_available - lower_minimum(gang.min_available, fewer, gang.ready),
            minimum_name(gang) if gang.extra(RoleSizes) == RoleSizes() else "",
            gang.extra(RoleSizes).of(role.name),
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

    def of_sibling(self, gang: Gang) -> JobEdit:
        """The edit that takes as many pods from another replica, of which some may run."""
        role = next((role for role in gang.roles if role.name == self.role), None)
        if role is None:
            return self
        return FewerReplicas.of(gang, role, max(role.count - (self.old - self.new), 0))

    @property
    def text(self) -> str:
        least = f", {self.name} lower by {self.lower}" if self.lower and self.name else ""
        field = f" ({self.size.field} {self.size.value(self.old - self.new)})" if self.size is not None else ""
        return f"{self.new} instead of {counted(self.old, 'pod')} of {self.role}{field}{least}"

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
