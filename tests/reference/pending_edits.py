"""What each edit of a pending job means, on values: a plain interpreter of edits as JSON, beside the product's own.

An edit is a dict with ``kind``, ``subject``, ``from`` and ``to``; see `tests.reference.pending`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.jobs.hyper_job.gangs import JOBS, gang_of_hyper_job
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import NodeLabels, NodeTaints, Requirement, Taint, Toleration
from workbench.model.resources import request_vector
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.model.topology import DomainSpec, Topology
from workbench.objects.hyper_job import HyperJob
from workbench.objects.metadata import Metadata
from workbench.objects.quantity import read_resources

Json = dict[str, Any]
State = tuple[tuple[Gang, ...], ClusterSnapshot]

CORDONED = "node.kubernetes.io/unschedulable"
#: Taints that the control plane sets on a node that is not ready or under pressure.
NOT_READY = frozenset(
    f"node.kubernetes.io/{word}"
    for word in ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
)
HOSTNAME = "kubernetes.io/hostname"


class CannotApply(Exception):
    """The edit cannot be expressed on values (dependsOn), or names something that does not exist."""


def own_keys(gang: Gang) -> frozenset[str]:
    """Keys under which pods of a gang run: its own, and those of the Jobs of a HyperJob."""
    return frozenset({gang.key, *(f"{gang.namespace}/{job.name}" for job in gang.jobs)})


def apply_all(edits: Iterable[Json], state: State, job: str) -> State:
    """The gangs and the cluster after all edits, in order.

    Raises
    ------
    CannotApply
        An edit names something that does not exist, or has no meaning on values.
    """
    for edit in edits:
        state = _KINDS[edit["kind"]](edit, state, job) if edit["kind"] in _KINDS else _unknown(edit)
    return state


def _unknown(edit: Json) -> State:
    raise CannotApply(f"edits of kind {edit['kind']} have no meaning on values")


def limit_of(constraint: TopologyConstraint | None, topology: Topology) -> int | None:
    """Highest tier that a hard constraint allows; None: no constraint, a soft one, or one without a limit."""
    if constraint is None or constraint.mode == "soft":
        return None
    if constraint.highest_tier_name:
        named = [
            t for t, n in zip(topology.tier, topology.tier_names, strict=True) if n == constraint.highest_tier_name
        ]
        return int(named[0]) if named else None
    return constraint.highest_tier


# ---- the job ----


def _job_edit(change: Callable[[Gang, Json, ClusterSnapshot], Gang]) -> Callable[[Json, State, str], State]:
    """Make an edit of the pending job from a change of one gang; the Jobs of a HyperJob are changed, too."""

    def apply(edit: Json, state: State, job: str) -> State:
        gangs, snapshot = state
        found = []
        for gang in gangs:
            if gang.key == job:
                members = tuple(
                    member if member.gang is None else replace(member, gang=change(member.gang, edit, snapshot))
                    for member in gang.jobs
                )
                gang = replace(change(gang, edit, snapshot), jobs=members)
            found.append(gang)
        return tuple(found), snapshot

    return apply


def _tier(gang: Gang, edit: Json, snapshot: ClusterSnapshot) -> Gang:
    def widened(constraint: TopologyConstraint | None) -> TopologyConstraint | None:
        if constraint is None or constraint.mode == "soft":
            return constraint
        limit = limit_of(constraint, snapshot.topology)
        if limit is not None and limit >= edit["to"]:
            return constraint
        return replace(constraint, mode="hard", highest_tier=edit["to"], highest_tier_name=None)

    groups = tuple(replace(group, constraint=widened(group.constraint)) for group in gang.sub_groups)
    return replace(gang, constraint=widened(gang.constraint), sub_groups=groups)


def _smaller(before: Gang, after: Gang) -> Gang:
    """A gang with a lower minimum, with the minResources that the controller computes from it.

    minResources holds the requests of running pods, which stay, and of as many pending pods as are needed besides.
    """
    resources = before.extra(VolcanoMemory).min_resources
    if resources is None:
        return after
    old, new = _needed(before), _needed(after)
    changed = {}
    for name, amount in resources.items():
        plain = name.removeprefix("requests.").removeprefix("limits.").removeprefix("count/")
        changed[name] = max(0, amount - old.get(plain, 0) + new.get(plain, 0))
    return after.with_extra(replace(after.extra(VolcanoMemory), min_resources=changed))


def _needed(gang: Gang) -> dict[str, int]:
    """Summed requests of the pending pods that a gang needs: all pods of a role before the next role's, by priority."""
    by_priority = sorted(gang.roles, key=lambda role: -role.priority)
    needed = [role for role in by_priority for _ in range(role.count)][: max(gang.min_available - gang.ready, 0)]
    total = {"pods": len(needed)}
    for role in needed:
        for name, amount in role.requests.items():
            total[name] = total.get(name, 0) + amount
    return total


