"""`JobStatus`: the status of a Volcano Job (batch.volcano.sh), read from and written to a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.objects.fields import get_int, get_map, get_maps, get_text, get_texts

__all__ = ["COUNTERS", "Condition", "JobStatus", "job_status_manifest", "read_job_status"]

#: Counters of pods, in the order of the API type.
COUNTERS = ("pending", "running", "succeeded", "failed", "terminating", "unknown")


@dataclass(frozen=True)
class Condition:
    """One entry of a Job's status.conditions: a phase, and the time `at` which the Job entered it (empty if
    unknown).
    """

    phase: str
    at: str = ""


@dataclass(frozen=True)
class JobStatus:
    """The status of a Volcano Job as Volcano's controller writes it.

    Attributes
    ----------
    phase : str
        Empty: the Job was never synchronised.
    pending, running, succeeded, failed, terminating, unknown : int
        Pods by phase; a pod that is being deleted counts only as `terminating`.
    min_available : int
        spec.minAvailable when the controller last synchronised the Job.
    retry_count : int
        Restarts so far.
    version : int
        Number that rises whenever the Job as a whole is killed; the controller answers a request of an older version by
        a synchronisation only.
    task_counts : mapping of str to mapping of str to int
        Pods of each task by phase.
    controlled_resources : mapping of str to str
        Markers by which job plugins remember what they have created.
    conditions : tuple of Condition
        Oldest first, each phase once.
    """

    phase: str = ""
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    min_available: int = 0
    retry_count: int = 0
    version: int = 0
    task_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    controlled_resources: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


def read_job_status(data: Mapping[str, Any]) -> JobStatus:
    """Read the status from a Volcano Job's parsed manifest; raises InputError for a field of the wrong type."""
    status = get_map(data, "status", "")
    counts = get_map(status, "taskStatusCount", "status")
    return JobStatus(
        phase=get_text(get_map(status, "state", "status"), "phase", "status.state"),
        **{name: get_int(status, name, "status") or 0 for name in COUNTERS},
        min_available=get_int(status, "minAvailable", "status") or 0,
        retry_count=get_int(status, "retryCount", "status") or 0,
        version=get_int(status, "version", "status") or 0,
        task_counts={task: _phases(counts, task) for task in counts},
        controlled_resources=get_texts(status, "controlledResources", "status"),
        conditions=tuple(
            Condition(get_text(item, "status", path), get_text(item, "lastTransitionTime", path))
            for path, item in get_maps(status, "conditions", "status")
        ),
    )


def _phases(counts: Mapping[str, Any], task: str) -> dict[str, int]:
    where = f"status.taskStatusCount.{task}"
    phases = get_map(get_map(counts, task, "status.taskStatusCount"), "phase", where)
    return {phase: get_int(phases, phase, f"{where}.phase") or 0 for phase in phases}


def job_status_manifest(status: JobStatus) -> dict[str, Any]:
    """The ``status`` of a Volcano Job's manifest; zeros and empty values are left out."""
    written: dict[str, Any] = {"state": {"phase": status.phase} if status.phase else {}}
    written |= {name: getattr(status, name) for name in COUNTERS}
    written |= {"minAvailable": status.min_available, "retryCount": status.retry_count, "version": status.version}
    written["taskStatusCount"] = {task: {"phase": dict(phases)} for task, phases in status.task_counts.items()}
    written["controlledResources"] = dict(status.controlled_resources)
    written["conditions"] = [
        {"status": one.phase} | ({"lastTransitionTime": one.at} if one.at else {}) for one in status.conditions
    ]
    return {key: value for key, value in written.items() if value}
