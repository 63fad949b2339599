"""`expand_job`: the objects that a cluster makes of a Volcano Job: pods, volume claims and the objects of
job plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.errors import CapacityError, InputError
from workbench.jobs.create_pod import create_pod
from workbench.jobs.frameworks.checking import check_plugins
from workbench.jobs.frameworks.contract import PLACEHOLDER_KEYS, SshKeys
from workbench.jobs.frameworks.registry import on_job_add, on_pod_create
from workbench.jobs.hyper_job.next_step import next_hyper_job
from workbench.jobs.stored_job import as_stored, claims_of
from workbench.jobs.task_pods import tasks_of
from workbench.objects.admission import refusal_of
from workbench.objects.fields import child, get_map, get_maps, get_text, get_texts, group_kind, wrong
from workbench.objects.job import read_job

__all__ = ["check_job", "expand_hyper_job", "expand_job", "is_hyper_job", "is_volcano_job"]

#: Most pods of one Job that are written out.
MOST_PODS = 10_000

_GROUP, _KIND = "batch.volcano.sh", "Job"


def expand_job(job: Mapping[str, Any], *, ssh_keys: SshKeys | None = None) -> list[dict[str, Any]]:
    """Make the manifests of the objects that a Volcano Job becomes: its pods as created, and the objects of its
    plugins.

    `job`: a parsed manifest of kind Job (batch.volcano.sh), as submitted or as stored. It is not changed. `ssh_keys`:
    the keys that the plugin ssh hands out if its arguments have none. None: a placeholder that no sshd accepts as a
    key, because a cluster draws a new pair for each Job. Returns list of dict: PersistentVolumeClaims; then ConfigMaps,
    Services, NetworkPolicies and Secrets in the order in which the plugins make them; then the Pods by task and index.
    The PodGroup is not among them. Names that a cluster draws at random, and a missing uid of the Job, are derived from
    the names in the Job alone.

    The order of dependsOn is not followed: every pod is written. Source: docs/reference/volcano-jobs.md, sections 1, 2
    and 4.2; what goes beyond upstream is in docs/jobs.md.

    Raises
    ------
    InputError
        No Job, a field of the wrong type, a Job that admission refuses, an unknown plugin or argument, or tasks that a
        plugin cannot serve. The error names the path in the Job.
    CapacityError
        More than 10,000 pods.
    """
    check_job(job)
    stored = as_stored(job)
    plugins = stored["spec"]["plugins"]
    made = on_job_add(stored, plugins, ssh_keys=ssh_keys or PLACEHOLDER_KEYS)
    objects = [*claims_of(stored), *(action.manifest for action in made.actions)]
    for task in tasks_of(stored):
        for index in range(task["replicas"]):
            objects.append(on_pod_create(create_pod(stored, task["template"], task, index), stored, plugins))
    return [_copy(each) for each in objects]


def expand_hyper_job(hyper_job: Mapping[str, Any], *, ssh_keys: SshKeys | None = None) -> list[dict[str, Any]]:
    """Make the manifests of the Jobs that a HyperJob becomes, each followed by the objects that the Job becomes.

    `hyper_job`: a parsed manifest of kind HyperJob (training.volcano.sh). It is not changed. `ssh_keys`: as for
    `expand_job`. Raises InputError: a field of the wrong type, or a Job that `expand_job` refuses; the error names the
    Job. Raises CapacityError: more than 10,000 pods of one Job.
    """
    objects: list[dict[str, Any]] = []
    for job in next_hyper_job(hyper_job).create:
        try:
            objects += [dict(job), *expand_job(job, ssh_keys=ssh_keys)]
        except InputError as error:
            name = job["metadata"]["name"]
            raise error.at(where=f"Job {name}") if error.where is None else error.remarking(f"in Job {name}") from None
    return [_copy(each) for each in objects]


def is_hyper_job(data: Mapping[str, Any]) -> bool:
    """Whether a manifest is a HyperJob in its released group (training.volcano.sh)."""
    return group_kind(data) == ("training.volcano.sh", "HyperJob")


def is_volcano_job(data: Mapping[str, Any]) -> bool:
    """Whether a manifest is a Volcano Job (batch.volcano.sh), as opposed to a Kubernetes Job."""
    return group_kind(data) == (_GROUP, _KIND)


def check_job(job: Mapping[str, Any]) -> None:
    """Check that a manifest is a Job whose pods and plugins' objects can be made.

    Raises InputError, CapacityError: as `expand_job`.

    `job`: a parsed manifest.
    """
    if not isinstance(job, Mapping):
        raise wrong("", job, "the parsed manifest of a Job")
    if not is_volcano_job(job):
        found = f"{job.get('kind')} ({job.get('apiVersion')})"
        raise InputError("not a Volcano Job", where="kind", got=found, expected=f"{_KIND} ({_GROUP}/v1alpha1)")
    read = read_job(job)
    spec = get_map(job, "spec", "")
    check_plugins(spec)
    for path, task in get_maps(spec, "tasks", "spec"):
        _check_template(task, path)
    for path, entry in get_maps(spec, "volumes", "spec"):
        get_text(entry, "volumeClaimName", path)
        get_text(entry, "mountPath", path)
    if refusal := refusal_of(job):
        raise InputError(f"admission refuses the Job: {refusal}", where=f"Job {read.metadata.key}")
    if (count := sum(task.replicas for task in read.tasks)) > MOST_PODS:
        raise CapacityError(f"Job {read.metadata.key} has {count:,} pods; at most {MOST_PODS:,} are written out")


def _check_template(task: Mapping[str, Any], where: str) -> None:
    """Raise InputError for a wrong type in a field of a pod template that only plugins read; `where`: of `task`."""
    template = get_map(task, "template", where)
    where = child(where, "template")
    metadata, spec = get_map(template, "metadata", where), get_map(template, "spec", where)
    for name in ("labels", "annotations"):
        get_texts(metadata, name, child(where, "metadata"))
    where = child(where, "spec")
    for name in ("hostname", "subdomain"):
        get_text(spec, name, where)
    for _ in get_maps(spec, "volumes", where):
        pass
    for field in ("containers", "initContainers"):
        for path, container in get_maps(spec, field, where):
            get_text(container, "name", path)
            for name in ("env", "ports", "volumeMounts"):
                for _ in get_maps(container, name, path):
                    pass


def _copy(value: Any) -> Any:
    """A deep copy of parsed YAML in which no part is shared, not even parts that the value itself contains twice."""
    if isinstance(value, Mapping):
        return {key: _copy(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copy(each) for each in value]
    return value
