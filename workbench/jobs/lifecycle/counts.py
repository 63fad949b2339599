"""Count a Job's pods by phase into its status, and set its phase."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from workbench.jobs.lifecycle.observed import PodState
from workbench.objects.job import Job
from workbench.objects.job_status import Condition, JobStatus

__all__ = ["counted", "with_phase"]

_PHASES = ("Pending", "Running", "Succeeded", "Failed")


def counted(job: Job, status: JobStatus, pods: Iterable[PodState], terminating: int) -> JobStatus:
    """The Job's status with recomputed counters: pods by phase, in total and per task, and terminating pods.

    Parameters
    ----------
    status : JobStatus
        Status before; everything but its counters stays.
    pods : iterable of PodState
        Existing pods of the Job that are not terminating.
    terminating : int
        Number of pods that are terminating.
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

    Parameters
    ----------
    now : str
        Time of the transition, as Kubernetes writes it; empty: unknown.
    """
    others = tuple(one for one in status.conditions if one.phase != phase)
    return replace(status, phase=phase, conditions=(*others, Condition(phase, now)))
