"""`volcano-1.15`: Volcano 1.15, with sub-groups, soft jobs as hard ones at the virtual top, and packing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.errors import InternalError
from workbench.kernels.domains import NO_RECORD, TopologyScores
from workbench.kernels.tiers import VIRTUAL_TOP
from workbench.kernels.two_level import TwoLevel
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import Why, best_of
from workbench.model.release import Release
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import VIRTUAL_TOP as VIRTUAL_TOP_NAME
from workbench.model.topology import within_tiers
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.reasons import fit_reason, gang_text, gang_untried, topology_not_ready
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.stream import Stream
from workbench.policies.volcano.explain.nodes import pods_text
from workbench.policies.volcano.explain.search_explainer import SearchExplainer
from workbench.policies.volcano.explain.search_misses import Missed, SearchQuery, missed
from workbench.policies.volcano.filling import Filling
from workbench.policies.volcano.memory import records_at_open, records_to_keep
from workbench.policies.volcano.plugins import hypernode_weight, sub_job_order
from workbench.policies.volcano.policy import VolcanoPolicy
from workbench.policies.volcano.scheduler import VolcanoScheduler
from workbench.policies.volcano.scored_nodes import scored_columns
from workbench.policies.volcano.session.queue_caps import QueueCaps
from workbench.policies.volcano.session.queues import QueueHeadroom
from workbench.policies.volcano.session.turns import Turns, causes_by_role, declined_flat, tell_whole_cluster
from workbench.policies.volcano.stream import Prepared, SearchStream
from workbench.policies.volcano.v1_15.cluster_fill import ClusterFill
from workbench.policies.volcano.v1_15.compiled_search import (
    compiled_search,
    last_fit,
    nodes_of_pods,
    shapes_of,
)
from workbench.policies.volcano.v1_15.constraints import Limits, limits_of
from workbench.policies.volcano.v1_15.hypernode_scores import (
    HyperNodeParameters,
    fading_of,
    topology_scores_1_15,
    weights_of_resources,
)
from workbench.policies.volcano.v1_15.splitting import SubJobs, split

__all__ = ["Volcano115"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Volcano115(VolcanoPolicy):
    """Volcano 1.15: jobs with a tier limit or sub-groups are placed in HyperNodes, all others on any node.

    A gang is placed in turns: the first places its minimum, each later turn one more pod. One call of `place` takes all
    turns of a gang; in a session the turns of different jobs alternate.

    Notes
    -----
    Source: docs/reference/volcano-topology.md, sections 3.1 to 7.3, NEW. Ties: the smallest name (docs/decisions.md,
    decision 5). The HyperNode in which a gang is allocated is recovered from its running pods; the annotation of 1.13
    is not read.
    """

    name = "volcano-1.15"
    traits = replace(VolcanoPolicy.traits, sub_groups=True)
    waits_for_closer = True

    release = Release.V1_15
    _parameters: HyperNodeParameters

    def __init__(self, parameters: HyperNodeParameters) -> None:
        super().__init__(parameters)
        self._packing: dict[tuple[str, ...], Floats] = {}
        given = parameters.config
        self._hypernode_weight = float(parameters.weight if given is None else hypernode_weight(given, self.release))
        self._sub_job_order = sub_job_order(self.config)

    def turns(self, request: Request) -> Turns:
        limits = limits_of(request.gang, request.snapshot.topology, gradients=self.gradients)
        if limits.job is None and not request.gang.sub_grouped:
            return _FlatTurns(request, self, limits)
        return _SearchTurns(request, self, limits)

    def assign(self, request: Request) -> Assignment | Declined:
        if request.recorder is not None or request.ledger.releasing is not None:
            return super().assign(request)
        return self._assign(request, later=True)

    def assign_idle(self, request: Request) -> Assignment | Declined:
        return self._assign(request, later=False)

    def _assign(self, request: Request, *, later: bool) -> Assignment | Declined:
        """Choose nodes for the gang's pods among the idle resources, without those of terminating pods.

        With `later`, the reasons of a refusal are computed when they are read.
        """
        gang, topology = request.gang, request.snapshot.topology
        if _has_topology(gang) and not topology.ready:
            return Declined((topology_not_ready(topology),))
        limits = limits_of(gang, topology, gradients=self.gradients)
        if limits.job is None and not gang.sub_grouped:
            turns = _FlatTurns(request, self, limits)
            turns.take(request, None, every=True)
            return turns.answer(request, None)
        subs = split(gang, request.snapshot, request.demand, limits)
        records, record = records_at_open(gang.key, subs, request.snapshot)
        return self._by_search(request, SearchQuery(request, subs, limits, records, record), later=later)

    def _best_effort_filling(self, request: Request, pods: Longs) -> Filling:
        gang, pod = request.gang, int(pods[0])
        constraint = next((group.constraint for group in gang.sub_groups if pod in group.pods), gang.constraint)
        return self.board(request).filling(topology=constraint is not None)

    def board(self, request: Request) -> ClusterFill:
        """Make the `ClusterFill` of a request, which places pods on any node by this policy's scores."""
        p, topology = self._parameters, request.snapshot.topology
        scores = topology_scores_1_15(topology, p.weight)
        return ClusterFill(self.context(request), scores, fading_of(p, topology, scored_columns(request)))

    def _by_search(self, request: Request, asked: SearchQuery, *, later: bool) -> Assignment | Declined:
        subs, limits = asked.subs, asked.limits
        search = self.search(request, asked)
        story = self.story(request, asked, first=True)
        score = 0.0
        while search.pods_left:
            if not (search.turn() if story is None else story.take_turn(search)):
                break
            score += search.score
        if not search.ready:
            again = request.ledger.replay_recipe() if later else None
            if again is None:
                return _declined_by_search(request, asked, search)
            return Declined((), warnings=limits.warnings, later=self._why_later(request, again))
        node = nodes_of_pods(request, subs, search)
        answer = Assignment(node, _reasons(request, node, None), score=score, warnings=limits.warnings)
        _enter_records(request, answer, subs, search)
        return answer

    def _why_later(self, request: Request, again: Callable[[], Ledger]) -> Callable[[], Why]:
        """Make a function that repeats a failed search and returns its reasons, called when a refusal is read.

        ``again`` makes the ledger as it was for the search. The search itself is not kept, because it holds megabytes,
        and the ledger moves on.
        """
        gang, gpu_policy = request.gang, request.gpus.policy

        def why() -> Why:
            ledger = again()
            answer = self.assign_idle(self.request(gang, ledger, GpuQuestions(gpu_policy, ledger), None))
            if not isinstance(answer, Declined):
                raise InternalError(f"volcano-1.15: {gang.key} was refused and fits when it is asked about once more")
            return answer.reasons, answer.nearest_misses

        return why

    def queue_caps(self, request: Request, subs: SubJobs) -> QueueCaps:
        """Make the `QueueCaps` of a job, which limits its pods by the queue's headroom.

        `subs` are the job's sub-jobs when the session opens.
        """
        return QueueCaps(request.gang, request.demand, subs)

    def story(self, request: Request, asked: SearchQuery, *, first: bool) -> SearchExplainer | None:
        """Make the writer of the explanation of a job's search; None if the request has no recorder.

        Parameters
        ----------
        request : Request
        asked : SearchQuery
            The job and its limits, as the search got them before its first turn (round of placing pods).
        first : bool
            Whether the search has taken no turn yet.
        """
        if request.recorder is None:
            return None
        return SearchExplainer(request.recorder, asked, self.board(request), first, self._hypernode_weight)

    def search(self, request: Request, asked: SearchQuery) -> TwoLevel:
        """Make the two-level search of a job (HyperNodes for job and sub-jobs), before its first turn."""
        topology = request.snapshot.topology
        scores = topology_scores_1_15(topology, self._parameters.weight)
        return self._prepare(request, asked.subs, asked.records, asked.record, asked.limits, scores)

    def _prepare(
        self,
        request: Request,
        subs: SubJobs,
        records: Sequence[int],
        record: int,
        limits: Limits,
        scores: TopologyScores,
    ) -> TwoLevel:
        p, context = self._parameters, self.context(request)
        seen = context.scored
        if seen.columns not in self._packing:
            self._packing[seen.columns] = weights_of_resources(p, seen.columns)
        faded = np.count_nonzero(subs.topology) < len(subs)
        return compiled_search(
            context,
            subs,
            records,
            record,
            limits.job,
            seen,
            scores=scores,
            packing=self._packing[seen.columns],
            scale=self._hypernode_weight,
            order=self._sub_job_order,
            fading=fading_of(p, request.snapshot.topology, seen.columns) if faded else None,
        )

    def repeatable(self, request: Request) -> Prepared | None:
        """Prepare the search of a gang if a stream may repeat it; return None otherwise.

        A search may be repeated if the gang has no running pods and the result depends only on the resources of nodes.
        """
        gang, topology = request.gang, request.snapshot.topology
        limits = limits_of(gang, topology, gradients=self.gradients)
        if not topology.ready or (limits.job is None and not gang.sub_grouped):
            return None
        if request.ledger.releasing is not None or self.scores_at_open:
            return None
        subs = split(gang, request.snapshot, request.demand, limits)
        if not all(part.stays(request) for part in self._node_scores):
            return None
        scores = topology_scores_1_15(topology, self._parameters.weight)
        search = self._prepare(request, subs, [NO_RECORD] * len(subs), NO_RECORD, limits, scores)
        return Prepared(search, subs, limits.warnings, _is_recorded(gang))