def _fewer_jobs(gang: Gang, edit: Json) -> Gang:
    """A HyperJob that needs fewer Jobs: its gang joined anew from its Jobs, as it was changed so far."""
    metadata = Metadata(gang.name, gang.namespace, created=gang.created, uid=gang.uid)
    started = sum(job.gang is None for job in gang.jobs)
    if edit["from"] != gang.min_subgroups.get(JOBS, 0) + started or not 1 <= edit["to"] < edit["from"]:
        raise CannotApply(f"the HyperJob needs {gang.min_subgroups} of its waiting Jobs")
    found = gang_of_hyper_job(HyperJob(metadata, (), edit["to"], gang.constraint), gang.jobs)
    assert found is not None
    return replace(found, queue=gang.queue, priority=gang.priority, notes=gang.notes)


def _min_available(edit: Json, state: State, job: str) -> State:
    def change(gang: Gang) -> Gang:
        if gang.kind == "HyperJob":
            return _fewer_jobs(gang, edit)
        if edit["from"] != gang.min_available or not 1 <= edit["to"] < edit["from"]:
            raise CannotApply(f"minAvailable is {gang.min_available}")
        roles, over = list(gang.roles), sum(role.min_available or 0 for role in gang.roles) - edit["to"]
        for i in reversed(range(len(roles))):
            cut = min(max(over, 0), roles[i].min_available or 0)
            if cut:
                roles[i] = replace(roles[i], min_available=(roles[i].min_available or 0) - cut)
                over -= cut
        return _smaller(gang, replace(gang, roles=tuple(roles), min_available=edit["to"]))

    gangs, snapshot = state
    return tuple(change(gang) if gang.key == job else gang for gang in gangs), snapshot


def _replicas(edit: Json, state: State, job: str) -> State:
    def change(gang: Gang) -> Gang:
        if gang.kind == "HyperJob":
            raise CannotApply("roles of a HyperJob belong to its Jobs")
        numbers = [i for i, role in enumerate(gang.roles) if role.name == edit["role"]]
        dropped = edit["from"] - edit["to"]
        if not numbers or not 0 < dropped <= gang.roles[numbers[0]].count:
            raise CannotApply(f"role {edit['role']} has no {dropped} pending pods")
        number = numbers[0]
        role = gang.roles[number]
        count = role.count - dropped
        first = int(gang.role_start[number])
        gone = set(range(first + count, first + role.count))
        names = {gang.pod(position).name for position in gone}
        fewer = replace(
            role,
            count=count,
            min_available=None if role.min_available is None else max(0, role.min_available - dropped),
            pod_names=None if role.pod_names is None else role.pod_names[:count],
            pod_uids=None if role.pod_uids is None else role.pod_uids[:count],
            pod_resource_versions=None if role.pod_resource_versions is None else role.pod_resource_versions[:count],
        )
        kept = [position for position in range(gang.n_pods) if position not in gone]
        place = {old: new for new, old in enumerate(kept)}
        groups = tuple(
            replace(
                group,
                pods=tuple(place[pod] for pod in group.pods if pod in place),
                min_available=max(0, group.min_available - len(gone.intersection(group.pods))),
            )
            for group in gang.sub_groups
        )
        fewer_pods = replace(
            gang,
            min_available=max(gang.min_available - dropped, min(gang.min_available, 1)),
            roles=(*gang.roles[:number], fewer, *gang.roles[number + 1 :]),
            sub_groups=tuple(group for group in groups if group.pods or group.running),
            order=tuple(name for name in gang.order if name not in names),
        )
        return _smaller(gang, fewer_pods)

    gangs, snapshot = state
    return tuple(change(gang) if gang.key == job else gang for gang in gangs), snapshot


