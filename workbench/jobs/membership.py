"""`sort_pods`: find the Job, top owner, PodGroup or Deployment to which each pod of a cluster belongs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from workbench.jobs.top_owners import owned_role, top_mentions, top_owner_of
from workbench.model.pod_counts import JOB_LABEL, ROLE_LABEL
from workbench.objects.admission.gpu_group import GANG_NAME_ANNOTATION
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.pod import Pod
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION, PodGroup, labelled_pod_group

__all__ = [
    "JOB_LABEL",
    "ROLE_LABEL",
    "Membership",
    "Mentions",
    "job_of_group",
    "jobs_named_by",
    "mentions_of",
    "role_of",
    "sort_pods",
]

#: Beginning of the apiVersion of the Job of Kubernetes.
_BATCH = "batch/"


@dataclass(frozen=True, slots=True)
class Mentions:
    """The owners that a pod names in its metadata, each as ``namespace/name``, whether they exist or not.

    Attributes
    ----------
    jobs : tuple of str
        Keys of Volcano Jobs in order of precedence; the first Job that exists owns the pod.
    tops : tuple of str
        Top owners (`workbench.jobs.top_owners.top_mentions`), each as ``Kind namespace/name``; they come after the Jobs
        and before everything else.
    group : str
        The pod's PodGroup; empty: none.
    gang : str
        The pod's gang of Koordinator, by label or annotation; it owns the pod if it is a PodGroup that exists.
    deployment : str
        The Deployment whose ReplicaSet controls the pod, or the StatefulSet that does; empty: none.
    replicated : str
        Kind of the object in `deployment`.
    """

    jobs: tuple[str, ...] = ()
    group: str = ""
    gang: str = ""
    deployment: str = ""
    replicated: str = "Deployment"
    tops: tuple[str, ...] = ()

    @property
    def pod_groups(self) -> tuple[str, ...]:
        """The PodGroups that the pod names, of Volcano and of Koordinator."""
        return tuple(key for key in (self.group, self.gang) if key)

    def owner(self, cluster: ClusterObjects, jobs_of_groups: Mapping[str, str]) -> tuple[str, str]:
        """Kind and key (``namespace/name``) of the object that owns the pod; two empty texts if none does.

        The kind is Job, TopOwner (with the key ``Kind namespace/name``), PodGroup (which need not exist) or Deployment,
        which stands for StatefulSets, too.

        `jobs_of_groups`: the Job of each PodGroup that has one (`job_of_group`).
        """
        job = next((key for key in self.jobs if key in cluster.jobs), "") or jobs_of_groups.get(self.group, "")
        if job:
            return "Job", job
        if top := top_owner_of(self.tops, cluster.top_owners):
            return "TopOwner", top
        if self.group:
            return "PodGroup", self.group
        if (gang := cluster.pod_groups.get(self.gang)) is not None and gang.koordinator:
            return "PodGroup", self.gang
        found = cluster.deployments.get(self.deployment)
        if found is None or found.kind != self.replicated:
            return "", ""
        if top := top_owner_of(top_mentions(found.metadata), cluster.top_owners):
            return "TopOwner", top
        return "Deployment", self.deployment


@dataclass
class Membership:
    """The pods of a cluster by the object they belong to; each list is in byte order of the pods' names.

    `of_job`, `of_pod_group`, `of_deployment`: pods by ``namespace/name`` of the owner; pods of a PodGroup that belongs
    to a known Job are the Job's. `of_top_owner`: pods by ``Kind namespace/name`` of the top owner. `alone`: pods
    without an owner.
    """

    of_job: dict[str, list[Pod]] = field(default_factory=dict)
    of_pod_group: dict[str, list[Pod]] = field(default_factory=dict)
    of_deployment: dict[str, list[Pod]] = field(default_factory=dict)
    of_top_owner: dict[str, list[Pod]] = field(default_factory=dict)
    alone: list[Pod] = field(default_factory=list)
    pod_group_of_job: dict[str, PodGroup] = field(default_factory=dict)


def role_of(pod: Pod) -> str:
    """Name of the task or role that a pod's labels or annotations give; empty if they give none."""
    metadata = pod.metadata
    return metadata.labels.get(ROLE_LABEL) or owned_role(metadata.labels) or metadata.annotations.get(ROLE_LABEL, "")


