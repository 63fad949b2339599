"""A snapshot with ClusterQueues as the cluster of a scheduling cycle, and gangs as workloads."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from workbench.model.clock import seconds_of
from workbench.model.gang import Gang, Role
from workbench.model.kueue import PodSet, TopologyAssignment, TopologyRequest
from workbench.model.kueue_names import POD_SET_LABEL, WORKLOAD, is_placed_by_topology
from workbench.model.kueue_queues import ClusterQueue, PodSetAdmission, QueuedWorkload, WorkloadAdmission
from workbench.model.kueue_request import KueueObjects, KueueRequest
from workbench.model.labels import HOSTNAME_LABEL, NodeLabels
from workbench.model.notice import Notice
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.policies.kueue.cycle.cluster import CycleCluster
from workbench.policies.kueue.gang_snapshot import selector_and_terms
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.values import KueueNode

__all__ = ["QueuedCluster", "local_queue", "read_cluster", "weights_without_effect", "workload_of"]


@dataclass(frozen=True, eq=False)
class QueuedCluster:
    """A snapshot as Kueue's scheduler sees it.

    `cluster`: with what workloads and running gangs hold. `labels`: labels of each node; the name of the node stands
    for a missing host name.
    """

    topology: Topology
    objects: KueueObjects
    cluster: CycleCluster
    labels: tuple[Mapping[str, str], ...]
    #: One pod set of each shape, so that equal ones are the same.
    _pod_sets: dict[Hashable, PodSet] = field(default_factory=dict)
    _domains: dict[Hashable, dict[tuple[str, ...], list[int]]] = field(default_factory=dict)

    @cached_property
    def _level_of(self) -> dict[int, str]:
        """Names of the tiers of HyperNodes."""
        topology = self.topology
        return {int(tier): name for tier, name in zip(topology.tier, topology.tier_names, strict=True) if name}

    def nodes_by_domain(self, flavors: Iterable[str], levels: Sequence[str]) -> Mapping[tuple[str, ...], Sequence[int]]:
        """Nodes that have the labels of flavors, in the order of their names, by their values at some levels.

        `levels`: node label keys; empty: all nodes are found under ``()``.
        """
        key = tuple(sorted(set(flavors))), tuple(levels)
        if key not in self._domains:
            wanted = [self.cluster.flavors[name].node_labels.items() for name in key[0]]
            found: dict[tuple[str, ...], list[int]] = {} if levels else {(): []}
            for i in np.argsort(self.topology.node_rank).tolist():
                if all(each <= self.labels[i].items() for each in wanted):
                    found.setdefault(tuple(self.labels[i].get(level, "") for level in levels), []).append(i)
            self._domains[key] = found
        return self._domains[key]

    def queue_of(self, gang: Gang) -> str:
        """The ClusterQueue of a gang by its LocalQueue; empty: there is no such LocalQueue."""
        return queue_of(self.objects, gang.namespace, local_queue(gang))

    def workload(self, gang: Gang, place: int) -> QueuedWorkload:
        """A gang as a workload.

        `place`: its place among the gangs, by which those without a creation time are ordered.
        """
        created = seconds_of(gang.created)
        return QueuedWorkload(
            gang.key,
            self.queue_of(gang),
            tuple(self._pod_set(gang, role) for role in gang.roles if role.count),
            gang.priority,
            float(place) if created is None else created,
            gang.uid,
        )

    def _pod_set(self, gang: Gang, role: Role) -> PodSet:
        asked = gang.extra(KueueRequest).of(role.name)
        selector, terms = selector_and_terms(role.filter)
        fewest = asked.min_count
        if fewest is None and len(gang.roles) == 1:
            fewest = max(gang.min_available - gang.ready, 0)
        found = PodSet(
            role.name,
            role.count,
            dict(role.requests),
            asked.topology or self._by_tier(gang),
            selector,
            role.filter.tolerations,
            terms,
            asked.preferred,
            min_count=fewest if fewest is not None and 0 < fewest < role.count else None,
        )
        return self._pod_sets.setdefault(found.shape, found)

    def _by_tier(self, gang: Gang) -> TopologyRequest | None:
        """What a constraint by tiers of HyperNodes asks of levels of the same name; None: it names no level."""
        constraint = gang.constraint
        if constraint is None or not constraint.mode:
            return None
        level_of, known = self._level_of, {level for levels in self.objects.topologies.values() for level in levels}
        if constraint.mode == "soft":
            closest = level_of.get(min(level_of, default=0), "")
            return TopologyRequest(preferred=closest) if closest in known else None
        by_name = constraint.highest_tier_name or ""
        named = by_name or level_of.get(-1 if constraint.highest_tier is None else constraint.highest_tier, "")
        return TopologyRequest(required=named) if named in known else None


def local_queue(gang: Gang) -> str:
    """Name of a gang's LocalQueue; that of its queue where it requests none of Kueue."""
    return gang.extra(KueueRequest).queue or gang.queue


