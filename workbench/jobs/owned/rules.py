"""`planned_gangs`, `pods_by_gang`: the table of functions that make gangs of each kind of top owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from workbench.jobs.membership import mentions_of, role_of
from workbench.jobs.owned.plan import PlannedGang
from workbench.jobs.top_owners import GROUP_INDEX_LABEL
from workbench.model.deferred import Deferred
from workbench.objects.pod import Pod
from workbench.objects.pod_group import PodGroup
from workbench.objects.top_owner import KUBEFLOW_KINDS, TopOwner

if TYPE_CHECKING:
    from workbench.objects.leader_worker_set import LeaderWorkerSet

__all__ = ["gang_name_of_pod", "planned_gangs", "pod_group_of", "pods_by_gang"]

_BATCH_JOB = Deferred("workbench.jobs.owned.batch_job:planned_batch_job")
_JOB_SET = Deferred("workbench.jobs.owned.job_set:planned_job_set")
_LEADER_WORKER_SET = Deferred("workbench.jobs.owned.leader_worker_set:planned_groups")
_RAY_CLUSTER = Deferred("workbench.jobs.owned.ray_cluster:planned_ray_cluster")
_KUBEFLOW_JOB = Deferred("workbench.jobs.owned.kubeflow_job:planned_kubeflow_job")

#: By kind: the gangs of an object, given how many of its pods have succeeded, by role.
_RULES: Mapping[str, Callable[[Any, Mapping[str, int]], list[PlannedGang]]] = {
    "BatchJob": lambda job, succeeded: [_BATCH_JOB(job, succeeded)],
    "JobSet": lambda job_set, succeeded: [_JOB_SET(job_set, succeeded)],
    "LeaderWorkerSet": lambda owner, _: _LEADER_WORKER_SET(owner),
    "RayCluster": lambda owner, _: [_RAY_CLUSTER(owner)],
    "RayJob": lambda owner, _: [_RAY_CLUSTER(owner)],
    **dict.fromkeys(KUBEFLOW_KINDS, lambda job, succeeded: [_KUBEFLOW_JOB(job, succeeded)]),
}


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
