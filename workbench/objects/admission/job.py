"""Admission of a new Volcano Job (batch.volcano.sh): violations that the CRD schema and Volcano's webhook find.

The defaults are those of its mutating webhook. Source: docs/reference/volcano-jobs.md, sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.model.release import Release
from workbench.objects.admission.known import KnownQueue
from workbench.objects.admission.lifecycle_policies import policy_findings
from workbench.objects.admission.plugins import mpi_master_finding, plugin_defaults, plugin_findings
from workbench.objects.admission.pod_template import template_findings, topology_policy_findings
from workbench.objects.admission.schema import Fault, refusal_text
from workbench.objects.admission.topology_spec import BOTH_TIERS, both_tiers, partition_error
from workbench.objects.fields import child, get_bool, get_int, get_map, get_maps, get_text
from workbench.objects.job import DEFAULT_MAX_RETRY, Job, Task, launch_order, read_job
from workbench.objects.names import is_name, qualified_name_errors

__all__ = ["job_defaults", "job_findings", "job_queue_findings", "partition_findings", "refuse_job", "task_defaults"]


def refuse_job(data: Mapping[str, Any], release: Release = Release.V1_15) -> str:
    """The text with which admission refuses a new Volcano Job; empty if it is accepted.

    The text joins all findings of `job_findings` except those about pod templates, which do not affect placement.
    """
    return refusal_text(job_findings(data, release, templates=False))


def job_findings(
    data: Mapping[str, Any],
    release: Release = Release.V1_15,
    *,
    queues: Mapping[str, KnownQueue] | None = None,
    templates: bool = True,
    pod_level_resources: bool = True,
    own_plugins: bool = True,
) -> list[Fault]:
    """Violations that the API server and Volcano's webhook report for a new Volcano Job, in their order.

    Raises InputError: a field of the wrong type.

    Negative counts are refused by the schema, with the API server's text, which stands first. A duplicated task name
    ends the walk over tasks: later ones are neither checked nor counted.

    Parameters
    ----------
    data : mapping
        The parsed manifest; defaults of the mutating webhook count as written.
    release : Release
        1.13 knows neither highestTierName nor partitions.
    queues : mapping of str to KnownQueue, optional
        All existing queues; None: queues are unknown, and the Job's queue is not checked.
    templates : bool
        Whether to check the pod templates too.
    pod_level_resources : bool
        The feature gate PodLevelResources of the API server.
    own_plugins : bool
        Whether to accept plugins that only this project has.
    """
    job, spec = read_job(data), get_map(data, "spec", "")
    found = list(_negative_counts(job))
    if not job.tasks:
        return [*found, Fault("spec.tasks", "No task specified in job spec")]
    if early := mpi_master_finding(spec, job):
        return [*found, *early]
    is_1_15 = release is Release.V1_15
    if is_1_15 and both_tiers(job.constraint):
        found.append(Fault("spec.networkTopology", BOTH_TIERS))
    names: set[str] = set()
    total = 0
    for position, ((path, item), task) in enumerate(zip(get_maps(spec, "tasks", "spec"), job.tasks, strict=True)):
        found += _minimum_finding(task, job, path)
        if task.name in names:
            found.append(Fault(child(path, "name"), f" duplicated task name {task.name};"))
            break
        names.add(task.name)
        total += task.replicas
        found += policy_findings(task.policies, child(path, "policies"), release)
        found += _name_findings(f"{job.metadata.name}-{task.name}-{position}", "pod", child(path, "name"))
        if templates:
            found += _template_findings(item, path, position, pod_level_resources)
        if is_1_15:
            found += partition_findings(task, job.metadata.name, path)
    found += _name_findings(job.metadata.name, "job", "metadata.name")
    if job.min_available > total:
        text = " job 'minAvailable' should not be greater than total replicas in tasks;"
        found.append(Fault("spec.minAvailable", text))
    found += policy_findings(job.policies, "spec.policies", release)
    found += plugin_findings(spec, job, own_plugins)
    found += _volume_findings(spec)
    if queues is not None:
        found += job_queue_findings(job.queue, queues)
    return [*found, *_dependency_finding(job)]


def _minimum_finding(task: Task, job: Job, path: str) -> Iterator[Fault]:
    if task.min_available is not None and task.min_available > task.replicas:
        text = f" 'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job.metadata.name};"
        yield Fault(child(path, "minAvailable"), text)


def _name_findings(name: str, kind: str, path: str) -> Iterator[Fault]:
    """Violation of Kubernetes' rules for names by `name` at `path`, in the webhook's words; `kind`: of the object."""
    errors = qualified_name_errors(name)
    if errors:
        yield Fault(path, f"create {kind} with name {name} validate failed [{' '.join(errors)}];")


def _template_findings(item: Mapping[str, Any], path: str, position: int, pod_level: bool) -> list[Fault]:
    """Violations in one task's pod template; a valid template is checked for whole CPUs if its task has a NUMA policy.

    `path` is the task's path and `position` its index in spec.tasks; `pod_level` is the feature gate PodLevelResources.
    Kubernetes' texts call the task ``spec.task[k]``.
    """
    errors = template_findings(item, pod_level)
    if errors:
        prefix = f"spec.task[{position}]."
        first = Fault(f"{path}.{errors[0].path}", f"{prefix}{errors[0].text}. ")
        return [first, *(Fault(f"{path}.{one.path}", f"{one.text}. ") for one in errors[1:])]
    return [Fault(f"{path}.{one.path}", one.text) for one in topology_policy_findings(item, position)]


def partition_findings(task: Task, job: str, path: str) -> Iterator[Fault]:
    """Violations in the partitionPolicy of a Job's task: its counts and its networkTopology. `job`: name of its Job."""
    where = child(path, "partitionPolicy")
    if text := partition_error(task, job):
        yield Fault(where, text)
    if task.partition and both_tiers(task.partition.constraint):
        yield Fault(child(where, "networkTopology"), f" {BOTH_TIERS} in task: {task.name}, job: {job};")


