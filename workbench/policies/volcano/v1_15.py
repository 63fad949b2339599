"""`volcano-1.15`: the newest Volcano, with sub-groups, soft as hard at the virtual top and packing of HyperNodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD, TopologyScores
from workbench.kernels.two_level import TwoLevel
from workbench.model.gang import Gang
from workbench.model.placement import NearestMiss, Reason
from workbench.model.release import Release
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.base import Assignment, Composed, Declined, Request
from workbench.policies.reasons import fit_reason, gang_text, topology_not_ready
from workbench.policies.stream import Stream
from workbench.policies.volcano.allocate import Pass
from workbench.policies.volcano.board import Board
from workbench.policies.volcano.compiled_search import compiled_search, last_fit, nodes_of_pods
from workbench.policies.volcano.constraints import Limits, limits_of
from workbench.policies.volcano.explaining import pods_text
from workbench.policies.volcano.gradients import Gradients
from workbench.policies.volcano.hypernode_scores import (
    HyperNodeParameters,
    fading_of,
    topology_scores_newest,
    weights_of_resources,
)
from workbench.policies.volcano.job_parts import JobProgress
from workbench.policies.volcano.memory import records_at_open, records_to_keep
from workbench.policies.volcano.misses import RoomIn, best_of, nearest_misses
from workbench.policies.volcano.policy import VolcanoPolicy
from workbench.policies.volcano.queues import Room
from workbench.policies.volcano.scores import score_weights
from workbench.policies.volcano.splitting import SubJobs, split
from workbench.policies.volcano.stream import Prepared, SearchStream
from workbench.policies.volcano.turns import Turns, causes_by_role, declined_flat, tell_whole_cluster
from workbench.policies.volcano.two_level import State, TwoLevelSearch

__all__ = ["Volcano115"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Volcano115(VolcanoPolicy):
    """Jobs with a tier or with sub-groups by the two-level search, all others on the whole cluster.

    Within one call of `place` a gang gets its minimum first and then its other pods, one per turn; in a session the
    turns of different jobs alternate.

    Notes
    -----
    Source: volcano-topology.md 3.1 to 7.3, NEW. Ties: the smallest name (DESIGN decision 5). The record is recovered
    from running pods; the annotation is 1.13's and not read.
    """

    name = "volcano-1.15"
    monotone = True
    sub_groups = True
    waits_for_closer = True

    release = Release.NEWEST
    _parameters: HyperNodeParameters

    def __init__(self, parameters: HyperNodeParameters) -> None:
        super().__init__(parameters)

    def turns(self, request: Request) -> Turns:
        limits = limits_of(request.gang, request.snapshot.topology, gradients=self.gradients)
        if limits.job is None and not request.gang.sub_grouped:
            return _FlatTurns(request, self, limits)
        return _SearchTurns(request, self, limits)

    def assign_idle(self, request: Request) -> Assignment | Declined:
        gang, topology = request.gang, request.snapshot.topology
        if _has_topology(gang) and not topology.ready:
            return Declined((topology_not_ready(topology),))
        limits = limits_of(gang, topology, gradients=self.gradients)
        subs = split(gang, request.snapshot, request.demand, limits)
        records, record = records_at_open(gang.key, subs, request.snapshot)
        if limits.job is None and not gang.sub_grouped:
            return self._flat(request, self.board(request), subs, records[0], limits)
        # An explanation wants every step.
        if request.recorder is not None:
            return self._two_level(request, self.board(request), subs, records, record, limits)
        return self._compiled(request, subs, records, record, limits)

    def board(self, request: Request, scores: TopologyScores | None = None) -> Board:
        """The cluster as the request shows it, with what the scores need; those of the topology as far as known."""
        p, snapshot = self._parameters, request.snapshot
        scores = topology_scores_newest(snapshot.topology, p.weight) if scores is None else scores
        fading = fading_of(p, snapshot.topology, snapshot.resources)
        return Board(request, score_weights(p, snapshot.resources), scores, fading, p.gpu_weight)

    def _flat(
        self, request: Request, board: Board, subs: SubJobs, record: int, limits: Limits
    ) -> Assignment | Declined:
        """The whole cluster as one HyperNode: the turns look at the same nodes, so that all are taken at once."""
        gang, sub = request.gang, subs[0]
        fill, shapes, nodes = board.filler(-1, sub, record, sub.running_nodes)
        board.record_nodes(-1, sub, record)
        progress = JobProgress.start(gang, request.snapshot)
        done = Pass.run(fill, shapes, nodes, progress, stop_when_ready=False)
        tell_whole_cluster(request, done, progress)
        state = State(done.progress, [done.progress], [record], record, [(0, r, n) for r, n in done.placed])
        if not done.progress.ready:
            return declined_flat(request, done, fill.idle, progress, limits.warnings)
        for role, placed in done.placed:
            board.put(role, placed)
        answer = _assignment(request, board, subs, state, limits)
        if sub.topology and done.n_placed and not request.snapshot.topology.tiers:
            # Without HyperNodes the virtual top is every node's leaf.
            answer.has_record = True
        elif fill.record != NO_RECORD:
            answer.record, answer.has_record = fill.record, True
        if answer.has_record:
            answer.records = records_to_keep(gang.key, [sub.name], [answer.record], answer.record, board.topology)
        return answer

    def _compiled(
        self, request: Request, subs: SubJobs, records: list[int], record: int, limits: Limits
    ) -> Assignment | Declined:
        """The same as `_two_level` by the kernel."""
        scores = topology_scores_newest(request.snapshot.topology, self._parameters.weight)
        search = self._prepare(request, subs, records, record, limits, scores)
        score = 0.0
        while search.pods_left and search.turn():
            score += search.score
        if not search.ready:
            told = self.search(request, self.board(request, scores), subs, limits)
            # Nothing is placed, and what the sub-jobs lack is not asked again.
            start = JobProgress.start(request.gang, request.snapshot)
            told.take_over(search.tried(), State(start, [], records, record, []))
            fit = last_fit(request, search, told.last_tried)
            return _declined_by_search(request, told, fit, limits, record, search.takes_one().tolist(), search.room)
        node = nodes_of_pods(request, subs, search)
        answer = Assignment(node, _reasons(request, node, None), score=score, warnings=limits.warnings)
        if _has_topology(request.gang) and search.record != NO_RECORD:
            answer.record, answer.has_record = search.record, True
            kept = search.records().tolist()
            topology = request.snapshot.topology
            answer.records = records_to_keep(request.gang.key, subs.names, kept, search.record, topology)
        return answer

    def _prepare(
        self,
        request: Request,
        subs: SubJobs,
        records: list[int],
        record: int,
        limits: Limits,
        scores: TopologyScores,
    ) -> TwoLevel:
        p, snapshot = self._parameters, request.snapshot
        return compiled_search(
            request,
            subs,
            records,
            record,
            limits.job,
            weights=score_weights(p, snapshot.resources),
            scores=scores,
            packing=weights_of_resources(p, snapshot.resources),
            scale=float(p.weight),
            fading=None if bool(subs.topology.all()) else fading_of(p, snapshot.topology, snapshot.resources),
            gpu_weight=p.gpu_weight,
        )

    def stream(self, whole: Composed, snapshot: ClusterSnapshot) -> Stream:
        return SearchStream(whole, self._repeatable, snapshot)

    def _repeatable(self, request: Request) -> Prepared | None:
        """The search of a gang without running pods, if it is the kernel's and depends on the nodes' amounts alone."""
        gang, topology = request.gang, request.snapshot.topology
        limits = limits_of(gang, topology, gradients=self.gradients)
        if not topology.ready or (limits.job is None and not gang.sub_grouped):
            return None
        if request.ledger.releasing is not None:
            return None
        subs = split(gang, request.snapshot, request.demand, limits)
        if self._parameters.gpu_weight and any(role.n_gpus for role in gang.roles):
            return None
        scores = topology_scores_newest(topology, self._parameters.weight)
        search = self._prepare(request, subs, [NO_RECORD] * len(subs), NO_RECORD, limits, scores)
        return Prepared(search, subs, limits.warnings, _has_topology(gang))

    def _two_level(
        self, request: Request, board: Board, subs: SubJobs, records: list[int], record: int, limits: Limits
    ) -> Assignment | Declined:
        topology = request.snapshot.topology
        search = self.search(request, board, subs, limits)
        state = search.start(records, record)
        score = 0.0
        turns = 0
        while any(any(sub.left) for sub in state.subs):
            turns += 1
            # Later turns ask the same HyperNodes for one pod more: a note each says enough.
            found = search.turn(state, request.recorder if turns == 1 else None)
            if found is None:
                if request.recorder is not None:
                    _explain_failure(request, board, subs, state, search)
                break
            if request.recorder is not None:
                _explain_turn(request, board, subs, state, found)
            state = found
            score += state.score
        if not search.ready(state):
            demand = request.demand
            room = [bool(demand.capacity(role, demand.idle, 1).any()) for role in demand.order]
            return _declined_by_search(request, search, search.last_fit(state), limits, state.record, room)
        answer = _assignment(request, board, subs, state, limits)
        answer.score = score
        if _has_topology(request.gang) and state.record != NO_RECORD:
            answer.record, answer.has_record = state.record, True
            answer.records = records_to_keep(request.gang.key, subs.names, state.records, state.record, topology)
        return answer

    def search(self, request: Request, board: Board, subs: SubJobs, limits: Limits) -> TwoLevelSearch:
        """The search for the turns of one job."""
        weights = weights_of_resources(self._parameters, request.snapshot.resources)
        return TwoLevelSearch(board, subs, limits.job, weights, float(self._parameters.weight))


class _NewestTurns(Turns):
    """What the turns of the newest release share: sub-jobs and their records; each turn sees the cluster anew."""

    def __init__(self, request: Request, policy: Volcano115, limits: Limits) -> None:
        super().__init__(request)
        self._policy = policy
        self._limits = limits
        self._subs = split(request.gang, request.snapshot, request.demand, limits)
        self._records, self._job_record = records_at_open(request.gang.key, self._subs, request.snapshot)
        self._given: dict[tuple[int, int], int] = {}
        self._begun = False
        self._whole: Assignment | Declined | None = None

    def _not_ready(self, request: Request) -> bool:
        """Whether the job is left out, because it has a topology and the HyperNodes are no tree."""
        topology = request.snapshot.topology
        if topology.ready or not _has_topology(request.gang):
            return False
        self.declined, self.over = Declined((topology_not_ready(topology),)), True
        return True

    def _give(self, placed: list[tuple[int, int, Ints]]) -> None:
        """Enter the nodes of the next pods of a sub-job's role."""
        for number, role, nodes in placed:
            first = self._given.get((number, role), 0)
            self.node[self._subs[number].pods[role][first : first + len(nodes)]] = nodes
            self._given[number, role] = first + len(nodes)

    def _all_at_once(self, request: Request, room: Room | None, every: bool) -> bool:
        """Take everything in the first turn, by the policy's fast way, where no further turn can follow."""
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


