"""`JobObjects`: the manifests that make up one job, found as the loader finds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError, close_names
from workbench.formats.edit_manifests.manifest_set import ManifestSet
from workbench.jobs.hyper_job.gangs import hyper_job_of_jobs
from workbench.jobs.membership import job_of_group
from workbench.jobs.owned.gang import owned_gangs
from workbench.jobs.owned.rules import pod_group_of
from workbench.jobs.pods import group_of_lone_pod
from workbench.jobs.top_owners import outermost, top_owner_of
from workbench.jobs.volcano_job import gang_of_job
from workbench.objects.hyper_job import job_specs_in
from workbench.objects.leader_worker_set import LeaderWorkerSet
from workbench.objects.pod import Pod
from workbench.objects.top_owner import TopOwner

__all__ = ["JobObjects", "pending_job", "running_jobs"]


@dataclass
class JobObjects:
    """The manifests of one job, by their positions in a `ManifestSet`.

    Attributes
    ----------
    kind : str
        As `Gang.kind`: Job, HyperJob, PodGroup, Deployment, Gang or GpuGroup (pods that name one), Pod, or the kind of
        a top owner.
    key : str
        ``namespace/name``.
    owner : int, optional
        The object itself; None for pods without a common object, and for a PodGroup that is not in the input.
    groups : list of int
        PodGroups of the Job, or of the Jobs of the HyperJob; of a top owner also the objects between it and its pods.
    pods : list of Pod
        Every pod, in any state, as it was before any change.
    jobs : list of JobObjects
        Jobs that a HyperJob has made; empty for any other kind.
    whole : str
        Of a replica of a LeaderWorkerSet ``namespace/name`` of the set; else empty.
    """

    kind: str
    key: str
    owner: int | None = None
    groups: list[int] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    jobs: list[JobObjects] = field(default_factory=list)
    whole: str = ""

    @property
    def runs(self) -> bool:
        """Whether a pod of the job holds resources for it."""
        return any(pod.runs for pod in self.pods)

    def waits(self, manifests: ManifestSet) -> bool:
        """Whether pods of the job wait for nodes, existing or not."""
        if self.kind == "Job":
            job = manifests.cluster.jobs[self.key]
            return gang_of_job(job, self.pods, None, manifests.priorities) is not None
        if self.kind == "HyperJob":
            return True
        if (owner := manifests.cluster.top_owners.get(f"{self.kind} {self.whole or self.key}")) is not None:
            made = owned_gangs(owner, self.pods, {}, manifests.priorities)
            return any(one.gang for one in made if not self.whole or one.key == self.key)
        if self.kind == "Deployment":
            replicas = manifests.cluster.deployments[self.key].replicas
            return sum(pod.runs for pod in self.pods) < replicas
        return any(pod.pending for pod in self.pods)

    def waiting_pods(self, manifests: ManifestSet) -> Iterator[tuple[Pod, int]]:
        """Pods without a node, each with the position of its manifest."""
        for pod in self.pods:
            position = manifests.find("Pod", pod.metadata.key)
            if pod.waits and position is not None:
                yield pod, position

    def jobs_that_wait(self, manifests: ManifestSet) -> list[JobObjects]:
        """The Volcano Jobs with pending pods among those that the job consists of."""
        return [job for job in ([self] if self.kind == "Job" else self.jobs) if job.waits(manifests)]

    def templates(self, manifests: ManifestSet) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and template of each entry of a HyperJob, to be changed; none for other kinds."""
        if self.kind == "HyperJob" and self.owner is not None:
            yield from job_specs_in(manifests.change(self.owner))


#: Kinds of edits that are made in manifests of top owners.
OF_OWNERS = frozenset({"replicas", "kueue-level", "kueue-slices", "toleration", "selector", "affinity"})


def pending_job(manifests: ManifestSet, key: str, kind: str = "") -> JobObjects:
    """The job that waits under a key (``namespace/name``).

    If several objects have the name, the first kind by name with pending pods is taken, as `Scenario.gang` does.

    `kind`: kind of the edit that changes a field of the job; empty: the job is taken away as a whole. Raises
    InputError: no such job, or a top owner of which a field would have to change, or some pods run.
    """
    found = _named(manifests, key)
    if not found:
        found = _replicas_of_sets(manifests, key)
        if found and not kind:
            expected = f"a change of the LeaderWorkerSet {found[0].whole}"
            raise InputError("a replica cannot be taken away without the others", got=key, expected=expected)
    if not found:
        raise _missing(manifests, key)
    job = next((job for job in found if job.waits(manifests)), found[0])
    owned = f"{job.kind} {job.whole or job.key}" in manifests.cluster.top_owners
    if owned and ((kind not in OF_OWNERS) if kind else job.runs):
        expected = "a Volcano Job, HyperJob, PodGroup, Deployment or Pod"
        called = "Job (batch/v1)" if job.kind == "BatchJob" else job.kind
        raise InputError("fields of this kind are not changed here", got=f"{called} {key}", expected=expected)
    return job


