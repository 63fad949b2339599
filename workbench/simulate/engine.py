"""`Simulation`: jobs arrive, wait, run, meet faults and end in virtual time, placed by one policy.

The cost of an event depends on the jobs that wait or run, not on how many have ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np

from workbench.cancel import Progress, ProgressOption, check, reported
from workbench.errors import InputError, named_arguments
from workbench.evaluate.contention import Network
from workbench.evaluate.provenance import record_provenance
from workbench.model.clock import EventQueue, VirtualClock
from workbench.model.counted import counted
from workbench.model.job_log import JobLog
from workbench.model.no_collection import no_collection
from workbench.model.number_text import duration_text, instant_text
from workbench.model.scenario import Scenario, snapshot_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Working
from workbench.policies import as_policy
from workbench.policies.contract import Policy
from workbench.policies.retry import AT_CHANGES, RetryRule
from workbench.simulate.active_jobs import ARRIVAL, BREAK, REPAIR, RETRY, ActiveJobs, Key, Quotas
from workbench.simulate.breakdowns import Breakdown, Faults, checked_breakdowns
from workbench.simulate.candidates import Candidates
from workbench.simulate.disciplines import Discipline, get_discipline
from workbench.simulate.from_log import as_jobs
from workbench.simulate.held_nodes import HeldNodes
from workbench.simulate.job import SimulatedJob
from workbench.simulate.job_run import runs_of
from workbench.simulate.result import SimulationResult, Usage

__all__ = ["Simulation", "simulate"]

#: Seconds of the shortest cycle that is simulated; of shorter ones, the number until an event may overflow.
_SHORTEST_CYCLE_S = 1e-6

#: The event that tries the waiting jobs because of the retry rule.
_RETRY: Key = (RETRY, 0)


class Simulation(Working):
    """A cluster and jobs in virtual time, placed by one policy; it can be stopped at any instant, and goes on.

    Raises InputError: two jobs with the same name; a node or cable that the cluster does not have; a weight of 0 or
    less; a network built for another topology. Raises UnknownNameError: no such policy or discipline.

    Parameters
    ----------
    snapshot : ClusterSnapshot or Scenario
        The cluster at the start; pods that run in it never end.
    policy : Policy or str
        Any policy, one from a notebook cell, too, or the name of one.
    jobs : sequence of SimulatedJob, or JobLog
        In any order; of jobs that arrive at one instant the earlier in the sequence comes first.
    discipline : Discipline or str
        Which waiting job is tried next and who may pass whom: an object of one's own, or the name of a registered one
        (`list_disciplines`).
    quotas : mapping of str to mapping of str to int
        By queue: resources that its jobs may hold together; without borrowing. A job beyond its quota waits and holds
        up nobody, whatever the discipline.
    weights : mapping of str to float
        Weights of queues, for ``shares``; 1 if missing.
    retry : RetryRule
        When waiting jobs are tried. By default at every instant that may let one start; `SchedulerTraits.retry` is the
        rule of the scheduler that a policy follows.
    network : Network, optional
        Links that the jobs share; jobs with a `SimulatedJob.step` then work as fast as their steps allow, which changes
        when another job starts, ends or meets a fault, or a cable breaks. None: every job works as fast anywhere.

    Notes
    -----
    Nothing is random. At each instant jobs end first, then repairs, breakdowns and arrivals happen, then waiting jobs
    are tried in the order of the discipline, as far as `retry` lets them. Nothing preempts but sessions of Kueue. A
    breakdown stops every job with a pod on what broke; the job waits again, in its old place in the queue, with the
    work that its last checkpoint does not hold ahead of it. Of a HyperJob, only the Jobs with such pods give up their
    nodes; the other Jobs keep their HyperNodes idle until the lost Jobs are placed again, and then the whole HyperJob
    resumes from its last checkpoint. A job whose `SimulatedJob.restarts` is ``"pods"`` gives back only the nodes of
    such pods; if the pods that are left are its minimum, it goes on with them when no others can be placed.

    A job that asks for the same as one that was refused at an instant is not tried until something is freed, unless it
    stands still or backs off: such a job is tried on its own. A broken node is modelled as fully occupied, so packing
    policies count it as in use.

    An elastic job that starts with fewer pods than it asks for works proportionally longer. It gets the remaining pods
    as soon as no waiting job needs their nodes, and speeds up; a HyperJob never grows.

    On a network the seconds of work of a job are those with steps that only its nodes' network cards limit; between two
    changes its steps take the same time. A job counts as sending from its placement on; writing checkpoints slows down
    as its steps do.

    Examples
    --------
    >>> import workbench as wb
    >>> job = wb.SimulatedJob(wb.gang("mine", pods=2, gpus=8), 0.0, 60.0)
    >>> simulation = wb.Simulation(wb.generate_scenario("three-level-tree"), "binpack", [job])
    >>> simulation.run(until_s=30).now_s, simulation.done
    (30, False)
    >>> simulation.run().result()
    SimulationResult(binpack, best-effort: 1 of 1 job completed, 25.0 % of the GPUs in use)
    """

    # The parts, each with its own state; all read the same clock:
    #   EventQueue   what happens next: arrivals, ends, breakdowns, repairs, retries
    #   Candidates   the jobs that wait, and why; the discipline decides among them
    #   ActiveJobs   the jobs that hold nodes (HeldNodes) and share a network (NetworkTimes): start, growth, loss, end
    #   Faults       the breakdowns, which stop active jobs and let them wait again
    # An instant: all its events, then, if the retry rule lets it, the discipline, growth and the next retry.

    @named_arguments
    def __init__(
        self,
        snapshot: ClusterSnapshot | Scenario,
        policy: Policy | str,
        jobs: Sequence[SimulatedJob] | JobLog,
        *,
        discipline: Discipline | str = "best-effort",
        breakdowns: Iterable[Breakdown] = (),
        quotas: Mapping[str, Mapping[str, int]] | None = None,
        weights: Mapping[str, float] | None = None,
        retry: RetryRule = AT_CHANGES,
        network: Network | None = None,
    ) -> None:
        snapshot = snapshot_of(snapshot)
        jobs = as_jobs(jobs, snapshot)
        self._discipline = get_discipline(discipline) if isinstance(discipline, str) else discipline
        self._policy = as_policy(policy)
        self._discipline.check(self._policy)
        self._start_of, self._retry = snapshot, retry
        if 0 < retry.cycle_s < _SHORTEST_CYCLE_S:
            got, expected = f"{retry.cycle_s:g}", f"0, or at least {_SHORTEST_CYCLE_S:g} s"
            raise InputError("too short a cycle", source="retry rule", where="cycle_s", got=got, expected=expected)
        if network is not None and network.fabric.topology != snapshot.topology:
            raise InputError("the network is of another topology", source="network", expected="that of the cluster")
        self._runs = runs_of(jobs, self._discipline.rank, alone=retry.backs_off or self._discipline.in_sessions)
        self._kinds_at_first = tuple(run.kind for run in self._runs)
        self._clock, self._events = VirtualClock(), EventQueue[Key]()
        self._nodes = HeldNodes(snapshot, self._policy)
        session = self._nodes.session if self._discipline.in_sessions else None
        limits = {
            name: limit for name, limit in (quotas or {}).items() if session is None or name not in session.queues
        }
        self._active = ActiveJobs(self._clock, self._events, self._nodes, Quotas(limits), network)
        self._candidates = Candidates(
            self._policy, self._active, dict(weights or {}), retry, snapshot.closed, self._runs
        )
        self._candidates.stays_open = session is not None and not limits and not retry.backs_off
        broken = checked_breakdowns(breakdowns, snapshot, network)
        self._faults = Faults(broken, self._runs, self._active, self._candidates)
        self._faults.plan(self._events)
        for run in self._runs:
            self._events.plan((ARRIVAL, run.number), run.job.submitted_s)
        # `_trying`: whether the waiting jobs of the last instant are being tried.
        self._trying, self._n_completed = False, 0
        self._usage: list[Usage] = [Usage(0.0, 0, 0, 0.0, 0)]

    def _kept(self) -> dict[str, Any]:
        # The parts know each other: a copy is made of all of them at once.
        return {**self.__dict__, "_usage": list(self._usage)}

    def __copy__(self) -> Simulation:
        return deepcopy(self, {id(one): one for one in (self._start_of, self._start_of.topology, self._policy)})

    def __repr__(self) -> str:
        jobs = f"{self._n_completed:,} of {counted(len(self._runs), 'job')} completed"
        others = f"{len(self._active.running):,} running, {len(self._candidates):,} waiting"
        by = f"{self._policy.name}, {self._discipline.name}"
        return f"Simulation({by}, at {duration_text(self.now_s)}: {jobs}, {others})"

    @property
    def now_s(self) -> float:
        """Time up to which it has run: of the last event, or the end of `run` if others lie ahead."""
        return self._clock.now

    @property
    def done(self) -> bool:
        """Whether nothing is left to happen; jobs may still wait that fit nowhere."""
        return len(self._events) == 0

    def run(self, until_s: float = float("inf"), progress: ProgressOption = None) -> Simulation:
        """Let time pass up to an instant, or until nothing is left to happen, and return the simulation.

        `until_s`: events at this time still happen. `progress`, if True: show a bar. A function is called with (jobs
        completed, jobs, name of the job) at each completion. Raises InputError: the time lies before `now_s`, or is
        none. Raises Cancelled: the work was cancelled; the simulation can go on from there, and ends as if it had not
        been stopped.
        """
        if not until_s >= self.now_s:
            got, expected = instant_text(until_s), f"{instant_text(self.now_s)} s or later"
            raise InputError("time does not run backwards", source="until_s", got=got, expected=expected)
        if self._trying:
            # The last call was cancelled among the waiting jobs of an instant.
            self._try_waiting()
        with reported(progress) as step:
            while (first := self._events.first) is not None and first[0] <= until_s:
                check()
                self._clock.now = first[0]
                with no_collection():
                    self._instant(step)
                if self._n_completed == len(self._runs):
                    # Breakdowns that lie ahead meet no job.
                    self._events.clear()
        if len(self._events) and until_s < float("inf"):
            self._clock.now = max(self.now_s, until_s)
        return self

    def _instant(self, progress: Progress | None) -> None:
        freed = arrived = due = False
        while (first := self._events.first) is not None and first[0] == self.now_s:
            self._events.drop_first()
            kind, number = first[1]
            if kind == ARRIVAL:
                self._candidates.add(self._runs[number])
                arrived = True
            elif kind == RETRY:
                due = True
            elif kind == BREAK:
                freed = self._faults.strike(number) or freed
            elif kind == REPAIR:
                freed = self._faults.repair(number)
            else:
                self._active.complete(self._runs[number])
                self._n_completed += 1
                freed = True
                if progress is not None:
                    progress(self._n_completed, len(self._runs), self._runs[number].job.gang.name)
        if freed:
            self._candidates.freed()
            self._active.freed()
        self._trying = due or ((freed or arrived) and self._in_a_cycle())
        if self._trying:
            self._try_waiting()
        else:
            self._note_usage()

    def _try_waiting(self) -> None:
        """Try the waiting jobs of an instant; a policy may be cancelled or fail, and then this is called again."""
        self._candidates.head = None
        self._discipline.start(self._candidates)
        while self._candidates.meet_new_pods() and not self._discipline.in_sessions:
            self._discipline.start(self._candidates)
        self._active.grow(self._candidates.head)
        if self._retry.backs_off:
            self._retry_by(self._candidates.next_try_s())
        self._trying = False
        self._note_usage()

    def _note_usage(self) -> None:
        counts = len(self._candidates), len(self._active.running), self._active.gpus, len(self._nodes.broken)
        row = Usage(self.now_s, *counts)
        if row[1:] != self._usage[-1][1:]:
            if self._usage[-1].time_s == row.time_s:
                self._usage.pop()
            self._usage.append(row)

    def _in_a_cycle(self) -> bool:
        """Whether waiting jobs are tried at this instant; if not, the next cycle will try them."""
        at = self._retry.next_cycle(self.now_s)
        if at > self.now_s:
            self._retry_by(at)
        return at <= self.now_s

    def _retry_by(self, at_s: float) -> None:
        """Try the waiting jobs in the first cycle from an instant on, unless an earlier one is planned already."""
        if at_s < float("inf") and (at := self._retry.next_cycle(at_s)) < self._events.time_of(_RETRY):
            self._events.plan(_RETRY, at)

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now: jobs of the simulation run in it, and broken nodes are not ready."""
        return self._nodes.snapshot()

    def result(self) -> SimulationResult:
        """What has happened so far; jobs that run are attempts that end now."""
        # On copies: looking at a simulation changes nothing, not even how a sum is rounded.
        network, active, now = self._active.network, self._active, []
        link_gb = np.zeros(0) if network is None else network.gb.copy()
        for run in active.running.values():
            seen = copy(run)
            seen.running = one = copy(run.attempt)
            active.work(seen, link_gb)
            now.append(one.attempt(run.number, self.now_s, "running", 0.0))
        stand = ((run.number, run.standing) for run in self._runs)
        now += [one.attempt(job, self.now_s) for job, one in stand if one is not None and active.has_stood(one)]
        return SimulationResult(
            self._policy.name,
            self._discipline.name,
            tuple(run.job for run in self._runs),
            tuple(sorted([*active.attempts, *now], key=lambda one: (one.start_s, one.job))),
            tuple(self._usage),
            self._candidates.reasons(in_sessions=self._discipline.in_sessions),
            int(np.bitwise_count(self._start_of.gpu_total).sum()),
            self._start_of.topology.node_names,
            record_provenance(self._start_of, [(self._policy.name, self._policy.parameters)], {}),
            self.now_s,
            self.done,
            () if network is None else tuple(network.steps),
            () if network is None else network.link_use(link_gb),
            tuple(self._candidates.refusals),
            self._kinds_at_first,
        )


