"""The rules of dependsOn: when the pods of a Job's task may be created."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from workbench.jobs.task_pods import pod_names
from workbench.objects.job import Job, Task
from workbench.objects.lifecycle_policy import DependsOn

if TYPE_CHECKING:
    from workbench.jobs.lifecycle.observed import PodState

__all__ = ["is_met", "is_ready", "may_start"]


def may_start(job: Job, task: Task, pods: Iterable[PodState]) -> bool:
    """Whether the pods of a task may be created: the tasks in its dependsOn are ready.

    `task`: the task whose pods would be created.
    """
    if task.depends_on is None:
        return True
    pods = tuple(pods)
    return is_met(task.depends_on, lambda name: is_ready(job, name, pods))


def is_met(depends_on: DependsOn, ready: Callable[[str], bool]) -> bool:
    """Whether the tasks that dependsOn names are ready: at least one if ``iteration`` is ``any``, otherwise all of
    them.

    `ready` returns whether the task of a given name is ready.
    """
    enough = any if depends_on.any_of and len(depends_on.names) > 1 else all
    return enough(map(ready, depends_on.names))


def is_ready(job: Job, name: str, pods: Iterable[PodState], job_exists: bool = True) -> bool:
    """Whether a task is ready for tasks that depend on it: minAvailable of its pods have succeeded, or run and are
    ready.

    `name`: name of the task; a task that the Job does not have, which admission refuses, is never ready. `job_exists`:
    whether the Job still exists; if not, missing pods do not keep the task from being ready. A task without
    minAvailable is ready at once, but the mutating webhook gives every task one.
    """
    task = next((task for task in job.tasks if task.name == name), None)
    if task is None:
        return False
    if task.min_available is None:
        return True
    found = {pod.name: pod for pod in pods}
    ready = 0
    for pod_name in pod_names(job.metadata.name, task.name, task.replicas):
        pod = found.get(pod_name)
        if pod is None:
            if not job_exists:
                return True
        elif pod.phase == "Succeeded" or (pod.phase == "Running" and pod.ready):
            ready += 1
    return ready >= task.min_available
