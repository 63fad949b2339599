"""`volcano-1.13`: topology scheduling as release 1.13 does it, which the design document and an article describe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Longs
from workbench.model.explanation import Recorder
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import best_of
from workbench.model.topology import Topology, within_tiers
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.nearest import nearest_misses
from workbench.policies.reasons import fit_reason, gang_text, topology_not_ready
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.volcano.filling import Filling, FillPass, NodeExplainer
from workbench.policies.volcano.parts.job_parts import JobProgress
from workbench.policies.volcano.parts.scored_nodes import FillContext
from workbench.policies.volcano.parts.scores import TopologyParameters, topology_scores_1_13
from workbench.policies.volcano.parts.texts import NODES_IN_TURN, pods_text
from workbench.policies.volcano.session.policy import VolcanoPolicy
from workbench.policies.volcano.session.queues import QueueHeadroom
from workbench.policies.volcano.session.rounds import FlatRounds, NodeFiller, Rounds, causes_by_role
from workbench.policies.volcano.v1_13.hard_search import (
    NO_RECORD,
    UNKNOWN_RECORD,
    HardSearch,
    Round,
    read_record,
    to_score,
    widen,
)

__all__ = ["DEFAULT_HIGHEST_TIER", "HardRounds", "Volcano113"]


#: highestTierAllowed of a hard job that gives none: the default of 1.13's schema (docs/decisions.md, decision 10).
DEFAULT_HIGHEST_TIER = 1


class Volcano113(VolcanoPolicy):
    """Volcano 1.13: places jobs with a hard, a soft or no topology constraint.

    With a hard constraint all pods go inside one HyperNode, found by `HardSearch`; with a soft one they go to any
    nodes, which are scored by closeness; without a constraint they are placed as by `allocate`.

    A gang is placed in rounds: the first places its minimum, each later round one more pod. One call of `place` takes
    all rounds of a gang; in a session the rounds of different jobs alternate.

    Source: docs/reference/volcano-topology.md, sections 4, 5.1 to 5.3, 7.1 for 1.13. Ties: the smallest name
    (docs/decisions.md, decision 5).
    """

    name = "volcano-1.13"
    traits = replace(VolcanoPolicy.traits, annotates_group=True)
    _parameters: TopologyParameters

    def __init__(self, parameters: TopologyParameters, explainer: NodeExplainer | None = None) -> None:
        super().__init__(parameters, explainer)

    def request(self, gang: Gang, ledger: Ledger, gpus: GpuQuestions, recorder: Recorder | None) -> Request:
        """Make the `Request` about a gang; its HyperNode so far (record) is read from its PodGroup or last session."""
        # What the last session wrote, where nobody put it on the object yet.
        if not gang.extra(VolcanoMemory).record and gang.key in ledger.snapshot.records:
            gang = gang.with_extra(replace(gang.extra(VolcanoMemory), record=ledger.snapshot.records[gang.key]))
        return super().request(gang, ledger, gpus, recorder)

    def rounds(self, request: Request) -> Rounds:
        constraint = request.gang.constraint
        if constraint is None:
            return FlatRounds(request, self)
        if constraint.mode == "soft":
            return _SoftRounds(request, self, self._parameters.weight)
        if constraint.mode != "hard":
            return _Unrestricted(request, self, "networkTopology has no mode")
        if constraint.highest_tier is None and request.gang.stored:
            return _Unrestricted(request, self, "stored as hard without highestTierAllowed")
        return HardRounds(request, self, self._parameters.weight)


class _Unrestricted(FlatRounds):
    """Rounds of placing pods of a job whose constraint restricts nothing, with a warning that says why."""

    def __init__(self, request: Request, policy: NodeFiller, cause: str) -> None:
        super().__init__(request, policy)
        self._cause = cause

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        answer = super().answer(request, idle)
        plain = Notice("constraint-without-effect", f"{self._cause}: volcano-1.13 takes the job as a plain one")
        answer.warnings = (*answer.warnings, *_name_warnings(request), plain)
        return answer


class _SoftRounds(FlatRounds):
    """Rounds of a job with a soft constraint: any node, scored by closeness to the job's HyperNode, which may widen."""

    def __init__(self, request: Request, policy: NodeFiller, weight: float) -> None:
        super().__init__(request, policy)
        self._topology = topology = request.snapshot.topology
        self._scores = topology_scores_1_13(topology, weight)
        self._record = self._first_record = read_record(request.gang.extra(VolcanoMemory).record, topology)
        self._on_leaf = _running_on_leaf(request)
        self._total = self.progress.total

    def filling(self, context: FillContext) -> Filling:
        return Filling(context, scores=self._scores)

    def tell(self, filling: Filling, explainer: NodeExplainer) -> None:
        request = filling.context.request
        assert request.recorder is not None
        request.recorder.note(_soft_note(request.gang.extra(VolcanoMemory).record))
        explainer.nodes(
            filling,
            request.demand.order[0],
            record=to_score(self._record),
            tasks_on_leaf=self._on_leaf,
            total_tasks=self._total,
        )

    def passes(self, filling: Filling, *, every: bool) -> Iterator[FillPass]:
        filling.ask(
            self.progress,
            record=to_score(self._record),
            update_record=True,
            tasks_on_leaf=self._on_leaf,
            total_tasks=self._total,
            every=every,
        )
        yield filling.settle(-1, self.progress)

    def enter(self, done: FillPass) -> None:
        super().enter(done)
        self._record = done.record
        self._on_leaf += self._topology.count_on_leaves(done.nodes)

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        answer = super().answer(request, idle)
        answer.warnings = (*answer.warnings, *_name_warnings(request), *_record_warnings(request, self._first_record))
        if isinstance(answer, Assignment) and self._record >= 0:
            answer.record, answer.has_record = self._record, True
            answer.records = {request.gang.key: request.snapshot.topology.domain_name(self._record)}
        return answer


