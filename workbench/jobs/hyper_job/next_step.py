"""`next_hyper_job`: one step of the HyperJob controller of volcano-global."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.jobs.hyper_job.children import HASH_LABEL, job_of, kept_defaults, policy_of, template_hash
from workbench.jobs.hyper_job.status import hyper_job_status
from workbench.objects.fields import get_map
from workbench.objects.hyper_job import HYPER_JOB_LABEL, read_members
from workbench.objects.metadata import Metadata, read_metadata

__all__ = ["HyperStep", "next_hyper_job"]

_Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class HyperStep:
    """Result of one step of the HyperJob controller: the new status, and the objects to write and delete.

    Attributes
    ----------
    status : mapping
        The status as written in the manifest.
    create, update : tuple of mapping
        Manifests of the Jobs to create and of those to update.
    delete : tuple of str
        Names of Jobs that are no longer needed; their policies are deleted with them.
    policies : tuple of mapping
        Manifests of the propagation policies, one per Job; a cluster without Karmada has no use for them.
    errors : tuple of str
        Error for each Job that cannot be made because its name is taken.
    """

    status: _Manifest = field(default_factory=dict)
    create: tuple[_Manifest, ...] = ()
    update: tuple[_Manifest, ...] = ()
    delete: tuple[str, ...] = ()
    policies: tuple[_Manifest, ...] = ()
    errors: tuple[str, ...] = ()


def next_hyper_job(hyper_job: _Manifest, jobs: Sequence[_Manifest] = ()) -> HyperStep:
    """Decide what volcano-global's HyperJob controller would write in its next step for one HyperJob.

    Raises InputError: a field of the wrong type.

    `hyper_job`: parsed manifest of a HyperJob, in the released spelling or in the design document's
    (docs/hyper-jobs.md). `jobs`: manifests of the Jobs in its namespace.

    A pure function: nothing is written. For a HyperJob that is being deleted nothing is done. An existing Job
    is updated only if its template has changed; defaults that the webhook filled in stay. Topology across Jobs,
    minAvailable over Jobs and exclusive HyperNodes are decided where the Jobs are placed.
    """
    metadata, members = read_metadata(hyper_job, namespaced=True), read_members(hyper_job)
    if get_map(hyper_job, "metadata", "").get("deletionTimestamp"):
        return HyperStep(get_map(hyper_job, "status", ""))
    existing = {read_metadata(job, namespaced=True).name: job for job in jobs}
    children = {name for name, job in existing.items() if _is_child(metadata, job)}
    wanted = {f"{metadata.name}-{member.name}-{i}": member for member in members for i in range(member.replicas)}
    create, update = [], []
    for name, member in wanted.items():
        made = job_of(metadata, member, name)
        if name not in existing:
            create.append(made)
        elif name in children and _label(existing[name], HASH_LABEL) != template_hash(member):
            spec = kept_defaults(get_map(existing[name], "spec", ""), member.template)
            update.append({**existing[name], "metadata": _relabelled(existing[name], made), "spec": spec})
    return HyperStep(
        status=hyper_job_status(hyper_job, metadata, members, jobs),
        create=tuple(create),
        update=tuple(update),
        delete=tuple(sorted(children - wanted.keys(), key=str.encode)),
        policies=tuple(policy_of(metadata, member, name) for name, member in wanted.items()),
        errors=tuple(
            f'jobs.batch.volcano.sh "{name}" already exists'
            for name in wanted
            if name in existing and name not in children
        ),
    )


def _is_child(hyper_job: Metadata, job: _Manifest) -> bool:
    owner = read_metadata(job, namespaced=True).controller
    named = owner is not None and (owner.kind, owner.name) == ("HyperJob", hyper_job.name)
    return named and _label(job, HYPER_JOB_LABEL) == hyper_job.name


def _label(job: _Manifest, key: str) -> str:
    return read_metadata(job, namespaced=True).labels.get(key, "")


def _relabelled(job: _Manifest, made: _Manifest) -> dict[str, Any]:
    metadata = get_map(job, "metadata", "")
    return {**metadata, "labels": {**get_map(metadata, "labels", "metadata"), **made["metadata"]["labels"]}}
