"""What must be alike among the pods of a root group before its cycle begins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workbench.policies.kube.groups.hierarchy import KubePodGroup
from workbench.policies.kube.status import Code, Status

__all__ = ["PREEMPT", "MemberPod", "validate"]

#: The preemption policy of who states none.
PREEMPT = "PreemptLowerPriority"


@dataclass(frozen=True)
class MemberPod:
    """What a group reads of a pod: the scheduler that it names, its priority and its preemption policy."""

    name: str
    scheduler: str = ""
    priority: int = 0
    preemption_policy: str = ""


def validate(
    root: KubePodGroup,
    pending: Sequence[MemberPod],
    scheduled: Sequence[MemberPod] = (),
    profiles: Collection[str] = ("",),
    group_decides: bool = False,
) -> Status:
    """Say whether the pods of a root group agree with each other and with the group.

    Returns an error, not unschedulable, if they do not agree.

    `pending`, `scheduled`: pods of the whole tree that wait, and that have a node. `profiles`: names of the schedulers
    that there are. `group_decides`: whether pods must have the root group's preemption policy (feature gate
    PodGroupPreemptionPolicy); otherwise all the same.
    """
    if not pending:
        return _error(f"no pods to schedule in {root.key}")
    pods = (*pending, *scheduled)
    first = pods[0]
    if first.scheduler not in profiles:
        return _error(f'pod "{first.name}" names the scheduler "{first.scheduler}", which has no profile')
    policy = (root.preemption_policy if group_decides else first.preemption_policy) or PREEMPT
    for pod in pods:
        if pod.scheduler != first.scheduler:
            return _error(f'pod "{pod.name}" names the scheduler "{pod.scheduler}", others "{first.scheduler}"')
        if pod.priority != root.priority:
            return _error(f'pod "{pod.name}" has priority {pod.priority}, its root group {root.priority}')
        if (pod.preemption_policy or PREEMPT) != policy:
            whose = "its root group" if group_decides else "others"
            return _error(
                f'pod "{pod.name}" has preemption policy {pod.preemption_policy or PREEMPT}, {whose} {policy}'
            )
    return Status()


def _error(message: str) -> Status:
    return Status(Code.ERROR, (message,))