class _FlatTurns(_NewestTurns):
    """The whole cluster as one HyperNode."""

    def __init__(self, request: Request, policy: Volcano115, limits: Limits) -> None:
        super().__init__(request, policy, limits)
        self._record = NO_RECORD

    def take(self, request: Request, room: Room | None, *, every: bool) -> None:
        if self._not_ready(request) or self._all_at_once(request, room, every):
            return
        self.cap(request, room)
        sub = self._subs[0]
        board = self._policy.board(request)
        on_nodes = np.concatenate([sub.running_nodes, self.node[self.node >= 0]])
        fill, shapes, nodes = board.filler(-1, sub, self._records[0], on_nodes)
        if not (self.node >= 0).any():
            board.record_nodes(-1, sub, self._records[0])
        # The turns look at the same nodes, so that all of them can be taken in one pass.
        done = Pass.run(fill, shapes, nodes, self.progress, stop_when_ready=not every)
        if not (self.node >= 0).any():
            tell_whole_cluster(request, done, self.progress)
        if not done.progress.ready:
            start = request.progress()
            self.declined = declined_flat(request, done, fill.idle, start, self._limits.warnings)
            self.over = True
            return
        self._give([(0, role, placed) for role, placed in done.placed])
        self.progress = done.progress
        self.over = not done.placed or not sum(self.progress.left)
        self._record = fill.record
        if sub.topology:
            self._records[0] = fill.record

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        if self.declined is not None or self._whole is not None:
            return self.declined or self._whole or Assignment(self.node)
        answer = self._assignment(request, idle)
        if self._subs[0].topology and not request.snapshot.topology.tiers:
            # Without HyperNodes the virtual top is every node's leaf.
            answer.has_record = True
        elif self._record != NO_RECORD:
            answer.record, answer.has_record = self._record, True
        if answer.has_record:
            key, topology = request.gang.key, request.snapshot.topology
            answer.records = records_to_keep(key, self._subs.names, [answer.record], answer.record, topology)
        return answer


