"""dependsOn of a Volcano Job's tasks, as far as it decides which pods a gang can have before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.jobs.lifecycle.dependencies import is_met
from workbench.jobs.membership import role_of
from workbench.model.gang import Role
from workbench.objects.job import Job
from workbench.objects.pod import Pod

__all__ = ["with_dependencies"]


def with_dependencies(job: Job, roles: Sequence[Role], pods: Sequence[Pod]) -> list[Role]:
    """The roles of a Job with the dependencies that are not met yet.

    A dependency is met if minAvailable pods of its task have a node or succeeded: they run or are about to.

    Parameters
    ----------
    job : Job
    roles : sequence of Role
        One for each task, in the order of the tasks.
    pods : sequence of Pod
        The Job's existing pods.
    """
    if not any(task.depends_on for task in job.tasks):
        return list(roles)
    started: dict[str, int] = {}
    pending: dict[str, int] = {}
    for pod in pods:
        if pod.pending:
            pending[role_of(pod)] = pending.get(role_of(pod), 0) + 1
        elif pod.counts:
            started[role_of(pod)] = started.get(role_of(pod), 0) + 1
    minimums = {task.name: task.minimum for task in job.tasks}
    found = []
    for task, role in zip(job.tasks, roles, strict=True):
        needs = task.depends_on
        if needs is not None and not is_met(needs, lambda name: _runs(name, started, minimums)):
            role = replace(
                role,
                depends_on=needs.names,
                depends_on_any=needs.any_of and len(needs.names) > 1,
                n_created=min(pending.get(task.name, 0), role.count),
            )
        found.append(role)
    return found


def _runs(name: str, started: Mapping[str, int], minimums: Mapping[str, int]) -> bool:
    return name in minimums and started.get(name, 0) >= minimums[name]
