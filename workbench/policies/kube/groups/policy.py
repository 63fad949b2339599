"""`kube-1.37-topology`: gangs placed by kube-scheduler with placements, one per domain of a level of the topology.

Source: kube-scheduler 1.37.2 with the gates GenericWorkload, TopologyAwareWorkloadScheduling and CompositePodGroup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from workbench.model.cluster_facts import ClusterFacts
from workbench.model.counted import name_list
from workbench.model.explanation import NO_RECORDERS, Recorder, Recorders
from workbench.model.gang import Gang
from workbench.model.kube_group import KubeGroup
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED, Decision, Placement, Refusal, Why
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.contract import SchedulerTraits
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.kube.choose import walk
from workbench.policies.kube.cluster import KubeCluster, follow_searches
from workbench.policies.kube.groups.conditions import leaf_outcomes
from workbench.policies.kube.groups.cycle import NOTHING_PLACED, GroupCycle, GroupOutcome
from workbench.policies.kube.groups.gang_tree import GangTree, root_of
from workbench.policies.kube.groups.group_pods import GroupPod, by_shape
from workbench.policies.kube.groups.hierarchy import KubePodGroup
from workbench.policies.kube.groups.levels import Levels
from workbench.policies.kube.groups.preemption import preempt
from workbench.policies.kube.groups.quorum import ready_to_queue
from workbench.policies.kube.groups.scene import KubeScene, Order
from workbench.policies.kube.groups.telling import condition_text, record_placements, without_values
from workbench.policies.kube.groups.validation import MemberPod, validate
from workbench.policies.kube.one_pod import PodChoice
from workbench.policies.kube.parameters import KubeParameters
from workbench.policies.kube.policy import KubeDefault, KubeScheduler, _queue_key
from workbench.policies.kube.reading import leaving_pods, limited_search, not_expressed
from workbench.policies.kube.settings import SCHEDULES
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import Code, Status, text_of
from workbench.policies.nearest import nearest_misses
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import parameter
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.retry import KUBE_SCHEDULER

__all__ = ["KubeTopology", "KubeTopologyParameters", "KubeTopologyScheduler"]

Answer = Assignment | Declined
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class KubeTopologyParameters(KubeParameters):
    """Parameters of `kube-1.37-topology`: those of `kube-default`, and the share of placements that is tried."""

    placements: int = parameter(
        100,
        "share of the placements, in percent, that are tried, in the order of their names; 0: the adaptive share that "
        "upstream discusses",
        low=0,
        high=100,
        source="kube-scheduler 1.37.2 tries all",
    )
    order: str = parameter(
        "name",
        "which placements are tried: of a share the first by name, or some at random (other ones whenever pods came or "
        "went), or by falling upper bound of their scores, and then no more once none of the others can win",
        choices=get_args(Order),
    )


class KubeTopology(KubeDefault):
    """Tries a gang in every domain of its level and keeps the best one.

    The best domain is the one with the highest sum of two scores: the share of the gang's pods that it takes, and how
    full it becomes. Ties: the smallest name of a domain; nodes as in `kube-default`. Running pods of the gang pin the
    domain. Sub-groups are child groups, each with a level of its own, in the order of their index and name.
    """

    # Overview:
    #   1. read the gangs of one root group as a tree, and the cluster as a scene
    #   2. cycles of the root group (`_cycles`): its minimum first, then what is left; pods placed stay for the next
    #   3. answer for each gang: its pods' nodes, or reasons, which are computed when they are read (`_answer`)
    # A recorder hears of every placement that was tried (`_explain`).

    name = "kube-1.37-topology"
    traits = SchedulerTraits(
        retry=KUBE_SCHEDULER,
        reads_pods=True,
        best_effort_last=False,
        sub_groups=True,
        reads=frozenset({KubeGroup}),
        schedules=SCHEDULES,
        words="kubernetes",
    )

    def __init__(self, parameters: KubeTopologyParameters) -> None:
        super().__init__(parameters)
        self._share = None if parameters.placements == 100 else parameters.placements
        self._order = cast("Order", parameters.order)

    def _cannot_start(self, tree: GangTree) -> tuple[Notice, ...]:
        """Why a tree of gangs is not even tried; empty if it is."""
        known = Counter(map(attrgetter("group"), tree.pods))
        known.update(tree.counted)

        def ready(group: KubePodGroup) -> Status:
            return ready_to_queue(tree.groups, group.key, lambda each: known[each.key], composites=True)

        # Leaves are known only below a root that has no group above it, not even itself.
        status = ready(tree.root)
        if status.ok:
            status = next((wrong for wrong in map(ready, tree.groups.leaves(tree.root)) if not wrong.ok), status)
        if not status.ok:
            return (Notice("not-enough-pods", text_of(status)),)
        if not any(gang.extra(KubeGroup).given for gang in tree.gangs):
            return ()
        # One pod of each priority: they differ in nothing else that is compared.
        members = [
            MemberPod(gang.pod(int(gang.role_start[number])).name, priority=role.priority)
            for gang in tree.gangs
            for number, role in enumerate(gang.roles)
            if role.count
        ]
        status = validate(tree.root, members)
        return () if status.ok else (Notice("group-error", text_of(status)),)

    def assign(self, request: Request) -> Answer:
        if not request.gang.n_pods:
            return Assignment(np.full(0, UNPLACED, dtype=np.int32))
        (answer,) = self.assign_tree([request])
        return answer

    def assign_tree(self, requests: Sequence[Request]) -> list[Answer]:
        """Choose nodes for the pods of gangs that have one root group.

        `requests`: about one ledger, which stays unchanged. The result is in the order of the requests.
        """
        ledger = requests[0].ledger
        tree = GangTree.of([request.gang for request in requests], ledger.snapshot)
        cannot = self._cannot_start(tree)
        if cannot:
            return [Declined(cannot) for _ in requests]
        serving = [[request.demand.gpus.feasible(role.n_gpus) for role in request.gang.roles] for request in requests]
        if any(nodes is not None for each in serving for nodes in each):
            for pod, (number, _) in tree.place.items():
                pod.serving = serving[number][pod.role]
        cluster = KubeCluster.of_ledger(ledger, requests[0].demand.idle)
        levels = Levels(cluster.nodes, ledger.topology)
        order = walk(cluster.nodes, cluster.nodes.by_name)
        outcome, placed = self._cycles(cluster, tree, levels, order)
        start = cluster.start

        @cache
        def besides() -> tuple[Notice, ...]:
            evicted = self._eviction(cluster, tree, levels, order, outcome, ledger.snapshot)
            return *evicted, *without_values(tree, outcome, levels)

        answers = [
            self._answer(number, request, tree, outcome, placed, besides) for number, request in enumerate(requests)
        ]
        for number, request in enumerate(requests):
            if request.recorder is not None:
                self._explain(request.recorder, number, request, tree, outcome, levels, order)
        cluster.start = start
        cluster.keep_start(ledger)
        return answers

    def _explain(
        self,
        recorder: Recorder,
        number: int,
        request: Request,
        tree: GangTree,
        outcome: GroupOutcome[GroupPod, int, Ints],
        levels: Levels,
        order: Ints,
    ) -> None:
        """Tell a recorder the placements, the condition, and what nodes answer about the first pod of a gang."""
        record_placements(recorder, outcome, levels)
        if recorder.ties_only:
            return
        recorder.note(condition_text(tree, outcome, request.gang))
        first = min((pod for pod, (gang, _) in tree.place.items() if gang == number), key=lambda pod: pod.arrival)
        nodes = next((_nodes_of(each) for each in outcome.walk() if each.group.key == first.group), order)
        nodes = nodes if first.serving is None else nodes[first.serving[nodes]]
        self._record(request, KubeCluster.of_ledger(request.ledger, request.demand.idle), first.shape, nodes)

    def _cycles(
        self, cluster: KubeCluster, tree: GangTree, levels: Levels, order: Ints
    ) -> tuple[GroupOutcome[GroupPod, int, Ints], dict[GroupPod, int]]:
        """The first cycle of a root group, and the nodes of its pods after all its cycles.

        Pods that a successful cycle leaves over are tried again at once, until none of them finds a node.
        """
        held: dict[GroupPod, int] = {}
        first: GroupOutcome[GroupPod, int, Ints] | None = None
        try:
            while True:
                scene = self._scene(cluster, tree, levels)
                outcome = GroupCycle(scene).run(tree.root, order)
                first = outcome if first is None else first
                found = dict(outcome.placed())
                if not found or len(held) + len(found) == len(tree.place):
                    return first, held | found
                scene.assume(found.items())
                for pod, node in found.items():
                    pod.node = node
                held |= found
        finally:
            for shape, nodes in by_shape(held.items()).items():
                cluster.pods.add(shape.kind, nodes, -1)
            for pod in held:
                pod.node = -1

    def _scene(self, cluster: KubeCluster, tree: GangTree, levels: Levels) -> KubeScene:
        settings, share, order = self._settings, self._share, self._order
        return KubeScene(cluster, tree.groups, tree.pods, settings, share, levels, tree.counted, order)

    def _eviction(
        self,
        cluster: KubeCluster,
        tree: GangTree,
        levels: Levels,
        order: Ints,
        outcome: GroupOutcome[GroupPod, int, Ints],
        snapshot: ClusterFacts,
    ) -> tuple[Notice, ...]:
        """What kube-scheduler would evict for a group that finds no room; nothing is evicted here."""
        never = any(gang.extra(KubeGroup).preemption_policy == "Never" for gang in tree.gangs)
        if outcome.status.code is not Code.UNSCHEDULABLE or never:
            return ()
        running = [
            GroupPod(pod.name, PodShape.of_running(pod), priority=pod.priority, node=pod.node)
            for pod in snapshot.running
            if pod.priority < tree.root.priority and pod.node >= 0 and not pod.terminating
        ]
        scene = self._scene(cluster, tree, levels)
        found = preempt(scene, tree.root, running, order, by_placement=True) if running else None
        if found is None:
            return ()
        names = [pod.full_name for pod in found.victims]
        text = f"kube-scheduler would evict {name_list(names)} of lower priority"
        return (Notice("preemption-would-help", text, numbers={"count": len(names)}),)

    def _answer(
        self,
        number: int,
        request: Request,
        tree: GangTree,
        outcome: GroupOutcome[GroupPod, int, Ints],
        placed: Mapping[GroupPod, int],
        besides: Callable[[], tuple[Notice, ...]],
    ) -> Answer:
        gang = request.gang
        lost = not_expressed(gang, request.snapshot, self.name, topology=True)
        # A search looks at the nodes of one placement.
        widest = max((len(trial.placement.nodes) for trial in outcome.trials), default=request.snapshot.n_nodes)
        warnings = (*tree.notices[number], *lost, *limited_search(widest, self._settings))
        node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
        for pod, at in placed.items():
            if tree.place[pod][0] == number:
                node[tree.place[pod][1]] = at
        statuses: list[Status] = []
        reasons: dict[int, tuple[Notice, ...]] = {}
        for leaf in leaf_outcomes(tree.groups, outcome):
            for pod, found in leaf.pods.items():
                if found.failure is None or pod in placed or tree.place[pod][0] != number:
                    continue
                if isinstance(found.failure, PodChoice):
                    reasons.setdefault(pod.role, (self._told(request, found.failure, len(_nodes_of(leaf))),))
            if not leaf.succeeded and any(group.name == leaf.group.name for group in _leaves_of(tree, number)):
                statuses.append(leaf.status)
        before = gang.ready + len(leaving_pods(gang, request.snapshot))
        missing = max(gang.min_available, 1) - before - int((node >= 0).sum())
        status = outcome.status if not outcome.succeeded else next(iter(statuses), Status(Code.UNSCHEDULABLE))
        code = "group-error" if status.code is Code.ERROR else "pod-group-unschedulable"
        if missing > 0:
            group = Notice(code, text_of(status) or NOTHING_PLACED, numbers={"count": missing})
            told = (*(reason for each in reasons.values() for reason in each), group)

            def later() -> Why:
                return besides(), nearest_misses(request, _domains(gang, request))

            if request.recorder is None and len(tree.gangs) == 1:
                # Simulations read the first reason of a refusal only.
                return Declined(told, warnings=warnings, later=later, reads_ledger=True)
            # The other gangs of the tree will have changed the ledger.
            more, misses = later()
            return Declined((*told, *more), misses, warnings)
        # The minimum is met by pods that have a node already; what the group was told concerns those that wait.
        for role in np.unique(gang.role_of_pod[node < 0]).tolist():
            reasons.setdefault(role, (Notice(code, text_of(status) or NOTHING_PLACED),))
        answer = Assignment(node, reasons, warnings=warnings)
        if outcome.placement is not None:
            answer.score = float(next((t.total or 0) for t in outcome.trials if t.placement is outcome.placement))
            key = tree.root.topology_key
            if key.startswith("tier ") and request.ledger.topology.has_domain(outcome.placement.name):
                answer.record, answer.has_record = request.ledger.topology.domain(outcome.placement.name), True
        return answer


def _nodes_of(leaf: GroupOutcome[GroupPod, int, Ints]) -> Ints:
    """Nodes of the placement that the outcome of a PodGroup is about; none if it was tried in none."""
    found = [trial.placement.nodes for trial in leaf.trials if trial.outcome.pods is leaf.pods]
    return found[0] if found else np.zeros(0, dtype=np.int32)


def _leaves_of(tree: GangTree, number: int) -> list[Any]:
    keys = {pod.group for pod, (gang, _) in tree.place.items() if gang == number}
    return [group for group in tree.groups if group.key in keys]


class _Planned(NodePolicy):
    """A node policy whose answers are known: those of gangs that were decided together."""

    def __init__(self, policy: KubeTopology, answers: Mapping[str, Answer]) -> None:
        self.name, self.traits, self.warnings = policy.name, policy.traits, policy.warnings
        self._policy, self._answers = policy, answers

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._policy.parameters

    def cannot_start(self, request: Request) -> tuple[Notice, ...]:
        return ()

    def assign(self, request: Request) -> Answer:
        return self._answers[request.gang.key]


class KubeTopologyScheduler(KubeScheduler):
    """`kube-1.37-topology` with a GPU policy: gangs under one CompositePodGroup are decided together."""

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs of one session, each tree of groups as a whole, in the order of the queue.

        `gangs`, `snapshot`, `recorders`: as in `Policy.schedule`.
        """
        ledger = snapshot.ledger()
        follow_searches(ledger)
        trees: dict[object, list[int]] = {}
        for i in sorted(range(len(gangs)), key=lambda i: _queue_key(gangs[i])):
            above = gangs[i].extra(KubeGroup).parents
            key: object = (gangs[i].namespace, root_of(gangs[i])) if above else i
            trees.setdefault(key, []).append(i)
        decisions: dict[int, Decision] = {}
        for members in trees.values():
            results = self._decide([gangs[i] for i in members], ledger, [recorders.get(i) for i in members])
            for i, result in zip(members, results, strict=True):
                decisions[i] = Decision(gangs[i], result, turn=len(decisions))
        return [decisions[i] for i in range(len(gangs))]

    def _decide(
        self, gangs: Sequence[Gang], ledger: Ledger, recorders: Sequence[Recorder | None]
    ) -> list[Placement | Refusal]:
        """Decide on the gangs of one root group."""
        if len(gangs) == 1 or any(gang.jobs for gang in gangs):
            return [self.place(gang, ledger, recorder) for gang, recorder in zip(gangs, recorders, strict=True)]
        gpus: GpuQuestions = self._gpu_questions(gangs[0], ledger)
        requests = [self.node.request(gang, ledger, gpus, one) for gang, one in zip(gangs, recorders, strict=True)]
        policy = cast("KubeTopology", self.node)
        answers = policy.assign_tree(requests)
        planned = _Planned(policy, {gang.key: answer for gang, answer in zip(gangs, answers, strict=True)})
        together = Composed(self.name, planned, self.gpu)
        return [together.place(gang, ledger, recorder) for gang, recorder in zip(gangs, recorders, strict=True)]


def _domains(gang: Gang, request: Request) -> npt.NDArray[np.bool_]:
    """Whether a gang may be in each HyperNode, bool (d + 1,): those of its tier, or the whole cluster without one."""
    topology = request.snapshot.topology
    wish = gang.constraint
    tier = None if wish is None or wish.mode == "soft" else wish.highest_tier
    of_tier = topology.tier == (-1 if tier is None else tier)
    return np.append(of_tier, not of_tier.any())