class _SearchTurns(_NewestTurns):
    """Turns of a job with a tier or with sub-groups."""

    def __init__(self, request: Request, policy: Volcano115, limits: Limits) -> None:
        super().__init__(request, policy, limits)
        self._search: TwoLevelSearch | None = None
        self._state: State | None = None

    def take(self, request: Request, room: Room | None, *, every: bool) -> None:
        if self._not_ready(request) or self._all_at_once(request, room, every):
            return
        board = self._policy.board(request)
        if self._search is None or self._state is None:
            self._search = self._policy.search(request, board, self._subs, self._limits)
            self._state = self._search.start(self._records, self._job_record)
        search, state = self._search, self._state
        search.board = board
        self._cap_each(request, state, room)
        before = len(state.placed)
        self.over = True
        while any(any(sub.left) for sub in state.subs):
            # As when all is placed at once: a note says enough of what later turns ask.
            found = search.turn(state, None if state.placed else request.recorder)
            if found is None:
                if request.recorder is not None:
                    _explain_failure(request, board, self._subs, state, search)
                break
            if request.recorder is not None:
                _explain_turn(request, board, self._subs, state, found)
            state = found
            self.score += state.score
            if not every:
                self.over = not any(any(sub.left) for sub in state.subs)
                break
        if not search.ready(state):
            demand = request.demand
            holds = [bool(demand.capacity(role, demand.idle, 1).any()) for role in demand.order]
            fit = search.last_fit(state)
            self.declined = _declined_by_search(request, search, fit, self._limits, state.record, holds)
            self.over = True
            return
        self._state, self.progress = state, state.job
        self._give(state.placed[before:])

    @staticmethod
    def _cap_each(request: Request, state: State, room: Room | None) -> None:
        """As `cap`, sub-job after sub-job."""
        if room is None:
            return
        room = room.copy()
        for role in request.demand.order:
            for sub in state.subs:
                sub.left[role] = room.pods(role, sub.left[role])
                room.take(role, sub.left[role])

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        if self.declined is not None or self._whole is not None:
            return self.declined or self._whole or Assignment(self.node)
        answer = self._assignment(request, idle)
        if self._state is not None and _has_topology(request.gang) and self._state.record != NO_RECORD:
            answer.record, answer.has_record = self._state.record, True
            answer.records = records_to_keep(
                request.gang.key, self._subs.names, self._state.records, self._state.record, request.snapshot.topology
            )
        return answer


