"""Actions that the Job controller's rules demand, as values; the caller carries them out in the given order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Action", "CreatePod", "DeletePod", "DeletePodGroup", "KeepPodGroup", "RecordEvent", "RunHooks"]


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Action: create a pod of a Job's task, unless a pod of that name exists."""

    name: str
    task: str
    index: int


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Action: mark a pod as out of sync, then delete it; if the mark cannot be written, do not delete the pod."""

    name: str


@dataclass(frozen=True, slots=True)
class KeepPodGroup:
    """Action: create the Job's PodGroup, or update the existing one (`workbench.jobs.pod_group_of_job`)."""


@dataclass(frozen=True, slots=True)
class DeletePodGroup:
    """Action: delete the Job's PodGroup."""


@dataclass(frozen=True, slots=True)
class RunHooks:
    """Action: run one kind of hook of the Job's plugins: for adding it, for updating it, or for killing its pods."""

    moment: Literal["add", "update", "delete"]


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Action: record a Kubernetes event of type Warning for the Job."""

    reason: str
    message: str


Action = CreatePod | DeletePod | KeepPodGroup | DeletePodGroup | RunHooks | RecordEvent
