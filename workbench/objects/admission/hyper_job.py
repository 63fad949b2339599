"""Admission of a new HyperJob: what the schema refuses, and what this project checks beyond it.

Volcano has no webhook for HyperJobs and no networkTopology in them. The checks beyond the schema are ours: across the
Jobs, and of each template as the Job that is made from it. Rules: docs/hyper-jobs.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.admission import schema
from workbench.objects.admission.job import job_findings
from workbench.objects.admission.known import KnownQueue
from workbench.objects.admission.kueue import template_annotation_faults
from workbench.objects.admission.schema import Fault
from workbench.objects.admission.topology_holders import topology_errors
from workbench.objects.admission.topology_spec import BOTH_TIERS, both_tiers, constraint_defaults
from workbench.objects.fields import child, get_map, get_maps
from workbench.objects.hyper_job import HyperJob, ReplicatedJob, job_manifest, read_hyper_job, released_form
from workbench.objects.metadata import is_stored
from workbench.objects.schemas import Unknown, unknown_in

__all__ = ["hyper_job_defaults", "hyper_job_findings", "own_field_warnings", "unknown_in_hyper_job"]

#: Field of a HyperJob that the design document has and the released kind lacks.
_OWN_FIELD = "spec.networkTopology"


def unknown_in_hyper_job(data: Mapping[str, Any], release: Release = Release.V1_15) -> list[Unknown]:
    """Fields and keys that a HyperJob does not have, with networkTopology counted as known."""
    return [one for one in unknown_in(data, release) if one.path != _OWN_FIELD]


def own_field_warnings(data: Mapping[str, Any]) -> list[Notice]:
    """A warning if a HyperJob has the field networkTopology, which no release of Volcano has."""
    if get_map(data, "spec", "").get("networkTopology") is None:
        return []
    text = f"{_OWN_FIELD} is this project's own: Volcano refuses the HyperJob"
    return [Notice("own-field", text, _OWN_FIELD)]


def hyper_job_defaults(data: Mapping[str, Any], *, own: bool = True) -> dict[str, Any]:
    """Defaults that admission fills in, by path.

    `data`: the parsed manifest in the released spelling. `own`: also fill in what only this project does: minAvailable
    and the mode of networkTopology.
    """
    spec, read = get_map(data, "spec", ""), read_hyper_job(data)
    entries = get_maps(spec, "replicatedJobs", "spec")
    defaults: dict[str, Any] = {child(path, "replicas"): 1 for path, item in entries if item.get("replicas") is None}
    if own and spec.get("minAvailable") is None:
        defaults["spec.minAvailable"] = read.n_jobs
    if own and not is_stored(data):
        defaults |= constraint_defaults(spec, "spec", Release.V1_15)
    return defaults


def hyper_job_findings(
    data: Mapping[str, Any],
    *,
    queues: Mapping[str, KnownQueue] | None = None,
    templates: bool = True,
    own: bool = True,
    own_plugins: bool = True,
) -> list[Fault]:
    """Everything that admission does not accept in a new HyperJob: first the schema, then our own checks.

    Raises InputError: a field of the wrong type.

    Parameters
    ----------
    data : mapping
        The parsed manifest, in either spelling.
    queues : mapping of str to KnownQueue, optional
        All existing queues; None: queues are unknown and not checked.
    templates : bool
        Also judge the templates of the pods.
    own : bool
        Also make the checks beyond the schema, which no release of Volcano makes.
    own_plugins : bool
        Accept the Job plugins that only this project has.
    """
    if errors := topology_errors(data, Release.V1_15):
        return [Fault(error.partition(": ")[0], error, by_schema=True) for error in errors]
    hyper_job, spec = read_hyper_job(data), get_map(released_form(data), "spec", "")
    found = list(_schema_findings(hyper_job, spec))
    if not own:
        return found
    if both_tiers(hyper_job.constraint):
        found.append(Fault(_OWN_FIELD, BOTH_TIERS))
    if hyper_job.min_available > hyper_job.n_jobs:
        text = f" HyperJob 'minAvailable' should not be greater than its {hyper_job.n_jobs} Jobs;"
        found.append(Fault("spec.minAvailable", text))
    for member in hyper_job.members:
        found += _template_findings(hyper_job, member, queues, templates, own_plugins)
        if not is_stored(data):
            faults = template_annotation_faults(job_manifest(hyper_job.metadata, member, member.name))
            found += [_in_hyper_job(one, member) for one in faults]
    return found


def _schema_findings(hyper_job: HyperJob, spec: Mapping[str, Any]) -> Iterator[Fault]:
    """Violations of the schema: names that are missing or not unique, and counts below 0."""
    names: set[str] = set()
    for (path, _), member in zip(get_maps(spec, "replicatedJobs", "spec"), hyper_job.members, strict=True):
        if not member.name:
            yield Fault(child(path, "name"), schema.required(child(path, "name")), by_schema=True)
        elif member.name in names:
            yield Fault(path, f'{path}: Duplicate value: {{"name":"{member.name}"}}', by_schema=True)
        names.add(member.name)
        if member.replicas < 0:
            where = child(path, "replicas")
            yield Fault(where, schema.below(where, member.replicas, 0), by_schema=True)
    if hyper_job.min_available < 0 and all(member.replicas >= 0 for member in hyper_job.members):
        text = schema.below("spec.minAvailable", hyper_job.min_available, 0)
        yield Fault("spec.minAvailable", text, by_schema=True)


def _template_findings(
    hyper_job: HyperJob,
    member: ReplicatedJob,
    queues: Mapping[str, KnownQueue] | None,
    templates: bool,
    own_plugins: bool,
) -> list[Fault]:
    """Findings in the Job with the longest name that is made from a template; paths are those of the HyperJob."""
    last = f"{hyper_job.metadata.name}-{member.name}-{max(member.replicas - 1, 0)}"
    job = job_manifest(hyper_job.metadata, member, last)
    known = None if queues is None else {job["spec"].get("queue") or "default": KnownQueue(), **queues}
    found = job_findings(job, queues=known, templates=templates, own_plugins=own_plugins)
    return [_in_hyper_job(one, member) for one in found]


def _in_hyper_job(found: Fault, member: ReplicatedJob) -> Fault:
    """The fault `found` in a Job made from `member`, with its path changed to that in the HyperJob.

    A fault in the Job's metadata, such as its name, is reported at the ``name`` of the entry of replicatedJobs, from
    which that name is made.
    """
    if found.path.startswith("metadata."):
        return replace(found, path=child(member.path.rpartition("].")[0] + "]", "name"))
    path = f"{member.path}{found.path.removeprefix('spec')}"
    return replace(found, path=path, text=found.text.replace(f"{found.path}: ", f"{path}: ", 1))
