"""HyperJobs as gangs: the pending pods of all Jobs of a HyperJob are one gang, and each Job is a sub-group of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from workbench.jobs.job_labels import completed, read_job_labels
from workbench.jobs.membership import Membership
from workbench.jobs.roles import Priorities
from workbench.jobs.schedulers import OtherSchedulers
from workbench.jobs.volcano_job import gang_of_job
from workbench.model.extras import AscendWish, VolcanoMemory, extras_of
from workbench.model.gang import Gang, MemberJob, Role, SubGroup, needed_of_jobs
from workbench.objects.hyper_job import HYPER_JOB_LABEL, HyperJob, read_child_job
from workbench.objects.job import Job
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.pod_group import ALLOCATED_HYPERNODE_ANNOTATION, PodGroup

__all__ = ["JOBS", "gang_of_hyper_job", "hyper_job_of_jobs", "join_hyper_jobs", "waiting_jobs"]

#: The sub-group policy of a HyperJob's gang: its sub-groups are Jobs.
JOBS = "jobs"


def join_hyper_jobs(
    cluster: ClusterObjects,
    gangs: Sequence[Gang],
    groups: Mapping[str, PodGroup],
    priorities: Priorities,
    others: OtherSchedulers,
) -> tuple[Gang, ...]:
    """Join the gangs of the Jobs of each HyperJob to one gang.

    `gangs`: gangs of all objects, sorted by namespace and name. `groups`: PodGroup of each Job that has one, by the
    Job's key. `others`: counts the HyperJobs left out because another scheduler places them. Returns tuple of Gang: in
    the same order. A Job that a HyperJob has made already, by name and label, gives its pending pods; one that is still
    missing gives those of its template.
    """
    if not cluster.hyper_jobs:
        return tuple(gangs)
    pending = {gang.key: gang for gang in gangs if gang.kind == "Job"}
    joined: list[Gang] = []
    taken: set[int] = set()
    for key, hyper_job in cluster.hyper_jobs.items():
        if hyper_job.over or f"HyperJob {key}" in cluster.refused:
            continue
        metadata = hyper_job.metadata
        firsts = [read_child_job(metadata, member, f"{metadata.name}-{member.name}-0") for member in hyper_job.members]
        if others.has_hyper_job(firsts):
            continue
        jobs = _jobs_of(hyper_job, cluster, pending, groups, priorities)
        taken.update(id(job.gang) for job in jobs)
        gang = gang_of_hyper_job(hyper_job, jobs)
        if gang is not None:
            joined.append(gang)
    alone = [gang for gang in gangs if id(gang) not in taken]
    return tuple(sorted([*alone, *joined], key=lambda gang: (gang.namespace.encode(), gang.name.encode(), gang.kind)))


def hyper_job_of_jobs(cluster: ClusterObjects) -> dict[str, str]:
    """Key of the HyperJob of each existing Job whose gang `join_hyper_jobs` joins, by the Job's key."""
    found = {}
    for key, hyper_job in cluster.hyper_jobs.items():
        if hyper_job.over or f"HyperJob {key}" in cluster.refused:
            continue
        for name, _ in hyper_job.jobs():
            job = _made(hyper_job, name, cluster)
            if job is not None and f"Job {job.metadata.key}" not in cluster.refused:
                found[job.metadata.key] = key
    return found


def _made(hyper_job: HyperJob, name: str, cluster: ClusterObjects) -> Job | None:
    """The Job that a HyperJob has made under a name; None if there is none yet."""
    job = cluster.jobs.get(f"{hyper_job.metadata.namespace}/{name}")
    return job if job is not None and job.metadata.labels.get(HYPER_JOB_LABEL) == hyper_job.metadata.name else None


