"""Edits of what a pending job requests of Kueue's topology: another level, or other slices."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.evaluate.whatif.edit import EditedSession
from workbench.evaluate.whatif.job_edits import JobEdit
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.kueue import SliceLayer, TopologyRequest
from workbench.model.kueue_names import level_names
from workbench.model.kueue_request import KueueObjects, KueueRequest
from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["AskLevel", "AskSlices", "level_edits", "slice_edits"]


@dataclass(frozen=True)
class AskLevel(JobEdit):
    """Let all roles that require, or prefer, one level require or prefer another.

    `level`, `required`: the level that is named now, and whether it is required. `new_level`, `new_required`: the level
    to name, and whether it is required then.
    """

    level: str
    required: bool
    new_level: str
    new_required: bool

    kind = "kueue-level"

    def changed(self, gang: Gang) -> Gang:
        """The job with the other request in every role that makes the old one."""
        asked = gang.extra(KueueRequest)
        required, preferred = (self.new_level, None) if self.new_required else (None, self.new_level)
        roles = tuple(
            dataclasses.replace(
                role, topology=dataclasses.replace(role.topology, required=required, preferred=preferred)
            )
            if role.topology is not None and getattr(role.topology, _field(self.required)) == self.level
            else role
            for role in asked.roles
        )
        return gang.with_extra(dataclasses.replace(asked, roles=roles))

    @property
    def before(self) -> dict[str, str]:
        return {_field(self.required): self.level}

    @property
    def after(self) -> dict[str, str]:
        return {_field(self.new_required): self.new_level}

    @property
    def text(self) -> str:
        if self.level == self.new_level:
            return f"prefer the level {self.level} instead of requiring it"
        verb = "require" if self.new_required else "prefer"
        return f"{verb} the level {self.new_level} instead of {self.level}"


def _field(required: bool) -> str:
    return "required" if required else "preferred"


def level_edits(case: EditedSession) -> Iterator[tuple[AskLevel, ...]]:
    """For each level that the job's roles name, and each topology: the edits that name another, the smallest first.

    A required level becomes a wider one, then a preference; one that no topology has becomes each level that exists,
    the lowest first.
    """
    asked = [role.topology for role in case.gang.extra(KueueRequest).roles if role.topology is not None]
    topologies = _topologies(case.snapshot)
    found: dict[tuple[AskLevel, ...], None] = {}
    for level, required in dict.fromkeys(_named(request) for request in asked if any(_named(request))):
        for levels in topologies:
            edits: dict[AskLevel, None] = {}
            wider = levels[: levels.index(level)] if level in levels else levels
            for new in reversed(wider) if required or level not in levels else ():
                edits[AskLevel(case.job, level, required, new, required)] = None
            if required and level in levels:
                edits[AskLevel(case.job, level, True, level, False)] = None
            found[tuple(edits)] = None
    return filter(None, found)


@dataclass(frozen=True)
class AskSlices(JobEdit):
    """Let all roles that ask for the same slices ask for slices of another size, or in domains of another level.

    `old`, `new`: the layers before and after, outermost first; only the outermost differs.
    """

    old: tuple[SliceLayer, ...]
    new: tuple[SliceLayer, ...]

    kind = "kueue-slices"

    def changed(self, gang: Gang) -> Gang:
        """The job with the other slices in every role that asks for the old ones."""
        asked = gang.extra(KueueRequest)
        roles = tuple(
            dataclasses.replace(role, topology=dataclasses.replace(role.topology, slices=self.new))
            if role.topology is not None and role.topology.slices == self.old
            else role
            for role in asked.roles
        )
        return gang.with_extra(dataclasses.replace(asked, roles=roles))

    @property
    def before(self) -> list[dict[str, Any]]:
        return [{"level": layer.level, "size": layer.size} for layer in self.old]

    @property
    def after(self) -> list[dict[str, Any]]:
        return [{"level": layer.level, "size": layer.size} for layer in self.new]

    @property
    def text(self) -> str:
        old, new = self.old[0], self.new[0]
        if old.level == new.level:
            return f"ask for slices of {counted(new.size, 'pod')} instead of {old.size}"
        return f"ask for slices in one {new.level} instead of {old.level}"


def slice_edits(case: EditedSession) -> Iterator[tuple[AskSlices, ...]]:
    """For each request of slices: the edits of its size, then for each topology those of its level, the smallest first.

    Sizes are smaller ones that divide the pods of every role with the request, and that the next layer divides; levels
    are wider ones, or every level, the lowest first, where no topology has the one that is asked for.
    """
    counts: dict[tuple[SliceLayer, ...], list[int]] = {}
    for role in case.gang.roles:
        request = case.gang.extra(KueueRequest).of(role.name).topology
        if request is not None and request.slices and role.count:
            counts.setdefault(request.slices, []).append(role.count)
    found: dict[tuple[AskSlices, ...], None] = {}
    for slices, pods in counts.items():
        first, *rest = slices
        unit = rest[0].size if rest and rest[0].size > 0 else 1
        smaller = range(min(first.size - 1, *pods), 0, -1)
        sizes = [size for size in smaller if size % unit == 0 and not any(count % size for count in pods)]
        found[tuple(_sliced(case.job, slices, SliceLayer(first.level, size)) for size in sizes)] = None
        for levels in _topologies(case.snapshot):
            wider = levels[: levels.index(first.level)] if first.level in levels else levels
            edits = (_sliced(case.job, slices, SliceLayer(level, first.size)) for level in reversed(wider))
            found[tuple(edits)] = None
    return filter(None, found)


def _sliced(job: str, slices: tuple[SliceLayer, ...], first: SliceLayer) -> AskSlices:
    return AskSlices(job, slices, (first, *slices[1:]))


def _named(request: TopologyRequest) -> tuple[str, bool]:
    return request.required or request.preferred or "", request.required is not None


def _topologies(snapshot: ClusterSnapshot) -> list[tuple[str, ...]]:
    """Levels, widest first: of every Topology of a flavor where Kueue has queues, else of the HyperNodes."""
    objects = snapshot.extra(KueueObjects)
    if objects.cluster_queues:
        used = {flavor.topology for flavor in objects.flavors}
        return [levels for name, levels in sorted(objects.topologies.items()) if name in used]
    topology = snapshot.topology
    return [(*level_names(topology, topology.tiers[::-1]), HOSTNAME_LABEL)]
