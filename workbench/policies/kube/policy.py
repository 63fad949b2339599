"""`kube-default`: gangs placed by kube-scheduler's default profile, pod after pod, without topology.

Source: kube-scheduler 1.37.2 with the gate GenericWorkload. A gang is a PodGroup with minCount: every pod is tried, and
if fewer than minCount find a node, none keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.model.explanation import NO_RECORDERS, Recorder, Recorders
from workbench.model.gang import Gang
from workbench.model.kube_group import KubeGroup
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED, Decision, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.contract import SchedulerTraits
from workbench.policies.kube.alike import schedule_alike
from workbench.policies.kube.choose import walk
from workbench.policies.kube.cluster import KubeCluster, follow_searches
from workbench.policies.kube.node_rules import named_nodes
from workbench.policies.kube.one_pod import PodChoice, schedule_pod
from workbench.policies.kube.parameters import KubeParameters, settings_of
from workbench.policies.kube.reading import (
    leaving_pods,
    limited_search,
    minimum,
    not_expressed,
    pod_runs,
    priorities_differ,
)
from workbench.policies.kube.settings import SCHEDULES
from workbench.policies.kube.shape import PodShape
from workbench.policies.nearest import nearest_misses
from workbench.policies.node_policy import NodePolicy
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.retry import KUBE_SCHEDULER
from workbench.policies.stream import Stream

__all__ = ["KubeDefault", "KubeScheduler"]

Ints = npt.NDArray[np.int32]

#: Code of the notice about nodes that a plugin's filter excluded.
_CODES = {
    "": "gpu",
    "PreFilter": "node-affinity",
    "NotReady": "not-ready",
    "NodeUnschedulable": "unschedulable",
    "TaintToleration": "taint",
    "NodeAffinity": "node-affinity",
    "NodeResourcesFit": "insufficient",
    "PodTopologySpread": "pod-spread",
    "InterPodAffinity": "pod-affinity",
}


@dataclass
class _Tries:
    """What one or more cycles made of the pods of a gang.

    `node`: ndarray of shape (n_pods,), int32. `held`: list of (PodShape, list of int); nodes on which the cluster
    counts pods of each shape. `reasons`: why pods of a role found no node in the last cycle. `left`: list of (int, list
    of int); runs of pods that found none in it: role, and positions in the gang. `remaining`: pods that were not tried
    in it.
    """

    node: Ints
    held: list[tuple[PodShape, list[int]]] = field(default_factory=list)
    reasons: dict[int, tuple[Notice, ...]] = field(default_factory=dict)
    left: list[tuple[int, list[int]]] = field(default_factory=list)
    remaining: int = 0


class KubeDefault(NodePolicy):
    """Places pods one by one on the node with the highest score of kube-scheduler's default plugins.

    Roles are tried by falling priority of their pods, then in the gang's order. Ties: the smallest name of a node, or
    the node that kube-scheduler's heap gives (parameter `ties`).
    """

    name = "kube-default"
    traits = SchedulerTraits(
        retry=KUBE_SCHEDULER, reads_pods=True, best_effort_last=False, schedules=SCHEDULES, words="kubernetes"
    )

    def __init__(self, parameters: KubeParameters) -> None:
        self._parameters = parameters
        self._settings = settings_of(parameters, self.name)

    def cannot_start(self, request: Request) -> tuple[Notice, ...]:
        gang = request.gang
        if gang.extra(KubeGroup).absent:
            text = f'waiting for pods\'s pod group "{gang.name}" to appear in scheduling queue'
            return (Notice("not-enough-pods", text, numbers={"count": minimum(gang)}),)
        needed, known = minimum(gang), _scheduled(request) + gang.n_pods
        if known < needed:
            text = "waiting for minCount pods from a gang to appear in scheduling queue"
            told = f"{text}: {known} of {needed}"
            return (Notice("not-enough-pods", told, numbers={"count": needed - known}),)
        differing = priorities_differ(gang)
        return () if differing is None else (differing,)

    def assign(self, request: Request) -> Assignment | Declined:
        gang = request.gang
        cluster = KubeCluster.of_ledger(request.ledger, request.demand.idle)
        order = walk(cluster.nodes, cluster.nodes.by_name)
        warnings = (*not_expressed(gang, request.snapshot, self.name), *limited_search(len(order), self._settings))
        needed, runs = minimum(gang), pod_runs(gang)
        tries = _Tries(np.full(gang.n_pods, UNPLACED, dtype=np.int32))
        try:
            if runs:
                shape = PodShape.of_role(gang, gang.roles[runs[0][0]])
                self._record(request, cluster, shape, _serving(request, runs[0][0], order))
            before = _scheduled(request)
            placed = before + self._try(tries, request, cluster, order, runs)
            # Pods that a successful cycle of a group leaves over are tried again at once.
            is_group, more = needed > 1 or gang.extra(KubeGroup).given, placed - before
            while is_group and placed >= needed and more and tries.left:
                more = self._try(tries, request, cluster, order, tries.left, again=True)
                placed += more
        finally:
            for shape, found in tries.held:
                cluster.pods.add(shape.kind, found, -1)
            cluster.keep_start(request.ledger)
        node, reasons, remaining = tries.node, tries.reasons, tries.remaining
        if placed < needed:
            text = f"minCount ({needed}) cannot be satisfied: {placed} scheduled, {remaining} remaining"
            group = Notice("pod-group-unschedulable", text, numbers={"count": needed - placed})
            told = [reason for each in reasons.values() for reason in each]
            reasons_told = tuple([*told, group] if needed > 1 else told)
            # No HyperNode is asked for: the whole cluster is the only one that can be short of room.
            anywhere = np.append(np.zeros(request.snapshot.topology.n_domains, dtype=np.bool_), True)
            if request.recorder is not None:
                return Declined(reasons_told, nearest_misses(request, anywhere), warnings)
            # Simulations read the first reason of a refusal only.
            return Declined(
                reasons_told,
                warnings=warnings,
                later=lambda: ((), nearest_misses(request, anywhere)),
                reads_ledger=True,
            )
        return Assignment(node, reasons, warnings=warnings)

    def _try(
        self,
        tries: _Tries,
        request: Request,
        cluster: KubeCluster,
        order: Ints,
        runs: list[tuple[int, list[int]]],
        *,
        again: bool = False,
    ) -> int:
        """Try pods in one cycle, until the minimum is out of reach; answers how many find a node."""
        gang, needed, placed = request.gang, minimum(request.gang), 0
        scheduled = needed if again else _scheduled(request)
        tries.left, tries.reasons, tries.remaining = [], {}, sum(len(positions) for _, positions in runs)
        for role, positions in self._searched(gang, runs):
            check()
            shape = PodShape.of_role(gang, gang.roles[role])
            candidates = _serving(request, role, order)
            found, failure = schedule_alike(cluster, shape, len(positions), candidates, self._settings)
            tries.held.append((shape, found))
            tries.node[positions[: len(found)]] = found
            placed, tries.remaining = placed + len(found), tries.remaining - len(found)
            if failure is None:
                continue
            tries.reasons[role] = (self._told(request, failure, len(order)),)
            tries.left.append((role, positions[len(found) :]))
            failing = len(positions) - len(found)
            if scheduled + placed + tries.remaining - failing < needed:
                # The group's cycle ends at the first pod without which too few are left.
                tries.remaining = min(tries.remaining, needed - scheduled - placed) - 1
                break
            tries.remaining -= failing
        return placed

    def _searched(self, gang: Gang, runs: list[tuple[int, list[int]]]) -> list[tuple[int, list[int]]]:
        """Runs of pods of which one search that fails stands for all; a limited one of a pod that names nodes does not.

        Each of these moves the place of the next search.
        """
        if self._settings.percentage is None:
            return runs
        named = {role for role, _ in runs if named_nodes(PodShape.of_role(gang, gang.roles[role])) is not None}
        return [
            (role, part)
            for role, run in runs
            for part in ([[position] for position in run] if role in named else [run])
        ]

    def _told(self, request: Request, failure: PodChoice, n_nodes: int) -> Notice:
        """The notice about a pod that found no node, in upstream's words."""
        statuses = failure.statuses
        if request.recorder is not None:
            request.recorder.note(failure.text)
        numbers = {"count": n_nodes, "nodes": n_nodes}
        left_out = n_nodes - len(statuses.nodes)
        text = failure.text
        if left_out:
            text += f" On {left_out} more the GPU policy finds no suitable GPUs."
        return Notice(_CODES[statuses.main_plugin()], text, numbers=numbers)

    def _record(self, request: Request, cluster: KubeCluster, shape: PodShape, candidates: Ints) -> None:
        """Tell the recorder what every node answers about the first pod of the gang."""
        recorder = request.recorder
        if recorder is None or recorder.ties_only:
            return
        start = cluster.start
        choice = schedule_pod(cluster, shape, candidates, self._settings)
        cluster.start = start
        place = {node: i for i, node in enumerate(choice.feasible.tolist())}
        looked_at = choice.statuses.nodes.tolist()
        for position in sorted(range(len(looked_at)), key=lambda i: cluster.nodes.rank[looked_at[i]]):
            node, status = looked_at[position], choice.statuses.of(position)
            name = cluster.nodes.names[node]
            if not status.ok:
                recorder.node(name, False, ", ".join(status.reasons))
            elif choice.total is None:
                recorder.node(name, True, "the only node that passes all filters: not scored")
            elif node in place:
                parts = {plugin: float(scores[place[node]]) for plugin, scores in choice.parts.items()}
                recorder.node(name, True, "passes all filters", float(choice.total[place[node]]), **parts)
        if len(choice.tied) > 1:
            names = ", ".join(cluster.nodes.names[node] for node in choice.tied)
            recorder.note(f"equal scores for the first pod: {names}")


