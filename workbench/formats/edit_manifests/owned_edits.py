"""Edits of Jobs of Kubernetes, JobSets, LeaderWorkerSets, Ray's and Kubeflow's jobs: their sizes and pod templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.job_objects import JobObjects
from workbench.formats.edit_manifests.manifest_set import Manifest, ManifestSet, child_map
from workbench.model.counted import counted
from workbench.model.gang import lower_minimum
from workbench.model.number_text import whole_number
from workbench.objects.batch_job import BatchJob, JobSpec
from workbench.objects.deployment import MIN_MEMBER_ANNOTATION
from workbench.objects.fields import path_steps
from workbench.objects.job_set import JobSet
from workbench.objects.kubeflow_job import KubeflowJob
from workbench.objects.leader_worker_set import LeaderWorkerSet
from workbench.objects.ray_cluster import RayCluster
from workbench.objects.top_owner import OwnedPods, TopOwner

__all__ = ["owned_templates", "owner_of", "shrink_owned"]


def owner_of(manifests: ManifestSet, job: JobObjects) -> TopOwner | None:
    """The top owner that a job is, or a replica of which it is; None: it is of another kind."""
    if job.owner is None:
        return None
    owners = manifests.cluster.top_owners
    return owners.get(f"{job.kind} {job.whole or job.key}")


def owned_templates(manifests: ManifestSet, job: JobObjects) -> Iterator[Manifest]:
    """The pod templates of a top owner, to be changed; none of a job of another kind."""
    owner = owner_of(manifests, job)
    if owner is not None and job.owner is not None:
        data = manifests.change(job.owner)
        for template in owner.templates:
            yield _at(data, template.path)


def _at(data: Manifest, path: str) -> Manifest:
    found: Any = data
    for step in path_steps(path):
        found = found[step]
    return found  # type: ignore[no-any-return]


def shrink_owned(manifests: ManifestSet, job: JobObjects, role: str, by: int) -> None:
    """Give one role of a top owner fewer pods in the field that says how many, and lower its minimum by as many.

    `manifests`: changed in place. `job`: the pending job, a top owner. `by`: number of pods that go. Raises InputError:
    no such role, or one whose number of pods no field says, or not in steps of one pod.
    """
    owner = owner_of(manifests, job)
    assert owner is not None and job.owner is not None
    pods = next((each for each in owner.pods if each.name == role and each.field), None)
    if pods is None:
        raise InputError("no role of this name that can be made smaller", got=role)
    if by % pods.unit:
        expected = f"a multiple of the {pods.unit} pods of one of its {pods.field}"
        raise InputError(f"role {role} consists of equal parts", got=f"{counted(by, 'pod')} fewer", expected=expected)
    new = (pods.count - by) // pods.unit + pods.beside
    _set_size(manifests.change(job.owner), owner, pods, new, by, sum(pod.runs for pod in job.pods))
    waiting = [position for pod, position in job.waiting_pods(manifests) if _is_of(pod.metadata.labels, role, owner)]
    for position in waiting[len(waiting) - by :] if len(waiting) > by else waiting:
        manifests.remove(position)


def _is_of(labels: Any, role: str, owner: TopOwner) -> bool:
    return len(owner.pods) == 1 or role in labels.values()


def _set_size(data: Manifest, owner: TopOwner, pods: OwnedPods, new: int, by: int, runs: int) -> None:
    above = pods.template.path.rpartition(".")[0]
    match owner:
        case BatchJob():
            _set_parallelism(child_map(data, "spec"), owner.spec, new)
            _lower_annotation(data, by, runs)
        case JobSet():
            entry = next(job for job in owner.jobs if job.name == pods.name)
            if pods.field == "replicas":
                # The template of the pods stands in that of a Job: spec.replicatedJobs[i].template.spec.template.
                _at(data, above.removesuffix(".template.spec"))["replicas"] = new
            else:
                _set_parallelism(_at(data, above), entry.spec, new)
        case LeaderWorkerSet():
            child_map(data, "spec", "leaderWorkerTemplate")["size"] = new
        case RayCluster():
            group = _at(data, above)
            group["replicas"] = new
            if group.get("minReplicas") is not None:
                group["minReplicas"] = min(group["minReplicas"], new)
        case KubeflowJob():
            _at(data, above)["replicas"] = new
            _lower_policy(data, by, runs, new, pods.name)


def _set_parallelism(spec: Manifest, read: JobSpec, new: int) -> None:
    """Pods that run at a time; an Indexed Job whose pods all run at once also has as many completions.

    Kubernetes lets the completions of a Job be changed in no other case.
    """
    if read.indexed and read.completions is not None and read.completions <= read.parallelism:
        spec["completions"] = new
    spec["parallelism"] = new


def _lower_annotation(data: Manifest, by: int, runs: int) -> None:
    annotations = child_map(data, "metadata").get("annotations") or {}
    least = whole_number(annotations.get(MIN_MEMBER_ANNOTATION) or "")
    if least is not None:
        annotations[MIN_MEMBER_ANNOTATION] = str(lower_minimum(least, by, runs))


def _lower_policy(data: Manifest, by: int, runs: int, new: int, role: str) -> None:
    """Lower schedulingPolicy.minAvailable, and elasticPolicy of workers, which may not be above their number."""
    spec = child_map(data, "spec")
    policy = ((spec.get("runPolicy") or {}).get("schedulingPolicy")) or {}
    if policy.get("minAvailable") is not None:
        policy["minAvailable"] = lower_minimum(policy["minAvailable"], by, runs)
    elastic = (spec.get("elasticPolicy") or {}) if role == "worker" else {}
    for key in ("minReplicas", "maxReplicas"):
        if elastic.get(key) is not None:
            elastic[key] = min(elastic[key], new)
