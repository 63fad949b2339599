"""`Family`: edits of one kind and subject, from the least change to the largest; `families` lists those of a job."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from workbench.evaluate.whatif.cluster_edits import AwaitTermination, MakeReady, NodesEdit, RemoveTaint, Uncordon
from workbench.evaluate.whatif.edit import REPLICATED, EditedSession
from workbench.evaluate.whatif.family import Family, OfNodes, OfQueue, One, Several
from workbench.evaluate.whatif.job_edits import (
    AllowTier,
    ChangeSelector,
    DropAffinity,
    DropDependency,
    RaisePriority,
    Tolerate,
)
from workbench.evaluate.whatif.kueue_edits import level_edits, slice_edits
from workbench.evaluate.whatif.queue_edits import Amounts, QueueAmounts, QueueWeight, Withdraw
from workbench.evaluate.whatif.size_edits import FewerReplicas, LowerMinimum, has_minimum, minimum_name, minimum_of
from workbench.evaluate.whatif.trials import EditOutcome
from workbench.model.extras import RoleSizes, VolcanoMemory
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.kueue_request import KueueRequest
from workbench.model.labels import CORDON_TAINT, NOT_READY_TAINTS, Taint
from workbench.model.placement import Placement
from workbench.model.resources import PODS
from workbench.model.snapshot import Queue
from workbench.model.topology import Topology

__all__ = ["families", "families_of_nodes", "hard_limit", "held_by", "tightest_limit"]

#: Largest weight of a queue that is tried.
_MOST_WEIGHT = 1_000
#: Values of a label to which a selector is changed by way of trial.
_MOST_VALUES = 8
#: Stands for a resource that a capability does not name.
_NO_LIMIT = 1 << 62
#: Kinds of jobs of which priority and network topology can be changed; of others (`docs/job-kinds.md`) pods alone can.
_OWN_FIELDS = frozenset({"Job", "HyperJob", "PodGroup", "Deployment", "Gang", "GpuGroup", "Pod"})
#: Fields of a queue from which its share follows.
_SHARES: tuple[Literal["guarantee", "deserved"], ...] = ("guarantee", "deserved")


def held_by(queue: str, outcome: EditOutcome) -> dict[str, int]:
    """Resources in base units that the pods of a queue hold after a session, those placed in it included."""
    use = outcome.case.snapshot.running_index.queues.get(queue)
    held = dict(use.requests) if use is not None else {}
    for decision in outcome.decisions:
        result = decision.result
        if decision.gang.queue != queue or not isinstance(result, Placement):
            continue
        counts = np.bincount(decision.gang.role_of_pod[result.node >= 0], minlength=len(decision.gang.roles))
        for role, count in zip(decision.gang.roles, counts.tolist(), strict=True):
            for name, amount in role.requests.items():
                held[name] = held.get(name, 0) + amount * count
    return held


def hard_limit(constraint: TopologyConstraint | None, topology: Topology) -> int | None:
    """The highest tier that a constraint allows, for an edit that raises it; None if no edit of it can help.

    A hard constraint without a usable limit counts as limited to tier 0: some release applies a default.
    """
    if constraint is None or constraint.mode == "soft":
        return None
    if constraint.highest_tier is not None:
        return constraint.highest_tier
    named = [int(topology.tier[j]) for j, n in enumerate(topology.tier_names) if n == constraint.highest_tier_name]
    return min(named, default=0) if constraint.highest_tier_name else 0


def tightest_limit(gang: Gang, topology: Topology) -> int | None:
    """The lowest tier to which a hard constraint of the job or of a sub-group limits it; None: nothing limits it.

    0 stands for a hard constraint without a usable limit, as in `hard_limit`.
    """
    constraints = [gang.constraint, *(group.constraint for group in gang.sub_groups)]
    limits = [limit for one in constraints if (limit := hard_limit(one, topology)) is not None]
    return min(limits, default=None)


def families_of_nodes(case: EditedSession) -> list[NodesEdit]:
    """Edits that make all cordoned nodes schedulable and all nodes ready."""
    return [family.edit for family in _repairs(case)]


def families(case: EditedSession, others: int) -> list[Family]:
    """The edits of a pending job and its cluster that may help it, without running gangs and new nodes.

    `others`: pending jobs at most that may be withdrawn; those of the job's queue come first. The result is in the
    order of `CLASSES`, then as listed in `_FAMILIES`.
    """
    return [family for make in _FAMILIES for family in make(case)] + _withdrawals(case, others)


def _tiers(case: EditedSession) -> Iterator[Family]:
    gang, topology = case.gang, case.snapshot.topology
    if gang.kind not in _OWN_FIELDS:
        return
    written = [gang.constraint, *(group.constraint for group in gang.sub_groups)]
    limits = [(limit, c) for c in written if (limit := hard_limit(c, topology)) is not None]
    if not limits:
        return
    limit, constraint = min(limits, key=lambda one: one[0])
    assert constraint is not None
    old = constraint.highest_tier if constraint.highest_tier is not None else constraint.highest_tier_name
    # Not the virtual top: nothing connects the HyperNodes below it.
    edits = tuple(AllowTier(case.job, old, tier) for tier in topology.tiers if tier > limit)
    if edits:
        yield Several(edits)


def _minimums(case: EditedSession) -> Iterator[Family]:
    gang = case.gang
    if not has_minimum(gang):
        return
    old = minimum_of(gang)
    # A job of which nothing more has to start is no pending job.
    name = minimum_name(gang)
    least = sum(part.gang is None for part in gang.jobs) + 1 if gang.jobs else gang.ready + 1
    edits = tuple(LowerMinimum(case.job, old, new, name) for new in range(old - 1, max(least, 1) - 1, -1))
    if edits:
        yield Several(edits)


def _replicas(case: EditedSession) -> Iterator[Family]:
    gang = case.gang
    if gang.jobs:
        return
    for number, role in enumerate(gang.roles):
        first = int(gang.role_start[number])
        size = gang.extra(RoleSizes).of(role.name)
        if size is None and gang.extra(RoleSizes) != RoleSizes():
            continue
        step = 1 if size is None else size.unit
        wanted = range(role.count - step, _largest_slice(gang, role) - 1, -step)
        sizes = [new for new in wanted if _whole_groups(gang, first + new, role.count - new)]
        edits = tuple(FewerReplicas.of(gang, role, new) for new in sizes)
        if edits:
            yield Several(edits)


def _largest_slice(gang: Gang, role: Role) -> int:
    """Pods of the largest slice of Kueue that the role asks for, which its pods may not be fewer than; at least 1."""
    request = gang.extra(KueueRequest).of(role.name).topology
    layers = request.slices if request is not None and not gang.ready else ()
    return max([1, *(layer.size for layer in layers)])


def _whole_groups(gang: Gang, first: int, count: int) -> bool:
    """Whether some pods that follow one another, from a position on, are all pods of the sub-groups they belong to."""
    gone = range(first, first + count)
    return all(len({pod in gone for pod in group.pods}) < 2 for group in gang.sub_groups)


def _untolerated(case: EditedSession) -> dict[Taint, list[str]]:
    """Taints that some role does not tolerate, each with its nodes by name; those that Kubernetes sets are left out."""
    snapshot, tolerations = case.snapshot, [role.filter.tolerations for role in case.gang.roles]
    found: dict[Taint, list[str]] = {}
    for code, taints in enumerate(snapshot.taints.sets):
        nodes = np.flatnonzero(snapshot.taints.codes == code).tolist()
        for taint in taints:
            if taint.effect == "PreferNoSchedule" or taint.key == CORDON_TAINT or taint.key in NOT_READY_TAINTS:
                continue
            if nodes and any(not any(one.covers(taint) for one in some) for some in tolerations):
                found.setdefault(taint, []).extend(snapshot.topology.node_names[i] for i in nodes)
    order = sorted(found, key=lambda taint: (taint.key.encode(), taint.value.encode(), taint.effect))
    return {taint: sorted(found[taint], key=str.encode) for taint in order}


def _selectors(case: EditedSession) -> Iterator[Family]:
    gang, labels = case.gang, case.snapshot.labels
    required = dict.fromkeys(one for role in gang.roles for one in role.filter.required)
    narrow = [one for one in required if not labels.mask(one).all()]
    yield from (One(ChangeSelector(case.job, one)) for one in narrow)
    # A policy may choose worse among more nodes than among those of one value.
    for one in narrow:
        _, values = labels.columns.get(one.key, (None, ()))
        for value in sorted(values, key=str.encode)[:_MOST_VALUES]:
            if one.operator == "In" and value not in one.values:
                yield One(ChangeSelector(case.job, one, dataclasses.replace(one, values=(value,))))
    terms = next((role.filter.any_of for role in gang.roles if role.filter.any_of), ())
    if terms:
        yield One(DropAffinity(case.job, terms))


def _dependencies(case: EditedSession) -> Iterator[Family]:
    for role in case.gang.roles:
        if role.n_held_back:
            yield One(DropDependency(case.job, role.name, role.depends_on))


def _priorities(case: EditedSession) -> Iterator[Family]:
    gang = case.gang
    above = sorted({one.priority for one in case.gangs if one.key != case.job and one.priority >= gang.priority})
    edits = tuple(RaisePriority(case.job, gang.priority, priority + 1) for priority in above)
    if edits and gang.kind in _OWN_FIELDS:
        yield Several(edits)


def _queues(case: EditedSession) -> Iterator[Family]:
    gang, snapshot = case.gang, case.snapshot
    queue = snapshot.queues.get(gang.queue, Queue(gang.queue))
    steps: dict[str, int] = {}
    for role in gang.roles:
        for name, amount in role.requests.items():
            if amount > 0 and name != PODS:
                steps[name] = min(steps.get(name, amount), amount)
    names = sorted(steps, key=str.encode)
    wanted = _wanted_of(case, queue.name)
    limited = [name for name in names if wanted.get(name, 0) > (queue.capability or {}).get(name, _NO_LIMIT)]
    if limited:
        old = tuple((name, (queue.capability or {})[name]) for name in limited)
        yield OfQueue(QueueAmounts(queue.name, "capability", old, _only(wanted, limited)), steps)
    yield Several(
        tuple(QueueWeight(queue.name, queue.weight, new) for new in range(queue.weight + 1, _MOST_WEIGHT + 1))
    )
    total = dict(zip(snapshot.resources, snapshot.allocatable.sum(axis=0).tolist(), strict=True))
    for field in _SHARES:
        given = getattr(queue, field) or {}
        # As much as the whole cluster is no limit.
        most = {name: max(wanted.get(name, 0), total.get(name, 0)) for name in names}
        # Volcano refuses a queue whose guarantee exceeds what it deserves, or that deserves more than its capability.
        for name in names:
            above = [(queue.capability or {}).get(name)] + (
                [(queue.deserved or {}).get(name)] if field == "guarantee" else []
            )
            most[name] = min([most[name], *(amount for amount in above if amount is not None)])
        raised = [name for name in names if most[name] > given.get(name, 0)]
        if raised:
            now = tuple((name, given.get(name)) for name in raised)
            yield OfQueue(QueueAmounts(queue.name, field, now, _only(most, raised)), steps)
    for name in sorted(snapshot.queues, key=str.encode):
        kept = {
            one: amount for one, amount in (snapshot.queues[name].guarantee or {}).items() if one in steps and amount
        }
        if name != queue.name and kept:
            old = tuple(sorted(kept.items()))
            yield One(QueueAmounts(name, "guarantee", old, tuple((one, 0) for one, _ in old)))


def _only(amounts: Mapping[str, int], names: Sequence[str]) -> Amounts:
    return tuple((name, amounts[name]) for name in names)


def _wanted_of(case: EditedSession, queue: str) -> dict[str, int]:
    """Resources that all pods of a queue ask for, running and pending; of a job at least its minResources."""
    use = case.snapshot.running_index.queues.get(queue)
    wanted = dict(use.requests) if use is not None else {}
    for gang in case.gangs:
        if gang.queue != queue:
            continue
        asked: dict[str, int] = dict(gang.extra(VolcanoMemory).min_resources or {})
        for name in {name for role in gang.roles for name in role.requests}:
            pods = sum(role.count * role.requests.get(name, 0) for role in gang.roles)
            asked[name] = max(asked.get(name, 0), pods)
        for name, amount in asked.items():
            wanted[name] = wanted.get(name, 0) + amount
    return wanted


def _repairs(case: EditedSession) -> Iterator[OfNodes]:
    snapshot = case.snapshot
    names = snapshot.topology.node_names

    def where(mask: npt.NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(sorted((names[i] for i in np.flatnonzero(mask).tolist()), key=str.encode))

    def tainted(keys: Collection[str]) -> npt.NDArray[np.bool_]:
        bad = [
            any(one.key in keys and one.effect != "PreferNoSchedule" for one in some) for some in snapshot.taints.sets
        ]
        return np.array(bad, dtype=np.bool_)[snapshot.taints.codes]

    if not snapshot.n_nodes:
        return
    for make, nodes in (
        (Uncordon, where(snapshot.unschedulable | tainted((CORDON_TAINT,)))),
        (MakeReady, where(snapshot.not_ready | tainted(NOT_READY_TAINTS))),
    ):
        if nodes:
            yield OfNodes(make(nodes))


def _untaints(case: EditedSession) -> Iterator[Family]:
    for taint, tainted_nodes in _untolerated(case).items():
        yield OfNodes(RemoveTaint(tuple(tainted_nodes), taint))


def _terminations(case: EditedSession) -> Iterator[Family]:
    terminating = case.snapshot.running_index.terminating
    if terminating:
        yield One(
            AwaitTermination(tuple(sorted((f"{pod.namespace}/{pod.name}" for pod in terminating), key=str.encode)))
        )


#: What makes the families of a job, in the order in which they are tried.
_FAMILIES: tuple[Callable[[EditedSession], Iterable[Family]], ...] = (
    _tiers,
    lambda case: (Several(edits) for edits in (*level_edits(case), *slice_edits(case))),
    _selectors,
    lambda case: (One(Tolerate(case.job, taint)) for taint in _untolerated(case)),
    _dependencies,
    _queues,
    _priorities,
    _terminations,
    _repairs,
    _untaints,
    _minimums,
    _replicas,
)


def _withdrawals(case: EditedSession, most: int) -> list[Family]:
    rivals = [gang for gang in case.gangs if gang.key != case.job and _can_be_withdrawn(gang)]
    rivals.sort(
        key=lambda gang: (gang.queue != case.gang.queue, not gang.extra(VolcanoMemory).inqueue, gang.key.encode())
    )
    return [One(Withdraw(gang.key)) for gang in rivals[:most]]


def _can_be_withdrawn(gang: Gang) -> bool:
    """Whether a job can be taken away as a whole: not if it is one replica of several, or if other pods of it run."""
    return gang.kind in _OWN_FIELDS or (gang.kind != REPLICATED and not gang.ready)
