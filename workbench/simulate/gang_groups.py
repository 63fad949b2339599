"""`without_gang_group`: a gang as the simulation decides it, by itself."""

from __future__ import annotations

from dataclasses import replace

from workbench.model.extras import KoordinatorWish
from workbench.model.gang import Gang
from workbench.model.notice import Notice

__all__ = ["without_gang_group"]


def without_gang_group(gang: Gang) -> Gang:
    """The gang without Koordinator's gang group, with a notice about it; the gang itself if it belongs to none.

    Jobs arrive and are placed one by one in a simulation, so the other gangs of a group cannot be decided with it.
    """
    if not gang.extra(KoordinatorWish).gang_groups:
        return gang
    note = Notice("gang-groups-not-read", "a simulation does not follow gang groups: the gang is placed by itself")
    alone = gang.with_extra(replace(gang.extra(KoordinatorWish), gang_groups=()))
    return replace(alone, notes=(*gang.notes, note))