class HardRounds(Rounds):
    """Rounds of placing pods of a job with a hard constraint: each in the best fitting HyperNode.

    `policy`: makes the context in which a request's pods are placed. `weight`: weight of the topology score (closeness
    to the job's HyperNode).
    """

    def __init__(self, request: Request, policy: NodeFiller, weight: float) -> None:
        super().__init__(request)
        topology = request.snapshot.topology
        self._policy = policy
        self._weight = weight
        # Its ready flag starts as false, and only a HyperNode can set it.
        self._ready = topology.ready and topology.n_domains > 0
        self._highest, self._warnings = _highest_tier(request)
        self._record = read_record(request.gang.extra(VolcanoMemory).record, topology)
        self._warnings += _record_warnings(request, self._record)
        self._on_leaf = _running_on_leaf(request)
        self._search: HardSearch | None = None
        self._n_rounds = 0
        self._total = self.progress.total

    def take(self, request: Request, room: QueueHeadroom | None, *, every: bool) -> None:
        """Place pods inside HyperNodes: the job's next round (the minimum first, then one pod more), or all rounds."""
        topology = request.snapshot.topology
        if not self._ready:
            # Upstream does not put the queue back either.
            self.declined, self.over, self.blocks_queue = Declined((topology_not_ready(topology),)), True, True
            return
        self.cap(request, room)
        context = self._policy.context(request)
        search = self._searching(context)
        recorder = request.recorder
        while not self.over:
            self._n_rounds += 1
            # Later rounds ask the same domains for one pod more: a note each says enough.
            taken = search.next_round(self.progress, self._record, recorder if self._n_rounds == 1 else None)
            if recorder is not None:
                recorder.note(_round_note(self._n_rounds, taken, topology))
                shown = _nearest(request, search, self._record) if taken is None else taken.domain
                if self._n_rounds == 1 and shown is not None:
                    recorder.note(f"nodes of {topology.domain_names[shown]} as the first pod sees them")
                    self._tell_nodes(context, shown)
            if taken is None:
                self.over = True
                break
            self.enter(taken.done)
            self._record = widen(self._record, taken.domain, topology)
            self._on_leaf += topology.count_on_leaves(taken.done.nodes)
            if not every:
                break
            if sum(self.progress.left):
                context.put(taken.done.roles, taken.done.nodes)
        if not self.progress.ready:
            self.declined = _declined(request, search, self._highest, self._record, self._warnings)
            self.over = True
        if self.over:
            # A session keeps the rounds of all its jobs, and a search holds several arrays of all nodes.
            self._search = None

    def _tell_nodes(self, context: FillContext, domain: int) -> None:
        if self._policy.explainer is None:
            return
        request = context.request
        filling = Filling(context, scores=topology_scores_1_13(request.snapshot.topology, self._weight))
        self._policy.explainer.nodes(
            filling,
            request.demand.order[0],
            domain,
            record=self._record if self._record >= 0 else NO_RECORD,
            tasks_on_leaf=self._on_leaf,
            total_tasks=self._total,
        )

    def _searching(self, context: FillContext) -> HardSearch:
        if self._search is None:
            self._search = self.search(context)
        else:
            self._search.look_again(context)
        return self._search

    def search(self, context: FillContext) -> HardSearch:
        """Make the search for the job's HyperNodes; `context` has the present amounts of the nodes."""
        scores = topology_scores_1_13(context.request.snapshot.topology, self._weight)
        return HardSearch(context, scores, self._highest, self._on_leaf, self.progress.total)

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        if self.declined is not None:
            return self.declined
        reasons = causes_by_role(request, self.node, idle)
        topology = request.snapshot.topology
        if reasons:
            within = within_tiers(topology, self._highest)
            inside = Notice("no-domain", f"no HyperNode{within} near the record holds one more pod")
            reasons = {role: (inside, *everywhere) for role, everywhere in reasons.items()}
        return Assignment(
            self.node,
            reasons,
            records={request.gang.key: topology.domain_name(self._record)} if self._record >= 0 else {},
            record=self._record if self._record >= 0 else NO_RECORD,
            has_record=self._record >= 0,
            score=self.score,
            warnings=self._warnings,
        )


