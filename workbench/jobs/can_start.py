"""`unmet_dependency_of_job`: whether the dependsOn of a Volcano Job's tasks keeps the Job from ever starting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.jobs.membership import role_of
from workbench.jobs.roles import Priorities
from workbench.jobs.volcano_job import gang_of_job
from workbench.model.dependencies import unmet_dependency
from workbench.model.notice import Notice
from workbench.objects.job import Job
from workbench.objects.pod import Pod

__all__ = ["unmet_dependency_of_job"]


def unmet_dependency_of_job(job: Job, pods: Sequence[Pod] = ()) -> Notice | None:
    """Notice that a Job can never start because of dependsOn (`unmet_dependency`); None if it can.

    Parameters
    ----------
    job : Job
    pods : sequence of Pod
        The Job's existing pods; empty for a Job that is not submitted yet.
    """
    if not any(task.depends_on for task in job.tasks):
        return None
    gang = gang_of_job(job, pods, None, Priorities({}))
    if gang is None:
        return None
    running = Counter(role_of(pod) for pod in pods if pod.runs)
    return unmet_dependency(gang, [role.count + role.succeeded + running[role.name] for role in gang.roles])