def workload_of(gang: Gang) -> str:
    """Key of the Workload that a gang, or its pods, name; empty: none."""
    named = (role.annotations.get(WORKLOAD, "") for role in gang.roles)
    name = next((each for each in named if each), "")
    return gang.extra(KueueRequest).workload or (f"{gang.namespace}/{name}" if name else "")


def queue_of(objects: KueueObjects, namespace: str, name: str) -> str:
    """ClusterQueue behind a LocalQueue; in a cluster without LocalQueues, the ClusterQueue of the same name.

    Empty: there is no such queue.

    `namespace`, `name`: of the LocalQueue.
    """
    if objects.local_queues:
        return objects.local_queues.get(f"{namespace}/{name}", "")
    return name if name in objects.queue_names else ""


def weights_without_effect(objects: KueueObjects) -> tuple[Notice, ...]:
    """A notice about weights of queues and cohorts, if fair sharing is off; empty: none has one, or it is on."""
    names = [f"ClusterQueue {each.name}" for each in objects.cluster_queues if each.weight is not None]
    names += [f"Cohort {each.name}" for each in objects.cohorts if each.weight is not None]
    if objects.fair_sharing or not names:
        return ()
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    text = f"{names[0]}{more}: the weight has no effect: fair sharing is off, unless Kueue's Configuration turns it on"
    return (Notice("weight-without-effect", text, names[0], {"objects": len(names)}),)


def read_cluster(snapshot: ClusterSnapshot, gates: Gates) -> QueuedCluster:
    """The cluster of a snapshot that has ClusterQueues, with everything that is held."""
    objects = snapshot.extra(KueueObjects)
    labels = _labels(snapshot)
    ours, others = _running(snapshot, objects)
    cluster = CycleCluster(
        [_with_checks(queue, objects) for queue in objects.cluster_queues],
        objects.cohorts,
        objects.flavors,
        objects.topologies,
        _nodes(snapshot, labels),
        [(snapshot.topology.node_names[pod.node], pod.requests) for pod in others if pod.node >= 0],
        gates,
        objects.fair_sharing,
    )
    read = QueuedCluster(snapshot.topology, objects, cluster, labels)
    held = [*objects.workloads, *(_running_workload(read, key, pods) for key, pods in ours.items())]
    for workload in held:
        holding = cluster.holding(workload)
        if holding is not None:
            cluster.hold(holding)
    return read


#: Labels of nodes by row, for as long as somebody holds the labels: simulations ask again and again.
_ROWS: WeakKeyDictionary[NodeLabels, tuple[Mapping[str, str], ...]] = WeakKeyDictionary()


def _labels(snapshot: ClusterSnapshot) -> tuple[Mapping[str, str], ...]:
    known = _ROWS.get(snapshot.labels)
    if known is None:
        rows = zip(snapshot.labels.rows(), snapshot.topology.node_names, strict=True)
        known = tuple(row if HOSTNAME_LABEL in row else {**row, HOSTNAME_LABEL: name} for row, name in rows)
        _ROWS[snapshot.labels] = known
    return known


