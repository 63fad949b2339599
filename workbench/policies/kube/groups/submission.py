"""From the outcome of a cycle to what the scheduler does: pods that it binds, and what it tells the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from workbench.policies.kube.groups.conditions import PodGroupCondition, condition_after, condition_of
from workbench.policies.kube.groups.cycle import NOTHING_PLACED, PodOutcome
from workbench.policies.kube.status import Code, Status

__all__ = ["Submission", "submit"]

P = TypeVar("P")
N = TypeVar("N")


@dataclass
class Submission(Generic[P, N]):
    """What follows from the cycle of a PodGroup.

    `bound`: node of each pod that is bound. `failed`: status of each pod that is not. `nominated`: node that waits for
    a pod while pods that were evicted end. `condition`: PodGroupInitiallyScheduled afterwards.
    """

    condition: PodGroupCondition
    bound: dict[P, N] = field(default_factory=dict)
    failed: dict[P, Status] = field(default_factory=dict)
    nominated: dict[P, N] = field(default_factory=dict)


def submit(
    status: Status,
    outcomes: Mapping[P, PodOutcome[N]],
    pods: Collection[P],
    before: PodGroupCondition | None = None,
    nominated: Mapping[P, N] | None = None,
    generation: int = 0,
    told: Status | None = None,
) -> Submission[P, N]:
    """Decide which pods of a PodGroup are bound after its cycle, which have failed, and the condition to write.

    In the result every pod has failed with an error if the cycle succeeded and yet left a pod without an outcome.

    Parameters
    ----------
    status : Status
        Status of the PodGroup.
    outcomes : mapping
        Outcomes of the pods that were tried.
    pods : collection
        All pods that the cycle was about.
    before : PodGroupCondition, optional
        The PodGroup's present condition.
    nominated : mapping, optional
        Nodes that preemption frees for pods; None: the group waits for no pods to end.
    generation : int
        metadata.generation of the PodGroup.
    told : Status, optional
        `status` with what preemption said, for the condition; None: nothing was said.
    """
    if status.code in (Code.SUCCESS, Code.ERROR) and not status.reasons and len(outcomes) != len(pods):
        status = told = Status(Code.ERROR, ("scheduling error for pod group, some pods were not processed",))
    said = told or status
    done: Submission[P, N] = Submission(condition_after(before, condition_of(said, generation)))
    for pod in pods:
        outcome = outcomes.get(pod)
        if status.code is Code.SUCCESS and outcome is not None and outcome.node is not None:
            done.bound[pod] = outcome.node
        elif status.code is Code.ERROR or outcome is None:
            done.failed[pod] = status
        elif outcome.node is not None:
            done.failed[pod] = Status(status.code, (NOTHING_PLACED, *said.reasons))
        else:
            done.failed[pod] = outcome.status
    for pod in pods:
        if nominated and pod in nominated and pod in done.failed:
            done.nominated[pod] = nominated[pod]
    return done