class Volcano115Scheduler(VolcanoScheduler):
    """`VolcanoScheduler` of Volcano 1.15, whose stream repeats searches of equal gangs."""

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        assert isinstance(self.node, Volcano115)
        return SearchStream(self, self.node.repeatable, snapshot)


class _Rounds(Turns):
    """Base of a job's turns (rounds of placing pods) in `volcano-1.15`: holds the sub-jobs and their HyperNodes so far.

    Each turn sees the present state of the cluster.
    """

    def __init__(self, request: Request, policy: Volcano115, limits: Limits) -> None:
        super().__init__(request)
        self._policy = policy
        self._limits = limits
        self._subs = split(request.gang, request.snapshot, request.demand, limits)
        self._records, self._job_record = records_at_open(request.gang.key, self._subs, request.snapshot)
        self._begun = False
        self._whole: Assignment | Declined | None = None

    def _not_ready(self, request: Request) -> bool:
        """Whether the job must be left out because it has a topology constraint and the HyperNodes form no tree."""
        topology = request.snapshot.topology
        if topology.ready or not _has_topology(request.gang):
            return False
        self.declined, self.over = Declined((topology_not_ready(topology),)), True
        return True

    def _all_at_once(self, request: Request, room: QueueHeadroom | None, every: bool) -> bool:
        """Place all pods of the job at once, by the policy's fast path.

        False, with nothing placed, if turns may differ.
        """
        progress = self.progress
        needed = progress.min_available >= progress.counted + sum(progress.left)
        if self._begun or room is not None or not (every or (needed and not request.gang.sub_grouped)):
            self._begun = True
            return False
        self._whole = self._policy.assign_idle(request)
        self.over = True
        if isinstance(self._whole, Declined):
            self.declined = self._whole
            return True
        self.node = self._whole.node
        for role in request.demand.order:
            self.progress.place(role, int((self.node[request.gang.role_of_pod == role] >= 0).sum()))
        return True

    def _assignment(self, request: Request, idle: Longs | None) -> Assignment:
        reasons = _reasons(request, self.node, idle)
        return Assignment(self.node, reasons, score=self.score, warnings=self._limits.warnings)