def _replicas_of_sets(manifests: ManifestSet, key: str) -> list[JobObjects]:
    """The replica of a LeaderWorkerSet with this key, a job by itself whose fields are those of the set."""
    found = []
    for _, owner in outermost(manifests.cluster.top_owners):
        if isinstance(owner, LeaderWorkerSet) and key in [f"{owner.metadata.key}-{i}" for i in range(owner.replicas)]:
            job = _owned_job(manifests, owner)
            job.key, job.whole = key, owner.metadata.key
            found.append(job)
    return found


def running_jobs(manifests: ManifestSet, key: str) -> list[JobObjects]:
    """The jobs with running pods under a key, as in `RunningPod.gang`, or the HyperJob or LeaderWorkerSet of this name.

    Raises InputError: no such job runs.
    """
    owners = [owner for _, owner in outermost(manifests.cluster.top_owners)]
    sets = [owner for owner in owners if isinstance(owner, LeaderWorkerSet) and owner.metadata.key == key]
    found = [job for job in [*_named(manifests, key), *(_owned_job(manifests, one) for one in sets)] if job.runs]
    if not found:
        raise _missing(manifests, key, "running ")
    return found


def _missing(manifests: ManifestSet, key: str, state: str = "") -> InputError:
    cluster, members = manifests.cluster, manifests.members
    known = {*cluster.jobs, *cluster.hyper_jobs, *cluster.deployments, *members.of_pod_group}
    known |= {pod.metadata.key for pod in members.alone}
    known |= {owner.metadata.key for _, owner in outermost(cluster.top_owners) if _is_of(owner, owner.metadata.key)}
    expected = close_names(key, sorted(known)) or "a job, of which the manifests have none"
    return InputError(f"no {state}job of this name in the manifests", got=key, expected=expected)


def _named(manifests: ManifestSet, key: str) -> list[JobObjects]:
    """The jobs of a name, by kind."""
    cluster, members = manifests.cluster, manifests.members
    found = []
    if key in cluster.deployments:
        pods = members.of_deployment.get(key, [])
        found.append(JobObjects("Deployment", key, manifests.find("Deployment", key), pods=pods))
    namespace, _, name = key.partition("/")
    lone = [pod for pod in members.alone if pod.metadata.namespace == namespace]
    grouped = [(pod, group_of_lone_pod(pod, [])) for pod in lone]
    in_gang = [pod for pod, group in grouped if group == name and name]
    in_group = [pod for pod, group in grouped if not isinstance(group, str) and group.name == name]
    if in_gang:
        found.append(JobObjects("Gang", key, pods=in_gang))
    if in_group:
        found.append(JobObjects("GpuGroup", key, pods=in_group))
    if key in cluster.hyper_jobs:
        made = [_job(manifests, job) for job, owner in hyper_job_of_jobs(cluster).items() if owner == key]
        groups = [group for job in made for group in job.groups]
        pods = [pod for job in made for pod in job.pods]
        found.append(JobObjects("HyperJob", key, manifests.find("HyperJob", key), groups, pods, made))
    if key in cluster.jobs:
        found.append(_job(manifests, key))
    found += [_owned_job(manifests, owner) for _, owner in outermost(cluster.top_owners) if _is_of(owner, key)]
    alone = [pod for pod, group in grouped if not group and pod.metadata.name == name]
    if alone:
        found.append(JobObjects("Pod", key, pods=alone))
    if key in members.of_pod_group:
        position, pods = manifests.find("PodGroup", key), members.of_pod_group[key]
        group = cluster.pod_groups.get(key)
        kind = "Gang" if group is not None and group.koordinator else "PodGroup"
        groups = [] if position is None else [position]
        found.append(JobObjects(kind, key, position, groups, pods))
    for job in found:
        job.pods = [pod for pod in job.pods if manifests.find("Pod", pod.metadata.key) is not None]
    owned = ("Job", "HyperJob", "Deployment")
    return [job for job in found if job.owner is not None or (job.pods and job.kind not in owned)]


def _is_of(owner: TopOwner, key: str) -> bool:
    """Whether a job of this key is all that a top owner makes; each replica of a LeaderWorkerSet is a job by itself."""
    return owner.metadata.key == key and not isinstance(owner, LeaderWorkerSet)


def _owned_job(manifests: ManifestSet, owner: TopOwner) -> JobObjects:
    cluster, pods = manifests.cluster, manifests.members.of_top_owner.get(owner.key, [])
    owners = cluster.top_owners
    between = [one for name, one in owners.items() if one is not owner and top_owner_of((name,), owners) == owner.key]
    found = [manifests.find(one.kind, one.metadata.key) for one in between]
    group = pod_group_of(pods, cluster.pod_groups)
    found += [] if group is None else [manifests.find("PodGroup", group.metadata.key)]
    positions = [position for position in found if position is not None]
    return JobObjects(owner.kind, owner.metadata.key, manifests.find(owner.kind, owner.metadata.key), positions, pods)


def _job(manifests: ManifestSet, key: str) -> JobObjects:
    cluster = manifests.cluster
    groups = [name for name, group in cluster.pod_groups.items() if job_of_group(group, cluster) == key]
    positions = [position for name in groups if (position := manifests.find("PodGroup", name)) is not None]
    return JobObjects("Job", key, manifests.find("Job", key), positions, manifests.members.of_job.get(key, []))
