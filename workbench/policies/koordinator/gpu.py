"""`koordinator-gpu`: plans nodes and GPUs for a whole group of pods (a GPU group) at once.

Source: Koordinator proposal 20230314 "GPU topology-aware scheduling"; the gaps it leaves are settled as in
docs/reference/gpu-topology.md, part A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InternalError
from workbench.kernels.subsets import words_of_masks
from workbench.model.arrays import Ints
from workbench.model.cluster_facts import ClusterFacts
from workbench.model.counted import counted
from workbench.model.explanation import NO_RECORDERS, Recorder, Recorders
from workbench.model.extras import GpuGroup, GpuPlan, KoordinatorWish, PlannedPod
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.contract import SchedulerTraits
from workbench.policies.demand import node_reasons, node_text
from workbench.policies.gpu.base import GpuAssignment, GpuQuestions
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.hyper_job.place import place_hyper_job
from workbench.policies.koordinator.gang_groups import schedule_groups
from workbench.policies.koordinator.gpu_choice import GpuChoice
from workbench.policies.koordinator.plan_cache import PlanCache, node_scores
from workbench.policies.koordinator.turn import GangTurn
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import NoParameters, parameter
from workbench.policies.reasons import fit_reason, gang_incomplete
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.retry import KUBE_SCHEDULER

__all__ = ["KoordinatorGpu", "KoordinatorGpuParameters"]


_PROPOSAL = "Koordinator proposal 20230314"


@dataclass(frozen=True)
class KoordinatorGpuParameters:
    """Parameters of `koordinator-gpu`."""

    symmetric: str = parameter(
        "min",
        "how the two directions of a pair of GPUs become one weight",
        choices=("min", "max", "mean"),
        source="docs/decisions.md, decision 1",
    )
    link_classes: bool = parameter(False, "compare classes of links before raw bandwidth", source=_PROPOSAL)
    objective: str = parameter(
        "union",
        "several pods on a node: the bottleneck of all their GPUs first, or those of the single pods",
        choices=("union", "pods"),
        source=_PROPOSAL,
    )
    ungrouped: str = parameter(
        "alone",
        "pods without the two labels: each by itself, or the whole gang as if it were a GPU group",
        choices=("alone", "gang"),
        source=_PROPOSAL,
    )
    plan_ttl_s: int = parameter(600, "seconds after which a plan is dropped whose pods never came; 0: never", low=0)


class _GroupGpus(GpuQuestions):
    """Chooses the GPUs of a gang for `koordinator-gpu`, leaving alone the GPUs that plans of other groups reserve."""

    def __init__(self, whole: KoordinatorGpu, ledger: Ledger, cache: PlanCache, gang: Gang) -> None:
        super().__init__(whole.gpu, ledger)
        self.cache = cache
        self.free = ledger.gpu_free & ~cache.reserved(
            ledger.snapshot, gang.namespace, gang.extra(KoordinatorWish).gpu_group
        )
        self.turn: GangTurn | None = None
        self.shared = False

    def free_count(self) -> npt.NDArray[np.int64]:
        counts: npt.NDArray[np.int64] = np.bitwise_count(self.free).sum(axis=1, dtype=np.int64)
        return counts

    def assign_gpus(self, gang: Gang, node: Ints) -> GpuAssignment:
        turn = self.turn
        if turn is None or not turn.masks:
            return GpuAssignment(None)
        words = np.zeros((gang.n_pods, self.free.shape[1]), dtype=np.uint64)
        pods = list(turn.masks)
        words[pods] = words_of_masks(list(turn.masks.values()), words.shape[1])
        visible = words
        if self.shared:
            visible = np.zeros_like(words)
            seen = [turn.members[place] for place in node[pods].tolist()]
            visible[pods] = words_of_masks(seen, words.shape[1])
        return GpuAssignment(words, tuple(turn.gpu_warnings()), visible=visible)


class _GroupNodes(NodePolicy):
    """Chooses nodes and GPUs of a gang for `koordinator-gpu`, following the plans of GPU groups."""

    name = "koordinator-gpu"
    traits = SchedulerTraits(
        constraints=False, gang_groups=True, retry=KUBE_SCHEDULER, reads_names=False, words="kubernetes"
    )

    _parameters: KoordinatorGpuParameters

    def assign(self, request: Request) -> Assignment | Declined:
        gang, gpus, given = request.gang, request.gpus, self._parameters
        if not isinstance(gpus, _GroupGpus):
            raise InternalError("koordinator-gpu is asked without the plans of its groups")
        group = gang.extra(KoordinatorWish).gpu_group
        members, bound = _bound_members(request.snapshot, gang)
        choice = GpuChoice(
            given.symmetric,  # type: ignore[arg-type]
            given.link_classes,
            given.objective == "pods",
        )
        turn = GangTurn(request, gpus.free, choice, members, bound)
        grouped = group is not None or given.ungrouped == "gang"
        gpus.turn, gpus.shared = turn, grouped
        warnings = _group_warnings(gang, grouped)
        failed: list[int] = []
        if not grouped:
            failed = turn.one_by_one(turn.pods())
        else:
            plan = gpus.cache.plan_of(gang.namespace, group) if group is not None else None
            todo = turn.by_plan(plan)
            if todo and not turn.together(todo):
                failed = turn.one_by_one(todo)
                if not failed:
                    raise InternalError("pods that fit one by one fit no set of nodes")
                text = f"no set of nodes holds the {counted(len(todo), 'pod')} together: no plan, each for itself"
                warnings.append(Notice("group-not-together", text, numbers={"count": len(todo)}))
            failed = failed or sorted({int(gang.role_of_pod[pod]) for pod in turn.pods() if turn.node[pod] < 0})
        _record(request, turn)
        return self._answer(request, turn, failed, (*warnings, *turn.warnings))

    @staticmethod
    def _answer(
        request: Request, turn: GangTurn, failed: Sequence[int], warnings: tuple[Notice, ...]
    ) -> Assignment | Declined:
        gang, demand = request.gang, request.demand
        progress = request.progress()
        missing = progress.missing
        placed = turn.node >= 0
        for role in demand.order:
            progress.place(role, int((gang.role_of_pod[placed] == role).sum()))
        if not progress.ready:
            held = gang_incomplete(missing - progress.missing, missing)
            fit = fit_reason(request, failed[0], turn.idle, words="kubernetes")
            return Declined((fit, held), warnings=warnings)
        everywhere = np.arange(request.snapshot.n_nodes, dtype=np.int32)
        reasons = {role: node_reasons(demand, role, turn.idle, everywhere) for role in failed}
        return Assignment(turn.node, reasons, warnings=warnings)


class KoordinatorGpu(Composed):
    """Places the pods of a GPU group together: fewest nodes, fewest GPUs left over, largest bottleneck bandwidth.

    Pods that agree on the two labels (in one namespace) are a group. A live plan of the group is followed; a plan that
    is no longer possible is replaced by a new plan for the group or, once a pod is bound, by placing each pod by
    itself. GPUs in plans of other groups are not free. If no set of nodes holds all pods, each pod is placed by itself,
    as in the document, and the gang is refused only if fewer than `min_available` pods find a node.

    Plans are read from ``snapshot.gpu_plans``; the plan that a session makes is ``extra["gpu_plan"]`` of its decision.
    GPUs that the group already holds on a node count in the bottleneck of the GPUs that are added.
    """

    def __init__(self, parameters: KoordinatorGpuParameters) -> None:
        # The GPU policy is never asked: _GroupGpus answers in its place.
        super().__init__("koordinator-gpu", _GroupNodes(parameters), GpuLowestIndex(NoParameters()), place_hyper_job)
        self._ttl_s = parameters.plan_ttl_s

    def _gpu_questions(self, gang: Gang, ledger: Ledger) -> _GroupGpus:
        return _GroupGpus(self, ledger, PlanCache.of(ledger.snapshot, self._ttl_s), gang)

    def _decide(self, gang: Gang, ledger: Ledger, recorder: Recorder | None, cache: PlanCache) -> Decision:
        gpus = _GroupGpus(self, ledger, cache, gang)
        result = self._place_with(gpus, gang, ledger, recorder)
        extra: dict[str, Any] = {}
        group = gang.extra(KoordinatorWish).gpu_group
        if isinstance(result, Placement) and group is not None and gpus.turn is not None:
            extra["gpu_plan"] = _plan(gang, group, gpus.turn, ledger.snapshot)
        return Decision(gang, result, extra)

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on every gang of a session on one ledger, with the plans that earlier gangs made.

        Gang groups are decided as a whole (`schedule_groups`).
        """
        ledger, cache = snapshot.ledger(), PlanCache.of(snapshot, self._ttl_s)

        def place(i: int) -> Decision:
            nonlocal cache
            found = self._decide(gangs[i], ledger, recorders.get(i), cache)
            group = gangs[i].extra(KoordinatorWish).gpu_group
            if found.placed and group is not None:
                # Its pods are bound now, by the old plan or another: what they use is in the ledger.
                cache = cache.without(gangs[i].namespace, group)
            return found

        def mark() -> tuple[int, PlanCache]:
            return ledger.checkpoint(), cache

        def undo(before: tuple[int, PlanCache]) -> None:
            nonlocal cache
            at, cache = before
            ledger.rollback(at)

        return schedule_groups(self, gangs, snapshot, place, mark, undo)