class _FlatTurns(_Rounds):
    """Turns (rounds of placing pods) of a job that may use any node, as if the cluster were one HyperNode."""

    def take(self, request: Request, room: QueueHeadroom | None, *, every: bool) -> None:
        if self._not_ready(request):
            return
        self.cap(request, room)
        sub, record = self._subs[0], self._records[0]
        board = self._policy.board(request)
        first = not (self.node >= 0).any()
        if first:
            board.record_nodes(-1, sub, record)
        after = _record_after(self._limits, record)
        on_nodes = sub.running_nodes if first else np.concatenate([sub.running_nodes, self.node[self.node >= 0]])
        for done in board.passes(sub, record, after, on_nodes, self.progress, every=every):
            if first:
                tell_whole_cluster(request, done, self.progress)
            if not done.progress.ready:
                self.declined = declined_flat(request, done, request.progress(), self._limits.warnings)
                self.over = True
                return
            self.enter(done)
            first = first and not done.n_placed
        if not first:
            self._records[0] = after

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        if self.declined is not None or self._whole is not None:
            return self.declined or self._whole or Assignment(self.node)
        answer = self._assignment(request, idle)
        _enter_record(request, answer, self._subs, self._records[0])
        return answer


class _SearchTurns(_Rounds):
    """Turns (rounds of placing pods) of a job with a tier limit or sub-groups, all by one search.

    The search sees the present state of the cluster in each turn.
    """

    def __init__(self, request: Request, policy: Volcano115, limits: Limits) -> None:
        super().__init__(request, policy, limits)
        self._search: TwoLevel | None = None

    def take(self, request: Request, room: QueueHeadroom | None, *, every: bool) -> None:
        if self._not_ready(request) or self._all_at_once(request, room, every):
            return
        asked = SearchQuery(request, self._subs, self._limits, self._records, self._job_record)
        first = self._search is None
        if self._search is None:
            self._search = self._policy.search(request, asked)
        else:
            context = self._policy.context(request)
            seen = context.scored
            self._search.update_nodes(seen.idle, seen.used, shapes_of(context, seen.rows))
        search = self._search
        self._cap_each(request, search, room)
        story = self._policy.story(request, asked, first=first)
        self.over = True
        while search.pods_left:
            if not (search.turn() if story is None else story.take_turn(search)):
                break
            self.score += search.score
            if not every:
                self.over = not search.pods_left
                break
        if not search.ready:
            self.declined = _declined_by_search(request, asked, search)
            self.over = True
            return
        self._count(request, search)

    def _cap_each(self, request: Request, search: TwoLevel, room: QueueHeadroom | None) -> None:
        """Limit the search to the pods for which the job's queue has headroom."""
        if room is not None:
            self._policy.queue_caps(request, self._subs).apply(search, self.node, room)

    def _count(self, request: Request, search: TwoLevel) -> None:
        """Update the counts of placed pods, and of pods that further turns would try."""
        node, role_of = nodes_of_pods(request, self._subs, search), request.gang.role_of_pod
        new = role_of[(node >= 0) & (self.node < 0)]
        self.node = node
        _, shapes, left = search.left()
        still = np.bincount(shapes, weights=left, minlength=len(request.demand.order))
        for place, role in enumerate(request.demand.order):
            self.progress.place(role, int((new == role).sum()))
            self.progress.left[role] = int(still[place])

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        if self.declined is not None or self._whole is not None:
            return self.declined or self._whole or Assignment(self.node)
        answer = self._assignment(request, idle)
        if self._search is not None:
            _enter_records(request, answer, self._subs, self._search)
        return answer


