"""HyperJob: Volcano Jobs that together make up one training job.

The kind is known in two API groups. Volcano released it as training.volcano.sh, with `replicatedJobs[].templateSpec`;
the design document writes topology.volcano.sh, `replicatedJobs[].template` and a list-valued networkTopology. Both are
read; a notice names each slip of the document (`hyper_job_notes`). Rules: docs/hyper-jobs.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.model.gang import TopologyConstraint
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_count, get_int, get_list, get_map, get_maps, get_text, group_kind, wrong
from workbench.objects.job import Job, read_job
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.topology_spec import read_constraint

__all__ = [
    "DOCUMENT_GROUP",
    "GROUP",
    "HYPER_JOB_LABEL",
    "HyperJob",
    "ReplicatedJob",
    "hyper_job_notes",
    "job_manifest",
    "job_specs_in",
    "read_child_job",
    "read_hyper_job",
    "read_members",
    "released_form",
]

#: API group of the released kind.
GROUP = "training.volcano.sh"
#: API group in the design document.
DOCUMENT_GROUP = "topology.volcano.sh"

#: Label of a Job that names its HyperJob.
HYPER_JOB_LABEL = "volcano.sh/hyperjob-name"

#: Spellings of the template of a member, the released one first.
_TEMPLATES = ("templateSpec", "template")
#: Fields of a member beside its template.
_BESIDE = ("name", "replicas", "clusterNames", "splitPolicy")
#: Spellings of the list of members, the released one first.
_LISTS = ("replicatedJobs", "jobs")


@dataclass(frozen=True)
class ReplicatedJob:
    """One entry of replicatedJobs: equal Jobs.

    `replicas`: 1 where absent. `template`: spec of each Job, with networkTopology as an object. `clusters`: member
    clusters allowed; None: the field is absent, and every cluster is allowed. `path`: path of the template in the
    manifest.
    """

    name: str
    replicas: int
    template: Mapping[str, Any]
    clusters: tuple[str, ...] | None = None
    path: str = ""


@dataclass(frozen=True)
class HyperJob:
    """A HyperJob as read from its manifest.

    `min_available`: Jobs that must run together; the number of all Jobs if the manifest has no minAvailable.
    `constraint`: networkTopology across the Jobs; None: the manifest has none, which means the same as mode soft.
    `over`: the HyperJob has ended or is being deleted: no further Job is made.
    """

    metadata: Metadata
    members: tuple[ReplicatedJob, ...]
    min_available: int
    constraint: TopologyConstraint | None = None
    over: bool = False

    @property
    def n_jobs(self) -> int:
        """Number of Jobs."""
        return sum(member.replicas for member in self.members)

    def jobs(self) -> Iterator[tuple[str, ReplicatedJob]]:
        """Name and entry of each Job, entry by entry."""
        for member in self.members:
            for i in range(member.replicas):
                yield f"{self.metadata.name}-{member.name}-{i}", member


def read_hyper_job(data: Mapping[str, Any]) -> HyperJob:
    """A HyperJob from a parsed manifest in either spelling.

    Raises InputError: a field of the wrong type. What admission checks is in `workbench.objects.admission`.
    """
    spec, metadata = get_map(data, "spec", ""), read_metadata(data, namespaced=True)
    members = tuple(read_members(data))
    for member in members:
        read_child_job(metadata, member, f"{metadata.name}-{member.name}-0")
    least = get_int(spec, "minAvailable", "spec")
    return HyperJob(
        metadata=metadata,
        members=members,
        min_available=sum(member.replicas for member in members) if least is None else least,
        constraint=read_constraint(_with_one_topology(spec, "spec"), "spec", submitted=not metadata.stored),
        over=_is_over(data),
    )


def _is_over(data: Mapping[str, Any]) -> bool:
    conditions = get_maps(get_map(data, "status", ""), "conditions", "status")
    ended = any(one.get("type") in ("Completed", "Failed") and one.get("status") == "True" for _, one in conditions)
    return ended or bool(get_map(data, "metadata", "").get("deletionTimestamp"))


def read_members(data: Mapping[str, Any]) -> list[ReplicatedJob]:
    """The entries of replicatedJobs in either spelling; InputError for a field of the wrong type."""
    return [
        ReplicatedJob(
            name=get_text(item, "name", path),
            replicas=get_count(item, "replicas", path, default=1),
            template=template,
            clusters=None if item.get("clusterNames") is None else tuple(get_list(item, "clusterNames", path)),
            path=where,
        )
        for path, item, (where, template) in _entries(data)
    ]


def job_specs_in(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and template of each entry of replicatedJobs, as the parts of the manifest that they are: a change of a
    template is a change of the manifest.
    """
    spec = get_map(data, "spec", "")
    for path, item in get_maps(spec, _list_name(spec), "spec"):
        where, template = _template(item, path)
        yield get_text(item, "name", path), item if where == path else template


