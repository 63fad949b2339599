"""Actions that the rules of a Job's life demand: values, which the caller carries out in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Action", "CreatePod", "DeletePod", "DeletePodGroup", "KeepPodGroup", "RecordEvent", "RunHooks"]


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create a pod of a task, unless one of this name exists."""

    name: str
    task: str
    index: int


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Mark a pod as out of sync, then delete it; where the mark cannot be written, the pod stays."""

    name: str


@dataclass(frozen=True, slots=True)
class KeepPodGroup:
    """Create the Job's PodGroup, or bring the existing one up to date (`workbench.jobs.pod_group_of_job`)."""


@dataclass(frozen=True, slots=True)
class DeletePodGroup:
    """Delete the Job's PodGroup."""


@dataclass(frozen=True, slots=True)
class RunHooks:
    """Run the hooks of the Job's plugins: when it is added, updated, or its pods are killed."""

    moment: Literal["add", "update", "delete"]


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Record an event of type Warning for the Job."""

    reason: str
    message: str


Action = CreatePod | DeletePod | KeepPodGroup | DeletePodGroup | RunHooks | RecordEvent