def _record_after(limits: Limits, record: int) -> int:
    """HyperNode in which a job counts as allocated (its record) after a turn that could use all nodes.

    The record stays as it was, because only a search writes one. If there is a limit but no plugin says which
    HyperNodes are tried, upstream searches the virtual top, which becomes the record.
    """
    return VIRTUAL_TOP if limits.top_only else record


def _enter_record(request: Request, answer: Assignment, subs: SubJobs, record: int) -> None:
    """Write the HyperNode in which the job counts as allocated (``record``) into the answer."""
    if subs[0].topology and record != NO_RECORD:
        key, topology = request.gang.key, request.snapshot.topology
        answer.record, answer.has_record = record, True
        answer.records = records_to_keep(key, subs.names, [record], record, topology)


def _enter_records(request: Request, answer: Assignment, subs: SubJobs, search: TwoLevel) -> None:
    """Write the HyperNodes in which the search allocated the job and its sub-jobs into the answer."""
    if not _is_recorded(request.gang) or search.record == NO_RECORD:
        return
    answer.record, answer.has_record = search.record, True
    kept, topology = search.records().tolist(), request.snapshot.topology
    answer.records = records_to_keep(request.gang.key, subs.names, kept, search.record, topology)


def _has_topology(gang: Gang) -> bool:
    return gang.constraint is not None or any(group.constraint is not None for group in gang.sub_groups)