def _scheduled(request: Request) -> int:
    """Pods of the gang that have a node already."""
    return request.gang.ready + len(leaving_pods(request.gang, request.snapshot))


def _serving(request: Request, role: int, order: Ints) -> Ints:
    """Nodes in their order without those where the GPU policy has no GPUs for a pod of the role."""
    chosen = request.demand.gpus.feasible(request.gang.roles[role].n_gpus)
    return order if chosen is None else order[chosen[order]]


class KubeScheduler(Composed):
    """A policy of kube-scheduler's plugins and a GPU policy.

    A session takes gangs by falling priority; equal ones by the time at which their first waiting pod was created, or
    else their object, those that do not exist yet last, then by namespace and name.
    """

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs of one session, in the order of kube-scheduler's queue, on one ledger.

        `recorders`: recorder of a gang, by its position in `gangs`.
        """
        ledger = snapshot.ledger()
        follow_searches(ledger)
        decisions: dict[int, Decision] = {}
        for turn, i in enumerate(sorted(range(len(gangs)), key=lambda i: _queue_key(gangs[i]))):
            check()
            decisions[i] = Decision(gangs[i], self.place(gangs[i], ledger, recorders.get(i)), turn=turn)
        return [decisions[i] for i in range(len(gangs))]

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        opened = super().stream(snapshot)
        follow_searches(opened.ledger)
        # Pods are counted from now on.
        assert opened.ledger.pods is not None
        return opened

    def _hyper_job(self, gang: Gang, ledger: Ledger, recorder: Recorder | None) -> Refusal:
        reason = Notice("refused", f"kube-scheduler knows no HyperJobs: {self.name} places none")
        return Refusal(gang, self.name, self.parameters, (reason,), (), (*self.notes_of(gang), *self.warnings))


def _queue_key(gang: Gang) -> tuple[int, bool, str, bytes, bytes]:
    # A group has the age of its first pod, not that of its object.
    since = gang.extra(KubeGroup).arrived or gang.created
    return -gang.priority, not since, since, gang.namespace.encode(), gang.name.encode()
