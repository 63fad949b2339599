"""How a RayCluster, or the cluster of a RayJob, becomes a gang: the head, and a role for each group of workers."""

from __future__ import annotations

from workbench.jobs.owned.plan import KAI_SCHEDULER, PlannedGang, PlannedRole, order_notice
from workbench.jobs.role_template import RoleTemplate
from workbench.objects.ray_cluster import RayCluster, WorkerGroup

__all__ = ["planned_ray_cluster"]


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
