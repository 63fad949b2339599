"""Edits of a pending job as a whole: its tier, its minimums, its size, the order of its tasks, its priority."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.follow import change_job, change_minimum
from workbench.formats.edit_manifests.job_objects import JobObjects
from workbench.formats.edit_manifests.manifest_set import Manifest, ManifestSet, child_map
from workbench.formats.edit_manifests.owned_edits import owner_of, shrink_owned
from workbench.jobs.pods import gang_of_pod_group, gangs_of_lone_pods
from workbench.model.counted import counted
from workbench.model.gang import lower_minimum
from workbench.model.number_text import whole_number
from workbench.objects.admission.gpu_group import GANG_MINIMUM_ANNOTATION, GPU_GROUP_REPLICA_LABEL
from workbench.objects.deployment import MIN_MEMBER_ANNOTATION
from workbench.objects.fields import shown
from workbench.objects.job import read_job
from workbench.objects.topology_spec import HIGHEST_TIER_ANNOTATION, constraint_from_annotations

__all__ = [
    "Edit",
    "annotated",
    "change_min_available",
    "change_replicas",
    "raise_tier",
    "role_prefix",
    "tasks_of",
    "whole_number_of",
]

Edit = Mapping[str, Any]


def raise_tier(manifests: ManifestSet, job: JobObjects, edit: Edit) -> None:
    """Raise highestTierAllowed of the job's hard constraint, and of each sub-group and Job with a lower one.

    `manifests`: changed in place. `edit`: the key ``to`` has the new tier.
    """
    to = whole_number_of(edit, "to")
    names = _tiers_by_name(manifests)
    found = False
    if job.kind == "HyperJob" and job.owner is not None:
        found = _raise(child_map(manifests.change(job.owner), "spec"), to, names)
        for _, template in job.templates(manifests):
            found = _raise_in_job(template, to, names) or found
    for one in job.jobs_that_wait(manifests):
        assert one.owner is not None
        found = _raise_in_job(child_map(manifests.change(one.owner), "spec"), to, names) or found
    for position in job.groups:
        spec = child_map(manifests.change(position), "spec")
        found = _raise(spec, to, names) or found
        for policy in spec.get("subGroupPolicy") or ():
            found = _raise(policy, to, names) or found
    for data in annotated(manifests, job):
        annotations = child_map(data, "metadata").get("annotations") or {}
        constraint = constraint_from_annotations(annotations)
        if constraint is not None and constraint.mode == "hard":
            annotations[HIGHEST_TIER_ANNOTATION] = str(to)
            found = True
    if not found:
        raise InputError("the job has no hard topology constraint below this tier", expected=f"a tier below {to}")


def _raise_in_job(spec: Manifest, to: int, names: Mapping[str, int]) -> bool:
    """Raise the tiers in a Job's spec; returns whether one was raised."""
    found = _raise(spec, to, names)
    for task in spec.get("tasks") or ():
        policy = task.get("partitionPolicy")
        if policy:
            found = _raise(policy, to, names) or found
    return found


def _raise(holder: Manifest, to: int, names: Mapping[str, int]) -> bool:
    """Raise the tier in the field networkTopology of a hard constraint; returns whether it was raised."""
    topology = holder.get("networkTopology")
    if type(topology) is list and len(topology) == 1:
        topology = topology[0]
    if type(topology) is not dict or topology.get("mode") == "soft":
        return False
    limit = topology.get("highestTierAllowed")
    if limit is None:
        limit = names.get(topology.get("highestTierName") or "")
    if limit is not None and limit >= to:
        return False
    topology.pop("highestTierName", None)
    topology |= {"mode": "hard", "highestTierAllowed": to}
    return True


def _tiers_by_name(manifests: ManifestSet) -> dict[str, int]:
    found: dict[str, int] = {}
    for position in manifests.each("HyperNode"):
        spec = manifests.read(position).get("spec") or {}
        tier = spec.get("tier")
        number = whole_number(tier) if type(tier) is str else tier
        if spec.get("tierName") and type(number) is int:
            found.setdefault(spec["tierName"], number)
    return found


def annotated(manifests: ManifestSet, job: JobObjects) -> Iterator[Manifest]:
    """What gives a job without a Volcano Job its annotations: the template of a Deployment, or the pods themselves."""
    if job.kind == "Deployment" and job.owner is not None:
        yield child_map(manifests.change(job.owner), "spec", "template")
    if job.kind in ("Gang", "GpuGroup", "Pod"):
        for _, position in job.waiting_pods(manifests):
            yield manifests.change(position)