def _bound_members(snapshot: ClusterSnapshot, gang: Gang) -> tuple[dict[int, int], int]:
    """GPUs that running pods of the gang's GPU group hold (mask by node), and the number of these pods."""
    group = gang.extra(KoordinatorWish).gpu_group
    members: dict[int, int] = {}
    bound = 0
    if group is not None:
        for pod in snapshot.running:
            if pod.namespace == gang.namespace and pod.gpu_group == group:
                bound += 1
                if pod.node >= 0 and pod.gpu_mask:
                    members[pod.node] = members.get(pod.node, 0) | pod.gpu_mask
    return members, bound


def _group_warnings(gang: Gang, grouped: bool) -> list[Notice]:
    group = gang.extra(KoordinatorWish).gpu_group
    if group is None:
        if grouped or gang.n_pods < 2:
            return []
        text = "no labels of a GPU group: each pod is placed by itself (ungrouped=gang plans them together)"
        return [Notice("no-gpu-group", text)]
    pods = gang.ready + gang.n_pods
    if gang.kind == "GpuGroup" or pods == group.replica:
        return []
    text = f"GPU group {group.name} wants {counted(group.replica, 'pod')}, the {gang.kind} has {pods}"
    return [Notice("gpu-group-size", text, f"GPU group {group.name}", {"wants": group.replica, "has": pods})]


