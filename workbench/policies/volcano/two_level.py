"""The newest Volcano's search: HyperNodes for the job, and inside each of them HyperNodes for its sub-jobs.

Source: volcano-topology.md 5.5. A turn tries every HyperNode of the job's gradients, closest tier first; inside one
the sub-jobs are placed one after another, each in the best HyperNode of its own closest tier that has a solution,
until the job is ready. Ties: the smallest name (upstream: at random).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.two_level import Tried
from workbench.model.explanation import Candidate, Recorder
from workbench.model.placement import NearestMiss
from workbench.policies.progress import Progress
from workbench.policies.volcano.allocate import Pass
from workbench.policies.volcano.board import Board
from workbench.policies.volcano.explaining import above_text, lacking, room_text, up_to_text
from workbench.policies.volcano.gradients import Gradients, large_enough
from workbench.policies.volcano.hypernode_scores import best, count_inside, share_of_ties, utilisation
from workbench.policies.volcano.job_parts import JobProgress, SubProgress, cache_names
from workbench.policies.volcano.recovery import join
from workbench.policies.volcano.splitting import SubJob

__all__ = ["State", "TwoLevelSearch"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(eq=False)
class State:
    """How far a job is; copied for every attempt.

    Attributes
    ----------
    job : Progress
        Of the whole job.
    subs : list of Progress
        Of each sub-job; without sub-group policies the only one is the job's own.
    records : list of int
        Of each sub-job.
    record : int
        Of the job.
    placed : list of (sub-job, role, nodes)
        In the order of placement.
    score : float
        Sum of the sub-jobs' scores in this turn.
    parts : dict of str to float
        What it is made of: the packing by each resource, and ``tasks``; filled in for the recorder only.
    """

    job: Progress
    subs: list[Progress]
    records: list[int]
    record: int
    placed: list[tuple[int, int, Ints]]
    score: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)

    def copy(self) -> State:
        subs = [sub.copy() for sub in self.subs]
        job = subs[0] if self.job is self.subs[0] else self.job.copy()
        return State(job, subs, list(self.records), self.record, list(self.placed))

    def on_nodes(self, number: int, sub: SubJob) -> Ints:
        """Nodes of a sub-job's pods that run or are placed."""
        mine = [nodes for owner, _, nodes in self.placed if owner == number]
        return np.concatenate([sub.running_nodes, *mine]) if mine else sub.running_nodes