def change_min_available(manifests: ManifestSet, job: JobObjects, edit: Edit) -> None:
    """Set the minimum of the gang; of a HyperJob it counts Jobs.

    Minimums of roles are kept: they count for nothing where their sum exceeds the gang's. The optional key ``roles``
    of the edit gives new ones by role.

    `manifests`: changed in place. `edit`: the key ``to`` has the new minimum.
    """
    to = whole_number_of(edit, "to")
    roles: Mapping[str, int] = edit.get("roles") or {}

    def change(spec: Manifest) -> None:
        spec["minAvailable"] = to
        for name, task in tasks_of(spec):
            if name in roles:
                task["minAvailable"] = roles[name]

    if job.kind == "Job":
        change_job(manifests, job, change)
    elif job.kind == "HyperJob" and job.owner is not None:
        child_map(manifests.change(job.owner), "spec")["minAvailable"] = to
    elif job.kind == "PodGroup" and job.owner is not None:
        least = (manifests.read(job.owner).get("spec") or {}).get("minMember")
        change_minimum(manifests, job, (1 if least is None else least) - to)
        spec = child_map(manifests.change(job.owner), "spec")
        spec["minMember"] = to
        for name in spec.get("minTaskMember") or {}:
            spec["minTaskMember"][name] = roles.get(name, spec["minTaskMember"][name])
    elif job.kind == "Deployment" and job.owner is not None:
        child_map(manifests.change(job.owner), "metadata", "annotations")[MIN_MEMBER_ANNOTATION] = str(to)
    elif job.kind in ("Gang", "GpuGroup"):
        _set_gang_minimum(manifests, job, to)
    else:
        raise InputError("the job has no minimum that can be lowered", got=f"a {job.kind}")


def _set_gang_minimum(manifests: ManifestSet, job: JobObjects, to: int) -> None:
    """Set Koordinator's minimum on the gang's PodGroup, or else on its pods; the size of a GPU group has to agree."""
    if job.owner is not None:
        child_map(manifests.change(job.owner), "spec")["minMember"] = to
    for pod in job.pods:
        metadata = child_map(manifests.change(manifests.need("Pod", pod.metadata.key)), "metadata")
        if job.owner is None or GANG_MINIMUM_ANNOTATION in (metadata.get("annotations") or {}):
            child_map(metadata, "annotations")[GANG_MINIMUM_ANNOTATION] = str(to)
        if GPU_GROUP_REPLICA_LABEL in (metadata.get("labels") or {}):
            metadata["labels"][GPU_GROUP_REPLICA_LABEL] = str(to)


def change_replicas(manifests: ManifestSet, job: JobObjects, edit: Edit) -> None:
    """Make one role of the job smaller, and the minimums of role and gang by as many pods.

    `manifests`: changed in place. `edit`: the key ``role`` has the role's name, ``from`` and ``to`` its number of pods
    before and after.
    """
    by, role = whole_number_of(edit, "from") - whole_number_of(edit, "to"), str(edit.get("role") or "")
    if by <= 0:
        raise InputError("the role does not become smaller", got=f"{edit.get('from')} to {edit.get('to')}")
    if job.kind in ("Job", "HyperJob"):
        _shrink_jobs(manifests, job, role, by)
        return
    if owner_of(manifests, job) is not None:
        shrink_owned(manifests, job, role, by)
        return
    names = _pods_of_role(manifests, job, role)
    if len(names) < by:
        got, expected = counted(len(names), f"pod of role {role}", f"pods of role {role}"), f"{by} or more"
        if job.kind != "Deployment":
            raise InputError("too few pending pods", got=got, expected=expected)
    if job.kind == "Deployment" and job.owner is not None:
        data = manifests.change(job.owner)
        spec = child_map(data, "spec")
        spec["replicas"] = max((1 if spec.get("replicas") is None else spec["replicas"]) - by, 0)
        annotations = child_map(data, "metadata").get("annotations") or {}
        least = whole_number(annotations.get(MIN_MEMBER_ANNOTATION) or "")
        if least is not None:
            annotations[MIN_MEMBER_ANNOTATION] = str(lower_minimum(least, by, sum(pod.runs for pod in job.pods)))
    elif job.kind == "PodGroup":
        least = manifests.cluster.pod_groups[job.key].min_member if job.owner is not None else 1
        least = 1 if least is None else least
        lower = least - lower_minimum(least, by, sum(pod.counts for pod in job.pods))
        change_minimum(manifests, job, lower, role.partition("#")[0], by)
    elif job.kind in ("Gang", "GpuGroup"):
        first = manifests.read(manifests.need("Pod", job.pods[0].metadata.key))["metadata"].get("annotations") or {}
        least = whole_number(first.get(GANG_MINIMUM_ANNOTATION) or "")
        if job.owner is not None:
            least = manifests.cluster.pod_groups[job.key].min_member
        if least is not None:
            _set_gang_minimum(manifests, job, lower_minimum(least, by, sum(pod.runs for pod in job.pods)))
    else:
        raise InputError("the job has no role that can be made smaller", got=f"a {job.kind}")
    namespace = job.key.partition("/")[0]
    for name in names[-by:]:
        manifests.remove(manifests.find("Pod", f"{namespace}/{name}"))


