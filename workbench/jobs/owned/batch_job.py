"""How a Job of Kubernetes becomes a gang: the pods that run at a time."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.jobs.owned.plan import PlannedGang, PlannedRole
from workbench.jobs.role_template import RoleTemplate
from workbench.jobs.top_owners import POD_INDEX_LABEL
from workbench.model.notice import Notice
from workbench.objects.batch_job import BatchJob
from workbench.objects.deployment import MIN_MEMBER_ANNOTATION, min_member_notes, min_member_of

__all__ = ["ROLE", "planned_batch_job"]

#: The one role of a Job, named as Kueue names its pod set.
ROLE = "main"


def planned_batch_job(job: BatchJob, succeeded: Mapping[str, int]) -> PlannedGang:
    """The gang of a Job of Kubernetes.

    As many pods run at a time as parallelism says, and no more than are still to succeed; all of them start together
    (as Kueue admits them) unless Volcano's annotation group-min-member on the Job says how many. Pods are called after
    their index if the Job is Indexed; else their names end at random.

    `succeeded`: pods in the input that have succeeded, by role.
    """
    spec, annotations = job.spec, job.metadata.annotations
    done = max(job.succeeded, sum(succeeded.values()))
    wanted = spec.pods
    if spec.completions is not None:
        wanted = min(wanted, max(spec.completions - done, 0))
    elif done:
        # One that has succeeded ends a Job without completions: no pod is made any more.
        wanted = 0
    # Indices are worked off from the smallest.
    first = done if spec.indexed else 0
    names = tuple(f"{job.metadata.name}-{first + i}" for i in range(wanted))
    role = PlannedRole(RoleTemplate(ROLE, spec.pods, spec.template, POD_INDEX_LABEL if spec.indexed else ""), names)
    notes = min_member_notes(annotations)
    if MIN_MEMBER_ANNOTATION in annotations:
        return PlannedGang(job.metadata.name, (role,), min_member_of(annotations), notes=tuple(notes))
    if spec.template.spec.scheduler == "volcano" and spec.pods > 1:
        text = f"without the annotation {MIN_MEMBER_ANNOTATION} on the Job Volcano starts its pods one by one"
        notes.append(Notice("no-minimum", f"{text}; they are placed together here"))
    return PlannedGang(job.metadata.name, (role,), notes=tuple(notes))