class TwoLevelSearch:
    """The turns of one job with a hard topology or with sub-groups.

    Parameters
    ----------
    board : Board
        Holds what earlier turns placed.
    subs : sequence of SubJob
    limit : int, optional
        Highest tier of the job.
    weights : ndarray of shape (r,), float64
        Of the resources in the packing of HyperNodes.
    scale : float
        What a HyperNode's score is multiplied by.

    Attributes
    ----------
    misses : dict of int to NearestMiss
        Of the last turn: per tier of the job's gradients the HyperNode that holds most of the pods needed.
    obstacles : dict of int to str
        Of the last turn: per tier why that HyperNode will not do although it holds enough pods; empty where it does
        not hold enough.
    last_tried : int, optional
        The HyperNode of the job's gradients that comes last; None: there was none.
    """

    def __init__(self, board: Board, subs: Sequence[SubJob], limit: int | None, weights: Floats, scale: float) -> None:
        self.board = board
        self.subs = subs
        self.limit = limit
        self.misses: dict[int, NearestMiss] = {}
        self.obstacles: dict[int, str] = {}
        # The first sub-job that was dropped in the attempt at hand; -1: none.
        self._stuck = -1
        self.last_tried: int | None = None
        self._weights = weights
        self._scale = scale
        self._gang = board.request.gang
        self._gradients = Gradients(board.topology)
        snapshot = board.request.snapshot
        # Of the moment when the session began: upstream computes these sums once.
        self._idle_at_open = snapshot.domain_idle
        self._recorder: Recorder | None = None
        self._told: dict[int, Candidate] = {}
        self._large: dict[bytes, npt.NDArray[np.bool_]] = {}

    @cached_property
    def _ids(self) -> list[bytes]:
        """What tells sub-jobs apart that nothing else orders."""
        key = self._gang.key
        return [(f"{key}/{sub.name}" if sub.name else key).encode() for sub in self.subs]

    def start(self, records: list[int], record: int) -> State:
        """The state before the first turn."""
        request = self.board.request
        if not self._gang.sub_grouped:
            job: Progress = JobProgress.start(self._gang, request.snapshot)
            return State(job, [job], records, record, [])
        job = request.progress()
        names = cache_names(self._gang)
        subs: list[Progress] = [SubProgress.start(sub, names, job) for sub in self.subs]
        return State(job, subs, records, record, [])

    def ready(self, state: State) -> bool:
        """May the job start?"""
        if not state.job.ready:
            return False
        return all(self._ready_of(policy, state) >= wanted for policy, wanted in self._gang.min_subgroups.items())

    def _ready_of(self, policy: str, state: State) -> int:
        return sum(1 for sub, p in zip(self.subs, state.subs, strict=True) if sub.policy == policy and p.ready)

    def turn(self, state: State, recorder: Recorder | None = None) -> State | None:
        """One turn: the state after it, with the pods on the board; None: no HyperNode has a solution.

        The recorder is told of every HyperNode, by tier and name, the virtual top last.
        """
        self._recorder, self._told = recorder, {}
        found = self._turn(state)
        if recorder is not None:
            self._tell(found)
        return found

    def _turn(self, state: State) -> State | None:
        self.misses, self.obstacles, self.last_tried = {}, {}, None
        board = self.board
        minimum = self._minimum_of_job()
        large = None if minimum is None else self._large_enough(minimum)
        gradients = self._gradients.of(-1, state.record, self.limit, large)
        needs = max(state.job.missing, 1)
        self._explain_dropped(gradients, state, large, needs)
        for tier, domains in gradients:
            self.last_tried = int(domains[-1])
            winner: tuple[State, int] | None = None
            holds = self._holds(domains, state)
            for domain, most in zip(domains.tolist(), holds.tolist(), strict=True):
                if most < needs:
                    self._miss(tier, domain, most, needs, state)
                    continue
                mark = board.mark()
                self._stuck = -1
                attempt = self._try(state.copy(), domain)
                board.take_back(mark)
                found = sum(len(nodes) for _, _, nodes in attempt.placed[len(state.placed) :])
                if found == 0 or not self.ready(attempt):
                    self._miss(tier, domain, most, needs, state, self._why_stuck(state, domain))
                    continue
                self._explain(domain, True, f"holds {found} of {needs} pods", attempt.score, attempt.parts)
                if winner is None or attempt.score > winner[0].score:
                    winner = attempt, domain
            if winner is not None:
                chosen, domain = winner
                for _, role, nodes in chosen.placed[len(state.placed) :]:
                    board.put(role, nodes)
                chosen.record = join(state.record, domain, board.topology)
                return chosen
        return None

    def take_over(self, tried: Tried, state: State) -> None:
        """Enter what a turn of the compiled search from the same state found without a solution."""
        self.misses, self.obstacles, self.last_tried = {}, {}, None
        needs = max(state.job.missing, 1)
        topology = self.board.topology
        if len(tried.domains) == 0:
            return
        tiers = np.append(topology.tier, topology.top_tier)[tried.domains]
        first = 0
        # Tier by tier, as the turn here goes; there ties go to the smallest name, too.
        for end in (np.flatnonzero(np.diff(tiers, append=tiers[-1] + 1)) + 1).tolist():
            domains, held = tried.domains[first:end], np.minimum(tried.holds[first:end], needs)
            most = np.flatnonzero(held == held.max())
            i = first + int(most[np.argmin(domains[most])])
            tier, domain, holds = int(tiers[i]), int(tried.domains[i]), int(tried.holds[i])
            self._stuck = int(tried.stuck[i])
            self._miss(tier, domain, holds, needs, state, self._why_stuck(state, domain) if holds >= needs else "")
            self.last_tried = int(domains.max())
            first = end

    def _try(self, state: State, domain: int) -> State:
        """Place the sub-jobs inside one HyperNode until the job is ready; the pods stay on the board."""
        first = self._needed(state)
        queue = [(self._order(i, state, first), i) for i, p in enumerate(state.subs) if any(p.left)]
        heapq.heapify(queue)
        while queue:
            _, number = heapq.heappop(queue)
            if not self._place(number, state, domain):
                # Dropped for this attempt, and for later turns if the attempt wins.
                self._stuck = number if self._stuck < 0 else self._stuck
                state.subs[number].left = [0] * len(state.subs[number].left)
                continue
            if sum(state.subs[number].left):
                heapq.heappush(queue, (self._order(number, state, first), number))
            if self.ready(state):
                break
        return state

    def _needed(self, state: State) -> frozenset[int]:
        """Sub-jobs that are taken first, so that enough of each policy become ready."""
        found: list[int] = []
        for policy, wanted in self._gang.min_subgroups.items():
            missing = wanted - self._ready_of(policy, state)
            waiting = [
                (self._order(i, state, frozenset()), i)
                for i, (sub, p) in enumerate(zip(self.subs, state.subs, strict=True))
                if sub.policy == policy and not p.ready and any(p.left)
            ]
            found += [i for _, i in sorted(waiting)[: max(missing, 0)]]
        return frozenset(found)

    def _order(self, number: int, state: State, first: frozenset[int]) -> tuple[bool, bool, int, int, bytes]:
        sub, ready = self.subs[number], state.subs[number].ready
        return (not (number in first and not ready), ready, -sub.priority, sub.match_index, self._ids[number])

    def _place(self, number: int, state: State, start: int) -> bool:
        """Place one sub-job inside a HyperNode: in the best of the closest tier that has a solution."""
        sub = self.subs[number]
        record = state.records[number]
        on_nodes = state.on_nodes(number, sub)
        large = self._large_enough(sub.pending) if record == NO_RECORD else None
        for _, domains in self._gradients.of(start, record, sub.limit, large):
            candidates = domains[self._may_hold(domains, sub, state.subs[number])]
            if len(candidates) == 0:
                continue
            exact = len(sub.pods) == 1
            found: dict[int, Pass] = {}
            if not exact:
                for domain in candidates.tolist():
                    done = self._dry_run(domain, number, state, on_nodes)
                    if done is not None:
                        found[domain] = done
                candidates = np.array(list(found), dtype=np.int32)
                if len(candidates) == 0:
                    continue
            scores = self._scores_of(candidates, sub, on_nodes)
            at = best(scores)
            chosen = int(candidates[at])
            done = self._dry_run(chosen, number, state, on_nodes) if exact else found[chosen]
            if done is None:
                # One role whose pods cannot make the sub-job ready however many fit.
                return False
            before = self.board.domain_used[chosen].copy() if self._recorder is not None else self._idle_at_open[0]
            self._enter(number, state, done, chosen, float(scores[at]) * 100.0 * self._scale)
            if self._recorder is not None:
                self._add_parts(state, before, chosen, sub, float(scores[at]))
            return True
        return False

    def _enter(self, number: int, state: State, done: Pass, domain: int, score: float) -> None:
        state.subs[number] = done.progress
        if not self._gang.sub_grouped:
            state.job = done.progress
        for role, nodes in done.placed:
            self.board.put(role, nodes)
            state.placed.append((number, role, nodes))
            if self._gang.sub_grouped:
                state.job.place(role, len(nodes))
        state.records[number] = join(state.records[number], domain, self.board.topology)
        state.score += score

    def _dry_run(self, domain: int, number: int, state: State, on_nodes: Ints) -> Pass | None:
        """The pass over a sub-job's pods in one HyperNode; None where it does not become ready."""
        sub = self.subs[number]
        fill, shapes, nodes = self.board.filler(domain, sub, state.records[number], on_nodes)
        done = Pass.run(fill, shapes, nodes, state.subs[number], stop_when_ready=True)
        return done if done.n_placed and done.progress.ready else None

    def last_fit(self, state: State) -> tuple[int, Longs, Ints]:
        """What Volcano's fit error is about: its text describes the HyperNode tried last.

        Returns
        -------
        role : int
            Whose pod fitted nowhere.
        idle : ndarray of shape (n, r), int64
            At that moment.
        nodes : ndarray of int32
            Of that HyperNode.
        """
        request = self.board.request
        domain = -1 if self.last_tried is None else self.last_tried
        nodes, idle = self.board.topology.nodes_of(domain), self.board.idle.copy()
        for number, sub in enumerate(self.subs):
            if any(state.subs[number].left):
                fill, shapes, _ = self.board.filler(domain, sub, state.records[number], sub.running_nodes)
                done = Pass.run(fill, shapes, nodes, state.subs[number], stop_when_ready=True)
                idle[nodes] = fill.idle
                return (done.failed[0] if done.failed else next(iter(sub.pods))), idle, nodes
        return request.demand.order[0], idle, nodes

    def _may_hold(self, domains: Ints, sub: SubJob, progress: Progress) -> npt.NDArray[np.bool_]:
        """HyperNodes worth a dry run; for pods of one role exactly those with a solution, if there is any."""
        counts = self.board.domain_capacity
        together = progress.missing >= sum(progress.left)
        enough = np.ones(len(domains), dtype=np.bool_)
        held = np.zeros(len(domains), dtype=np.int64)
        for role in sub.pods:
            left = progress.left[role]
            if left == 0:
                continue
            here = np.minimum(counts[role][domains], left)
            held += here
            if together:
                enough &= here == left
            if len(sub.pods) == 1:
                enough &= here >= progress.until_ready(role)
        return enough & (held >= max(progress.missing, 1))

    def _holds(self, domains: Ints, state: State) -> Longs:
        """Pods that each HyperNode and those below it hold at most of those left."""
        if not self.board.topology.nested:
            domains = np.full_like(domains, -1)
        return self._room_for(domains, state)

    def _room_for(self, domains: Ints, state: State) -> Longs:
        """The same of each HyperNode's own nodes."""
        held = np.zeros(len(domains), dtype=np.int64)
        for role, counts in self.board.domain_capacity.items():
            left = sum(progress.left[role] for progress in state.subs)
            held += np.minimum(counts[domains], left)
        return held

    def _scores_of(self, domains: Ints, sub: SubJob, on_nodes: Ints) -> Floats:
        board = self.board
        scores = utilisation(board.domain_used[domains], board.allocatable[domains], sub.request, self._weights)
        if len(on_nodes) == 0:
            return scores
        return share_of_ties(scores, count_inside(board.topology, domains, on_nodes), sub.total)

    def _large_enough(self, minimum: Longs) -> npt.NDArray[np.bool_]:
        key = minimum.tobytes()
        if key not in self._large:
            self._large[key] = large_enough(self._idle_at_open, minimum)
        return self._large[key]

    def _minimum_of_job(self) -> Longs | None:
        """minResources of the PodGroup; None: absent, every HyperNode passes."""
        given = self._gang.min_resources
        if given is None:
            return None
        columns = self.board.request.snapshot.resources
        return np.array([given.get(name, 0) for name in columns], dtype=np.int64)

    def _miss(self, tier: int, domain: int, holds: int, needs: int, state: State, obstacle: str = "") -> None:
        name = self.board.topology.domain_name(domain)
        nearest = self.misses.get(tier)
        if nearest is None or min(holds, needs) > nearest.holds:
            self.misses[tier] = NearestMiss(tier, name, min(holds, needs), needs)
            self.obstacles[tier] = obstacle
        if self._recorder is not None:
            why = f"holds {min(holds, needs)} of {needs} pods"
            self._explain(
                domain,
                False,
                why + (obstacle + self._numbers(state, domain) if obstacle else self._room(domain, state, needs)),
            )

    def _room(self, domain: int, state: State, needs: int) -> str:
        board = self.board
        left = np.sum([sub.left for sub in state.subs], axis=0).tolist()
        return "; " + room_text(board.request.demand, board.topology.nodes_of(domain), board.idle, left, needs)

    def _numbers(self, state: State, domain: int) -> str:
        """What the pending pods of the sub-job that is stuck ask for beyond what was idle when the session began."""
        if self._stuck < 0 or state.records[self._stuck] != NO_RECORD:
            return ""
        snapshot = self.board.request.snapshot
        short = lacking(snapshot.resources, self.subs[self._stuck].pending, self._idle_at_open[domain])
        return f" ({short})" if short else ""

    def _add_parts(self, state: State, used: Longs, domain: int, sub: SubJob, score: float) -> None:
        """The score of a sub-job by resource, and what its tasks inside add."""
        columns = np.flatnonzero((sub.request > 0) & (self._weights > 0))
        room = self.board.allocatable[domain]
        factor = 100.0 * self._scale
        packed = 0.0
        if score > 0.0:
            total = float(self._weights[columns].sum())
            for column in columns.tolist():
                after = int(used[column] + sub.request[column])
                # One that overflows makes the packing of the HyperNode worth nothing.
                if (used + sub.request > room)[columns].any():
                    break
                part = float(self._weights[column]) * after / max(int(room[column]), 1) / total
                name = self.board.request.snapshot.resources[column]
                state.parts[name] = state.parts.get(name, 0.0) + part * factor
                packed += part
        state.parts["tasks"] = state.parts.get("tasks", 0.0) + (score - packed) * factor

    def _why_stuck(self, state: State, domain: int) -> str:
        """What kept the first sub-job that found no place in a HyperNode which holds enough pods for the job."""
        if self._stuck < 0:
            return ", but too few of the sub-groups that must be ready"
        sub, record = self.subs[self._stuck], state.records[self._stuck]
        who = f"sub-group {sub.name}" if sub.name else "the job"
        within = "" if sub.limit is None else f" of tier <= {sub.limit}"
        if not self._gradients.of(domain, record, sub.limit):
            near = "" if record == NO_RECORD else f" near {self.board.topology.domain_name(record)}"
            return f", but no HyperNode{within}{near} inside is allowed for {who}"
        large = self._large_enough(sub.pending)
        if record == NO_RECORD and not self._gradients.of(domain, record, sub.limit, large):
            room = f"no HyperNode{within} had room for all {sub.n_pods} pending pods of {who}"
            return f", but {room} when the session began"
        return f", but no HyperNode{within} inside has room for {who}"

    def _explain(
        self, domain: int, kept: bool, why: str, score: float | None = None, parts: Mapping[str, float] | None = None
    ) -> None:
        if self._recorder is not None:
            topology = self.board.topology
            name, tier = topology.domain_name(domain), topology.domain_tier(domain)
            self._told[domain] = Candidate("domain", name, tier, kept, why, score, parts or {})

    def _tell(self, found: State | None) -> None:
        """Everything that was said about HyperNodes, in their order, and why nothing was said about the others."""
        topology, recorder = self.board.topology, self._recorder
        assert recorder is not None
        if self.limit is not None and found is not None:
            for domain in range(-1, topology.n_domains):
                if domain not in self._told:
                    self._explain(domain, False, "not tried: a lower tier has a solution")
        order = sorted(self._told, key=lambda d: (topology.domain_tier(d), d < 0, d))
        recorder.candidates.extend(self._told[domain] for domain in order)

    def _explain_dropped(
        self,
        gradients: Sequence[tuple[int, Ints]],
        state: State,
        large: npt.NDArray[np.bool_] | None,
        needs: int,
    ) -> None:
        """Tell the recorder which HyperNodes no gradient holds, and why."""
        if self._recorder is None or self.limit is None:
            return
        topology = self.board.topology
        kept = {domain for _, domains in gradients for domain in domains.tolist()}
        below = {d for _, domains in self._gradients.of(-1, state.record, self.limit) for d in domains.tolist()}
        for domain in range(-1, topology.n_domains):
            tier = topology.domain_tier(domain)
            if domain in kept:
                continue
            if tier > self.limit:
                most = int(self._room_for(np.array([domain], dtype=np.int32), state)[0])
                self._explain(domain, False, f"{above_text(tier, self.limit)}; {up_to_text(most, needs)}")
            elif domain not in below:
                name = topology.domain_name(state.record)
                self._explain(domain, False, f"meets the recorded {name} only above tier {self.limit}")
            else:
                self._explain(domain, False, self._too_small(domain))

    def _too_small(self, domain: int) -> str:
        minimum = self._minimum_of_job()
        assert minimum is not None
        short = lacking(self.board.request.snapshot.resources, minimum, self._idle_at_open[domain])
        return f"smaller than minResources when the session began ({short})"