def _plan(gang: Gang, group: GpuGroup, turn: GangTurn, snapshot: ClusterFacts) -> GpuPlan | None:
    """The plan (node and GPUs of each pod) made with the placement; None if every pod was placed by itself."""
    names = snapshot.topology.node_names
    pods = tuple(
        PlannedPod(gang.pod(pod).name, names[int(turn.node[pod])], turn.masks.get(pod, 0))
        for pod in sorted(turn.planned)
    )
    return GpuPlan(gang.namespace, group, pods, snapshot.taken_at) if pods else None


def _record(request: Request, turn: GangTurn) -> None:
    """Tell the recorder every node with its score for the first placed pod: 100 for that pod's node, else 0."""
    recorder = request.recorder
    if recorder is None or recorder.ties_only or not request.demand.order:
        return
    topology, demand = request.ledger.topology, request.demand
    given = {int(node): int((turn.node == node).sum()) for node in np.unique(turn.node[turn.node >= 0])}
    for node in np.argsort(topology.node_rank).tolist():
        name = topology.node_names[node]
        score = node_scores(name if node in given else "", [name])[name]
        excluded = node_text(demand, demand.order[0], demand.idle, node)
        why = excluded or "not in the node set"
        if node in given:
            left = int(np.bitwise_count(request.gpus.free[node]).sum()) if isinstance(request.gpus, _GroupGpus) else 0
            why = f"{counted(given[node], 'pod')}, {counted(left, 'GPU')} left over"
        recorder.node(name, node in given or not excluded, why, float(score))
