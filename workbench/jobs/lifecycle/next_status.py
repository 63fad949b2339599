"""`next_status`: one step of the Job controller, from the observed state and an event to the new status and actions.

Killing is a step, too: of all pods of a Job, or those of one task, one pod or one partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.jobs.lifecycle.observed import Observed, PodState
from workbench.jobs.lifecycle.phases import after_work, counted, keeps_finished, work_of
from workbench.jobs.lifecycle.request import (
    Action,
    Delayed,
    DeletePod,
    DeletePodGroup,
    JobRequest,
    RunHooks,
    after_action,
    after_event,
    answer_to,
    with_delayed,
)
from workbench.jobs.lifecycle.sync import sync_job
from workbench.objects.job import Job, read_job
from workbench.objects.job_status import JobStatus

__all__ = ["NextStep", "kill_job", "kill_target", "next_status"]


@dataclass(frozen=True)
class NextStep:
    """Result of `next_status`: the Job's new status and the actions to carry out.

    `action`: the action that the request led to, at once or later. `actions`: to be carried out in this order.
    `delayed`: actions that wait; when the time of one has come, its request is made again with its action.
    """

    action: str
    status: JobStatus
    actions: tuple[Action, ...] = ()
    delayed: tuple[Delayed, ...] = ()


def next_status(job: Job | Mapping[str, Any], observed: Observed, event: JobRequest | str) -> NextStep:
    """Decide what Volcano's Job controller does when an event reaches it.

    Raises InputError: the manifest has a field of the wrong type.

    Returns the new status, the actions to carry out, and the actions that wait. A pure function: the same arguments
    give the same answer, and nothing is carried out.

    `job`: the Job as stored, that is after the defaults of admission, or its parsed manifest. `observed`: status, pods,
    PodGroup and volume claims of the Job; nothing else is looked up. `event`: what happened, such as ``PodFailed`` of a
    pod of a task, or a command; a text is the name of an event.

    Examples
    --------
    >>> from workbench.jobs import JobRequest, Observed, next_status
    >>> job = {"metadata": {"name": "train"}, "spec": {"tasks": [{"name": "worker", "replicas": 2}]}}
    >>> step = next_status(job, Observed.of_manifests(job), JobRequest(action="AbortJob"))
    >>> step.status.phase
    'Aborting'
    """
    job = job if isinstance(job, Job) else read_job(job)
    request = JobRequest(event) if isinstance(event, str) else event
    answer = answer_to(job, observed.status.version, request)
    waiting = after_event(observed.delayed, request)
    if answer.delay > 0:
        new = Delayed(answer.action, request, answer.delay)
        return NextStep(answer.action, observed.status, delayed=with_delayed(waiting, new))
    waiting = after_action(waiting, answer.action, request)
    status, actions = _executed(job, observed, answer.action, request)
    return NextStep(answer.action, status, actions, waiting)


def _executed(job: Job, observed: Observed, action: str, request: JobRequest) -> tuple[JobStatus, tuple[Action, ...]]:
    work = work_of(observed.status.phase, action)
    if work == "sync":
        status, actions, complete = sync_job(job, observed)
        if not complete:
            return status, actions
    elif work == "kill-target":
        status, actions = kill_target(job, observed, action, request)
    else:
        status, actions = kill_job(job, observed, keeps_finished(job, observed.status, action))
    return after_work(job, action, status, observed.now), actions


def kill_job(job: Job, observed: Observed, keep_finished: bool) -> tuple[JobStatus, tuple[Action, ...]]:
    """Kill a whole Job: its pods, except finished ones if `keep_finished`, and its PodGroup.

    Pods that are kept are not counted: after the kill of a Job whose pods all finished, every counter is 0.

    `keep_finished`: spare pods that succeeded or failed.
    """
    doomed = [pod for pod in observed.pods if not (keep_finished and pod.phase in ("Succeeded", "Failed"))]
    terminating = [pod for pod in observed.pods if pod.terminating]
    victims = [pod for pod in doomed if not pod.terminating]
    status = counted(job, observed.status, (), len(terminating) + len(victims))
    return replace(status, version=status.version + 1), (*_deletions(victims), RunHooks("delete"), DeletePodGroup())


def kill_target(job: Job, observed: Observed, action: str, request: JobRequest) -> tuple[JobStatus, tuple[Action, ...]]:
    """Kill all pods, finished or not, of the task, pod or partition that is to be restarted.

    The PodGroup stays, and so does status.version. Only pods of the target are counted. The hooks for a kill run here
    too, so that objects that plugins made for the whole Job are made again (docs/reference/volcano-jobs.md, section 7).

    `action`: RestartTask, RestartPod or RestartPartition. `request`: request that names the task, pod or partition.
    """
    targets = [pod for pod in observed.pods if _concerns(action, request, pod)]
    victims = [pod for pod in targets if not pod.terminating]
    return counted(job, observed.status, (), len(targets)), (*_deletions(victims), RunHooks("delete"))


def _concerns(action: str, request: JobRequest, pod: PodState) -> bool:
    if pod.task != request.task:
        return False
    if action == "RestartPod":
        return pod.name == request.pod
    return action == "RestartTask" or (pod.partition == request.partition and bool(request.partition))


def _deletions(pods: list[PodState]) -> tuple[Action, ...]:
    return tuple(DeletePod(pod.name) for pod in pods)
