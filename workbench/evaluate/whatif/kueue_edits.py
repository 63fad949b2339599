"""Edits of what a pending job requests of Kueue's topology: a wider level, or a preference instead of a requirement."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.evaluate.whatif.edit import EditedSession
from workbench.evaluate.whatif.job_edits import JobEdit
from workbench.model.gang import Gang
from workbench.model.kueue import TopologyRequest
from workbench.model.kueue_request import KueueObjects, KueueRequest
from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.level_names import level_names
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["AskLevel", "level_edits"]


@dataclass(frozen=True)
class AskLevel(JobEdit):
    """Let all roles that require, or prefer, one level require or prefer another.

    Attributes
    ----------
    level, required : str, bool
        The level that is named now, and whether it is required.
    new_level, new_required : str, bool
        The level to name, and whether it is required then.
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