def simulate(
    cluster: ClusterSnapshot | Scenario,
    jobs: Sequence[SimulatedJob] | JobLog,
    policy: Policy | str = "volcano",
    *,
    until_s: float = float("inf"),
    progress: ProgressOption = None,
    **options: Any,
) -> SimulationResult:
    """Let jobs arrive, wait, run and end on a cluster, placed by one policy.

    Parameters
    ----------
    cluster : ClusterSnapshot or Scenario
        The cluster at the start; jobs that wait in a scenario are left out.
    jobs : sequence of SimulatedJob, or JobLog
        Jobs with the times of their arrival and their work, such as `workbench.load_jobs` reads.
    until_s : float
        Instant up to which time passes.
    progress : bool or callable, optional
        True: show a bar; a function is called with (jobs completed, jobs, name of the job).
    **options
        Further arguments of `workbench.Simulation`: discipline, breakdowns, quotas, weights, retry, network.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> work = [wb.SimulatedJob(wb.gang(f"job-{i}", pods=5, gpus=8), 0.0, 60.0) for i in range(2)]
    >>> result = wb.simulate(tree, work, "binpack")
    >>> result.to_dataframe()["waited_s"].tolist()
    [0.0, 60.0]
    """
    return Simulation(cluster, policy, jobs, **options).run(until_s, progress).result()