def _each_role(gang: Gang, change: Callable[[Role], Role]) -> Gang:
    return replace(gang, roles=tuple(map(change, gang.roles)))


def _toleration(gang: Gang, edit: Json, snapshot: ClusterSnapshot) -> Gang:
    more = tuple(
        Toleration(
            one.get("key") or "", one.get("operator") or "Equal", one.get("value") or "", one.get("effect") or ""
        )
        for one in edit["to"]
    )

    def tolerant(role: Role) -> Role:
        return replace(role, filter=replace(role.filter, tolerations=(*role.filter.tolerations, *more)))

    return _each_role(gang, tolerant)


def requirement(data: Json) -> Requirement:
    """A condition on a label from ``{"key", "operator", "values"}``."""
    return Requirement(data["key"], data.get("operator") or "In", tuple(data.get("values") or ()))


def _selector(gang: Gang, edit: Json, snapshot: ClusterSnapshot) -> Gang:
    old = requirement(edit["from"])
    new = () if edit["to"] is None else (requirement(edit["to"]),)
    if not any(old in role.filter.required for role in gang.roles):
        raise CannotApply(f"no role selects {old}")

    def changed(role: Role) -> Role:
        parts = [new if one == old else (one,) for one in role.filter.required]
        return replace(role, filter=replace(role.filter, required=tuple(one for part in parts for one in part)))

    return _each_role(gang, changed)


def _affinity(gang: Gang, edit: Json, snapshot: ClusterSnapshot) -> Gang:
    return _each_role(gang, lambda role: replace(role, filter=replace(role.filter, any_of=())))


def _priority(gang: Gang, edit: Json, snapshot: ClusterSnapshot) -> Gang:
    return replace(gang, priority=edit["to"])


# ---- queues and other pending jobs ----


