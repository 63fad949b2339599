"""`Simulation`: jobs arrive, wait, run, meet faults and end in virtual time, placed by one policy.

The cost of an event depends on the jobs that wait or run, not on how many have ended.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.contention import Network, SharedLinks, StepTimes
from workbench.evaluate.provenance import record_provenance
from workbench.evaluate.whatif.fix import fix_report
from workbench.model.counted import counted
from workbench.model.duration_text import duration_text, instant_text
from workbench.model.extras import FormerPod
from workbench.model.gang import Gang
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.placement import Placement, words_to_mask
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Working
from workbench.policies import as_policy
from workbench.policies.contract import Policy
from workbench.policies.retry import AT_CHANGES, RetryRule
from workbench.simulate.breakdowns import Breakdown
from workbench.simulate.held_nodes import HeldNodes, held_gpus, smallest_missing
from workbench.simulate.job import SimulatedJob
from workbench.simulate.lost_pods import after_fault, can_go_on, former_pods, joined, missing_pods
from workbench.simulate.queueing import (
    DISCIPLINES,
    Discipline,
    QueuedJob,
    Quotas,
    Reservation,
    WaitingJobs,
    fewest_gpus,
    kind_of,
    most_gpus,
    reserve,
    slowest_pace,
)
from workbench.simulate.result import Attempt, LinkUse, SimulationResult, StepRow, Usage
from workbench.simulate.running import RunningJob, StandingJob
from workbench.simulate.waiting import BEHIND, FEW_GPUS, QUOTA, RefusalRow, code_of

__all__ = ["Simulation"]

#: Events of one instant in this order: what frees resources comes before what takes them.
_END, _REPAIR, _BREAK, _ARRIVAL, _RETRY = range(5)

#: Seconds of the shortest cycle that is simulated; of shorter ones, the number until an event may overflow.
_SHORTEST_CYCLE_S = 1e-6

Progress = Callable[[int, int, str], None]
Former = tuple[FormerPod, ...]

#: Jobs that wait at the end for which changes are tried, and the trials for each.
_MOST_EXPLAINED, _EXPLAIN_RUNS = 4, 60


#: Code of a placement without any pod.
_NO_POD = "gang-incomplete"


class Simulation(Working):
    """A cluster and jobs in virtual time, placed by one policy; it can be stopped at any instant, and goes on.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        The cluster at the start; pods that run in it never end.
    policy : Policy or str
        Any policy, one from a notebook cell, too, or the name of one.
    jobs : sequence of SimulatedJob
        In any order; of jobs that arrive at one instant the earlier in the sequence comes first.
    discipline : {"fifo", "best-effort", "priority", "backfill", "shares"}
        ``fifo``: by arrival, and a job that does not fit holds up all that came after it. ``best-effort``: by arrival,
        and later jobs pass one that does not fit. ``priority``: as best-effort, higher `Gang.priority` first.
        ``backfill``: by arrival; a later job passes one that does not fit if, by the count of GPUs and the durations,
        it ends before that one could start, or leaves enough GPUs for it. ``shares``: as best-effort, the queue with
        the fewest GPUs in use for its weight first.
    breakdowns : iterable of Breakdown
    quotas : mapping of str to mapping of str to int
        By queue: resources that its jobs may hold together; without borrowing. A job beyond its quota waits and holds
        up nobody, whatever the discipline.
    weights : mapping of str to float
        Of queues, for ``shares``; 1 if missing.
    retry : RetryRule
        When waiting jobs are tried. By default at every instant that may let one start; `SchedulerTraits.retry` is the
        rule of the scheduler that a policy follows.
    network : Network, optional
        Links that the jobs share; jobs with a `SimulatedJob.step` then work as fast as their steps allow, which changes
        when another job starts, ends or meets a fault, or a cable breaks. None: every job works as fast anywhere.

    Attributes
    ----------
    now_s : float
        Time up to which it has run: of the last event, or the end of `run` if others lie ahead.

    Raises
    ------
    InputError
        Two jobs with the same name; a node or cable that the cluster does not have; a weight of 0 or less; a network
        built for another topology.
    UnknownNameError
        No such policy or discipline.

    Notes
    -----
    Nothing is random. At each instant jobs end first, then repairs, breakdowns and arrivals happen, then waiting jobs
    are tried in the order of the discipline, as far as `retry` lets them. Nothing preempts. A breakdown stops
    every job with a pod on what broke; the job waits again, in its old place in the queue, with the work that its last
    checkpoint does not hold ahead of it. Of a HyperJob, only the Jobs with such pods give up their nodes; the other
    Jobs keep their HyperNodes idle until the lost Jobs are placed again, and then the whole HyperJob resumes from its
    last checkpoint. A job whose `SimulatedJob.restarts` is ``"pods"`` gives back only the nodes of such pods; if the
    pods that are left are its minimum, it goes on with them when no others can be placed.

    A job that asks for the same as one that was refused at an instant is not tried until something is freed, unless it
    stands still or backs off: such a job is tried on its own. A broken node is modelled as fully occupied, so packing
    policies count it as in use.

    An elastic job that starts with fewer pods than it asks for works proportionally longer. It gets the remaining pods
    as soon as no waiting job needs their nodes, and speeds up; a HyperJob never grows.

    On a network the seconds of work of a job are those with steps that only its nodes' network cards limit; between two
    changes its steps take the same time. A job counts as sending from its placement on; writing checkpoints slows down
    as its steps do.
    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        policy: Policy | str,
        jobs: Sequence[SimulatedJob],
        *,
        discipline: Discipline = "best-effort",
        breakdowns: Iterable[Breakdown] = (),
        quotas: Mapping[str, Mapping[str, int]] | None = None,
        weights: Mapping[str, float] | None = None,
        retry: RetryRule = AT_CHANGES,
        network: Network | None = None,
    ) -> None:
        # What is given, checked; then of each job its kind, size and length; then the events that are known from the
        # beginning; then the state that `run` changes.
        if discipline not in DISCIPLINES:
            raise UnknownNameError("discipline", discipline, DISCIPLINES)
        policy = as_policy(policy)
        self._start_of, self._policy, self._jobs = snapshot, policy, tuple(jobs)
        self._discipline: Discipline = discipline
        self._nodes = HeldNodes(snapshot, policy)
        self._quotas, self._weights = Quotas(quotas or {}), dict(weights or {})
        if any(not weight > 0 for weight in self._weights.values()):
            raise InputError("a weight of a queue is not above 0", source="weights", got=str(self._weights))
        if 0 < retry.cycle_s < _SHORTEST_CYCLE_S:
            got, expected = f"{retry.cycle_s:g}", f"0, or at least {_SHORTEST_CYCLE_S:g} s"
            raise InputError("too short a cycle", source="retry rule", where="cycle_s", got=got, expected=expected)
        self._retry = retry
        # Time of the next event that will try the waiting jobs because of `retry`; infinite: none is planned.
        self._retry_at = float("inf")
        # By job: how often it was refused since it last ran, and until when it is not tried again.
        self._n_refusals = [0] * len(self._jobs)
        self._not_before = [0.0] * len(self._jobs)
        self._breakdowns = tuple(breakdowns)
        if network is not None and network.fabric.topology != snapshot.topology:
            raise InputError("the network is of another topology", source="network", expected="that of the cluster")
        self._links = SharedLinks(network) if network is not None else None
        self._link_gb = np.zeros(2 * network.fabric.n_cables if network is not None else 0)
        self._steps: list[StepRow] = []
        self._kinds: list[int] = []
        # By job: the fewest and the most GPUs that it takes, and seconds from its next start to its end, at most.
        self._least: list[int] = []
        self._most: list[int] = []
        self._lasts: list[float] = []
        numbers: dict[Hashable, int] = {}
        seen: set[str] = set()
        for number, job in enumerate(self._jobs):
            if job.gang.key in seen:
                raise InputError("two jobs with the same name", source="simulation", got=job.gang.key)
            seen.add(job.gang.key)
            # With back-off every job is a kind of its own, even if it asks for the same as another.
            kind = None if retry.backs_off else kind_of(job.gang)
            self._kinds.append(numbers.setdefault(("alone", number) if kind is None else kind, len(numbers)))
            self._least.append(fewest_gpus(job.gang))
            self._most.append(most_gpus(job.gang))
            self._lasts.append(job.time_for(job.duration_s) * slowest_pace(job.gang))
        # As of the result: the kinds before any job stood still. Then the last reason of each kind that is refused.
        self._kinds_at_first = tuple(self._kinds)
        self._refusals: list[RefusalRow] = []
        self._why: dict[Hashable, str] = {}
        # Number of end events pushed for each job; only the latest one is valid.
        self._foretold = [0] * len(self._jobs)
        # Time, kind, number of the job or breakdown (0: a retry), and which of the foretold ends it is.
        self._events: list[tuple[float, int, int, int]] = [
            (job.submitted_s, _ARRIVAL, number, 0) for number, job in enumerate(self._jobs)
        ]
        no_gpu = np.zeros(1, dtype=np.uint64)
        for number, one in enumerate(self._breakdowns):
            if not all(0 <= node < snapshot.n_nodes for node in one.nodes):
                raise InputError("a node that the cluster does not have", source="breakdown", where=one.what)
            if one.gpus & ~words_to_mask(snapshot.gpu_total[one.nodes[0]] if one.nodes else no_gpu):
                raise InputError("a GPU that the node does not have", source="breakdown", where=one.what)
            if one.cables and (network is None or not max(one.cables) < network.fabric.n_cables):
                raise InputError("a cable that the network does not have", source="breakdown", where=one.what)
            self._events += [(one.at_s, _BREAK, number, 0), (one.until_s, _REPAIR, number, 0)]
        heapq.heapify(self._events)
        self._waiting = WaitingJobs()
        self._running: dict[int, RunningJob] = {}
        # Jobs that hold nodes while some of their pods wait for others; they are among the waiting jobs, too.
        self._standing: dict[int, StandingJob] = {}
        # Running jobs with fewer pods than they could have, in the order of their starts.
        self._growing: dict[int, None] = {}
        self._ahead = [job.duration_s for job in self._jobs]
        self._n_starts = [0] * len(self._jobs)
        # Kinds of jobs that fit nowhere, and those whose queue has no quota left, until something is freed.
        self._refused: set[Hashable] = set()
        self._beyond: set[Hashable] = set()
        # By cable: how many breakdowns it suffers from.
        self._broken_cables: dict[int, int] = {}
        self._attempts: list[Attempt] = []
        self._n_gpus = int(np.bitwise_count(snapshot.gpu_total).sum())
        # In thousandths of GPUs, which add up exactly.
        self._gpus_of_queue: dict[str, int] = {}
        self._in_use = 0
        # The first job that did not fit, which holds up others by the discipline.
        self._head: QueuedJob | None = None
        # Whether the waiting jobs of the last instant are being tried.
        self._trying = False
        self._n_completed = 0
        self._usage: list[Usage] = [Usage(0.0, 0, 0, 0.0, 0)]
        self.now_s = 0.0

    def _kept(self) -> dict[str, Any]:
        kept = super()._kept()
        # These values hold mutable objects, which a shallow copy would share.
        return (
            kept
            | {name: deepcopy(kept[name]) for name in ("_waiting", "_quotas")}
            | {"_running": {number: copy(one) for number, one in self._running.items()}}
        )

    def __repr__(self) -> str:
        jobs = f"{self._n_completed:,} of {counted(len(self._jobs), 'job')} completed"
        others = f"{len(self._running):,} running, {len(self._waiting):,} waiting"
        return f"Simulation({self._policy.name}, {self._discipline}, at {duration_text(self.now_s)}: {jobs}, {others})"

    @property
    def done(self) -> bool:
        """Whether nothing is left to happen; jobs may still wait that fit nowhere."""
        return not self._events

    def run(self, until_s: float = float("inf"), progress: Progress | None = None) -> Simulation:
        """Let time pass up to an instant, or until nothing is left to happen, and return the simulation.

        Parameters
        ----------
        until_s : float
            Events at this time still happen.
        progress : callable, optional
            Called with (jobs completed, jobs, name of the job) at each completion.

        Raises
        ------
        InputError
            The time lies before `now_s`, or is none.
        Cancelled
            The work was cancelled; the simulation can go on from there, and ends as if it had not been stopped.
        """
        if not until_s >= self.now_s:
            got, expected = instant_text(until_s), f"{instant_text(self.now_s)} s or later"
            raise InputError("time does not run backwards", source="until_s", got=got, expected=expected)
        if self._trying:
            # The last call was cancelled among the waiting jobs of an instant.
            self._try_waiting()
        while self._events and self._events[0][0] <= until_s:
            check()
            self._instant(progress)
            if self._n_completed == len(self._jobs):
                # Breakdowns that lie ahead meet no job.
                self._events.clear()
        if self._events and until_s < float("inf"):
            self.now_s = max(self.now_s, until_s)
        return self

    def _instant(self, progress: Progress | None) -> None:
        self.now_s = now = self._events[0][0]
        freed = arrived = due = False
        while self._events and self._events[0][0] == now:
            _, kind, number, foretold = heapq.heappop(self._events)
            if kind == _ARRIVAL:
                self._wait(number)
                arrived = True
            elif kind == _REPAIR:
                self._mend(number)
                freed = True
            elif kind == _BREAK:
                freed = self._break(number) or freed
            elif kind == _RETRY:
                if now >= self._retry_at:
                    due, self._retry_at = True, float("inf")
            elif foretold == self._foretold[number] and number in self._running:
                self._complete(number)
                freed = True
                if progress is not None:
                    progress(self._n_completed, len(self._jobs), self._jobs[number].gang.name)
        if freed:
            self._refused.clear()
            self._beyond.clear()
        self._trying = due or ((freed or arrived) and self._in_a_cycle())
        if self._trying:
            self._try_waiting()
        else:
            self._note_usage()

    def _try_waiting(self) -> None:
        """Try the waiting jobs of an instant; a policy may be cancelled or fail, and then this is called again."""
        self._start_what_fits()
        self._grow()
        self._plan_retry()
        self._trying = False
        self._note_usage()

    def _note_usage(self) -> None:
        in_use = self._in_use / WHOLE_GPU
        row = Usage(self.now_s, len(self._waiting), len(self._running), in_use, len(self._nodes.broken))
        if row[1:] != self._usage[-1][1:]:
            if self._usage[-1].time_s == row.time_s:
                self._usage.pop()
            self._usage.append(row)

    def _in_a_cycle(self) -> bool:
        """Whether waiting jobs are tried at this instant; if not, the next cycle will try them."""
        at = self._retry.next_cycle(self.now_s)
        if at <= self.now_s:
            return True
        self._retry_by(at)
        return False

    def _retry_by(self, at_s: float) -> None:
        """Try the waiting jobs at an instant, unless that is planned already for an earlier one."""
        if at_s < self._retry_at:
            self._retry_at = at_s
            heapq.heappush(self._events, (at_s, _RETRY, 0, 0))

    def _plan_retry(self) -> None:
        """Try the jobs again that might start now, but back off, when the first of them no longer does."""
        if not self._retry.backs_off:
            return
        ends = [
            self._not_before[entry.number]
            for entry in self._waiting
            if self._not_before[entry.number] > self.now_s and self._kinds[entry.number] not in self._refused
        ]
        if ends:
            self._retry_by(self._retry.next_cycle(min(ends)))

    def _wait(self, number: int) -> None:
        self._waiting.add(self._kinds[number], self._queued(number))

    def _queued(self, number: int) -> QueuedJob:
        job = self._jobs[number]
        rank = -job.gang.priority if self._discipline == "priority" else 0
        return QueuedJob(rank, job.submitted_s, number)

    def _complete(self, number: int) -> None:
        self._leave(number, "completed", self._ahead[number])
        self._ahead[number] = 0.0
        self._n_completed += 1

    def _leave(self, number: int, outcome: str, saved_s: float, undone_s: float = 0.0) -> None:
        """End the attempt of a running job and free what it holds; `undone_s`: seconds of work that are lost."""
        one = self._running[number]
        self._work(number, one)
        del self._running[number]
        self._growing.pop(number, None)
        self._nodes.release(number)
        self._count(number, one, -1)
        self._attempts.append(one.attempt(number, self.now_s, outcome, saved_s, undone_s))
        if self._links is not None and self._jobs[number].step is not None:
            self._retime(self._links.leave(number))

    def _count(self, number: int, one: RunningJob | StandingJob, sign: int) -> None:
        """Count what a job holds from now on (1), or holds no longer (-1)."""
        gang = self._jobs[number].gang
        milli = sign * round(one.gpus * WHOLE_GPU)
        self._in_use += milli
        self._quotas.change(gang, sign)
        self._gpus_of_queue[gang.queue] = self._gpus_of_queue.get(gang.queue, 0) + milli

    def _stand(self, number: int, placement: Placement, lost: npt.NDArray[np.bool_], former: Former) -> None:
        """Let the pods that a fault spares hold their nodes while the others wait; `former`: pods lost earlier."""
        left = after_fault(placement, lost, by_pods=self._jobs[number].restarts == "pods")
        if left is None:
            return
        # It asks for its missing pods from now on, and is like no other job.
        self._kinds[number] = len(self._jobs) + number
        self._nodes.adopt(number, left)
        former = () if placement.gang.jobs else (*former, *former_pods(placement, lost))
        self._standing[number] = one = StandingJob(left, self.now_s, held_gpus(left), former)
        self._count(number, one, 1)

    def _stop_standing(self, number: int) -> None:
        one = self._standing.pop(number)
        self._nodes.release(number)
        self._count(number, one, -1)
        if self._has_stood(one):
            self._attempts.append(one.attempt(number, self.now_s))

    def _has_stood(self, one: StandingJob) -> bool:
        """Whether a job has held nodes while it stood still, for some time by now."""
        return one.start_s < self.now_s and one.placement.n_placed > 0

    def _work(self, number: int, one: RunningJob, link_gb: npt.NDArray[np.float64] | None = None) -> None:
        """Count what a running job has done up to now, and what it sent for it."""
        before = one.done_s
        one.work_until(self.now_s)
        if self._links is not None and self._jobs[number].step is not None and one.step_s:
            traffic = self._links.traffic(number)
            sent = self._link_gb if link_gb is None else link_gb
            sent[traffic.link] += traffic.gb * ((one.done_s - before) / one.step_s)

    def _retime(self, times: Mapping[int, StepTimes]) -> None:
        """Foretell the ends of jobs whose steps take another time from now on."""
        for number, found in times.items():
            one = self._running[number]
            self._work(number, one)
            one.step_s = found.card_s
            one.slowdown = found.now_s / found.card_s if found.card_s else 1.0
            self._steps.append(StepRow(self.now_s, number, found.card_s, found.alone_s, found.now_s))
            self._foretell(number, one)

    def _foretell(self, number: int, one: RunningJob) -> None:
        self._foretold[number] += 1
        end = one.end_s
        if end < float("inf"):
            heapq.heappush(self._events, (end, _END, number, self._foretold[number]))

    def _break(self, number: int) -> bool:
        """Stop the jobs on what breaks and close it; whether a job stopped."""
        breakdown = self._breakdowns[number]
        hits = self._nodes.hit_by(breakdown.nodes, breakdown.gpus)
        for job, lost in hits.items():
            if job in self._standing:
                stood = self._standing[job]
                self._stop_standing(job)
                self._stand(job, stood.placement, lost, stood.former)
                continue
            one = self._running[job]
            self._work(job, one)
            work, simulated = self._ahead[job], self._jobs[job]
            saved = simulated.saved_after(one.done_s, work)
            self._leave(job, "stopped", saved, simulated.worked_in(one.done_s) - saved)
            self._ahead[job] = work - saved
            lasts = simulated.time_for(self._ahead[job]) * slowest_pace(simulated.gang)
            self._lasts[job] = simulated.restart_s + lasts
            self._stand(job, one.placement, lost, ())
            self._wait(job)
        self._nodes.break_down(number, breakdown.nodes, breakdown.gpus)
        self._change_cables(breakdown.cables, 1)
        return bool(hits)

    def _change_cables(self, cables: tuple[int, ...], by: int) -> None:
        """Count a breakdown of cables, or its repair, and foretell the ends of the jobs that it slows or frees."""
        if self._links is None or not cables:
            return
        for number, one in self._running.items():
            self._work(number, one)
        for cable in cables:
            self._broken_cables[cable] = self._broken_cables.get(cable, 0) + by
            if not self._broken_cables[cable]:
                del self._broken_cables[cable]
        self._retime(self._links.change_broken(frozenset(self._broken_cables)))

    def _mend(self, number: int) -> None:
        self._nodes.repair(number)
        self._change_cables(self._breakdowns[number].cables, -1)

    def _start_what_fits(self) -> None:
        self._head = None
        if self._discipline == "backfill":
            self._start_by_backfilling()
        elif self._discipline == "shares":
            self._start_by_shares()
        else:
            self._start_in_turn()

    def _note_refusal(self, kind: int, code: str) -> None:
        """Note why the jobs of a kind wait from now on; empty: no reason is known, until they are tried again."""
        if self._why.get(kind, "") != code:
            self._why[kind] = code
            self._refusals.append(RefusalRow(self.now_s, kind, code))

    def _start_in_turn(self) -> None:
        """Try the first job of each kind, the smallest first; a kind whose job does not start is done with."""
        heap = self._waiting.heads()
        heapq.heapify(heap)
        while heap:
            entry, kind = heapq.heappop(heap)
            if not self._admitted(kind, entry):
                continue
            if self._may_fit(kind, entry) and self._start(kind, entry):
                following = self._waiting.of_kind(kind)
                if following:
                    heapq.heappush(heap, (following[0], kind))
            elif self._discipline == "fifo":
                self._head = entry
                for _, behind in heap:
                    self._note_refusal(behind, BEHIND)
                return

    def _start_by_shares(self) -> None:
        """Start one job after the other, of the queue that then holds least for its weight (ties: by its name)."""

        def share(queue: str) -> tuple[float, bytes]:
            return self._gpus_of_queue.get(queue, 0) / self._weights.get(queue, 1.0), queue.encode()

        started = True
        while started:
            heads = [(share(self._jobs[entry.number].gang.queue), entry, kind) for entry, kind in self._waiting.heads()]
            started = any(
                self._admitted(kind, entry) and self._may_fit(kind, entry) and self._start(kind, entry)
                for _, entry, kind in sorted(heads, key=lambda one: one[:2])
            )

    def _may_fit(self, kind: int, entry: QueuedJob) -> bool:
        number = entry.number
        if kind in self._refused or self._not_before[number] > self.now_s:
            return False
        # With back-off every refusal counts, even one that the number of free GPUs already implies.
        stands = number in self._standing and self._standing[number].placement.n_placed
        if self._retry.backs_off or bool(stands) or self._least[number] <= self._nodes.free_gpus:
            return True
        self._note_refusal(kind, FEW_GPUS)
        return False

    def _start_by_backfilling(self) -> None:
        """Try the jobs in turn, of each kind until one does not fit; with a reservation those only that may pass."""
        kept: Reservation | None = None
        heap = [(entry, kind, 0) for entry, kind in self._waiting.heads()]
        heapq.heapify(heap)
        while heap:
            entry, kind, place = heapq.heappop(heap)
            if not self._admitted(kind, entry):
                continue
            fits = self._may_fit(kind, entry)
            passes = kept is None or self._may_pass(entry.number, kept)
            if fits and passes and self._start(kind, entry):
                kept = None if self._head is None else self._reservation(self._head.number)
            elif fits and not passes:
                self._note_refusal(kind, BEHIND)
                place += 1
            else:
                # No other job of this kind fits either.
                if self._head is None:
                    self._head, kept = entry, self._reservation(entry.number)
                continue
            group = self._waiting.of_kind(kind)
            while kept is not None and place < len(group) and not self._may_pass(group[place].number, kept):
                place += 1
            if place < len(group):
                heapq.heappush(heap, (group[place], kind, place))

    def _reservation(self, head: int) -> Reservation:
        """Reservation for the first job that does not fit; idle GPUs of nodes that take no pods do not count."""
        closed = self._start_of.closed
        free = self._nodes.free_gpus - (self._nodes.free_gpus_on(closed) if closed.any() else 0)
        running = ((one.end_s, one.whole) for one in self._running.values())
        return reserve(fewest_gpus(self._wanted(head)), free, self.now_s, running)

    def _may_pass(self, number: int, kept: Reservation) -> bool:
        """Whether a job may start before the first that does not fit, with its fewest pods and with all of them."""
        gpus = most_gpus(self._wanted(number)) if number in self._standing else self._most[number]
        return kept.lets_pass(self.now_s + self._lasts[number], gpus)

    def _admitted(self, kind: int, entry: QueuedJob) -> bool:
        """Whether the quota of its queue admits a waiting job; notes its kind if not."""
        if kind in self._beyond:
            return False
        if not self._admits(entry.number):
            self._beyond.add(kind)
            self._note_refusal(kind, QUOTA)
            return False
        return True

    def _start(self, kind: int, entry: QueuedJob) -> bool:
        """Place a waiting job that its queue admits, if it fits; else note its kind."""
        number = entry.number
        job = self._jobs[number]
        former = self._standing[number].former if number in self._standing else ()
        placement = self._placed(number)
        if isinstance(placement, str):
            self._refused.add(kind)
            self._note_refusal(kind, placement)
            self._n_refusals[number] += 1
            self._not_before[number] = self.now_s + self._retry.back_off(self._n_refusals[number])
            return False
        self._n_refusals[number] = 0
        self._waiting.remove(kind, entry)
        if not self._waiting.of_kind(kind):
            self._note_refusal(kind, "")
        late = job.restart_s if self._n_starts[number] else 0.0
        self._n_starts[number] += 1
        begins, total = self.now_s + late, job.time_for(self._ahead[number])
        one = RunningJob(placement, self.now_s, begins, total, former)
        self._running[number] = one
        if placement.n_placed < job.gang.n_pods and not job.gang.jobs:
            self._growing[number] = None
        if self._links is not None and job.step is not None:
            self._retime(self._links.join(number, placement, job.step))
        else:
            self._foretell(number, one)
        self._count(number, one, 1)
        return True

    def _placed(self, number: int) -> Placement | str:
        """Place a waiting job, or what one that stands still is missing; the code of the reason if it is refused."""
        if number not in self._standing:
            answer = self._nodes.place(number, self._jobs[number].gang)
            if not isinstance(answer, Placement):
                return code_of(answer)
            if answer.n_placed:
                return answer
            # Of a gang that needs no pod, and gets none.
            self._nodes.release(number)
            return _NO_POD
        stood = self._standing[number]
        found = self._nodes.decide(self._wanted(number)).result
        if isinstance(found, Placement) and found.n_placed:
            whole = joined(stood.placement, found)
        elif can_go_on(stood.placement):
            whole = stood.placement
        else:
            return _NO_POD if isinstance(found, Placement) else code_of(found)
        self._stop_standing(number)
        self._nodes.adopt(number, whole)
        return whole

    def _grow(self) -> None:
        """Give running jobs more of their pods, in the order of their starts, if something was freed.

        Where the first job that does not fit holds up those behind it, a job that came later does not grow.
        """
        for number in list(self._growing):
            one = self._running[number]
            if self._head is not None and self._queued(number) > self._head:
                continue
            if ("grow", number) in self._refused or smallest_missing(one.placement) > self._nodes.free_gpus:
                continue
            found = self._nodes.decide(missing_pods(one.placement, one.former, self._broken_names())).result
            if not isinstance(found, Placement) or not found.n_placed:
                self._refused.add(("grow", number))
                continue
            self._work(number, one)
            self._count(number, one, -1)
            self._nodes.extend(number, found)
            placement = self._nodes.placement(number)
            row = one.grow(number, self.now_s, placement)
            if row.end_s > row.start_s:
                self._attempts.append(row)
            self._count(number, one, 1)
            self._foretell(number, one)
            if placement.n_placed == placement.gang.n_pods:
                del self._growing[number]

    def _broken_names(self) -> frozenset[str]:
        names = self._start_of.topology.node_names
        return frozenset(names[node] for node in self._nodes.broken)

    def _admits(self, number: int) -> bool:
        """Whether the quota of a waiting job's queue admits it; that of a job that stands still counts all its pods."""
        return number in self._standing or self._quotas.admits(self._jobs[number].gang)

    def _wanted(self, number: int) -> Gang:
        """The pods of a waiting job that need nodes."""
        if number not in self._standing:
            return self._jobs[number].gang
        return self._standing[number].missing(self._broken_names())

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now: jobs of the simulation run in it, and broken nodes are not ready."""
        return self._nodes.snapshot()

    def result(self) -> SimulationResult:
        """What has happened so far; jobs that run are attempts that end now."""
        # On copies: looking at a simulation changes nothing, not even how a sum is rounded.
        link_gb, now = self._link_gb.copy(), []
        for number, running in self._running.items():
            one = copy(running)
            self._work(number, one, link_gb)
            now.append(one.attempt(number, self.now_s, "running", 0.0))
        now += [one.attempt(number, self.now_s) for number, one in self._standing.items() if self._has_stood(one)]
        attempts = sorted([*self._attempts, *now], key=lambda one: (one.start_s, one.job))
        policy = self._policy
        provenance = record_provenance(self._start_of, [(policy.name, policy.parameters)], {})
        return SimulationResult(
            policy.name,
            self._discipline,
            self._jobs,
            tuple(attempts),
            tuple(self._usage),
            self._reasons(),
            self._n_gpus,
            self._start_of.topology.node_names,
            provenance,
            self.now_s,
            self.done,
            tuple(self._steps),
            self._link_use(link_gb),
            tuple(self._refusals),
            self._kinds_at_first,
        )

    def _link_use(self, link_gb: npt.NDArray[np.float64]) -> tuple[LinkUse, ...]:
        """Links that carried anything."""
        if self._links is None:
            return ()
        fabric = self._links.network.fabric
        capacity = fabric.link_gb_s()
        return tuple(
            LinkUse(*fabric.cable(link // 2), ("up", "down")[link % 2], float(capacity[link]), float(link_gb[link]))
            for link in np.flatnonzero(link_gb).tolist()
        )

    def _reasons(self) -> dict[int, str]:
        """Why jobs wait now, one sentence each; for the first of them also what would help."""
        found, explained = {}, 0
        for number in (entry.number for entry in self._waiting):
            if not self._admits(number):
                found[number] = f"the quota of queue {self._jobs[number].gang.queue} is used up"
                continue
            wanted = self._wanted(number)
            answer = self._nodes.decide(wanted).result if number in self._standing else self._nodes.try_on_copy(wanted)
            if isinstance(answer, Placement):
                found[number] = "it waits behind another job"
            elif explained < _MOST_EXPLAINED:
                explained += 1
                report = fix_report(self._policy, [wanted], self._nodes.snapshot(), wanted.key, most_runs=_EXPLAIN_RUNS)
                found[number] = report.headline
            else:
                found[number] = str(answer.reasons[0])
        return found
