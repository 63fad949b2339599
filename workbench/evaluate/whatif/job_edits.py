"""Edits of the pending job: tier, minimum, replicas, tolerations, selectors, dependencies, priority."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.evaluate.whatif.edit import Edit, EditedSession, every_role
from workbench.model.gang import Gang, MemberJob, Role, TopologyConstraint
from workbench.model.labels import NodeFilter, Requirement, Taint, Toleration

__all__ = [
    "AllowTier",
    "ChangeSelector",
    "DropAffinity",
    "DropDependency",
    "JobEdit",
    "RaisePriority",
    "Tolerate",
    "requirement_text",
    "taint_text",
]


@dataclass(frozen=True)
class JobEdit(Edit):
    """An edit of the pending job. `job`: ``namespace/name``."""

    job: str

    category = "job"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session with the changed job; of a LeaderWorkerSet all replicas change, which have one template."""
        edited = case.with_gang(self.changed(case.gang))
        if not case.siblings:
            return edited
        gangs = list(edited.gangs)
        for i in case.siblings:
            gangs[i] = self.of_sibling(gangs[i]).changed(gangs[i])
        return dataclasses.replace(edited, gangs=tuple(gangs))

    def of_sibling(self, gang: Gang) -> JobEdit:
        """The edit as it changes another replica of the job's LeaderWorkerSet."""
        return self

    def changed(self, gang: Gang) -> Gang:
        """The job after the edit."""
        raise NotImplementedError

    @property
    def subject(self) -> str:
        return f"job {self.job}"


@dataclass(frozen=True)
class AllowTier(JobEdit):
    """Let the job, and its sub-groups and Jobs with a lower limit, use HyperNodes up to a tier.

    `old`: the present limit: highestTierAllowed, a tier name, or None where the constraint names no tier. `tier`: the
    new highestTierAllowed.
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

    `new`, if None: the entry is dropped.
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
    """Drop the required node affinity of every role. `terms`: the terms of the first role that has some."""

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
    """Create the pods of a role at once instead of after those of other roles (dependsOn)."""

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

    `old`, `new`: priority before and after.
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
