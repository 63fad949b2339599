"""How a JobSet becomes a gang: a role for each entry, with the pods of all its Jobs."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.jobs.owned.plan import PlannedGang, PlannedRole, exclusive_notice, order_notice
from workbench.jobs.role_template import RoleTemplate
from workbench.jobs.top_owners import JOB_INDEX_LABEL, POD_INDEX_LABEL
from workbench.objects.job_set import JobSet, JobSetEntry

__all__ = ["planned_job_set"]


def planned_job_set(job_set: JobSet, succeeded: Mapping[str, int]) -> PlannedGang:
    """The gang of a JobSet: all pods of all its Jobs start together, as Kueue admits them.

    Pods are called ``<jobset>-<entry>-<job>-<index>``. Those of Jobs that have succeeded are not made again.

    `succeeded`: pods in the input that have succeeded, by role.
    """
    name = job_set.metadata.name
    notes = [
        exclusive_notice(job.exclusive, f"each Job of {job.name}") for job in job_set.jobs if job.exclusive
    ]  # fmt: skip
    if job_set.in_order:
        notes.append(order_notice("the Jobs of an entry start once those of the entries before it have"))
    roles = tuple(_role(name, job, succeeded.get(job.name, 0)) for job in job_set.jobs)
    return PlannedGang(name, roles, notes=tuple(notes))


def _role(job_set: str, job: JobSetEntry, succeeded: int) -> PlannedRole:
    spec = job.spec
    done = job.succeeded * spec.pods
    if spec.completions is not None and spec.completions <= spec.parallelism:
        # Every pod runs once.
        done = max(done, succeeded)
    names = [f"{job_set}-{job.name}-{number}-{i}" for number in range(job.replicas) for i in range(spec.pods)]
    of = RoleTemplate(
        job.name, len(names), spec.template, POD_INDEX_LABEL, JOB_INDEX_LABEL, job.replicas
    )  # fmt: skip
    return PlannedRole(of, tuple(names[done:]))