def _dependency_finding(job: Job) -> Iterator[Fault]:
    if not any(task.depends_on for task in job.tasks):
        return
    if launch_order([(task.name, task.depends_on.names if task.depends_on else ()) for task in job.tasks]) is None:
        text = " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
        yield Fault("spec.tasks", text)


def _negative_counts(job: Job) -> Iterator[Fault]:
    """The API server's texts for counts below 0 in a Job, where the schema demands at least 0."""
    counts: list[tuple[str, int]] = []
    # A sum of negative replicas is not what the user wrote.
    if all(task.replicas >= 0 for task in job.tasks):
        counts.append(("spec.minAvailable", job.min_available))
    for i, task in enumerate(job.tasks):
        counts.append((f"spec.tasks[{i}].replicas", task.replicas))
        counts.append((f"spec.tasks[{i}].minAvailable", task.min_available or 0))
        partitions = task.partition.min_partitions if task.partition else 0
        counts.append((f"spec.tasks[{i}].partitionPolicy.minPartitions", partitions))
    for path, value in counts:
        if value < 0:
            text = f"{path}: Invalid value: {value}: should be greater than or equal to 0"
            yield Fault(path, text, by_schema=True)


_CONFLICT = (
    "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
    "If you want to create a new PVC, you do not need to specify VolumeClaimName;"
)


def _volume_findings(spec: Mapping[str, Any]) -> list[Fault]:
    """The first violation among the entries of a Job's spec.volumes, as a list of one; empty if there is none."""
    paths: set[str] = set()
    for where, volume in get_maps(spec, "volumes", "spec"):
        mounted, name = get_text(volume, "mountPath", where), get_text(volume, "volumeClaimName", where)
        claim = volume.get("volumeClaim") is not None
        if not mounted:
            return [Fault(child(where, "mountPath"), " mountPath is required;")]
        if mounted in paths:
            return [Fault(child(where, "mountPath"), f" duplicated mountPath: {mounted};")]
        if not (claim or name):
            return [Fault(where, " either VolumeClaim or VolumeClaimName must be specified;")]
        if claim and name:
            return [Fault(where, _CONFLICT)]
        if name and not is_name(name):
            return [Fault(child(where, "volumeClaimName"), f"invalid VolumeClaimName {name};")]
        paths.add(mounted)
    return []


_PATH = "spec.queue"


def job_queue_findings(name: str, queues: Mapping[str, KnownQueue]) -> list[Fault]:
    """Violations concerning the queue `name` of a new Job; `queues` must contain all existing queues.

    Source: docs/reference/volcano-jobs.md, section 3.2.
    """
    queue = queues.get(name)
    if queue is None:
        missing = f'queue.scheduling.volcano.sh "{name}" not found'
        return [Fault(_PATH, f" unable to find job queue: {missing};")]
    found = []
    if queue.state != "Open":
        text = f" can only submit job to queue with state `Open`, queue `{name}` status is `{queue.state}`;"
        found.append(Fault(_PATH, text))
    children = sum(other.parent == name for other in queues.values())
    if name == "root":
        found.append(Fault(_PATH, " can not submit job to root queue;"))
    elif children:
        text = f" can only submit job to leaf queue, queue `{name}` has {children} child queues;"
        found.append(Fault(_PATH, text))
    return found


def job_defaults(data: Mapping[str, Any], job: Job, scheduler: str = "volcano") -> dict[str, Any]:
    """Every default that Volcano's mutating webhook writes into a new Job, by field path, in the webhook's order.

    `data`: the parsed manifest. `job`: the manifest as `read_job` reads it. `scheduler`: name of the scheduler Volcano;
    the first one if it has several.
    """
    spec = get_map(data, "spec", "")
    defaults: dict[str, Any] = {}
    for key, value in (("queue", "default"), ("schedulerName", scheduler), ("maxRetry", DEFAULT_MAX_RETRY)):
        if not spec.get(key):
            defaults[f"spec.{key}"] = value
    defaults |= task_defaults(spec, job)
    if not get_int(spec, "minAvailable", "spec"):
        defaults["spec.minAvailable"] = job.min_available
    plugins = None if spec.get("plugins") is None else get_map(spec, "plugins", "spec")
    return defaults | {f"spec.plugins.{name}": arguments for name, arguments in plugin_defaults(plugins).items()}


def task_defaults(spec: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """Defaults that Volcano's mutating webhook writes into the tasks of a Job, by field path.

    `spec` is the Job's spec as parsed, `job` the result of `read_job`.
    """
    defaults: dict[str, Any] = {}
    for (path, item), task in zip(get_maps(spec, "tasks", "spec"), job.tasks, strict=True):
        if not item.get("name"):
            defaults[f"{path}.name"] = task.name
        pod, where = get_map(get_map(item, "template", path), "spec", child(path, "template")), f"{path}.template.spec"
        if get_bool(pod, "hostNetwork", where) and not get_text(pod, "dnsPolicy", where):
            defaults[f"{where}.dnsPolicy"] = "ClusterFirstWithHostNet"
        if task.min_available is None:
            defaults[f"{path}.minAvailable"] = task.minimum
        if not item.get("maxRetry"):
            defaults[f"{path}.maxRetry"] = DEFAULT_MAX_RETRY
    return defaults
