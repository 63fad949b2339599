"""`JobSet` (jobset.x-k8s.io): Jobs of Kubernetes that run together, read from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.model.notice import Notice
from workbench.objects.batch_job import JobSpec, read_job_spec
from workbench.objects.fields import child, get_bool, get_list, get_map, get_maps, get_text, shown, wrong
from workbench.objects.top_owner import OwnedPods, TopOwner, check_total, get_pods, has_condition, owner_metadata

__all__ = ["EXCLUSIVE_ANNOTATION", "JobSet", "JobSetEntry", "read_job_set"]

#: Annotation of a JobSet, or of the Jobs of one of its entries: the node label of which each Job gets a value alone.
EXCLUSIVE_ANNOTATION = "alpha.jobset.sigs.k8s.io/exclusive-topology"


@dataclass(frozen=True)
class JobSetEntry:
    """One entry of spec.replicatedJobs: a number of equal Jobs.

    `succeeded`: jobs that have succeeded according to the status of the JobSet. `exclusive`: label key by which each
    Job wants a topology domain of its own; empty: none.
    """

    name: str
    replicas: int
    spec: JobSpec
    succeeded: int = 0
    exclusive: str = ""


@dataclass(frozen=True)
class JobSet(TopOwner):
    """A JobSet as read from a manifest.

    `in_order`: jobs of an entry start only when those of earlier entries, or of entries that it depends on, have
    started.
    """

    jobs: tuple[JobSetEntry, ...]
    in_order: bool

    @property
    def pods(self) -> tuple[OwnedPods, ...]:
        return tuple(map(_pods_of, self.jobs))


def _pods_of(job: JobSetEntry) -> OwnedPods:
    """The pods of an entry: with several Jobs a step is a Job, with one it is a pod of that."""
    several = job.replicas > 1
    count, unit = job.replicas * job.spec.pods, max(job.spec.pods, 1) if several else 1
    return OwnedPods(job.name, count, job.spec.template, "replicas" if several else "parallelism", unit)


def read_job_set(data: Mapping[str, Any]) -> JobSet:
    """Read a JobSet from a parsed manifest; replicas of an entry are 1 if absent.

    Raises InputError: a field of the wrong type, a negative number, an entry without a name or with that of another
    one, or more than a million pods.
    """
    notes: list[Notice] = []
    spec = get_map(data, "spec", "")
    metadata = owner_metadata(data, notes)
    succeeded = {
        get_text(item, "name", path): get_pods(item, "succeeded", path, default=0)
        for path, item in get_maps(get_map(data, "status", ""), "replicatedJobsStatus", "status")
    }
    exclusive = metadata.annotations.get(EXCLUSIVE_ANNOTATION, "")
    entries = list(get_maps(spec, "replicatedJobs", "spec"))
    if not entries:
        raise wrong("spec.replicatedJobs", spec.get("replicatedJobs"), "at least one entry")
    jobs: dict[str, JobSetEntry] = {}
    depends = False
    for path, item in entries:
        job = _replicated_job(item, path, exclusive, succeeded, notes)
        if job.name in jobs:
            text = "two entries of this name"
            raise InputError(text, where=child(path, "name"), got=shown(job.name), expected="each name once")
        jobs[job.name] = job
        depends |= bool(get_list(item, "dependsOn", path))
    check_total(sum(job.replicas * job.spec.pods for job in jobs.values()), "spec.replicatedJobs")
    startup = get_map(spec, "startupPolicy", "spec")
    return JobSet(
        metadata=metadata,
        kind="JobSet",
        suspended=get_bool(spec, "suspend", "spec"),
        finished=has_condition(data, ("Completed", "Failed")),
        jobs=tuple(jobs.values()),
        in_order=depends or get_text(startup, "startupPolicyOrder", "spec.startupPolicy") == "InOrder",
        notes=tuple(notes),
    )


def _replicated_job(
    item: Mapping[str, Any], path: str, exclusive: str, succeeded: Mapping[str, int], notes: list[Notice]
) -> JobSetEntry:
    name = get_text(item, "name", path)
    if not name:
        raise wrong(child(path, "name"), item.get("name"), "a name")
    template = get_map(item, "template", path)
    where = child(path, "template")
    metadata = get_map(template, "metadata", where)
    annotations = get_map(metadata, "annotations", child(where, "metadata"))
    own = get_text(annotations, EXCLUSIVE_ANNOTATION, child(where, "metadata.annotations"))
    return JobSetEntry(
        name=name,
        replicas=get_pods(item, "replicas", path, default=1),
        spec=read_job_spec(get_map(template, "spec", where), child(where, "spec"), notes),
        succeeded=succeeded.get(name, 0),
        exclusive=own or exclusive,
    )
