"""`read_workload`: the gangs (pending jobs) of a cluster and its running pods, from Kubernetes objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from workbench.jobs.deployment import gang_of_deployment
from workbench.jobs.hyper_job.gangs import join_hyper_jobs
from workbench.jobs.job_labels import JobLabels, completed, read_job_labels
from workbench.jobs.kueue_request import with_kueue_request
from workbench.jobs.kueue_ungater import ungated
from workbench.jobs.membership import Membership, Mentions, sort_pods
from workbench.jobs.object_notes import ObjectNotes
from workbench.jobs.owned.gang import owned_gangs
from workbench.jobs.owned.rules import gang_name_of_pod
from workbench.jobs.pods import gang_of_koordinator_group, gang_of_pod_group, gangs_of_lone_pods, group_of_lone_pod
from workbench.jobs.roles import Priorities
from workbench.jobs.schedulers import OtherSchedulers, TakenSchedulers
from workbench.jobs.top_owners import is_owned, outermost
from workbench.jobs.volcano_job import gang_of_job
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.objects.deployment import QUEUE_ANNOTATION
from workbench.objects.gang_request import with_requests
from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod import Pod
from workbench.objects.pod_group import PodGroup

__all__ = ["Workload", "read_unit", "read_workload", "refused_notices"]


@dataclass(frozen=True)
class Workload:
    """The gangs of a cluster that wait for nodes, and its pods that hold resources.

    Attributes
    ----------
    gangs : tuple of Gang
        Gangs with at least one pending pod, sorted by namespace and name.
    refused : tuple of Notice
        Objects that admission refuses, each the subject of its notice (``kind namespace/name``), in byte order. No pod
        of a Job or a PodGroup among them is pending.
    holding : tuple of (Pod, str)
        Pods that hold resources, each with the key (``namespace/name``) of its gang or an empty text, sorted by
        namespace and name.
    queues : mapping of str to str
        Queue of each gang, pending or running, by the gang's key.
    labels : mapping of str to JobLabels
        Labels that concern the whole job of each gang, pending or running, by the gang's key.
    gated : int
        Number of pods held back by a scheduling gate; they are in no gang.
    notes : tuple of Notice
        Notices that belong to no gang: about jobs left to other schedulers, and about objects with fields that have
        another effect than they seem to have.
    """

    gangs: tuple[Gang, ...]
    refused: tuple[Notice, ...]
    holding: tuple[tuple[Pod, str], ...]
    queues: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, JobLabels] = field(default_factory=dict)
    gated: int = 0
    notes: tuple[Notice, ...] = ()


def read_workload(cluster: ClusterObjects, *, any_scheduler: TakenSchedulers = False) -> Workload:
    """Make gangs of the HyperJobs, Jobs, top owners, PodGroups, Deployments and lone pods of a cluster.

    Jobs, Deployments and waiting pods of another scheduler than those of `OWN_SCHEDULERS` make no gang, unless
    `any_scheduler` is true or names it; `OtherSchedulers` says which gangs are jobs whichever scheduler they name. The
    resources of running pods count in any case.
    """
    others = OtherSchedulers(any_scheduler)
    cluster = ungated(cluster)
    members = sort_pods(cluster)
    priorities = Priorities(cluster.priority_classes)
    read = _read(cluster, members, priorities, others)
    told = ObjectNotes(cluster.notes, members)
    joined = join_hyper_jobs(cluster, read.gangs, members.pod_group_of_job, priorities, others)
    gangs = tuple(map(told.added_to, with_requests(joined, cluster.requests.values())))
    return replace(read, gangs=gangs, notes=(*others.notes(), *told.left()))


def read_unit(
    cluster: ClusterObjects, priorities: Priorities, others: OtherSchedulers, known: Mapping[str, Mentions]
) -> Workload:
    """Make the gangs and running pods of a part of a cluster, without notices about the cluster as a whole.

    `cluster`: the part: with every pod it must contain the pod's owner and the PodGroup of the owning Job.
    `priorities`: the PriorityClasses of the whole cluster. `others`: counts the Jobs, Deployments and pods left out
    because another scheduler places them. `known`: as in `sort_pods`.
    """
    cluster = ungated(cluster)
    return _read(cluster, sort_pods(cluster, known), priorities, others)


def _read(cluster: ClusterObjects, members: Membership, priorities: Priorities, others: OtherSchedulers) -> Workload:
    gangs: list[Gang | None] = []
    for key, job in cluster.jobs.items():
        if f"Job {key}" not in cluster.refused and not others.has_job(job):
            group = members.pod_group_of_job.get(key)
            gangs.append(gang_of_job(job, members.of_job.get(key, ()), group, priorities))
    for key, pods in members.of_pod_group.items():
        group = cluster.pod_groups.get(key)
        if f"PodGroup {key}" not in cluster.refused:
            pods = [pod for pod in pods if not others.has_pod(pod)]
            if group is not None and group.koordinator:
                gangs.append(gang_of_koordinator_group(group, pods, priorities))
            else:
                gangs.append(gang_of_pod_group(key, group, pods, priorities))
    for key, deployment in cluster.deployments.items():
        if f"{deployment.kind} {key}" in cluster.refused:
            continue
        if not is_owned(deployment.metadata, cluster.top_owners) and not others.has_deployment(deployment):
            gangs.append(gang_of_deployment(deployment, members.of_deployment.get(key, ()), priorities))
    owned_queues: dict[str, str] = {}
    for name, owner in outermost(cluster.top_owners):
        if name in cluster.refused:
            continue
        owned = list(owned_gangs(owner, members.of_top_owner.get(name, ()), _groups(cluster), priorities))
        owned_queues |= {one.key: one.queue for one in owned}
        gangs += [one.gang for one in owned]
    gangs += gangs_of_lone_pods([pod for pod in members.alone if not others.has_pod(pod)], priorities)
    labels = read_job_labels(cluster, members)
    pending = [with_kueue_request(completed(gang, labels)) for gang in gangs if gang is not None]
    pending.sort(key=lambda gang: (gang.namespace.encode(), gang.name.encode(), gang.kind))
    queues = _queues(cluster, members) | owned_queues | {gang.key: gang.queue for gang in pending}
    refused = refused_notices(cluster)
    gated = sum(pod.waits and pod.gated for pod in cluster.pods.values())
    return Workload(tuple(pending), refused, tuple(_holding(cluster, members)), queues, labels, gated)


def refused_notices(cluster: ClusterObjects) -> tuple[Notice, ...]:
    """One notice for each object of the input that admission refuses, with the reason, sorted by the object's name."""
    return tuple(Notice("refused-by-admission", text, subject) for subject, text in sorted(cluster.refused.items()))


