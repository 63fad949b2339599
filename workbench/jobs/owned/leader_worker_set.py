"""How a LeaderWorkerSet becomes gangs: one for each group of a leader and its workers."""

from __future__ import annotations

from workbench.jobs.owned.batch_job import ROLE
from workbench.jobs.owned.plan import PlannedGang, PlannedRole, exclusive_notice, order_notice
from workbench.jobs.role_template import RoleTemplate
from workbench.jobs.top_owners import WORKER_INDEX_LABEL
from workbench.objects.leader_worker_set import LeaderWorkerSet

__all__ = ["planned_groups"]


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
        PlannedGang(name, _roles(owner, name), notes=tuple(notes))
        for name in (f"{owner.metadata.name}-{i}" for i in range(owner.replicas))
    ]


def _roles(owner: LeaderWorkerSet, name: str) -> tuple[PlannedRole, ...]:
    workers = tuple(f"{name}-{i}" for i in range(1, owner.size))
    if owner.leader is None:
        return (PlannedRole(RoleTemplate(ROLE, owner.size, owner.worker, WORKER_INDEX_LABEL), (name, *workers)),)
    leader = PlannedRole(RoleTemplate("leader", 1, owner.leader), (name,))
    if not workers:
        return (leader,)
    return leader, PlannedRole(RoleTemplate("worker", len(workers), owner.worker, WORKER_INDEX_LABEL), workers)