def job_manifest(hyper_job: Metadata, member: ReplicatedJob, name: str) -> dict[str, Any]:
    """The manifest of a Job of one entry, without labels and owner."""
    metadata = {"name": name, "namespace": hyper_job.namespace}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": member.template}


def read_child_job(hyper_job: Metadata, member: ReplicatedJob, name: str) -> Job:
    """A Job of one entry as `read_job` reads it; InputError names the field by its path in the HyperJob."""
    try:
        return read_job(job_manifest(hyper_job, member, name))
    except InputError as error:
        where = f"{member.path}{(error.where or '').removeprefix('spec')}"
        raise InputError(error.message, where=where, got=error.got, expected=error.expected) from None


def released_form(data: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest in the released spelling, as a cluster stores it; what has that form already is kept."""
    spec = _with_one_topology(get_map(data, "spec", ""), "spec")
    entries = [
        {
            **{key: value for key, value in item.items() if key not in (*_TEMPLATES, *template)},
            "templateSpec": template,
        }
        for _, item, (_, template) in _entries(data)
    ]
    rest = {key: value for key, value in spec.items() if key not in _LISTS}
    written = {**rest, "replicatedJobs": entries} if entries else rest
    return {**data, "apiVersion": f"{GROUP}/v1alpha1", "spec": written}


def hyper_job_notes(data: Mapping[str, Any]) -> list[Notice]:
    """A notice on each spelling of a HyperJob that Volcano does not accept and that is read here all the same."""
    notes = []

    def add(path: str, text: str) -> None:
        notes.append(Notice("document-spelling", f"{path}: {text}", path))

    if group_kind(data)[0] == DOCUMENT_GROUP:
        add("apiVersion", f"read as {GROUP}/v1alpha1, the group in which Volcano released the kind")
    spec = get_map(data, "spec", "")
    name = _list_name(spec)
    if name != _LISTS[0] and name in spec:
        add(f"spec.{name}", "read as replicatedJobs, the name of the released field")
    holders = [("spec", spec)]
    for path, item, (where, template) in _entries(data):
        if where != child(path, _TEMPLATES[0]) and item.get("template") is not None:
            more = " (a Job's spec, without metadata)" if where.endswith(".spec") else ""
            add(where, f"read as templateSpec, the name of the released field{more}")
        elif where == path:
            add(where, "read as templateSpec, the released field that holds a Job's spec")
        holders.append((where, _template(item, path)[1]))
        for task_path, task in get_maps(template, "tasks", where):
            pod = get_map(get_map(task, "template", task_path), "spec", f"{task_path}.template")
            for at, container in get_maps(pod, "containers", f"{task_path}.template.spec"):
                resources = get_map(container, "resources", at)
                if any("gpu" in get_map(resources, key, f"{at}.resources") for key in ("requests", "limits")):
                    add(f"{at}.resources", "device plugins name GPUs with a domain, such as nvidia.com/gpu")
    for path, holder in holders:
        if type(holder.get("networkTopology")) is list:
            add(child(path, "networkTopology"), "a list with one entry; read as the object that the field holds")
    return notes


def _list_name(spec: Mapping[str, Any]) -> str:
    """The key under which the members are listed."""
    first, second = _LISTS
    return second if spec.get(first) is None and spec.get(second) is not None else first


def _entries(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], tuple[str, dict[str, Any]]]]:
    """Path and mapping of each entry, with path and content of its template."""
    spec = get_map(data, "spec", "")
    for path, item in get_maps(spec, _list_name(spec), "spec"):
        where, template = _template(item, path)
        yield path, item, (where, _with_one_topology(template, where))


def _template(item: Mapping[str, Any], path: str) -> tuple[str, dict[str, Any]]:
    """Path and content of an entry's template as written; an entry with tasks is the template itself."""
    if "tasks" in item and not any(key in item for key in _TEMPLATES):
        return path, {key: value for key, value in item.items() if key not in _BESIDE}
    name = next((key for key in _TEMPLATES if item.get(key) is not None), _TEMPLATES[0])
    where, template = child(path, name), get_map(item, name, path)
    if name == "template" and "tasks" not in template and type(template.get("spec")) is dict:
        return child(where, "spec"), template["spec"]
    return where, template


def _with_one_topology(holder: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The mapping with its networkTopology as an object, even if the manifest has a list with one entry."""
    topology = holder.get("networkTopology")
    if type(topology) is not list:
        return dict(holder)
    if len(topology) != 1 or type(topology[0]) is not dict:
        raise wrong(child(path, "networkTopology"), topology, "a mapping (or a list of one)")
    return {**holder, "networkTopology": topology[0]}