def _queue(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    name, field = edit["subject"].removeprefix("queue "), edit["kind"].removeprefix("queue-")
    queue = snapshot.queues.get(name, Queue(name))
    if field == "weight":
        value: Any = edit["to"]
    else:
        value = dict(getattr(queue, field) or {})
        for resource, text in (edit["to"] or dict.fromkeys(edit["from"])).items():
            if text is None:
                value.pop(resource, None)
            else:
                value |= read_resources({"amounts": {resource: text}}, "amounts", "edit")
        value = value or None
    return gangs, replace(snapshot, queues={**snapshot.queues, name: replace(queue, **{field: value})})


def _named_job(edit: Json, job: str, gangs: Sequence[Gang]) -> str:
    """Key of another job that the edit names."""
    key = edit["subject"].removeprefix("job ")
    if any(key in own_keys(gang) for gang in gangs if gang.key == job):
        raise CannotApply(f"{edit['kind']} touches the job itself: {key}")
    return key


def _withdraw(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    key = _named_job(edit, job, gangs)
    if all(gang.key != key for gang in gangs):
        raise CannotApply(f"no pending job {key}")
    return tuple(gang for gang in gangs if gang.key != key), snapshot


# ---- nodes ----


def node_taints(snapshot: ClusterSnapshot) -> list[list[Taint]]:
    """Taints of each node."""
    return [list(snapshot.taints.sets[code]) for code in snapshot.taints.codes]


def _without_taints(snapshot: ClusterSnapshot, nodes: Iterable[int], gone: Callable[[Taint], bool]) -> ClusterSnapshot:
    rows = node_taints(snapshot)
    for node in nodes:
        rows[node] = [taint for taint in rows[node] if not gone(taint)]
    return replace(snapshot, taints=NodeTaints.from_rows(rows))


def _nodes(edit: Json, snapshot: ClusterSnapshot) -> list[int]:
    unknown = [name for name in edit["nodes"] if not snapshot.topology.has_node(name)]
    if unknown or not edit["nodes"]:
        raise CannotApply(f"unknown nodes {unknown}")
    return [snapshot.topology.node(name) for name in edit["nodes"]]


def _uncordon(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    nodes = _nodes(edit, snapshot)
    unschedulable = snapshot.unschedulable.copy()
    unschedulable[nodes] = False
    open_again = replace(snapshot, unschedulable=unschedulable)
    return gangs, _without_taints(open_again, nodes, lambda taint: taint.key == CORDONED)


def _ready(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    nodes = _nodes(edit, snapshot)
    not_ready = snapshot.not_ready.copy()
    not_ready[nodes] = False
    return gangs, _without_taints(replace(snapshot, not_ready=not_ready), nodes, lambda taint: taint.key in NOT_READY)


def taint_text(taint: Taint) -> str:
    """A taint as ``key=value:effect``, without ``=`` if it has no value."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _untaint(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    text = edit["from"].replace("=:", ":")
    return gangs, _without_taints(snapshot, _nodes(edit, snapshot), lambda taint: taint_text(taint) == text)


def _wait(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    ending = {f"{pod.namespace}/{pod.name}" for pod in snapshot.running if pod.terminating}
    gone = set(edit["pods"])
    if not gone or not gone <= ending:
        raise CannotApply(f"not terminating: {sorted(gone - ending)}")
    return gangs, snapshot.without_pods(lambda pod: f"{pod.namespace}/{pod.name}" in gone)


# ---- running jobs ----


def _finish(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    if edit["subject"].startswith("pod "):
        name = edit["subject"].removeprefix("pod ")
        if all(f"{pod.namespace}/{pod.name}" != name or pod.gang for pod in snapshot.running):
            raise CannotApply(f"no running pod {name} outside gangs")
        return gangs, snapshot.without_pods(lambda pod: f"{pod.namespace}/{pod.name}" == name and not pod.gang)
    key = _named_job(edit, job, gangs)
    if all(pod.gang != key for pod in snapshot.running):
        raise CannotApply(f"job {key} does not run")
    return tuple(gang for gang in gangs if gang.key != key), snapshot.without(key)


def _move(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    key = _named_job(edit, job, gangs)
    target = {name.rpartition("/")[2]: node for name, node in edit["to"].items()}
    used, free = snapshot.used.copy(), snapshot.gpu_free.copy()
    moved = [pod for pod in snapshot.running if pod.gang == key and pod.name in target]
    if len(moved) != len(target):
        raise CannotApply(f"not all of {sorted(target)} run for {key}")
    for pod in moved:
        used[pod.node] -= request_vector(snapshot.resources, pod.requests)[0]
        for word in range(free.shape[1]):
            free[pod.node, word] |= np.uint64((pod.gpu_mask >> (64 * word)) & (2**64 - 1))
    running = {id(pod): pod for pod in snapshot.running}
    for pod in moved:
        node = snapshot.topology.node(target[pod.name])
        used[node] += request_vector(snapshot.resources, pod.requests)[0]
        mask, wanted = 0, pod.gpu_mask.bit_count()
        for gpu in range(64 * free.shape[1]):
            bit = np.uint64(1 << (gpu % 64))
            if wanted and free[node, gpu // 64] & bit:
                free[node, gpu // 64] &= ~bit
                mask, wanted = mask | 1 << gpu, wanted - 1
        if wanted or (used[node] > snapshot.allocatable[node]).any():
            raise CannotApply(f"{pod.name} does not fit on {target[pod.name]}")
        running[id(pod)] = replace(pod, node=node, gpu_mask=mask)
    return gangs, replace(snapshot, used=used, gpu_free=free, running=tuple(running.values()))


# ---- new nodes ----


def _add_nodes(edit: Json, state: State, job: str) -> State:
    gangs, snapshot = state
    topology = snapshot.topology
    like, names = topology.node(edit["like"]), list(edit["names"])
    if not names or any(topology.has_node(name) for name in names):
        raise CannotApply(f"names of new nodes: {names}")
    inside: set[int] = set()
    if edit["subject"] != "cluster":
        domain = topology.domain(edit["subject"].removeprefix("HyperNode "))
        while domain >= 0:
            inside.add(domain)
            domain = int(topology.parent[domain])
    new = list(range(topology.n_nodes, topology.n_nodes + len(names)))
    specs = [
        DomainSpec(
            topology.domain_names[d],
            int(topology.tier[d]),
            [*topology.nodes_of(d).tolist(), *(new if d in inside else ())],
            "" if topology.parent[d] < 0 else topology.domain_names[topology.parent[d]],
            topology.tier_names[d],
        )
        for d in range(topology.n_domains)
    ]
    every = [*topology.node_names, *names]
    larger = Topology.build(every, specs, topology.problems, topology.ready)
    # Row of the old arrays for each node of the new topology; a new node copies the row of `like`.
    source = np.array([topology.node(n) if topology.has_node(n) else like for n in larger.node_names])
    fresh = np.array([not topology.has_node(n) for n in larger.node_names])
    position = np.array([larger.node(n) for n in topology.node_names])
    used, free, shares = snapshot.used[source], snapshot.gpu_free[source], snapshot.gpu_shares
    used[fresh], free[fresh] = 0, snapshot.gpu_total[like]
    if shares is not None:
        shares = shares[source]
        shares[fresh] = 0
    labels = [snapshot.labels.row(int(i)) for i in source]
    for node in np.flatnonzero(fresh):
        if HOSTNAME in labels[node]:
            labels[node][HOSTNAME] = larger.node_names[node]
    old = node_taints(snapshot)
    return gangs, replace(
        snapshot,
        topology=larger,
        allocatable=snapshot.allocatable[source],
        used=used,
        labels=NodeLabels.from_rows(larger.node_names, labels),
        taints=NodeTaints.from_rows([[] if new_one else old[i] for i, new_one in zip(source, fresh, strict=True)]),
        unschedulable=snapshot.unschedulable[source] & ~fresh,
        not_ready=snapshot.not_ready[source] & ~fresh,
        gpu_total=snapshot.gpu_total[source],
        gpu_free=free,
        gpu_shares=shares,
        node_matrix=snapshot.node_matrix[source],
        running=tuple(replace(p, node=int(position[p.node])) if p.node >= 0 else p for p in snapshot.running),
        addresses=(),
        node_uids=None,
        node_resource_versions=None,
    )


_KINDS: dict[str, Callable[[Json, State, str], State]] = {
    "tier": _job_edit(_tier),
    "min-available": _min_available,
    "replicas": _replicas,
    "toleration": _job_edit(_toleration),
    "selector": _job_edit(_selector),
    "affinity": _job_edit(_affinity),
    "priority": _job_edit(_priority),
    "queue-capability": _queue,
    "queue-deserved": _queue,
    "queue-guarantee": _queue,
    "queue-weight": _queue,
    "withdraw": _withdraw,
    "uncordon": _uncordon,
    "ready": _ready,
    "untaint": _untaint,
    "wait": _wait,
    "move": _move,
    "finish": _finish,
    "add-nodes": _add_nodes,
}
