"""Which object each pod belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod import Pod
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION, PodGroup

__all__ = ["ROLE_LABEL", "Membership", "role_of", "sort_pods"]

JOB_LABEL = "volcano.sh/job-name"
#: Label of a pod that names its role (task).
ROLE_LABEL = "volcano.sh/task-spec"


@dataclass
class Membership:
    """Pods by the object they belong to, each list in byte order of the pods' names.

    Attributes
    ----------
    of_job, of_pod_group, of_deployment : dict of str to list of Pod
        By ``namespace/name``; a PodGroup of a known Job is not here, its pods are the Job's.
    alone : list of Pod
    pod_group_of_job : dict of str to PodGroup
    """

    of_job: dict[str, list[Pod]] = field(default_factory=dict)
    of_pod_group: dict[str, list[Pod]] = field(default_factory=dict)
    of_deployment: dict[str, list[Pod]] = field(default_factory=dict)
    alone: list[Pod] = field(default_factory=list)
    pod_group_of_job: dict[str, PodGroup] = field(default_factory=dict)


def role_of(pod: Pod) -> str:
    """The role a pod says it has; empty: none."""
    metadata = pod.metadata
    return metadata.labels.get(ROLE_LABEL) or metadata.annotations.get(ROLE_LABEL, "")


def sort_pods(cluster: ClusterObjects) -> Membership:
    """Assign every pod to its Job, PodGroup or Deployment; pods that admission refuses are left out.

    A Job is found by the label volcano.sh/job-name, the controlling owner or the pod's PodGroup, a PodGroup by the
    annotation scheduling.k8s.io/group-name, a Deployment by the name of the ReplicaSet that controls the pod.
    """
    result = Membership()
    job_of_group: dict[str, str] = {}
    for key, group in cluster.pod_groups.items():
        job = _job_of_group(group, cluster)
        if job:
            job_of_group[key] = job
            result.pod_group_of_job[job] = group
    for key in sorted(cluster.pods, key=str.encode):
        pod = cluster.pods[key]
        if f"Pod {key}" in cluster.refused:
            continue
        group_name = pod.metadata.annotations.get(GROUP_NAME_ANNOTATION, "")
        group_key = f"{pod.metadata.namespace}/{group_name}" if group_name else ""
        job = _job_of_pod(pod, cluster) or job_of_group.get(group_key, "")
        if job:
            result.of_job.setdefault(job, []).append(pod)
        elif group_key:
            result.of_pod_group.setdefault(group_key, []).append(pod)
        elif deployment := _deployment_of_pod(pod, cluster):
            result.of_deployment.setdefault(deployment, []).append(pod)
        else:
            result.alone.append(pod)
    return result


def _job_of_pod(pod: Pod, cluster: ClusterObjects) -> str:
    metadata = pod.metadata
    owner = metadata.controller
    names = [
        metadata.labels.get(JOB_LABEL),
        metadata.annotations.get(JOB_LABEL),
        owner.name if owner and owner.kind == "Job" else None,
    ]
    return _first_known(metadata.namespace, names, cluster.jobs)


def _job_of_group(group: PodGroup, cluster: ClusterObjects) -> str:
    metadata = group.metadata
    owner = metadata.controller
    names = [owner.name if owner and owner.kind == "Job" else None, metadata.name]
    known = _first_known(metadata.namespace, names, cluster.jobs)
    if known:
        return known
    # The controller names the group <job>-<uid>; the uid has four hyphens.
    job = cluster.jobs.get(f"{metadata.namespace}/{metadata.name.rsplit('-', 5)[0]}")
    return job.metadata.key if job and metadata.name == f"{job.metadata.name}-{job.metadata.uid}" else ""


def _deployment_of_pod(pod: Pod, cluster: ClusterObjects) -> str:
    owner = pod.metadata.controller
    if owner is None or owner.kind != "ReplicaSet":
        return ""
    return _first_known(pod.metadata.namespace, [owner.name.rpartition("-")[0]], cluster.deployments)


def _first_known(namespace: str, names: list[str | None], known: Mapping[str, object]) -> str:
    return next((f"{namespace}/{name}" for name in names if name and f"{namespace}/{name}" in known), "")
