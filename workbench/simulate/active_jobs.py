"""`ActiveJobs`: the jobs of a simulation that hold nodes, from their start over growth and faults to their end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.evaluate.contention import Network, SharedLinks, StepTimes
from workbench.model.clock import EventQueue, VirtualClock
from workbench.model.extras import FormerPod
from workbench.model.gang import Gang
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.placement import Placement, Refusal
from workbench.simulate.held_nodes import HeldNodes, held_gpus, smallest_missing
from workbench.simulate.job_run import JobRun, RunningJob, StandingJob
from workbench.simulate.lost_pods import after_fault, can_go_on, former_pods, missing_pods, with_pods_placed_again
from workbench.simulate.result import Attempt, LinkUse, StepRow
from workbench.simulate.waiting import code_of

__all__ = ["ARRIVAL", "BREAK", "END", "REPAIR", "RETRY", "ActiveJobs", "Key", "NetworkTimes", "Quotas"]


Floats = npt.NDArray[np.float64]

#: Kinds of events; those of one instant happen in this order: what frees nodes comes before what takes them.
END, REPAIR, BREAK, ARRIVAL, RETRY = range(5)

#: Kind of an event, and the number of its job or breakdown (0: a retry).
Key = tuple[int, int]

#: Code of a placement without any pod.
_NO_POD = "gang-incomplete"


class Quotas:
    """What queues may hold at most, by queue and resource, in base units, and what they hold.

    A queue or a resource that is missing in `limits` has no limit; a negative one is an `InputError`.
    """

    def __init__(self, limits: Mapping[str, Mapping[str, int]]) -> None:
        self._limits = limits
        self._held: dict[str, dict[str, int]] = {}
        for queue, amounts in limits.items():
            for name, amount in amounts.items():
                if amount < 0:
                    raise InputError("a negative quota", source=f"queue {queue}", where=name, got=str(amount))

    def admits(self, gang: Gang) -> bool:
        """Whether the queue of a gang may hold all its pods beside what it holds."""
        limits = self._limits.get(gang.queue)
        if not limits:
            return True
        held = self._held.get(gang.queue, {})
        asked = _total(gang)
        return all(held.get(name, 0) + asked.get(name, 0) <= limit for name, limit in limits.items())

    def change(self, gang: Gang, sign: int) -> None:
        """Count a gang that starts (1) or ends (-1)."""
        if gang.queue in self._limits:
            held = self._held.setdefault(gang.queue, {})
            for name, amount in _total(gang).items():
                held[name] = held.get(name, 0) + sign * amount


def _total(gang: Gang) -> dict[str, int]:
    total: dict[str, int] = {}
    for role in gang.roles:
        for name, amount in role.requests.items():
            total[name] = total.get(name, 0) + amount * role.count
    return total


class NetworkTimes:
    """The jobs of a simulation that send over a network: their step times change as others come and go.

    `steps`: every change of a step time so far. `gb` (ndarray of shape (links,), float64): GB that each link has
    carried.
    """

    def __init__(self, network: Network) -> None:
        self._links = SharedLinks(network)
        self.steps: list[StepRow] = []
        self.gb: Floats = np.zeros(2 * network.fabric.n_cables)
        # By cable: how many breakdowns it suffers from.
        self._broken: dict[int, int] = {}

    def started(self, run: JobRun, placement: Placement) -> Mapping[int, StepTimes]:
        """Let a job send from its placement on; returns the new times of all jobs whose steps that changes, by number.

        `left` and `change_cables` return such times, too.
        """
        assert run.job.step is not None
        return self._links.join(run.number, placement, run.job.step)

    def left(self, run: JobRun) -> Mapping[int, StepTimes]:
        """Take out a job that no longer runs."""
        return self._links.leave(run.number)

    def change_cables(self, cables: tuple[int, ...], by: int) -> Mapping[int, StepTimes]:
        """Count a breakdown of cables (1), or its repair (-1)."""
        for cable in cables:
            self._broken[cable] = self._broken.get(cable, 0) + by
            if not self._broken[cable]:
                del self._broken[cable]
        return self._links.change_broken(frozenset(self._broken))

    def count(self, number: int, steps: float, gb: Floats) -> None:
        """Add the GB that a job has sent to the GB carried by each link.

        `number`, `steps`: of the job; of its training. `gb`: ndarray of shape (links,), float64.
        """
        traffic = self._links.traffic(number)
        gb[traffic.link] += traffic.gb * steps

    def link_use(self, gb: Floats) -> tuple[LinkUse, ...]:
        """Links that carried anything, given the GB of each link, float64 (links,)."""
        fabric = self._links.network.fabric
        capacity = fabric.link_gb_s()
        return tuple(
            LinkUse(*fabric.cable(link // 2), ("up", "down")[link % 2], float(capacity[link]), float(gb[link]))
            for link in np.flatnonzero(gb).tolist()
        )


class ActiveJobs:
    """The jobs of a simulation that hold nodes: those that run, and those that stand still for lost pods.

    `running`: by number, in the order of their starts. `attempts`: those that are over. `clock`, `nodes`, `quotas`,
    `network`: shared with the other parts of the simulation; without a network every job works as fast anywhere.
    `events`: where the ends of running jobs are planned.
    """

    # Overview:
    #   start, complete      a waiting job gets nodes; a job whose work is done gives them back
    #   lose, evict          a fault takes pods: the job stands still on the rest, or stops; preemption stops it
    #   grow                 running jobs get more of their pods
    #   work, _foretell      what was done up to now, and when it will end: again whenever the network changes its speed
    # Every change goes through `_count`, which keeps the sums of GPUs and queues.

    def __init__(
        self, clock: VirtualClock, events: EventQueue[Key], nodes: HeldNodes, quotas: Quotas, network: Network | None
    ) -> None:
        self.clock, self.nodes, self.quotas, self._events = clock, nodes, quotas, events
        self.running: dict[int, JobRun] = {}
        self.attempts: list[Attempt] = []
        self.network = None if network is None else NetworkTimes(network)
        # In thousandths of GPUs, which add up exactly.
        self._milli_of_queue: dict[str, int] = {}
        # Running jobs with fewer pods than they could have, in the order of their starts, and those among them that
        # got none since something was freed.
        self._growing: dict[int, JobRun] = {}
        self._refused: set[int] = set()

    @property
    def gpus(self) -> float:
        """GPUs in use."""
        return sum(self._milli_of_queue.values()) / WHOLE_GPU

    def milli_of(self, queue: str) -> int:
        """Thousandths of GPUs that the jobs of a queue hold."""
        return self._milli_of_queue.get(queue, 0)

    def start(self, run: JobRun, answer: Placement | Refusal | None = None) -> str:
        """Start a waiting job if it can be placed; return the code of the reason if not, else an empty text.

        `answer`: what a session of the policy has decided on the pods that it waits for; None: the policy is asked.
        """
        former = run.standing.former if run.standing is not None else ()
        placement = self._placed(run, answer)
        if isinstance(placement, str):
            return placement
        begins = self.clock.now + (run.job.restart_s if run.n_starts else 0.0)
        run.n_starts += 1
        run.running = RunningJob(placement, self.clock.now, begins, run.job.time_for(run.ahead_s), former)
        self.running[run.number] = run
        if placement.n_placed < run.job.gang.n_pods and not run.job.gang.jobs:
            self._growing[run.number] = run
        if self.network is not None and run.job.step is not None:
            self._retime(self.network.started(run, placement))
        else:
            self._foretell(run)
        self._count(run, run.running, 1)
        return ""

    def _placed(self, run: JobRun, answer: Placement | Refusal | None) -> Placement | str:
        """The placement of the whole job, which holds its nodes from now on, or the code of a reason."""
        number, stood = run.number, run.standing
        if stood is None:
            found = self.nodes.place(number, run.job.gang) if answer is None else answer
            if not isinstance(found, Placement):
                return code_of(found)
            if answer is None and not found.n_placed:
                # Of a gang that needs no pod, and gets none.
                self.nodes.release(number)
            elif answer is not None and found.n_placed:
                self.nodes.adopt(number, found)
            return found if found.n_placed else _NO_POD
        found = self.nodes.decide(run.wanted(self.nodes.broken_names)).result if answer is None else answer
        if isinstance(found, Placement) and found.n_placed:
            whole = with_pods_placed_again(stood.placement, found)
        elif can_go_on(stood.placement):
            whole = stood.placement
        else:
            return _NO_POD if isinstance(found, Placement) else code_of(found)
        self._stop_standing(run)
        self.nodes.adopt(number, whole)
        return whole

    def complete(self, run: JobRun) -> None:
        """End a job whose work is done."""
        self._leave(run, "completed", run.ahead_s)
        run.ahead_s = 0.0

    def lose(self, run: JobRun, lost: npt.NDArray[np.bool_]) -> None:
        """Stop a job, which runs or stands still; pods that are not `lost`, bool (n_pods,), may keep their nodes."""
        former: tuple[FormerPod, ...] = ()
        if run.standing is not None:
            placement, former = run.standing.placement, run.standing.former
            self._stop_standing(run)
        else:
            placement = run.attempt.placement
            self.evict(run)
        left = after_fault(placement, lost, by_pods=run.job.restarts == "pods")
        if left is not None:
            self.nodes.adopt(run.number, left)
            former = () if placement.gang.jobs else (*former, *former_pods(placement, lost))
            run.standing = StandingJob(left, self.clock.now, held_gpus(left), former)
            self._count(run, run.standing, 1)

    def evict(self, run: JobRun) -> None:
        """Stop a running job, which gives up all its nodes and keeps the work of its last checkpoint."""
        one, job = run.attempt, run.job
        self.work(run)
        saved = job.saved_after(one.done_s, run.ahead_s)
        self._leave(run, "stopped", saved, job.worked_in(one.done_s) - saved)
        run.stop(saved)

    def _stop_standing(self, run: JobRun) -> None:
        one = run.standing
        assert one is not None
        run.standing = None
        self.nodes.release(run.number)
        self._count(run, one, -1)
        if self.has_stood(one):
            self.attempts.append(one.attempt(run.number, self.clock.now))

    def has_stood(self, one: StandingJob) -> bool:
        """Whether a job has held nodes while it stood still, for longer than an instant."""
        return one.start_s < self.clock.now and one.placement.n_placed > 0

    def _leave(self, run: JobRun, outcome: str, saved_s: float, undone_s: float = 0.0) -> None:
        """End the attempt of a running job and free what it holds; `undone_s`: seconds of work that are lost."""
        one = run.attempt
        self.work(run)
        run.running = None
        del self.running[run.number]
        self._growing.pop(run.number, None)
        self._events.cancel((END, run.number))
        self.nodes.release(run.number)
        self._count(run, one, -1)
        self.attempts.append(one.attempt(run.number, self.clock.now, outcome, saved_s, undone_s))
        if self.network is not None and run.job.step is not None:
            self._retime(self.network.left(run))

    def work(self, run: JobRun, gb: Floats | None = None) -> None:
        """Count what a running job has done and sent up to now, in `gb`, float64 (links,), or that of the network."""
        one = run.attempt
        before = one.done_s
        one.work_until(self.clock.now)
        if self.network is not None and run.job.step is not None and one.step_s:
            self.network.count(run.number, (one.done_s - before) / one.step_s, self.network.gb if gb is None else gb)

    def change_cables(self, cables: tuple[int, ...], by: int) -> None:
        """Count a breakdown of cables (1), or its repair (-1), and foretell the ends of jobs that it slows or frees."""
        if self.network is not None and cables:
            for run in self.running.values():
                self.work(run)
            self._retime(self.network.change_cables(cables, by))

    def _retime(self, times: Mapping[int, StepTimes]) -> None:
        """Foretell the ends of jobs whose steps take another time from now on."""
        assert self.network is not None
        for number, found in times.items():
            run = self.running[number]
            self.work(run)
            run.attempt.step_s = found.card_s
            run.attempt.slowdown = found.now_s / found.card_s if found.card_s else 1.0
            self.network.steps.append(StepRow(self.clock.now, number, found.card_s, found.alone_s, found.now_s))
            self._foretell(run)

    def _foretell(self, run: JobRun) -> None:
        """Plan the end of a running job as an event."""
        end = run.attempt.end_s
        if end < float("inf"):
            self._events.plan((END, run.number), end)
        else:
            self._events.cancel((END, run.number))

    def freed(self) -> None:
        """Note that resources were freed, so that every job may grow again."""
        self._refused.clear()

    def grow(self, head: JobRun | None) -> None:
        """Give running jobs more of their pods, in the order of their starts; none that came after `head`."""
        for number, run in list(self._growing.items()):
            one = run.attempt
            if head is not None and head < run:
                continue
            if number in self._refused or smallest_missing(one.placement) > self.nodes.free_gpus:
                continue
            found = self.nodes.decide(missing_pods(one.placement, one.former, self.nodes.broken_names)).result
            if not isinstance(found, Placement) or not found.n_placed:
                self._refused.add(number)
                continue
            self.work(run)
            self._count(run, one, -1)
            self.nodes.extend(number, found)
            placement = self.nodes.placement(number)
            row = one.grow(number, self.clock.now, placement)
            if row.end_s > row.start_s:
                self.attempts.append(row)
            self._count(run, one, 1)
            self._foretell(run)
            if placement.n_placed == placement.gang.n_pods:
                del self._growing[number]

    def _count(self, run: JobRun, one: RunningJob | StandingJob, sign: int) -> None:
        """Count what a job holds from now on (1), or holds no longer (-1)."""
        gang = run.job.gang
        self.quotas.change(gang, sign)
        self._milli_of_queue[gang.queue] = self.milli_of(gang.queue) + sign * round(one.gpus * WHOLE_GPU)
