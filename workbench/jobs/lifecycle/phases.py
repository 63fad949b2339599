"""The phases of a Volcano Job: what an action does to its pods in each phase, and which phase follows.

Source: docs/reference/volcano-jobs.md, section 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from workbench.jobs.lifecycle.observed import PodState
from workbench.objects.job import Job
from workbench.objects.job_status import Condition, JobStatus

__all__ = ["TARGETED", "Work", "after_work", "counted", "keeps_finished", "with_phase", "work_of"]

#: What happens to the pods before the phase is decided.
Work = Literal["sync", "kill", "kill-target"]

#: Actions that concern one task, pod or partition.
TARGETED = ("RestartTask", "RestartPod", "RestartPartition")

_RESTARTS = ("RestartJob", *TARGETED)
_ENDING = {"AbortJob": "Aborting", "CompleteJob": "Completing", "TerminateJob": "Terminating"}
#: A phase in which pods are killed -> the phase when none is alive any more.
_ENDED = {"Aborting": "Aborted", "Completing": "Completed", "Terminating": "Terminated"}
_FINISHED = (*_ENDED.values(), "Failed")


def work_of(phase: str, action: str) -> Work:
    """What an action such as ``RestartJob`` means in a phase of the Job: to synchronise or to kill its pods."""
    if phase in _ENDED or phase in _FINISHED:
        return "kill"
    if action in TARGETED:
        return "kill-target"
    killing = ("RestartJob", *_ENDING, *(("ResumeJob",) if phase == "Restarting" else ()))
    return "kill" if action in killing else "sync"


def keeps_finished(job: Job, status: JobStatus, action: str) -> bool:
    """Whether killing the whole Job spares pods that have succeeded or failed.

    RestartJob spares no pod, but on the last try that maxRetry allows every kill spares finished pods. In the phases
    that end a Job, no action restarts it.

    `status`: status before the kill. `action`: the action that kills.
    """
    last_try = status.retry_count >= job.max_retry - 1
    restarts = action == "RestartJob" and status.phase not in _ENDED and status.phase not in _FINISHED
    return last_try or not restarts


def after_work(job: Job, action: str, status: JobStatus, now: str = "") -> JobStatus:
    """Status of a Job after an action was done to its pods; phase and retry count follow from the new pod counters.

    `status`: pod counters after the action, with the phase from before it. `now`: time for the new condition.
    """
    phase, retries = _next(job, status.phase or "Pending", action, status)
    if phase == status.phase:
        return status
    return with_phase(replace(status, retry_count=status.retry_count + retries), phase, now)


def _next(job: Job, phase: str, action: str, status: JobStatus) -> tuple[str, int]:
    """The phase that follows `phase` after an action, and the amount to add to the number of restarts (0 or 1)."""
    if phase in ("Aborting", "Aborted") and action == "ResumeJob":
        return "Restarting", 1
    if phase in _ENDED:
        alive = status.pending or status.running or status.terminating
        return (phase if alive else _ENDED[phase]), 0
    if phase in _FINISHED:
        return phase, 0
    if phase == "Restarting":
        return _restarting(job, status), 0
    if action in _RESTARTS:
        return "Restarting", 1
    if action in _ENDING:
        return _ENDING[action], 0
    return (_running if phase == "Running" else _pending)(job, phase, status), 0


def _pending(job: Job, phase: str, status: JobStatus) -> str:
    started = status.running + status.succeeded + status.failed
    return "Running" if job.min_available <= started else phase


def _restarting(job: Job, status: JobStatus) -> str:
    if status.retry_count >= job.max_retry:
        return "Failed"
    return "Pending" if _replicas(job) - status.terminating >= status.min_available else "Restarting"


def _running(job: Job, phase: str, status: JobStatus) -> str:
    total = _replicas(job)
    if total == 0:
        return phase
    if job.min_success is not None and status.succeeded >= job.min_success:
        return "Completed"
    if status.succeeded + status.failed == total:
        missed = job.min_success is not None or _task_missed(job, status) or status.succeeded < job.min_available
        return "Failed" if missed else "Completed"
    return "Pending" if status.pending > total - job.min_available else phase


def _task_missed(job: Job, status: JobStatus) -> bool:
    """Whether a task has too few succeeded pods; False if minAvailable is below the sum of the tasks' minimums."""
    minimums = [task.replicas if task.min_available is None else task.min_available for task in job.tasks]
    if job.min_available < sum(minimums):
        return False
    return any(
        task.min_available is not None
        and task.name in status.task_counts
        and status.task_counts[task.name].get("Succeeded", 0) < task.min_available
        for task in job.tasks
    )


def _replicas(job: Job) -> int:
    return sum(task.replicas for task in job.tasks)


_PHASES = ("Pending", "Running", "Succeeded", "Failed")


def counted(job: Job, status: JobStatus, pods: Iterable[PodState], terminating: int) -> JobStatus:
    """The Job's status with recomputed counters: pods by phase, in total and per task, and terminating pods.

    `status`: status before; everything but its counters stays. `pods`: existing pods of the Job that are not
    terminating. `terminating`: number of pods that are terminating.
    """
    total = dict.fromkeys((*_PHASES, "Unknown"), 0)
    tasks: dict[str, dict[str, int]] = {}
    for pod in pods:
        total[pod.phase if pod.phase in _PHASES else "Unknown"] += 1
        if pod.task:
            phases = tasks.setdefault(pod.task, {})
            phases[pod.phase] = phases.get(pod.phase, 0) + 1
    return replace(
        status,
        pending=total["Pending"],
        running=total["Running"],
        succeeded=total["Succeeded"],
        failed=total["Failed"],
        unknown=total["Unknown"],
        terminating=terminating,
        min_available=job.min_available,
        task_counts=tasks,
    )


def with_phase(status: JobStatus, phase: str, now: str = "") -> JobStatus:
    """The Job's status with a new phase and the matching condition as the last one.

    An older condition of it is dropped.

    `now`: time of the transition, as Kubernetes writes it; empty: unknown.
    """
    others = tuple(one for one in status.conditions if one.phase != phase)
    return replace(status, phase=phase, conditions=(*others, Condition(phase, now)))
