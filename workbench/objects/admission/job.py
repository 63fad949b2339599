"""Job (batch.volcano.sh): what Volcano's webhook refuses.

Covers the rules on counts, names, partitions and the network topology; the rest of docs/reference/volcano-jobs.md,
section 3.2 comes with the framework plugins.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.model.release import Release
from workbench.objects.admission.topology_spec import BOTH_TIERS, both_tiers, partition_error
from workbench.objects.job import Job, Task

__all__ = ["refuse_job", "refuse_job_update"]


def refuse_job(job: Job, release: Release = Release.NEWEST) -> str:
    """Return the text with which admission refuses a new Job, in the webhook's order; empty: accepted.

    Notes
    -----
    Source: docs/reference/volcano-jobs.md, section 3.2. Negative counts are refused by the schema, with the API
    server's text, which stands first. A duplicated task name ends the walk over tasks: later ones are neither
    checked nor counted. 1.13 knows neither highestTierName nor partitions.
    """
    return "; ".join(filter(None, [*_negative_counts(job), _webhook_text(job, release)]))


def refuse_job_update(job: Job, release: Release = Release.NEWEST) -> str:
    """Return the text with which admission refuses a Job's new state, whatever the old state; empty: accepted."""
    fragments = []
    for task in job.tasks:
        if task.replicas < 0:
            fragments.append(f"'replicas' must be >= 0 in task: {task.name};")
        if task.min_available is not None and task.min_available < 0:
            fragments.append(f"'minAvailable' must be >= 0 in task: {task.name};")
        if task.min_available is not None and task.min_available > task.replicas:
            fragments.append(f"'minAvailable' must be <= 'replicas' in task: {task.name};")
        if release is Release.NEWEST:
            fragments += _partition_texts(task, job.metadata.name)
    if job.min_available > sum(task.replicas for task in job.tasks):
        fragments.append("job 'minAvailable' must not be greater than total replicas")
    if job.min_available < 0:
        fragments.append("job 'minAvailable' must be >= 0")
    if release is Release.NEWEST and both_tiers(job.constraint):
        fragments.append(BOTH_TIERS)
    return " ".join(text.strip() for text in fragments if text)


def _webhook_text(job: Job, release: Release) -> str:
    if not job.tasks:
        return "No task specified in job spec"
    newest = release is Release.NEWEST
    fragments = []
    if newest and both_tiers(job.constraint):
        fragments.append(BOTH_TIERS)
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
        if newest:
            fragments += _partition_texts(task, job.metadata.name)
    if job.min_available > total:
        fragments.append(" job 'minAvailable' should not be greater than total replicas in tasks;")
    return "".join(fragments).strip()


def _partition_texts(task: Task, job: str) -> list[str]:
    """Errors of a task's partitionPolicy, its counts and its topology; an empty text is no error."""
    tiers = f" {BOTH_TIERS} in task: {task.name}, job: {job};"
    return [partition_error(task, job), tiers if task.partition and both_tiers(task.partition.constraint) else ""]


def _negative_counts(job: Job) -> Iterator[str]:
    text = "Invalid value: {}: should be greater than or equal to 0"
    if job.min_available < 0 and all(task.replicas >= 0 for task in job.tasks):
        yield f"spec.minAvailable: {text.format(job.min_available)}"
    for i, task in enumerate(job.tasks):
        if task.replicas < 0:
            yield f"spec.tasks[{i}].replicas: {text.format(task.replicas)}"
        if task.min_available is not None and task.min_available < 0:
            yield f"spec.tasks[{i}].minAvailable: {text.format(task.min_available)}"
        if task.partition and task.partition.min_partitions < 0:
            yield f"spec.tasks[{i}].partitionPolicy.minPartitions: {text.format(task.partition.min_partitions)}"
