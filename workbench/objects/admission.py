"""What a webhook would refuse, in its words.

Covers of the Job's validation what concerns counts and names; the rest of reference/volcano-jobs.md section 3.2
comes with the framework plugins, that of HyperNode and PodGroup with Volcano's whole topology feature.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.objects.job import Job

__all__ = ["refuse_job"]


def refuse_job(job: Job) -> str:
    """Why admission refuses a Job: all fragments in the webhook's order, or empty text when it is accepted.

    Notes
    -----
    Source: reference/volcano-jobs.md section 3.2. Negative counts are refused by the schema, with the API
    server's text, which stands first. A duplicated task name ends the walk over tasks: later ones are neither
    checked nor counted.
    """
    return "; ".join(filter(None, [*_negative_counts(job), _webhook_text(job)]))


def _webhook_text(job: Job) -> str:
    if not job.tasks:
        return "No task specified in job spec"
    fragments = []
    if job.constraint and job.constraint.highest_tier is not None and job.constraint.highest_tier_name:
        fragments.append(
            "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"
        )
    names: set[str] = set()
    total = 0
    for task in job.tasks:
        if task.min_available is not None and task.min_available > task.replicas:
            fragments.append(
                f" 'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job.metadata.name};"
            )
        if task.name in names:
            fragments.append(f" duplicated task name {task.name};")
            break
        names.add(task.name)
        total += task.replicas
    if job.min_available > total:
        fragments.append(" job 'minAvailable' should not be greater than total replicas in tasks;")
    return "".join(fragments).strip()


def _negative_counts(job: Job) -> Iterator[str]:
    text = "Invalid value: {}: should be greater than or equal to 0"
    if job.min_available < 0 and all(task.replicas >= 0 for task in job.tasks):
        yield f"spec.minAvailable: {text.format(job.min_available)}"
    for i, task in enumerate(job.tasks):
        if task.replicas < 0:
            yield f"spec.tasks[{i}].replicas: {text.format(task.replicas)}"
        if task.min_available is not None and task.min_available < 0:
            yield f"spec.tasks[{i}].minAvailable: {text.format(task.min_available)}"