def _queues(cluster: ClusterObjects, members: Membership) -> dict[str, str]:
    """Queue of each Job, PodGroup and Deployment that owns pods, pending or not, by ``namespace/name``."""
    queues = {
        key: deployment.template.annotations.get(QUEUE_ANNOTATION) or "default"
        for key, deployment in cluster.deployments.items()
        if not is_owned(deployment.metadata, cluster.top_owners)
    }
    for key in members.of_pod_group:
        group = cluster.pod_groups.get(key)
        queues[key] = group.queue if group else "default"
    return queues | {key: job.queue for key, job in cluster.jobs.items()}


def _groups(cluster: ClusterObjects) -> Mapping[str, PodGroup]:
    """The PodGroups of a cluster but those that admission refuses."""
    groups, refused = cluster.pod_groups, cluster.refused
    return {key: one for key, one in groups.items() if f"PodGroup {key}" not in refused} if refused else groups


def _holding(cluster: ClusterObjects, members: Membership) -> list[tuple[Pod, str]]:
    pods = [
        (pod, key)
        for owned in (members.of_job, members.of_pod_group, members.of_deployment)
        for key, group in owned.items()
        for pod in group
        if pod.holds_resources
    ]
    for pod in members.alone:
        if pod.holds_resources:
            group = group_of_lone_pod(pod, [])
            name = group if isinstance(group, str) else group.name
            pods.append((pod, f"{pod.metadata.namespace}/{name}" if name else ""))
    for name, owned_pods in members.of_top_owner.items():
        owner = cluster.top_owners[name]
        pods += [
            (pod, f"{owner.metadata.namespace}/{gang_name_of_pod(owner, pod)}")
            for pod in owned_pods
            if pod.holds_resources
        ]
    return sorted(pods, key=lambda item: (item[0].metadata.namespace.encode(), item[0].metadata.name.encode()))