def _jobs_of(
    hyper_job: HyperJob,
    cluster: ClusterObjects,
    pending: Mapping[str, Gang],
    groups: Mapping[str, PodGroup],
    priorities: Priorities,
) -> list[MemberJob]:
    """Every Job of a HyperJob that exists or will be made, except those that admission refuses."""
    metadata = hyper_job.metadata
    templates: dict[str, Gang | None] = {}
    found = []
    for name, member in hyper_job.jobs():
        key = f"{metadata.namespace}/{name}"
        job = _made(hyper_job, name, cluster)
        if job is not None:
            if f"Job {key}" not in cluster.refused:
                group = groups.get(key)
                record = group.record if group else job.metadata.annotations.get(ALLOCATED_HYPERNODE_ANNOTATION, "")
                found.append(MemberJob(name, pending.get(key), record))
            continue
        if member.name not in templates:
            new = read_child_job(metadata, member, name)
            gang = gang_of_job(new, (), None, priorities)
            labels = read_job_labels(ClusterObjects(jobs={new.metadata.key: new}), Membership())
            templates[member.name] = gang and completed(gang, labels)
        template = templates[member.name]
        found.append(MemberJob(name, template and replace(template, name=name)))
    return found


def gang_of_hyper_job(hyper_job: HyperJob, jobs: Sequence[MemberJob]) -> Gang | None:
    """Join the Jobs of a HyperJob to one gang.

    `jobs`: its Jobs in order; pods are numbered Job by Job. Returns None if no pod of the Jobs is pending.
    """
    waiting = [job.gang for job in jobs if job.gang is not None]
    if not waiting:
        return None
    metadata, first = hyper_job.metadata, waiting[0]
    needed = max(hyper_job.min_available - (len(jobs) - len(waiting)), 0)
    roles = [role for gang in waiting for role in _roles_in(gang, metadata.name)]
    starts = [0, *accumulate(gang.n_pods for gang in waiting)]
    sub_groups = tuple(
        SubGroup(
            name=gang.name,
            pods=tuple(range(start, start + gang.n_pods)),
            constraint=gang.constraint,
            min_available=gang.min_available,
            exclusive_domain=True,
            policy=JOBS,
            match_index=i,
        )
        for i, (gang, start) in enumerate(zip(waiting, starts, strict=False))
    )
    min_available, min_resources = needed_of_jobs(waiting, needed)
    return Gang(
        namespace=metadata.namespace,
        name=metadata.name,
        roles=tuple(roles),
        min_available=min_available,
        constraint=hyper_job.constraint,
        queue=first.queue,
        priority=max(gang.priority for gang in waiting),
        sub_groups=sub_groups,
        min_subgroups={JOBS: needed} if needed else {},
        sub_grouped=True,
        kind="HyperJob",
        ready=sum(gang.ready for gang in waiting),
        created=metadata.created,
        notes=tuple(dict.fromkeys(note for gang in waiting for note in gang.notes)),
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        jobs=tuple(jobs),
        extras=extras_of(
            VolcanoMemory(
                min_resources=min_resources, inqueue=any(gang.extra(VolcanoMemory).inqueue for gang in waiting)
            ),
            first.extra(AscendWish),
        ),
    )


def waiting_jobs(gang: Gang, running: Collection[str]) -> Gang:
    """The gang of a HyperJob of which some Jobs run: the pods of the others wait.

    `gang`: the HyperJob with the pods of all its Jobs. `running`: names of the Jobs that run; not all of them.

    The gang needs as many of the Jobs that wait as are missing to minAvailable.
    """
    metadata = Metadata(gang.name, gang.namespace, created=gang.created, uid=gang.uid)
    n_started = sum(job.gang is None for job in gang.jobs)
    whole = HyperJob(metadata, (), gang.min_subgroups.get(JOBS, 0) + n_started, gang.constraint)
    jobs = [replace(job, gang=None) if job.name in running else job for job in gang.jobs]
    found = gang_of_hyper_job(whole, jobs)
    assert found is not None, "no Job waits"
    return replace(found, queue=gang.queue, priority=gang.priority, notes=gang.notes)


def _roles_in(gang: Gang, hyper_job: str) -> list[Role]:
    """Roles of a Job in its HyperJob's gang: the pods keep their names, and the Job's minimums are the sub-group's."""
    prefix = f"{gang.name.removeprefix(f'{hyper_job}-')}-"
    return [
        replace(
            role,
            name=f"{prefix}{role.name}",
            min_available=None,
            depends_on=tuple(f"{prefix}{name}" for name in role.depends_on),
        )
        for role in gang.roles
    ]
