"""`PlannedGang`: what the controllers of a top owner make of it: pods, their names, and how many must start."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.jobs.roles import RoleTemplate
from workbench.model.gang import TopologyConstraint
from workbench.model.notice import Notice

__all__ = ["KAI_SCHEDULER", "PlannedGang", "PlannedRole", "exclusive_notice", "order_notice"]

#: schedulerName of the pods that KAI places.
KAI_SCHEDULER = "kai-scheduler"


@dataclass(frozen=True)
class PlannedRole:
    """The pods of one role that are to run now.

    Attributes
    ----------
    of : RoleTemplate
        Name, template and labels; its number of pods is the one at the start, before any pod has succeeded.
    pod_names : tuple of str
        Name of each pod that is to run now. Where a controller ends names with random characters, the name is without
        these, and where it writes nothing else, an index stands for them.
    min_available : int, optional
        Pods of the role that have to run; None: the role has no minimum of its own.
    """

    of: RoleTemplate
    pod_names: tuple[str, ...]
    min_available: int | None = None


@dataclass(frozen=True)
class PlannedGang:
    """A gang as a top owner asks for it.

    `min_available`: pods that have to run together; None: all. `queue`, `priority_class`: queue of Volcano, and the
    PriorityClass of the gang; empty: those of the PodGroup or the pods. `constraint`: that of the PodGroup which the
    controller will make; None: it has none. `notes`: what the object asks for and no gang says.
    """

    name: str
    roles: tuple[PlannedRole, ...]
    min_available: int | None = None
    queue: str = ""
    priority_class: str = ""
    constraint: TopologyConstraint | None = None
    notes: tuple[Notice, ...] = ()

    @property
    def pods(self) -> int:
        """Pods that are to run now."""
        return sum(len(role.pod_names) for role in self.roles)


def exclusive_notice(key: str, what: str) -> Notice:
    """The notice about pods that want a topology domain alone.

    `key`: label of nodes whose values are the domains. `what`: which pods: ``each group``.
    """
    text = f"exclusive topology: {what} alone in one value of {key} is not followed"
    return Notice("exclusive-topology", text, key)


def order_notice(which: str, taken: str = "all are placed together") -> Notice:
    """The notice about pods that a controller makes later than the others.

    `which`: which pods it makes after what. `taken`: what the gang says instead.
    """
    return Notice("start-order-not-followed", f"{which}: {taken}")