def _pods_of_role(manifests: ManifestSet, job: JobObjects, role: str) -> list[str]:
    """Names of the pending pods of a role in the order of the gang."""
    waiting = [pod for pod in job.pods if pod.pending]
    if job.kind == "Deployment":
        return [pod.metadata.name for pod in waiting]
    if job.kind == "PodGroup":
        gang = gang_of_pod_group(job.key, manifests.cluster.pod_groups.get(job.key), job.pods, manifests.priorities)
    else:
        gang = next(iter(gangs_of_lone_pods(job.pods, manifests.priorities)), None)
    for one in gang.roles if gang is not None else ():
        if one.name == role:
            return list(one.pod_names or ())
    raise InputError("no role of this name in the job", got=role)


def _shrink_jobs(manifests: ManifestSet, job: JobObjects, role: str, by: int) -> None:
    found = False
    waiting = job.jobs_that_wait(manifests)
    for one in waiting:
        prefix = role_prefix(job, one.key.partition("/")[2])
        if role.startswith(prefix) and _has_task(manifests, one, role.removeprefix(prefix)):
            _shrink_job(manifests, one, role.removeprefix(prefix), by)
            found = True
    if not found:
        for member, template in job.templates(manifests):
            for name, _ in tasks_of(template):
                # Roles of the Jobs of one entry differ in the number of the Job.
                first, number = f"{member}-", role.removeprefix(f"{member}-").partition("-")
                if role.startswith(first) and number[0].isdigit() and number[2] == name:
                    _shrink_task(template, name, by)
                    found = True
    if not found:
        raise InputError("no role of this name in the job", got=role)


def role_prefix(job: JobObjects, name: str) -> str:
    """What the names of a Job's roles begin with in the gang: in that of a HyperJob the Job's own name."""
    return "" if job.kind == "Job" else f"{name.removeprefix(job.key.partition('/')[2] + '-')}-"


def _has_task(manifests: ManifestSet, job: JobObjects, name: str) -> bool:
    assert job.owner is not None
    return any(task == name for task, _ in tasks_of(manifests.read(job.owner)["spec"]))


def _shrink_job(manifests: ManifestSet, job: JobObjects, task: str, by: int) -> None:
    change_job(manifests, job, lambda spec: _shrink_task(spec, task, by, sum(pod.counts for pod in job.pods)))
    assert job.owner is not None
    replicas = next(one.get("replicas", 1) for name, one in tasks_of(manifests.read(job.owner)["spec"]) if name == task)
    prefix = f"{job.key.partition('/')[2]}-{task}-"
    for pod, position in job.waiting_pods(manifests):
        index = pod.metadata.name.removeprefix(prefix)
        if pod.metadata.name.startswith(prefix) and index.isdigit() and int(index) >= replicas:
            manifests.remove(position)


def _shrink_task(spec: Manifest, name: str, by: int, started: int = 0) -> None:
    """Lower replicas and minAvailable of a task, and the Job's minimum, by `by`; `started`: pods that count already."""
    task = next(task for called, task in tasks_of(spec) if called == name)
    least = lower_minimum(_min_available(spec), by, started)
    task["replicas"] = max((1 if task.get("replicas") is None else task["replicas"]) - by, 0)
    if not task["replicas"]:
        # Volcano refuses a policy of no partitions.
        task.pop("partitionPolicy", None)
    policy = task.get("partitionPolicy")
    if policy and policy.get("partitionSize"):
        if task["replicas"] % policy["partitionSize"]:
            expected = f"a multiple of the partition size {policy['partitionSize']}"
            raise InputError(f"role {name} consists of whole partitions", got=str(task["replicas"]), expected=expected)
        policy["totalPartitions"] = task["replicas"] // policy["partitionSize"]
        if policy.get("minPartitions"):
            policy["minPartitions"] = min(policy["minPartitions"], policy["totalPartitions"])
    if task.get("minAvailable") is not None:
        task["minAvailable"] = max(task["minAvailable"] - by, 0)
    if spec.get("minAvailable") or _min_available(spec) != least:
        spec["minAvailable"] = least


def _min_available(spec: Manifest) -> int:
    """The minimum of a Job's spec, also where it follows from those of the tasks."""
    counts = {key: spec.get(key) for key in ("minAvailable", "tasks")}
    return read_job({"metadata": {"name": "job"}, "spec": counts}).min_available


def tasks_of(spec: Manifest) -> Iterator[tuple[str, Manifest]]:
    """Name and manifest of each task; one without a name is called as the loader calls it."""
    for i, task in enumerate(spec.get("tasks") or ()):
        yield task.get("name") or f"default{i}", task


def whole_number_of(edit: Edit, key: str) -> int:
    """A whole number of an edit; raises InputError where it is none."""
    value = edit.get(key)
    if type(value) is not int:
        raise InputError("wrong type or value", where=key, got=shown(value), expected="a whole number")
    return value