def _is_recorded(gang: Gang) -> bool:
    """Whether the next session must remember a HyperNode for the gang: it has a constraint or sub-groups."""
    return gang.sub_grouped or _has_topology(gang)


def _reasons(request: Request, node: Ints, idle: Longs | None) -> dict[int, tuple[Notice, ...]]:
    """Reasons, by role, why the pods without a node have none; ``node`` has the node of each pod, -1 for none.

    `idle` are the idle resources after the placed pods; None: not computed yet.
    """
    found = causes_by_role(request, node, idle)
    if not found:
        return found
    nowhere = (Notice("no-domain", "no HyperNode near the record holds one more pod"),)
    return {role: causes or nowhere for role, causes in found.items()}


def _declined_by_search(request: Request, asked: SearchQuery, search: TwoLevel) -> Declined:
    """Make the refusal of a gang for which the search found no HyperNode, with the texts that Volcano would write."""
    demand, topology = request.demand, request.snapshot.topology
    found = missed(asked, search.tried())
    takes_one = search.takes_one().tolist()
    reasons = [_no_domain(asked, found)]
    reasons += [
        fit_reason(request, r, demand.idle) for r, fits in zip(demand.order, takes_one, strict=True) if not fits
    ]
    last = found.last_tried
    if last is None:
        reasons.append(gang_untried(request, asked.needs))
    else:
        role, idle, nodes = last_fit(request, search, last)
        name = "" if last < 0 else topology.domain_name(last)
        reasons.append(gang_text(request, asked.needs, role, idle, nodes, name))
    return Declined(tuple(reasons), found.misses, asked.limits.warnings)


def _no_domain(asked: SearchQuery, found: Missed) -> Notice:
    """Notice about the HyperNode with room for most of the gang's pods, and why it does not hold the gang."""
    within = within_tiers(asked.topology, asked.limits.job)
    if not found.misses:
        text = f"there is no HyperNode{within}"
        if asked.record != NO_RECORD:
            text = f"no HyperNode{within} near the running pods is allowed"
        return Notice("no-domain", text, numbers={"count": 0})
    best, pods = best_of(found.misses), pods_text(asked.needs)
    if best.holds < best.needs:
        text = f"no HyperNode{within} holds {pods}: best {best.place} holds {best.holds} of {best.needs}"
        if best.domain == VIRTUAL_TOP_NAME:
            text = f"not even the whole cluster holds {pods}: it holds {best.holds}"
    else:
        text = f"no HyperNode{within} takes the job: {best.place} has room for the {pods} needed"
        text += found.obstacle
    return Notice("no-domain", text, numbers={"count": len(found.misses)})
