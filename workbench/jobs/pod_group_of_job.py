"""The PodGroup that Volcano's controller makes for a Job, and its update after the Job has changed.

Source: docs/reference/volcano-jobs.md, section 5.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.jobs.min_resources import min_resources_of_job
from workbench.jobs.roles import Priorities
from workbench.jobs.sub_groups import sub_group_policy
from workbench.objects.job import Job
from workbench.objects.metadata import Metadata, Owner
from workbench.objects.pod_group import PodGroup

__all__ = ["pod_group_of_job", "updated_pod_group"]


def pod_group_of_job(job: Job, priorities: Priorities) -> PodGroup:
    """The PodGroup that Volcano's controller makes for a new Job.

    It is called ``<job>-<uid>`` and has the Job's labels and annotations; later changes of these are not copied.
    """
    policies = (sub_group_policy(task) for task in job.tasks)
    return PodGroup(
        metadata=Metadata(
            name=f"{job.metadata.name}-{job.metadata.uid}",
            namespace=job.metadata.namespace,
            labels=job.metadata.labels,
            annotations=job.metadata.annotations,
            owners=(Owner("Job", job.metadata.name, True, job.metadata.uid, "batch.volcano.sh/v1alpha1", True),),
        ),
        min_member=job.min_available,
        min_task_member={task.name: task.minimum for task in job.tasks},
        queue=job.queue,
        priority_class=job.priority_class,
        constraint=job.constraint,
        sub_group_policies=tuple(policy for policy in policies if policy is not None),
        min_resources=min_resources_of_job(job, priorities),
    )


def updated_pod_group(group: PodGroup, job: Job, priorities: Priorities) -> PodGroup:
    """The PodGroup of a Job after the Job has changed; equal to `group` if nothing has to be written.

    Queue, labels, annotations and the Job's own network topology stay as they were, and so do the minimums of tasks
    that were removed from the Job.

    `job`: Job after the change. `priorities`: values of the PriorityClasses, by which tasks are sorted for
    minResources.
    """
    made = pod_group_of_job(job, priorities)
    return replace(
        group,
        priority_class=made.priority_class,
        min_member=made.min_member,
        min_resources=made.min_resources,
        min_task_member={**group.min_task_member, **made.min_task_member},
        sub_group_policies=made.sub_group_policies,
    )