def _explain_turn(request: Request, board: Board, subs: SubJobs, before: State, after: State) -> None:
    """Where each sub-job went, and, in the first turn, how the nodes look to the first pod."""
    recorder, topology = request.recorder, request.snapshot.topology
    assert recorder is not None
    news = after.placed[len(before.placed) :]
    for number in dict.fromkeys(owner for owner, _, _ in news):
        pods = sum(len(nodes) for owner, _, nodes in news if owner == number)
        name = subs[number].name or request.gang.name
        recorder.note(f"{name}: {pods_text(pods)} inside {topology.domain_name(after.records[number])}")
    if not before.placed:
        board.take_back(board.mark() - len(news))
        first = news[0][0]
        recorder.note(f"nodes of {topology.domain_name(after.records[first])} as the first pod sees them")
        board.record_nodes(after.records[first], subs[first], before.records[first])
        for _, role, nodes in news:
            board.put(role, nodes)


def _explain_failure(request: Request, board: Board, subs: SubJobs, state: State, search: TwoLevelSearch) -> None:
    """That no HyperNode was chosen, and how the nodes of the one that came closest look."""
    recorder, topology = request.recorder, request.snapshot.topology
    assert recorder is not None
    recorder.note("no HyperNode chosen")
    if state.placed or not search.misses:
        return
    best = best_of(search.misses.values())
    domain = topology.domain(best.domain) if topology.has_domain(best.domain) else -1
    number = next(i for i, sub in enumerate(state.subs) if any(sub.left))
    recorder.note(f"nodes of {best.domain} as the first pod sees them")
    board.record_nodes(domain, subs[number], state.records[number])


