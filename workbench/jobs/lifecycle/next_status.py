"""`next_status`: one step of the Job controller, from the observed state and an event to the new status and actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.jobs.lifecycle.kill import kill_job, kill_target
from workbench.jobs.lifecycle.observed import Observed
from workbench.jobs.lifecycle.phases import after_work, keeps_finished, work_of
from workbench.jobs.lifecycle.request import (
    Action,
    Delayed,
    JobRequest,
    after_action,
    after_event,
    answer_to,
    with_delayed,
)
from workbench.jobs.lifecycle.sync import sync_job
from workbench.objects.job import Job, read_job
from workbench.objects.job_status import JobStatus

__all__ = ["NextStep", "next_status"]


@dataclass(frozen=True)
class NextStep:
    """Result of `next_status`: the Job's new status and the actions to carry out.

    Attributes
    ----------
    action : str
        The action that the request led to, at once or later.
    actions : tuple of Action
        To be carried out in this order.
    delayed : tuple of Delayed
        Actions that wait; when the time of one has come, its request is made again with its action.
    """

    action: str
    status: JobStatus
    actions: tuple[Action, ...] = ()
    delayed: tuple[Delayed, ...] = ()


def next_status(job: Job | Mapping[str, Any], observed: Observed, event: JobRequest | str) -> NextStep:
    """Decide what Volcano's Job controller does when an event reaches it.

    Parameters
    ----------
    job : Job or mapping
        The Job as stored, that is after the defaults of admission, or its parsed manifest.
    observed : Observed
        Status, pods, PodGroup and volume claims of the Job; nothing else is looked up.
    event : JobRequest or str
        What happened, such as ``PodFailed`` of a pod of a task, or a command; a text is the name of an event.

    Returns
    -------
    NextStep
        The new status, the actions to carry out, and the actions that wait. A pure function: the same arguments give
        the same answer, and nothing is carried out.

    Raises
    ------
    InputError
        The manifest has a field of the wrong type.

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
