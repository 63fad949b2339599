"""`planned_gangs`, `pods_by_gang`: how an object of each kind of top owner becomes gangs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from workbench.jobs.membership import mentions_of, role_of
from workbench.jobs.owned.plan import KAI_SCHEDULER, PlannedGang, PlannedRole, exclusive_notice, order_notice
from workbench.jobs.roles import RoleTemplate
from workbench.jobs.top_owners import (
    GROUP_INDEX_LABEL,
    JOB_INDEX_LABEL,
    KUBEFLOW_INDEX_LABEL,
    POD_INDEX_LABEL,
    WORKER_INDEX_LABEL,
)
from workbench.model.notice import Notice
from workbench.objects.deployment import MIN_MEMBER_ANNOTATION, min_member_notes, min_member_of
from workbench.objects.pod import Pod
from workbench.objects.pod_group import PodGroup
from workbench.objects.top_owner import KUBEFLOW_KINDS, TopOwner

if TYPE_CHECKING:
    from workbench.objects.batch_job import BatchJob
    from workbench.objects.job_set import JobSet, JobSetEntry
    from workbench.objects.kubeflow_job import KubeflowJob, ReplicaSpec
    from workbench.objects.leader_worker_set import LeaderWorkerSet
    from workbench.objects.ray_cluster import RayCluster, WorkerGroup

__all__ = [
    "ROLE",
    "gang_name_of_pod",
    "planned_batch_job",
    "planned_gangs",
    "planned_groups",
    "planned_job_set",
    "planned_kubeflow_job",
    "planned_ray_cluster",
    "pod_group_of",
    "pods_by_gang",
]


def planned_gangs(owner: TopOwner, pods: Iterable[Pod]) -> list[PlannedGang]:
    """The gangs that the controllers of an object make of it; empty if they make no pods any more, or none for now.

    `pods`: its existing pods, in any state.
    """
    if owner.finished or owner.held:
        return []
    succeeded = Counter(role_of(pod) for pod in pods if pod.phase == "Succeeded")
    return _RULES[owner.kind](owner, succeeded)


def gang_name_of_pod(owner: TopOwner, pod: Pod) -> str:
    """Name of the gang of an object to which one of its pods belongs."""
    index = pod.metadata.labels.get(GROUP_INDEX_LABEL) if owner.kind == "LeaderWorkerSet" else None
    return owner.metadata.name if index is None else f"{owner.metadata.name}-{index}"


def pods_by_gang(owner: TopOwner, pods: Sequence[Pod]) -> dict[str, list[Pod]]:
    """The pods of an object by the names of its gangs.

    Every gang of the object is there, also one without pods, and one that the object does not ask for any more.
    """
    found: dict[str, list[Pod]] = {owner.metadata.name: []}
    if owner.kind == "LeaderWorkerSet":
        found = {f"{owner.metadata.name}-{i}": [] for i in range(cast("LeaderWorkerSet", owner).replicas)}
    for pod in pods:
        found.setdefault(gang_name_of_pod(owner, pod), []).append(pod)
    return found


def pod_group_of(pods: Iterable[Pod], groups: Mapping[str, PodGroup]) -> PodGroup | None:
    """The PodGroup that the pods of a gang name; None if they name none that exists, or several.

    `groups`: PodGroups by ``namespace/name``.
    """
    named = {key for pod in pods for key in mentions_of(pod).pod_groups if key in groups}
    return groups[named.pop()] if len(named) == 1 else None


#: The one role of a Job, named as Kueue names its pod set.
ROLE = "main"


def planned_batch_job(job: BatchJob, succeeded: Mapping[str, int]) -> PlannedGang:
    """The gang of a Job of Kubernetes.

    As many pods run at a time as parallelism says, and no more than are still to succeed; all of them start together
    (as Kueue admits them) unless Volcano's annotation group-min-member on the Job says how many. Pods are called after
    their index if the Job is Indexed; else their names end at random.

    `succeeded`: pods in the input that have succeeded, by role.
    """
    spec, annotations = job.spec, job.metadata.annotations
    done = max(job.succeeded, sum(succeeded.values()))
    wanted = spec.pods
    if spec.completions is not None:
        wanted = min(wanted, max(spec.completions - done, 0))
    elif done:
        # One that has succeeded ends a Job without completions: no pod is made any more.
        wanted = 0
    # Indices are worked off from the smallest.
    first = done if spec.indexed else 0
    names = tuple(f"{job.metadata.name}-{first + i}" for i in range(wanted))
    role = PlannedRole(RoleTemplate(ROLE, spec.pods, spec.template, POD_INDEX_LABEL if spec.indexed else ""), names)
    notes = min_member_notes(annotations)
    if MIN_MEMBER_ANNOTATION in annotations:
        return PlannedGang(job.metadata.name, (role,), min_member_of(annotations), notes=tuple(notes))
    if spec.template.spec.scheduler == "volcano" and spec.pods > 1:
        text = f"without the annotation {MIN_MEMBER_ANNOTATION} on the Job Volcano starts its pods one by one"
        notes.append(Notice("no-minimum", f"{text}; they are placed together here"))
    return PlannedGang(job.metadata.name, (role,), notes=tuple(notes))


def planned_groups(owner: LeaderWorkerSet) -> list[PlannedGang]:
    """The gangs of a LeaderWorkerSet: each replica is one, since Kueue, Volcano and KAI place each group by itself.

    The gang of a replica has the name of its leader, ``<set>-<replica>``; workers are called after it, from index 1.
    With a template of its own the leader is the role ``leader`` beside the role ``worker``; else all pods are one role,
    ``main``, as in Kueue.
    """
    notes = []
    if owner.exclusive:
        notes.append(exclusive_notice(owner.exclusive, "each group"))
    if owner.leader_first and owner.size > 1:
        notes.append(order_notice("the workers of a group are made once its leader is ready"))
    return [
        PlannedGang(name, _group_roles(owner, name), notes=tuple(notes))
        for name in (f"{owner.metadata.name}-{i}" for i in range(owner.replicas))
    ]


def _group_roles(owner: LeaderWorkerSet, name: str) -> tuple[PlannedRole, ...]:
    workers = tuple(f"{name}-{i}" for i in range(1, owner.size))
    if owner.leader is None:
        return (PlannedRole(RoleTemplate(ROLE, owner.size, owner.worker, WORKER_INDEX_LABEL), (name, *workers)),)
    leader = PlannedRole(RoleTemplate("leader", 1, owner.leader), (name,))
    if not workers:
        return (leader,)
    return leader, PlannedRole(RoleTemplate("worker", len(workers), owner.worker, WORKER_INDEX_LABEL), workers)


def planned_job_set(job_set: JobSet, succeeded: Mapping[str, int]) -> PlannedGang:
    """The gang of a JobSet: all pods of all its Jobs start together, as Kueue admits them.

    Pods are called ``<jobset>-<entry>-<job>-<index>``. Those of Jobs that have succeeded are not made again.

    `succeeded`: pods in the input that have succeeded, by role.
    """
    name = job_set.metadata.name
    notes = [
        exclusive_notice(job.exclusive, f"each Job of {job.name}") for job in job_set.jobs if job.exclusive
    ]  # fmt: skip
    if job_set.in_order:
        notes.append(order_notice("the Jobs of an entry start once those of the entries before it have"))
    roles = tuple(_job_set_role(name, job, succeeded.get(job.name, 0)) for job in job_set.jobs)
    return PlannedGang(name, roles, notes=tuple(notes))


def _job_set_role(job_set: str, job: JobSetEntry, succeeded: int) -> PlannedRole:
    spec = job.spec
    done = job.succeeded * spec.pods
    if spec.completions is not None and spec.completions <= spec.parallelism:
        # Every pod runs once.
        done = max(done, succeeded)
    names = [f"{job_set}-{job.name}-{number}-{i}" for number in range(job.replicas) for i in range(spec.pods)]
    of = RoleTemplate(
        job.name, len(names), spec.template, POD_INDEX_LABEL, JOB_INDEX_LABEL, job.replicas
    )  # fmt: skip
    return PlannedRole(of, tuple(names[done:]))


def planned_kubeflow_job(job: KubeflowJob, succeeded: Mapping[str, int]) -> PlannedGang:
    """The gang of a job of Kubeflow: its pods start together, or as many as schedulingPolicy.minAvailable says.

    Pods are called ``<job>-<type>-<index>``, the launcher of an MPIJob ``<job>-launcher``. For KAI minReplicas of an
    elastic PyTorchJob is the minimum where minAvailable is absent.

    `succeeded`: pods in the input that have succeeded, by role.
    """
    roles = tuple(_kubeflow_role(job, one, succeeded.get(one.type, 0)) for one in job.replicas)
    minimum = job.min_available
    if minimum is None and KAI_SCHEDULER in job.schedulers:
        minimum = job.elastic_minimum
    notes = [order_notice("the launcher is made once the workers are ready")] if job.launcher_waits else []
    return PlannedGang(
        job.metadata.name, roles, minimum, job.queue, job.priority_class, notes=tuple(notes)
    )  # fmt: skip


def _kubeflow_role(job: KubeflowJob, one: ReplicaSpec, succeeded: int) -> PlannedRole:
    stem = f"{job.metadata.name}-{one.type}"
    names = [f"{stem}-{i}" for i in range(one.replicas)]
    if job.kind == "MPIJob" and one.type == "launcher" and one.replicas == 1:
        names = [stem]
    of = RoleTemplate(one.type, one.replicas, one.template, KUBEFLOW_INDEX_LABEL)
    return PlannedRole(of, tuple(names[max(one.succeeded, succeeded) :]))


def planned_ray_cluster(owner: RayCluster) -> PlannedGang:
    """The gang of a RayCluster or RayJob: the head and ``replicas × numOfHosts`` pods of each group.

    All of them start together, unless the autoscaler may change the replicas: then the head and minReplicas of each
    group are enough, as KubeRay writes it into a PodGroup. KAI takes minReplicas of a group whenever it is above 0.
    The pod that submits a RayJob is made once the cluster runs and is not in the gang.
    """
    kai = KAI_SCHEDULER in owner.schedulers
    least = [_least(group, kai, owner.autoscaling) * group.hosts for group in owner.groups]
    elastic = any(few < group.replicas * group.hosts for few, group in zip(least, owner.groups, strict=True))
    roles = [PlannedRole(RoleTemplate("head", 1, owner.head), (f"{owner.cluster}-head",), 1 if elastic else None)]
    for group, few in zip(owner.groups, least, strict=True):
        names = tuple(f"{owner.cluster}-{group.name}-worker-{i}" for i in range(group.replicas * group.hosts))
        roles.append(PlannedRole(RoleTemplate(group.name, len(names), group.template), names, few if elastic else None))
    late = order_notice("the pod that submits the job is made once the cluster runs", "it is not counted")
    return PlannedGang(
        owner.metadata.name,
        tuple(roles),
        1 + sum(least) if elastic else None,
        owner.queue,
        owner.priority_class,
        owner.constraint,
        (late,) if owner.submitter else (),
    )


def _least(group: WorkerGroup, kai: bool, autoscaling: bool) -> int:
    """Replicas of a group that must start."""
    if autoscaling or (kai and group.min_replicas):
        return min(group.min_replicas, group.replicas)
    return group.replicas


#: By kind: the gangs of an object, given how many of its pods have succeeded, by role.
_RULES: Mapping[str, Callable[[Any, Mapping[str, int]], list[PlannedGang]]] = {
    "BatchJob": lambda job, succeeded: [planned_batch_job(job, succeeded)],
    "JobSet": lambda job_set, succeeded: [planned_job_set(job_set, succeeded)],
    "LeaderWorkerSet": lambda owner, _: planned_groups(owner),
    **dict.fromkeys(("RayCluster", "RayJob"), lambda owner, _: [planned_ray_cluster(owner)]),
    **dict.fromkeys(KUBEFLOW_KINDS, lambda job, succeeded: [planned_kubeflow_job(job, succeeded)]),
}
