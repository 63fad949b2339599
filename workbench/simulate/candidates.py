"""`Candidates`: the waiting jobs of a simulation as a discipline sees them, what it may try, and why they wait."""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.model.gang import Gang
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import Policy
from workbench.policies.retry import RetryRule
from workbench.policies.stream import SessionStream
from workbench.simulate.active_jobs import ActiveJobs
from workbench.simulate.job_run import JobRun
from workbench.simulate.waiting import BEHIND, FEW_GPUS, QUOTA, RefusalRow
from workbench.simulate.why_waiting import WaitingReasons

__all__ = ["Candidates"]


class Candidates:
    """The waiting jobs of a simulation, and what a `Discipline` may do with them at an instant.

    A discipline asks for jobs (iterate for all of them in order, `first`, `behind`, or `in_turn`), and calls `start`
    for those that it lets start. The time to find the next job grows with the number of kinds, not of jobs: jobs of one
    kind ask for the same, so where one of them does not fit, none does.

    `policy`, `active`, `retry`: those of the simulation. `weights`: weights of queues; 1 if missing. `closed` (ndarray
    of shape (n,), bool): nodes that take no pods from the beginning. `policy`: the policy of the simulation; `start`
    asks it. `stays_open`: whether `session` decides; set by the simulation. `refusals`: why jobs have waited so far.
    `head`: the first job that did not fit, if it holds up others; set by `hold_up`.
    """

    # Overview:
    #   asked by a discipline    first, behind, in_turn, may_fit, admits: who waits, kind by kind
    #   done by a discipline     start, hold_up, pass_over, decided, evict
    #   told by the simulation   add, freed, meet_new_pods: what lets refused kinds be tried again
    # Each kind that waits has the code of its reason (`_note`); sentences are made when they are read (`reasons`).

    def __init__(
        self,
        policy: Policy,
        active: ActiveJobs,
        weights: Mapping[str, float],
        retry: RetryRule,
        closed: npt.NDArray[np.bool_],
        runs: Sequence[JobRun],
    ) -> None:
        if any(not weight > 0 for weight in weights.values()):
            raise InputError("a weight of a queue is not above 0", source="weights", got=str(weights))
        self.policy, self._active, self._nodes = policy, active, active.nodes
        self._weights, self._retry, self._closed = weights, retry, closed
        self._runs = {run.job.gang.key: run for run in runs}
        self._groups: dict[int, list[JobRun]] = {}
        # Kinds of jobs that fit nowhere, and those whose queue has no quota left, until something is freed.
        self._refused: set[int] = set()
        self._beyond: set[int] = set()
        # The last reason of each kind that was refused.
        self._why: dict[int, str] = {}
        # With an open session: jobs of which it does not know yet, and those that stand still: it is told anew of them.
        self.stays_open = False
        # Whether a job has started since `meet_new_pods`.
        self._started = False
        self._entering: list[JobRun] = []
        self._standing: dict[int, JobRun] = {}
        self._count = 0
        self.refusals: list[RefusalRow] = []
        self.head: JobRun | None = None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[JobRun]:
        return iter(sorted(run for group in self._groups.values() for run in group))

    @property
    def now_s(self) -> float:
        """The present time, in seconds since the start."""
        return self._active.clock.now

    @property
    def free_gpus(self) -> int:
        """Idle whole GPUs of nodes that take pods."""
        closed = self._nodes.free_gpus_on(self._closed) if self._closed.any() else 0
        return self._nodes.free_gpus - closed

    @property
    def running(self) -> Iterable[tuple[float, int]]:
        """End, as far as it is known, and whole GPUs of each running job."""
        return ((run.attempt.end_s, run.attempt.whole) for run in self._active.running.values())

    @property
    def session(self) -> SessionStream | None:
        """The policy's session that stays open; None: there is none, or it is not asked."""
        return self._nodes.session if self.stays_open else None

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now, with the jobs that run in it."""
        return self._nodes.snapshot()

    def gpus_of(self, queue: str) -> float:
        """GPUs that the jobs of a queue hold, divided by the weight of the queue."""
        return self._active.milli_of(queue) / self._weights.get(queue, 1.0)

    def wanted(self, run: JobRun) -> Gang:
        """The pods that a job waits for: all, or those that a fault took from it."""
        return run.wanted(self._nodes.broken_names)

    def first(self) -> list[JobRun]:
        """The first job of each kind, the smallest first."""
        return sorted(group[0] for group in self._groups.values())

    def behind(self, run: JobRun) -> Sequence[JobRun]:
        """The waiting jobs of a job's kind that come after it, the smallest first."""
        group = self._groups.get(run.kind, [])
        return group[bisect_right(group, run) :]

    def in_turn(self) -> Iterator[JobRun]:
        """Yield the first job of each kind that its quota admits, the smallest first; after one that starts, the next.

        Once a job of a kind does not start, the others of that kind are left out.
        """
        heap = self.first()
        while heap:
            run = heapq.heappop(heap)
            if not self.admits(run):
                continue
            yield run
            if run.running is not None and (following := self.behind(run)):
                heapq.heappush(heap, following[0])

    def admits(self, run: JobRun) -> bool:
        """Whether the quota of its queue admits a job; if not, that is why its kind waits."""
        if run.kind in self._beyond:
            return False
        if not self.within_quota(run):
            self._beyond.add(run.kind)
            self._note(run.kind, QUOTA)
            return False
        return True

    def within_quota(self, run: JobRun) -> bool:
        """Whether the quota of its queue admits a job; that of a job that stands still counts all its pods."""
        return run.standing is not None or self._active.quotas.admits(run.job.gang)

    def may_fit(self, run: JobRun) -> bool:
        """Whether asking the policy is worthwhile: it has not refused this kind, and enough GPUs are free."""
        if run.kind in self._refused or self.backs_off(run):
            return False
        # With back-off every refusal counts, even one that the number of free GPUs already implies.
        if self._retry.backs_off or run.holds_nodes or run.least_gpus <= self._nodes.free_gpus:
            return True
        self._note(run.kind, FEW_GPUS)
        return False

    def backs_off(self, run: JobRun) -> bool:
        """Whether a job is not to be tried yet, because it was refused before."""
        return run.not_before_s > self._active.clock.now

    def start(self, run: JobRun, answer: Placement | Refusal | None = None) -> bool:
        """Start a job that its quota admits, if it fits; whether it has started.

        `answer`: what a session of the policy has decided on `wanted`; None: the policy is asked about this job alone.
        """
        if answer is None and not self.may_fit(run):
            return False
        code = self._active.start(run, answer)
        if code:
            self._refused.add(run.kind)
            self._note(run.kind, code)
            run.n_refusals += 1
            run.not_before_s = self._active.clock.now + self._retry.back_off(run.n_refusals)
            return False
        run.n_refusals, run.admitted = 0, False
        group = self._groups[run.kind]
        group.remove(run)
        self._count -= 1
        self._started = True
        self._standing.pop(run.number, None)
        if not group:
            del self._groups[run.kind]
            self._note(run.kind, "")
        return True

    def decided(self) -> list[tuple[JobRun, Placement | Refusal]]:
        """Let the open session decide on the jobs that wait: what it says of jobs of which it had said nothing yet.

        A placement is to be passed on to `start`.
        """
        assert self.session is not None
        for run in self._standing.values():
            self.session.wait(self.wanted(run))
        while self._entering:
            self.session.wait(self.wanted(self._entering[0]))
            self._entering.pop(0)
        answers = self.session.decide(self.now_s, self.snapshot)
        return [(self._runs[answer.gang.key], answer.result) for answer in answers]

    def evict(self) -> bool:
        """Stop the jobs that the open session preempts, which wait again; whether there are any.

        A job is stopped once at an instant; where that is not enough, or a pod that no job of the simulation has would
        have to end, nothing is stopped.
        """
        assert self.session is not None
        victims = [self._runs.get(key) for key in self.session.victims]
        runs = [run for run in victims if run is not None and run.running is not None and run.evicted_s < self.now_s]
        if not runs or len(runs) < len(victims):
            return False
        for run in runs:
            self._active.evict(run)
            run.evicted_s = self.now_s
            self.add(run)
        return True

    def hold_up(self, run: JobRun) -> None:
        """Let a job that does not fit hold up those behind it; running jobs that came later do not grow meanwhile."""
        self.head = run

    def pass_over(self, run: JobRun) -> None:
        """Note that the jobs of a kind wait because one ahead of them does not fit."""
        self._note(run.kind, BEHIND)

    # What follows is for the simulation.

    def add(self, run: JobRun) -> None:
        """Let a job wait."""
        insort(self._groups.setdefault(run.kind, []), run)
        self._count += 1
        if self.session is not None:
            self._entering.append(run)
            if run.standing is not None:
                self._standing[run.number] = run

    def freed(self) -> None:
        """Note that resources were freed, so that every job may fit again."""
        self._refused.clear()
        self._beyond.clear()

    def meet_new_pods(self) -> bool:
        """Let refused jobs be tried again that ask for other pods nearby, if pods have started; whether there are any.

        They ask by affinity or by spreading, and the policy reads that (`SchedulerTraits.reads_pods`). As in
        kube-scheduler, whose queue hears of every pod that gets a node.
        """
        started, self._started = self._started, False
        if not started or not self.policy.traits.reads_pods:
            return False
        kinds = {kind for kind in self._refused if kind in self._groups and _asks_for_pods(self._groups[kind][0])}
        self._refused -= kinds
        return bool(kinds)

    def next_try_s(self) -> float:
        """Earliest time at which a job that backs off may be tried again; infinite if none backs off."""
        ends = (run.not_before_s for run in self if self.backs_off(run) and run.kind not in self._refused)
        return min(ends, default=float("inf"))

    def reasons(self, *, in_sessions: bool) -> Mapping[int, str]:
        """Why jobs wait now, one sentence each, by number, and what would help; computed when they are read.

        `in_sessions`: as of the discipline.
        """
        found: dict[int, str | Gang] = {}
        by_session: set[int] = set()
        for run in self:
            number = run.number
            if not self.within_quota(run):
                found[number] = f"the quota of queue {run.job.gang.queue} is used up"
                continue
            found[number] = self.wanted(run)
            if in_sessions or run.standing is not None:
                by_session.add(number)
        if not found:
            return {}
        return WaitingReasons(self.policy, self._nodes.snapshot(), found, frozenset(by_session))

    def _note(self, kind: int, code: str) -> None:
        """Note why the jobs of a kind wait from now on; empty: no reason is known, until they are tried again."""
        if self._why.get(kind, "") != code:
            self._why[kind] = code
            self.refusals.append(RefusalRow(self._active.clock.now, kind, code))


def _asks_for_pods(run: JobRun) -> bool:
    return any(role.rules.affinity or role.rules.spread for role in run.job.gang.roles)