def _has_topology(gang: Gang) -> bool:
    return gang.constraint is not None or any(group.constraint is not None for group in gang.sub_groups)


def _assignment(request: Request, board: Board, subs: SubJobs, state: State, limits: Limits) -> Assignment:
    node = np.full(request.gang.n_pods, -1, dtype=np.int32)
    given: dict[tuple[int, int], int] = {}
    for number, role, nodes in state.placed:
        first = given.get((number, role), 0)
        node[subs[number].pods[role][first : first + len(nodes)]] = nodes
        given[number, role] = first + len(nodes)
    return Assignment(node, _reasons(request, node, board.idle), warnings=limits.warnings)


def _reasons(request: Request, node: Ints, idle: Longs | None) -> dict[int, tuple[Reason, ...]]:
    """Why pods of a role have no node; `idle` is what the placed ones leave, None: not known yet."""
    nowhere = (Reason("no-domain", "no HyperNode near the record holds one more pod"),)
    return {role: causes or nowhere for role, causes in causes_by_role(request, node, idle).items()}


def _declined_by_search(
    request: Request,
    search: TwoLevelSearch,
    fit: tuple[int, Longs, Ints],
    limits: Limits,
    record: int,
    takes_one: list[bool],
    room: RoomIn | None = None,
) -> Declined:
    """Why the gang waits: the HyperNode that came closest, beside the texts that Volcano would write.

    Parameters
    ----------
    fit
        As of `TwoLevelSearch.last_fit`.
    record : int
        Of the job.
    takes_one : list of bool
        By role, in the order of the demand, whether a node takes a pod.
    room : callable, optional
        As of `nearest_misses`.
    """
    demand, topology = request.demand, request.snapshot.topology
    needs = max(request.progress().missing, 1)
    allowed = None
    if limits.job is not None:
        allowed = np.zeros(topology.n_domains + 1, dtype=np.bool_)
        for _, domains in Gradients(topology).of(-1, record, limits.job):
            allowed[domains] = True
    misses = nearest_misses(request, search.misses, allowed, room)
    reasons = [_no_domain(search, limits, record, needs, misses)]
    reasons += [
        fit_reason(request, r, demand.idle) for r, fits in zip(demand.order, takes_one, strict=True) if not fits
    ]
    role, idle, nodes = fit
    last = search.last_tried
    name = "" if last is None or last < 0 else request.snapshot.topology.domain_name(last)
    reasons.append(gang_text(request, needs, role, idle, nodes, name))
    return Declined(tuple(reasons), misses, limits.warnings)


def _no_domain(
    search: TwoLevelSearch, limits: Limits, record: int, needs: int, misses: tuple[NearestMiss, ...]
) -> Reason:
    """Which HyperNode came closest."""
    within = "" if limits.job is None else f" of tier <= {limits.job}"
    if not search.misses:
        if record != NO_RECORD:
            text = f"no HyperNode{within} near the running pods is allowed"
        elif misses and best_of(misses).holds < needs:
            # The pre-filter by minResources comes first, but that no HyperNode holds the pods says more.
            text = f"no HyperNode{within} holds {pods_text(needs)}"
        else:
            text = f"no HyperNode{within} was as large as minResources when the session began"
        if misses:
            best = best_of(misses)
            text += f": best {best.domain} (tier {best.tier}) holds {best.holds} of {best.needs}"
        return Reason("no-domain", text, 1)
    best = best_of(search.misses.values())
    text = f"no HyperNode{within} holds {pods_text(needs)}: "
    text += f"best {best.domain} (tier {best.tier}) holds {best.holds} of {best.needs}"
    return Reason("no-domain", text + search.obstacles[best.tier], len(search.misses))
