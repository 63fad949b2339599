"""What a cycle leaves behind on its PodGroups: the condition PodGroupInitiallyScheduled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from workbench.policies.kube.groups.cycle import GroupOutcome
from workbench.policies.kube.groups.hierarchy import Hierarchy
from workbench.policies.kube.status import Code, Status, text_of

__all__ = ["INITIALLY_SCHEDULED", "PodGroupCondition", "condition_after", "condition_of", "leaf_outcomes"]

P = TypeVar("P")
N = TypeVar("N")
S = TypeVar("S")

INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"


@dataclass(frozen=True)
class PodGroupCondition:
    """A condition in the status of a PodGroup: type PodGroupInitiallyScheduled."""

    status: str
    reason: str
    message: str = ""
    observed_generation: int = 0
    type: str = INITIALLY_SCHEDULED


def condition_of(status: Status, generation: int = 0) -> PodGroupCondition:
    """Condition that says how a cycle of a PodGroup ended. `generation`: metadata.generation of the PodGroup."""
    if status.code is Code.SUCCESS:
        return PodGroupCondition("True", "Scheduled", "", generation)
    reason = "SchedulerError" if status.code is Code.ERROR else "Unschedulable"
    return PodGroupCondition("False", reason, text_of(status), generation)


def condition_after(before: PodGroupCondition | None, new: PodGroupCondition) -> PodGroupCondition:
    """Condition of a PodGroup after a cycle: once True, it stays True.

    `before`: the present condition; None: the PodGroup has none yet. `new`: what the cycle says.
    """
    if before is not None and before.status == "True" and new.status != "True":
        return before
    return new


def leaf_outcomes(groups: Hierarchy, outcome: GroupOutcome[P, N, S]) -> Iterator[GroupOutcome[P, N, S]]:
    """Outcome of each PodGroup of a tree after a cycle; one that was not reached has that of the group above it.

    `outcome`: outcome of the root, or of a group under it.
    """
    if not outcome.group.composite:
        yield outcome
        return
    found = {child.group.key: child for child in outcome.children}
    for child in groups.children(outcome.group):
        if child.key in found:
            yield from leaf_outcomes(groups, found[child.key])
        else:
            for leaf in groups.leaves(child):
                yield GroupOutcome(leaf, outcome.status)