def _soft_note(record: str) -> str:
    if record:
        return f"soft: no HyperNode is tried, nodes are scored by their LCA with the recorded {record}"
    return "soft: no HyperNode is tried, and without a record all are equally close to the first pod"


def _round_note(number: int, taken: Round | None, topology: Topology) -> str:
    if taken is None:
        return f"turn {number}: no HyperNode chosen"
    return f"turn {number}: {pods_text(taken.done.n_placed)} in {topology.domain_names[taken.domain]}"


def _running_on_leaf(request: Request) -> Longs:
    """Number of the gang's running pods in each leaf HyperNode: int64 of shape (d,)."""
    topology = request.snapshot.topology
    if not (request.gang.ready or request.gang.extra(VolcanoMemory).record):
        return np.zeros(topology.n_domains, dtype=np.int64)
    nodes = [pod.node for pod in request.snapshot.running_index.gangs.get(request.gang.key, ())]
    return topology.count_on_leaves(np.array(nodes, dtype=np.int32))


def _highest_tier(request: Request) -> tuple[int, tuple[Notice, ...]]:
    constraint = request.gang.constraint
    assert constraint is not None
    dropped = _name_warnings(request)
    if constraint.highest_tier is not None:
        return constraint.highest_tier, dropped
    cause = dropped[0].message if dropped else "hard without highestTierAllowed"
    text = f"{cause}: its default {DEFAULT_HIGHEST_TIER} applies"
    return DEFAULT_HIGHEST_TIER, (Notice("default-tier", text, numbers={"tier": DEFAULT_HIGHEST_TIER}),)


def _name_warnings(request: Request) -> tuple[Notice, ...]:
    constraint = request.gang.constraint
    name = constraint.highest_tier_name if constraint is not None else None
    if name is None:
        return ()
    return (Notice("unknown-tier-name", f"highestTierName '{name}' is not known to volcano-1.13", f"tier {name}"),)


def _record_warnings(request: Request, record: int) -> tuple[Notice, ...]:
    if record != UNKNOWN_RECORD:
        return ()
    name = request.gang.extra(VolcanoMemory).record
    return (Notice("unknown-record", f"the recorded HyperNode '{name}' does not exist", f"HyperNode {name}"),)


def _declined(
    request: Request, search: HardSearch, highest: int, record: int, warnings: tuple[Notice, ...]
) -> Declined:
    """Make the refusal of a job that no HyperNode holds, with the one that has most room, and Volcano's texts."""
    topology, demand = request.snapshot.topology, request.demand
    progress = JobProgress.start(request.gang, request.snapshot)
    needs = max(progress.missing, 1)
    pods = pods_text(needs)
    # A pod that fits on no node at all is the plainest reason there is.
    reasons = [
        fit_reason(request, role, demand.idle)
        for role in demand.order
        if not demand.capacity(role, demand.idle, 1).any()
    ]
    n_within, within = int((topology.tier <= highest).sum()), within_tiers(topology, highest)
    misses = nearest_misses(request, _allowed(search, record))
    if misses:
        best = best_of(misses)
        if best.holds < needs:
            text = f"no HyperNode{within} holds {pods}: "
            text += f"best {best.place} holds {best.holds} of {needs}"
        else:
            text = f"no HyperNode{within} takes the job: {best.place} has room for "
            text += f"the {pods} needed{NODES_IN_TURN}"
        if record != NO_RECORD:
            text += f"; the job is recorded in {request.gang.extra(VolcanoMemory).record}"
        reasons.append(Notice("no-domain", text, numbers={"count": n_within}))
    elif record != NO_RECORD:
        text = f"no HyperNode{within} meets the recorded {request.gang.extra(VolcanoMemory).record} at an allowed tier"
        reasons.append(Notice("record-too-far", text, numbers={"count": n_within}))
    else:
        text = f"there is no HyperNode{within}"
        reasons.append(Notice("no-domain", text, numbers={"count": 0}))
    if search.last_tried is not None:
        # Upstream's text describes the domain tried last.
        filling = Filling(search.context)
        filling.ask(progress)
        done = filling.settle(search.last_tried, progress)
        role = demand.order[0] if done.failed is None else done.failed
        nodes = topology.nodes_of(search.last_tried)
        reasons.append(gang_text(request, needs, role, done.idle_after(request), nodes))
    return Declined(tuple(reasons), misses, warnings)


def _allowed(search: HardSearch, record: int) -> npt.NDArray[np.bool_]:
    """HyperNodes that the job may use, bool (d + 1,): the virtual top, which is last, is none of them."""
    allowed = np.zeros(search.context.request.snapshot.topology.n_domains + 1, dtype=np.bool_)
    for _, domains in search.gradients(record):
        allowed[domains] = True
    return allowed


def _nearest(request: Request, search: HardSearch, record: int) -> int | None:
    """HyperNode with room for most of the pods that the job needs; None: the job may use none."""
    misses = nearest_misses(request, _allowed(search, record))
    return request.snapshot.topology.domain(best_of(misses).domain) if misses else None