def sort_pods(cluster: ClusterObjects, known: Mapping[str, Mentions] = MappingProxyType({})) -> Membership:
    """Assign every pod to its Job, top owner, PodGroup or Deployment; pods that admission refuses are left out.

    A Job is found by the label volcano.sh/job-name, the controlling owner or the pod's PodGroup, a top owner by the
    labels and the controlling owner that `workbench.jobs.top_owners.top_mentions` reads, a PodGroup by the field
    spec.schedulingGroup or the annotation scheduling.k8s.io/group-name, one of Koordinator by the labels of
    `POD_GROUP_LABELS` or the annotation gang.scheduling.koordinator.sh/name, a Deployment by the name of the ReplicaSet
    that controls the pod.

    `known`: what `mentions_of` found in pods, by their keys; pods that are missing are read.
    """
    result = Membership()
    jobs_of_groups: dict[str, str] = {}
    for key, group in cluster.pod_groups.items():
        job = job_of_group(group, cluster)
        if job:
            jobs_of_groups[key] = job
            result.pod_group_of_job[job] = group
    for key in sorted(cluster.pods, key=str.encode):
        pod = cluster.pods[key]
        if f"Pod {key}" in cluster.refused:
            continue
        kind, owner = (known.get(key) or mentions_of(pod)).owner(cluster, jobs_of_groups)
        if kind == "Job":
            result.of_job.setdefault(owner, []).append(pod)
        elif kind == "TopOwner":
            result.of_top_owner.setdefault(owner, []).append(pod)
        elif kind == "PodGroup":
            result.of_pod_group.setdefault(owner, []).append(pod)
        elif kind == "Deployment":
            result.of_deployment.setdefault(owner, []).append(pod)
        else:
            result.alone.append(pod)
    return result


def gang_name(metadata: Metadata) -> str:
    """The name of the gang of Koordinator that a pod's labels or annotations give, a label first; empty: none."""
    return labelled_pod_group(metadata.labels) or metadata.annotations.get(GANG_NAME_ANNOTATION, "")


def mentions_of(pod: Pod) -> Mentions:
    """The Jobs, top owners, PodGroup and Deployment that a pod's metadata names as its owners."""
    metadata, owner = pod.metadata, pod.metadata.controller
    kind = owner.kind if owner else ""
    jobs = [
        metadata.labels.get(JOB_LABEL),
        metadata.annotations.get(JOB_LABEL),
        owner.name if owner and kind == "Job" and not owner.api_version.startswith(_BATCH) else None,
    ]
    group = pod.group or metadata.annotations.get(GROUP_NAME_ANNOTATION, "")
    gang = gang_name(metadata)
    deployment = owner.name.rpartition("-")[0] if owner and kind == "ReplicaSet" else ""
    if owner and kind == "StatefulSet":
        deployment = owner.name
    return Mentions(
        jobs=tuple(f"{metadata.namespace}/{name}" for name in jobs if name),
        group=f"{metadata.namespace}/{group}" if group else "",
        gang=f"{metadata.namespace}/{gang}" if gang else "",
        deployment=f"{metadata.namespace}/{deployment}" if deployment else "",
        replicated="StatefulSet" if kind == "StatefulSet" else "Deployment",
        tops=top_mentions(metadata),
    )


def jobs_named_by(group: PodGroup) -> tuple[str, ...]:
    """Keys (``namespace/name``) of the Jobs for which a PodGroup may have been made; the first that exists is the one.

    The last key is that of the Job whose controller named the group ``<job>-<uid>``; it counts only if the Job has that
    uid.
    """
    metadata, owner = group.metadata, group.metadata.controller
    names = [owner.name] if owner and owner.kind == "Job" and not owner.api_version.startswith(_BATCH) else []
    # The uid has four hyphens.
    names += [metadata.name, metadata.name.rsplit("-", 5)[0]]
    return tuple(f"{metadata.namespace}/{name}" for name in names)


def job_of_group(group: PodGroup, cluster: ClusterObjects) -> str:
    """Key (``namespace/name``) of the Job for which a PodGroup was made; empty if the cluster has no such Job."""
    if group.koordinator or group.kube is not None:
        return ""
    *exact, shortened = jobs_named_by(group)
    known = next((key for key in exact if key in cluster.jobs), "")
    if known:
        return known
    job = cluster.jobs.get(shortened)
    return shortened if job and group.metadata.name == f"{job.metadata.name}-{job.metadata.uid}" else ""
