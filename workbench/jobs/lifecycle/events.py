"""`job_request`: convert a change of a pod or PodGroup to the request that Volcano's Job controller handles."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.jobs.lifecycle.observed import GroupState, PodState
from workbench.jobs.lifecycle.request import JobRequest
from workbench.objects.job import DEFAULT_MAX_RETRY, Job, Task

__all__ = [
    "event_of_addition",
    "event_of_deletion",
    "event_of_update",
    "is_task_completed",
    "is_task_failed",
    "job_request",
    "pending_text",
]

_OUT_OF_SYNC = "OutOfSync"


def job_request(
    job: Job,
    before: PodState | GroupState | None,
    after: PodState | GroupState | None,
    pods: Iterable[PodState] = (),
) -> JobRequest | None:
    """The request that the Job controller queues when one of a Job's pods or its PodGroup changes.

    Returns None: the change needs no request, such as most changes of a PodGroup.

    `before`, `after`: states before and after the change; None before: created; None after: deleted. `pods`: the pods
    of the Job as they are now; those of the same task decide whether it completed or failed.
    """
    if isinstance(after, GroupState) or isinstance(before, GroupState):
        # A group becomes Unknown when it runs with too few pods.
        changed = isinstance(after, GroupState) and (before is None or before.phase != after.phase)
        return JobRequest("Unknown") if changed and after is not None and after.phase == "Unknown" else None
    pod = after or before
    if pod is None:
        return None
    if before is None:
        event = event_of_addition(pod)
    elif after is None:
        event = event_of_deletion(pod)
    else:
        task = next((task for task in job.tasks if task.name == pod.task), None)
        alike = [one for one in pods if one.task == pod.task]
        completed = task is not None and is_task_completed(task, alike)
        event = event_of_update(before, after, completed, task is not None and is_task_failed(task, alike))
    return JobRequest(
        event,
        task=pod.task,
        pod=pod.name,
        pod_uid=pod.uid,
        partition=pod.partition,
        exit_code=pod.exit_code if event == "PodFailed" else 0,
        job_uid=pod.job_uid,
        job_version=pod.job_version,
    )


def event_of_addition(pod: PodState) -> str:
    """Name of the Job event that the creation of this pod causes."""
    return _OUT_OF_SYNC if pod.out_of_sync else "PodPending"


def event_of_deletion(pod: PodState, known: bool = True) -> str:
    """Name of the Job event that the deletion of this pod causes.

    `known`: whether the controller knew it as the Job's.
    """
    return "PodEvicted" if known and not pod.out_of_sync else _OUT_OF_SYNC


def event_of_update(before: PodState, after: PodState, completed: bool = False, failed: bool = False) -> str:
    """Name of the Job event that a change of a pod causes, such as ``PodFailed``.

    `completed`, `failed`: results of `is_task_completed` and `is_task_failed` for the pod's task.
    """
    changed = before.phase != after.phase
    if after.out_of_sync:
        return _OUT_OF_SYNC
    if after.phase in ("Running", "Pending"):
        if changed:
            return f"Pod{after.phase}"
        return "TaskFailed" if failed else _OUT_OF_SYNC
    if changed and after.phase == "Failed":
        return "PodFailed"
    if changed and after.phase == "Succeeded" and completed:
        return "TaskCompleted"
    return _OUT_OF_SYNC


def is_task_completed(task: Task, pods: Iterable[PodState]) -> bool:
    """Whether as many of a task's pods have succeeded as the task has replicas."""
    return 0 < task.replicas <= sum(pod.phase == "Succeeded" for pod in pods)


def is_task_failed(task: Task, pods: Iterable[PodState]) -> bool:
    """Whether containers of the task's running and pending pods have restarted, in sum, at least maxRetry times."""
    if task.replicas == 0 or task.max_retry < 0:
        return False
    restarts = sum(pod.restarts for pod in pods if pod.phase in ("Running", "Pending"))
    return restarts >= (task.max_retry or DEFAULT_MAX_RETRY)


def pending_text(job: Job, group: GroupState) -> str:
    """Text of the warning event for a Job whose PodGroup is not scheduled; empty if no event is due.

    An event is due while the newest true condition of the PodGroup is not ``Scheduled``.
    """
    newest = None
    for condition in group.conditions:
        if newest is None or condition.at > newest.at:
            newest = condition
    if newest is None or newest.type == "Scheduled":
        return ""
    name = f"{job.metadata.namespace}:{job.metadata.name}"
    return f"PodGroup {name} {newest.type.lower()}, reason: {newest.message}"