def _with_checks(queue: ClusterQueue, objects: KueueObjects) -> ClusterQueue:
    provisioning, known = objects.provisioning, objects.checks
    checks = (
        replace(check, provisioning=check.name in provisioning, missing=check.name not in known)
        for check in queue.checks
    )
    return replace(queue, checks=tuple(checks))


def _nodes(snapshot: ClusterSnapshot, labels: Sequence[Mapping[str, str]]) -> list[KueueNode]:
    names, taints = snapshot.topology.node_names, snapshot.taints
    rows = snapshot.allocatable.tolist()
    return [
        KueueNode(
            names[i],
            labels[i],
            dict(zip(snapshot.resources, rows[i], strict=True)),
            taints.sets[taints.codes[i]],
            not snapshot.not_ready[i],
            bool(snapshot.unschedulable[i]),
        )
        for i in range(snapshot.n_nodes)
    ]


def _running(snapshot: ClusterSnapshot, objects: KueueObjects) -> tuple[dict[str, list[RunningPod]], list[RunningPod]]:
    """Running pods of gangs that hold quota without a Workload, by gang; and those that Kueue does not count."""
    ours: dict[str, list[RunningPod]] = {}
    others = []
    for pod in snapshot.running:
        if POD_SET_LABEL in pod.labels:
            if not is_placed_by_topology(pod.annotations):
                others.append(pod)
        elif pod.gang and not pod.terminating and queue_of(objects, pod.namespace, pod.queue):
            ours.setdefault(pod.gang, []).append(pod)
        else:
            others.append(pod)
    return ours, others


def _running_workload(read: QueuedCluster, key: str, pods: Sequence[RunningPod]) -> QueuedWorkload:
    """A running gang as an admitted workload: flavors by the labels of its nodes, domains by its nodes."""
    name = queue_of(read.objects, pods[0].namespace, pods[0].queue)
    queue = read.cluster.queues[name]
    # By requests: pods of one role that hold different amounts are pod sets of their own.
    sets: dict[tuple[str, tuple[tuple[str, int], ...]], list[RunningPod]] = {}
    for pod in pods:
        sets.setdefault((pod.role, tuple(sorted(pod.requests.items()))), []).append(pod)
    pod_sets, admitted = [], []
    for number, ((_role, requests), members) in enumerate(sets.items()):
        labels = read.labels[members[0].node] if members[0].node >= 0 else {}
        flavors = {}
        for resource, _ in requests:
            known = read.cluster.flavors
            group = [known[each.flavor] for each in queue.group_of(resource) if each.flavor in known]
            fitting = [each for each in group if each.node_labels.items() <= labels.items()]
            if group:
                flavors[resource] = (fitting or group)[0].name
        usage = {resource: amount * len(members) for resource, amount in requests}
        placed = next((flavor for flavor in flavors.values() if flavor in read.cluster.snapshots), None)
        assignment = None if placed is None else _domains(read, placed, members)
        pod_sets.append(PodSet(str(number), len(members), dict(requests)))
        admitted.append(PodSetAdmission(str(number), flavors, usage, len(members), assignment))
    priority = max(pod.priority for pod in pods)
    return QueuedWorkload(
        key, name, tuple(pod_sets), priority, admission=WorkloadAdmission(name, tuple(admitted)), admitted=True
    )


def _domains(read: QueuedCluster, flavor: str, pods: Sequence[RunningPod]) -> TopologyAssignment:
    levels = read.objects.topologies[read.cluster.flavors[flavor].topology or ""]
    levels = levels[-1:] if levels[-1] == HOSTNAME_LABEL else levels
    counts: dict[tuple[str, ...], int] = {}
    for pod in pods:
        values = tuple(read.labels[pod.node].get(level, "") for level in levels) if pod.node >= 0 else ()
        if values:
            counts[values] = counts.get(values, 0) + 1
    return TopologyAssignment(levels, tuple(sorted(counts.items())))
