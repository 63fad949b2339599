"""`Simulation`: jobs arrive, wait, run, meet faults and end in virtual time, placed by one policy.

An event costs the jobs that wait or run, however many have ended.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from math import ceil, isfinite

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.contention import Network, SharedLinks, StepTimes
from workbench.evaluate.provenance import record_provenance
from workbench.model.gang import Gang
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Working
from workbench.policies.base import Policy
from workbench.simulate.breakdowns import Breakdown
from workbench.simulate.faults import break_gpus, break_node
from workbench.simulate.job import SimulatedJob
from workbench.simulate.member_jobs import StandingJobs, joined, without_jobs
from workbench.simulate.queueing import DISCIPLINES, Discipline, QueuedJob, Quotas, WaitingJobs, fewest_gpus, kind_of
from workbench.simulate.result import Attempt, LinkUse, SimulationResult, StepRow, Usage
from workbench.simulate.running import RunningJob

__all__ = ["Simulation"]

#: Events of one instant in this order: what frees resources comes before what takes them.
_END, _REPAIR, _BREAK, _ARRIVAL, _CYCLE = range(5)

Progress = Callable[[int, int, str], None]


class Simulation(Working):
    """A cluster and jobs in virtual time, placed by one policy; it can be stopped at any instant, and goes on.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        The cluster at the start; pods that run in it never end.
    policy : Policy
        Any policy, one from a notebook cell, too.
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
    cycle_s : float
        Seconds from one scheduling cycle to the next, the first at 0: waiting jobs are tried in cycles only, as in
        Volcano, whose ``schedule-period`` is 1 s. 0: they are tried at every instant that may let one start.
    network : Network, optional
        Links that the jobs share; jobs with a `SimulatedJob.step` then work as fast as their steps allow, which changes
        when another job starts, ends or meets a fault, or a cable breaks. None: every job works as fast anywhere.

    Attributes
    ----------
    now_s : float
        Time of the last event.

    Raises
    ------
    InputError
        Two jobs of one name, a node or cable that the cluster has not, a weight that is not above 0, a negative time
        between cycles, a network of another topology.
    UnknownNameError
        No such discipline.

    Notes
    -----
    Nothing is random. At each instant jobs end first, then repairs, breakdowns and arrivals happen, then waiting jobs
    are tried in the order of the discipline; with `cycle_s`, in the next cycle. Nothing preempts. A breakdown stops
    every job with a pod on what broke; the job waits again, in its old place in the queue, with the work that its last
    checkpoint does not hold ahead of it. Of a HyperJob, only the Jobs with such pods give their nodes back; the others
    stand still in their HyperNodes until these have found others, and then all go on from the last checkpoint.

    A job that asks for the same as one that was refused at an instant is not tried until something is freed. A broken
    node stays in its HyperNode as a full one: a policy that packs HyperNodes sees it in use.

    A job that starts with fewer pods than it has, but its minimum, works for longer in proportion, and gets no more
    pods later.

    On a network the seconds of work of a job are those with steps that only its nodes' network cards limit; between two
    changes its steps take the same time. A job counts as sending from its placement on; writing checkpoints slows down
    as its steps do.
    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        policy: Policy,
        jobs: Sequence[SimulatedJob],
        *,
        discipline: Discipline = "best-effort",
        breakdowns: Iterable[Breakdown] = (),
        quotas: Mapping[str, Mapping[str, int]] | None = None,
        weights: Mapping[str, float] | None = None,
        cycle_s: float = 0.0,
        network: Network | None = None,
    ) -> None:
        if discipline not in DISCIPLINES:
            raise UnknownNameError("discipline", discipline, DISCIPLINES)
        self._snapshot, self._policy, self._jobs = snapshot, policy, tuple(jobs)
        self._discipline: Discipline = discipline
        self._stream = policy.stream(snapshot)
        self._quotas, self._weights = Quotas(quotas or {}), dict(weights or {})
        if any(not weight > 0 for weight in self._weights.values()):
            raise InputError("a weight of a queue is not above 0", source="weights", got=str(self._weights))
        if not (cycle_s >= 0 and isfinite(cycle_s)):
            raise InputError("not a time", source="cycle_s", got=f"{cycle_s:g}", expected="seconds from 0 on")
        self._cycle_s = cycle_s
        # Whether a cycle lies ahead that will try the waiting jobs.
        self._cycle_due = False
        self._breakdowns = tuple(breakdowns)
        if network is not None and network.fabric.topology != snapshot.topology:
            raise InputError("the network is of another topology", source="network", expected="that of the cluster")
        self._links = SharedLinks(network) if network is not None else None
        self._link_gb = np.zeros(2 * network.fabric.n_cables if network is not None else 0)
        self._steps: list[StepRow] = []
        self._kinds: list[Hashable] = []
        self._least: list[int] = []
        numbers: dict[Hashable, int] = {}
        seen: set[str] = set()
        for number, job in enumerate(self._jobs):
            if job.gang.key in seen:
                raise InputError("two jobs of one name", source="simulation", got=job.gang.key)
            seen.add(job.gang.key)
            kind = kind_of(job.gang)
            self._kinds.append(("alone", number) if kind is None else numbers.setdefault(kind, len(numbers)))
            self._least.append(fewest_gpus(job.gang))
        # How often the end of each job was foretold; only the last one holds.
        self._foretold = [0] * len(self._jobs)
        # Time, kind, number of the job or breakdown (0: a cycle), and which of the foretold ends it is.
        self._events: list[tuple[float, int, int, int]] = [
            (job.submitted_s, _ARRIVAL, number, 0) for number, job in enumerate(self._jobs)
        ]
        for number, one in enumerate(self._breakdowns):
            if not all(0 <= node < snapshot.n_nodes for node in one.nodes):
                raise InputError("a node that the cluster has not", source="breakdown", where=one.what)
            if one.cables and (network is None or not max(one.cables) < network.fabric.n_cables):
                raise InputError("a cable that the network has not", source="breakdown", where=one.what)
            self._events += [(one.at_s, _BREAK, number, 0), (one.until_s, _REPAIR, number, 0)]
        heapq.heapify(self._events)
        self._waiting = WaitingJobs()
        self._running: dict[int, RunningJob] = {}
        # HyperJobs that wait for nodes for some of their Jobs; they are among the waiting jobs, too.
        self._standing: dict[int, StandingJobs] = {}
        self._ahead = [job.duration_s for job in self._jobs]
        self._n_starts = [0] * len(self._jobs)
        # Kinds of jobs that fit nowhere, and those whose queue has no quota left, until something is freed.
        self._refused: set[Hashable] = set()
        self._beyond: set[Hashable] = set()
        # By node: the breakdowns that it suffers from; by cable: how many it suffers from.
        self._broken: dict[int, set[int]] = {}
        self._broken_cables: dict[int, int] = {}
        self._attempts: list[Attempt] = []
        self._n_gpus = int(np.bitwise_count(snapshot.gpu_total).sum())
        self._free = int(np.bitwise_count(snapshot.gpu_free).sum())
        self._gpus_of_queue: dict[str, float] = {}
        self._in_use = 0.0
        self._n_completed = 0
        self._usage: list[Usage] = [Usage(0.0, 0, 0, 0.0, 0)]
        self.now_s = 0.0

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
        Cancelled
            The work was cancelled between two instants; the simulation can go on from there.
        """
        while self._events and self._events[0][0] <= until_s:
            check()
            self._instant(progress)
            if self._n_completed == len(self._jobs):
                # Breakdowns that lie ahead meet no job.
                self._events.clear()
        return self

    def _instant(self, progress: Progress | None) -> None:
        self.now_s = now = self._events[0][0]
        freed = arrived = cycle = False
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
            elif kind == _CYCLE:
                cycle, self._cycle_due = True, False
            elif foretold == self._foretold[number] and number in self._running:
                self._complete(number)
                freed = True
                if progress is not None:
                    progress(self._n_completed, len(self._jobs), self._jobs[number].gang.name)
        if freed:
            self._refused.clear()
            self._beyond.clear()
        if cycle or ((freed or arrived) and self._in_a_cycle()):
            self._start_what_fits()
        # Parts of GPUs add up in thousandths; without the rounding the sum would drift.
        self._in_use = round(self._in_use, 3)
        row = Usage(now, len(self._waiting), len(self._running), self._in_use, len(self._broken))
        if row[1:] != self._usage[-1][1:]:
            if self._usage[-1].time_s == now:
                self._usage.pop()
            self._usage.append(row)

    def _in_a_cycle(self) -> bool:
        """Whether waiting jobs are tried at this instant; if not, the next cycle will try them."""
        if not self._cycle_s:
            return True
        at = ceil(self.now_s / self._cycle_s) * self._cycle_s
        if at <= self.now_s:
            return True
        if not self._cycle_due:
            heapq.heappush(self._events, (at, _CYCLE, 0, 0))
            self._cycle_due = True
        return False

    def _wait(self, number: int) -> None:
        job = self._jobs[number]
        rank = -job.gang.priority if self._discipline == "priority" else 0
        self._waiting.add(self._kinds[number], QueuedJob(rank, job.submitted_s, number))

    def _complete(self, number: int) -> None:
        self._leave(number, "completed", self._ahead[number])
        self._ahead[number] = 0.0
        self._n_completed += 1

    def _leave(self, number: int, outcome: str, saved_s: float) -> None:
        """End the attempt of a running job and free what it holds."""
        one = self._running[number]
        self._work(number, one)
        del self._running[number]
        self._stream.give_back(one.placement)
        self._count(number, one, -1)
        self._attempts.append(one.attempt(number, self.now_s, outcome, saved_s))
        if self._links is not None and self._jobs[number].step is not None:
            self._retime(self._links.leave(number))

    def _count(self, number: int, one: RunningJob | StandingJobs, sign: int) -> None:
        """Count what a job holds from now on (1), or holds no longer (-1)."""
        gang = self._jobs[number].gang
        self._free -= sign * one.whole
        self._in_use += sign * one.gpus
        self._quotas.change(gang, sign)
        self._gpus_of_queue[gang.queue] = self._gpus_of_queue.get(gang.queue, 0) + sign * one.gpus

    def _stand(self, number: int, placement: Placement | None) -> None:
        """Let the Jobs of a HyperJob that still run hold their nodes while the others wait."""
        if placement is None:
            return
        self._stream.adopt(placement)
        self._standing[number] = one = StandingJobs(placement, self.now_s, *_gpus(placement))
        self._count(number, one, 1)

    def _stop_standing(self, number: int) -> None:
        one = self._standing.pop(number)
        self._stream.give_back(one.placement)
        self._count(number, one, -1)
        if one.start_s < self.now_s:
            self._attempts.append(one.attempt(number, self.now_s))

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
        hit = [job for job, one in self._running.items() if _hit(one.placement, breakdown).any()]
        stood = [job for job, jobs in self._standing.items() if _hit(jobs.placement, breakdown).any()]
        for job in stood:
            placement = self._standing[job].placement
            self._stop_standing(job)
            self._stand(job, without_jobs(placement, _hit(placement, breakdown)))
        for job in hit:
            one = self._running[job]
            self._work(job, one)
            work, simulated = self._ahead[job], self._jobs[job]
            saved = simulated.saved_after(one.done_s, work)
            self._leave(job, "stopped", saved)
            self._ahead[job] = work - saved
            self._stand(job, without_jobs(one.placement, _hit(one.placement, breakdown)))
            self._wait(job)
        for node in breakdown.nodes:
            self._broken.setdefault(node, set()).add(number)
            self._close(node)
        self._change_cables(breakdown.cables, 1)
        return bool(hit or stood)

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
        for node in self._breakdowns[number].nodes:
            self._broken[node].discard(number)
            if not self._broken[node]:
                del self._broken[node]
            self._close(node)
        self._change_cables(self._breakdowns[number].cables, -1)

    def _close(self, node: int) -> None:
        """Close a node as far as it is broken now."""
        # Jobs of HyperJobs close what is idle in their HyperNodes: they do so again, after the change.
        around = [one.placement for one in self._holders() if self._is_alone_around(one.placement, node)]
        for placement in around:
            self._stream.give_back(placement)
        before = self._free_gpus()
        if node in self._stream.closed:
            self._stream.reopen(node)
        by = [self._breakdowns[number].gpus for number in self._broken.get(node, ())]
        if by:
            broken = 0 if 0 in by else int(np.bitwise_or.reduce(by))
            self._stream.close(node, broken)
        self._free += self._free_gpus() - before
        for placement in around:
            self._stream.adopt(placement)

    def _holders(self) -> Iterator[RunningJob | StandingJobs]:
        """What holds nodes now, in the order of the jobs' numbers."""
        for number in sorted({*self._running, *self._standing}):
            yield self._running[number] if number in self._running else self._standing[number]

    def _is_alone_around(self, placement: Placement, node: int) -> bool:
        topology = self._snapshot.topology
        return any(node in topology.nodes_of(topology.domain(name)) for name in placement.exclusive.values())

    def _free_gpus(self) -> int:
        return int(np.bitwise_count(self._stream.ledger.gpu_free).sum())

    def _start_what_fits(self) -> None:
        if self._discipline == "backfill":
            self._start_by_backfilling()
        elif self._discipline == "shares":
            self._start_by_shares()
        else:
            self._start_in_turn()

    def _start_in_turn(self) -> None:
        """Try the first job of each kind, the smallest first; a kind whose job does not start is done with."""
        heap = self._waiting.heads()
        heapq.heapify(heap)
        while heap:
            entry, kind = heapq.heappop(heap)
            if kind in self._beyond:
                continue
            if self._may_fit(kind, entry) and self._start(kind, entry):
                following = self._waiting.head(kind)
                if following is not None:
                    heapq.heappush(heap, (following, kind))
            elif self._discipline == "fifo" and kind not in self._beyond:
                return

    def _start_by_shares(self) -> None:
        """Start one job after the other, of the queue that then holds least for its weight (ties: by its name)."""

        def share(queue: str) -> tuple[float, bytes]:
            return self._gpus_of_queue.get(queue, 0) / self._weights.get(queue, 1.0), queue.encode()

        started = True
        while started:
            heads = [(share(self._jobs[entry.number].gang.queue), entry, kind) for entry, kind in self._waiting.heads()]
            started = any(
                kind not in self._beyond and self._may_fit(kind, entry) and self._start(kind, entry)
                for _, entry, kind in sorted(heads, key=lambda one: one[:2])
            )

    def _may_fit(self, kind: Hashable, entry: QueuedJob) -> bool:
        return kind not in self._refused and self._least[entry.number] <= self._free

    def _start_by_backfilling(self) -> None:
        head: int | None = None
        for entry in self._waiting:
            kind = self._kinds[entry.number]
            if head is not None and not self._may_pass(entry.number, head):
                continue
            started = self._may_fit(kind, entry) and self._start(kind, entry)
            if not started and head is None and self._admits(entry.number):
                head = entry.number

    def _start(self, kind: Hashable, entry: QueuedJob) -> bool:
        """Place a waiting job if its queue admits it and it fits; else note its kind."""
        number = entry.number
        job = self._jobs[number]
        if not self._admits(number):
            self._beyond.add(kind)
            return False
        answer = self._stream.place(self._wanted(number))
        if not isinstance(answer, Placement):
            self._refused.add(kind)
            return False
        if number in self._standing:
            self._stream.give_back(answer)
            standing = self._standing[number].placement
            self._stop_standing(number)
            answer = joined(standing, answer)
            self._stream.adopt(answer)
        self._waiting.remove(kind, entry)
        gpus, whole = _gpus(answer)
        late = job.restart_s if self._n_starts[number] else 0.0
        self._n_starts[number] += 1
        # The work of a job is shared by the pods that run.
        pace = job.gang.n_pods / answer.n_placed
        begins, total = self.now_s + late, job.time_for(self._ahead[number])
        one = RunningJob(answer, self.now_s, begins, total, gpus, whole, pace)
        self._running[number] = one
        if self._links is not None and job.step is not None:
            self._retime(self._links.join(number, answer, job.step))
        else:
            self._foretell(number, one)
        self._count(number, one, 1)
        return True

    def _admits(self, number: int) -> bool:
        """Whether the queue of a waiting job may hold it; that of a HyperJob that stands still counts all of it."""
        return number in self._standing or self._quotas.admits(self._jobs[number].gang)

    def _wanted(self, number: int) -> Gang:
        """The pods of a waiting job that need nodes."""
        return self._standing[number].rest if number in self._standing else self._jobs[number].gang

    def _may_pass(self, number: int, head: int) -> bool:
        """Whether a job may start before `head`, which does not fit now: counted by GPUs, as EASY backfilling does."""
        free, needed = self._free, self._least[head]
        begins = float("inf")
        for one in sorted(self._running.values(), key=lambda each: each.end_s):
            if free >= needed:
                break
            free += one.whole
            begins = one.end_s
        ends = self.now_s + self._jobs[number].time_for(self._ahead[number])
        return ends <= begins or self._least[number] <= free - needed

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now: jobs of the simulation run in it, and broken nodes are cordoned."""
        snapshot = self._snapshot
        for one in self._holders():
            snapshot = snapshot.with_placement(one.placement)
        for node in sorted(self._broken):
            gpus = [self._breakdowns[number].gpus for number in self._broken[node]]
            if 0 in gpus:
                snapshot = break_node(snapshot, node)
            else:
                broken = int(np.bitwise_or.reduce(gpus))
                snapshot = break_gpus(snapshot, node, [gpu for gpu in range(64) if broken >> gpu & 1])
        return snapshot

    def result(self) -> SimulationResult:
        """What has happened so far; jobs that run are attempts that end now."""
        # On copies: looking at a simulation changes nothing, not even how a sum is rounded.
        link_gb, now = self._link_gb.copy(), []
        for number, running in self._running.items():
            one = copy(running)
            self._work(number, one, link_gb)
            now.append(one.attempt(number, self.now_s, "running", 0.0))
        now += [one.attempt(number, self.now_s) for number, one in self._standing.items() if one.start_s < self.now_s]
        attempts = sorted([*self._attempts, *now], key=lambda one: (one.start_s, one.job))
        policy = self._policy
        provenance = record_provenance(self._snapshot, [(policy.name, policy.parameters)], {})
        return SimulationResult(
            policy.name,
            self._discipline,
            self._jobs,
            tuple(attempts),
            tuple(self._usage),
            self._reasons(),
            self._n_gpus,
            self._snapshot.topology.node_names,
            provenance,
            tuple(self._steps),
            self._link_use(link_gb),
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
        """Why jobs wait now, one sentence each."""
        found = {}
        for number in (entry.number for entry in self._waiting):
            if not self._admits(number):
                found[number] = f"the quota of queue {self._jobs[number].gang.queue} is used up"
                continue
            answer = self._policy.place(self._wanted(number), self._stream.ledger.copy())
            found[number] = "it waits behind another job" if isinstance(answer, Placement) else str(answer.reasons[0])
        return found


def _hit(placement: Placement, breakdown: Breakdown) -> npt.NDArray[np.bool_]:
    """Which pods of a placement a breakdown hits; a pod without known GPUs is hit by any GPU of its node."""
    on = np.isin(placement.node, breakdown.nodes)
    if breakdown.gpus and placement.gpu_words is not None:
        on[on] = [bool(placement.gpu_mask(int(pod)) & breakdown.gpus) for pod in np.flatnonzero(on)]
    return on


def _gpus(placement: Placement) -> tuple[float, int]:
    """GPUs that a placement holds, shares as parts of one, and the whole ones among them."""
    roles = placement.gang.role_of_pod[placement.node >= 0]
    counts = np.array([role.n_gpus for role in placement.gang.roles], dtype=np.int64)
    milli = np.array([role.gpu_milli for role in placement.gang.roles], dtype=np.int64)
    whole = int(counts[roles].sum())
    return whole + int(milli[roles].sum()) / WHOLE_GPU, whole
