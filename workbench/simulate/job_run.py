"""`JobRun`: a job of a simulation with its state: waiting, running (`RunningJob`) or standing (`StandingJob`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from workbench.errors import InputError
from workbench.model.extras import FormerPod
from workbench.model.gang import Gang
from workbench.model.placement import Placement
from workbench.model.pod_rules import NO_RULES
from workbench.simulate.held_nodes import held_gpus, pace_of, whole_gpus
from workbench.simulate.job import SimulatedJob
from workbench.simulate.lost_pods import missing_pods
from workbench.simulate.result import Attempt

__all__ = ["JobRun", "RunningJob", "StandingJob", "fewest_gpus", "kind_of", "most_gpus", "runs_of"]


@dataclass(slots=True)
class RunningJob:
    """One attempt of a job under way.

    Attributes
    ----------
    start_s, begins_s : float
        When it was placed, or last got more pods; when its work goes on, after a restart.
    total_s, done_s : float
        Seconds that it needs from then on with all its pods and free links, checkpoints included; those that are done.
    former : tuple of FormerPod
        Ranks and nodes of pods that it lost to faults and goes on without.
    gpus, whole : float, int
        GPUs that it holds, a share as a part of one; whole GPUs among them.
    pace, slowdown : float
        Seconds that one second of `total_s` takes with the pods that run: 1 with all of them; by how much the links
        make that longer now.
    since_s : float
        Until when `done_s` is counted.
    step_s : float
        Seconds of `total_s` that one training step is; 0: none is known.
    unslowed_s, told_slowed_s : float
        Seconds that `done_s` would have taken if no link had slowed it; seconds of slow links that rows hold already.
    """

    placement: Placement
    start_s: float
    begins_s: float
    total_s: float
    former: tuple[FormerPod, ...] = ()
    gpus: float = field(init=False)
    whole: int = field(init=False)
    pace: float = field(init=False)
    done_s: float = 0.0
    since_s: float = 0.0
    slowdown: float = 1.0
    step_s: float = 0.0
    unslowed_s: float = 0.0
    told_slowed_s: float = 0.0

    def __post_init__(self) -> None:
        self.since_s = self.begins_s
        self._measure()

    def _measure(self) -> None:
        """Keep the sizes of the placement: backfilling reads them of every running job at every event."""
        self.gpus, self.whole = held_gpus(self.placement), whole_gpus(self.placement)
        self.pace = pace_of(self.placement)

    def work_until(self, now_s: float) -> None:
        """Count the work up to an instant, which is not before the last one."""
        if now_s > self.since_s:
            before = self.done_s
            self.done_s = min(before + (now_s - self.since_s) / (self.pace * self.slowdown), self.total_s)
            self.unslowed_s += (self.done_s - before) * self.pace
            self.since_s = now_s

    @property
    def end_s(self) -> float:
        """When it will be done if nothing changes; infinite: never."""
        left = self.total_s - self.done_s
        return self.since_s + left * self.pace * self.slowdown if left else self.since_s

    def attempt(self, job: int, end_s: float, outcome: str, saved_s: float, undone_s: float = 0.0) -> Attempt:
        """The attempt as it ends now.

        `job`, `end_s`, `outcome`, `saved_s`: as for `Attempt`. `undone_s`: seconds of work, with all pods, that are
        lost.
        """
        slowed = _seconds(end_s - self.begins_s - self.unslowed_s)
        # At the present pace: GPU-seconds of a second of work are the same with few pods as with all.
        redone = undone_s * self.pace
        nodes = tuple(self.placement.node.tolist())
        told, self.told_slowed_s = self.told_slowed_s, slowed
        return Attempt(job, self.start_s, end_s, outcome, saved_s, nodes, self.gpus, _seconds(slowed - told), redone)

    def grow(self, job: int, now_s: float, placement: Placement) -> Attempt:
        """Go on with more pods; returns the time with the former ones as a row of the result.

        `job`, `now_s`, `placement`: number of the job; up to when work is counted; placement with the further pods.
        """
        row = self.attempt(job, now_s, "grown", 0.0)
        self.placement, self.start_s = placement, now_s
        self._measure()
        return row


def _seconds(difference: float) -> float:
    """Clamp rounding errors of a subtraction to 0."""
    return difference if difference > 1e-6 else 0.0


@dataclass(frozen=True, slots=True)
class StandingJob:
    """A job that holds nodes, and does no work, while pods that it lost to a fault wait for others.

    Lost pods, and those of a HyperJob's Jobs that have stopped, are unplaced in `placement`; `former` has ranks and
    nodes of the lost pods, and is empty for a HyperJob.
    """

    placement: Placement
    start_s: float
    gpus: float
    former: tuple[FormerPod, ...] = ()

    def missing(self, faulty: Collection[str]) -> Gang:
        """The gang of the pods that have no node; `faulty` holds the names of the nodes that are broken now."""
        return missing_pods(self.placement, self.former, faulty)

    def attempt(self, job: int, end_s: float) -> Attempt:
        """The time that the job has stood still, as a row of `SimulationResult.attempts`."""
        nodes = tuple(self.placement.node.tolist())
        return Attempt(job, self.start_s, end_s, "standing", 0.0, nodes, self.gpus)


@dataclass(eq=False, slots=True)
class JobRun:
    """A job of a simulation and its state; a `Discipline` reads it and must not change it.

    Runs are ordered as they wait: by rank, arrival and number.

    Attributes
    ----------
    number, kind : int
        Position among the jobs of the simulation; jobs of one kind ask for the same (`SimulationResult.kinds`).
    rank : any
        What the discipline ranks the job by; the smallest comes first.
    least_gpus, most_gpus : int
        Fewest whole GPUs with which it starts, and those of all its pods; a share counts as a whole one in the latter.
    lasts_s, ahead_s : float
        Seconds from its next start to its end, at most; seconds of its work that no checkpoint holds.
    n_starts, n_refusals : int
        How often it has started, and was refused since it last ran.
    not_before_s : float
        Until when it backs off.
    evicted_s : float
        When it was last stopped for a job that preempted it; -1: never.
    admitted : bool
        A session of the policy has admitted it since it last ran (`SessionPolicy.admit`).
    running, standing : RunningJob, StandingJob, optional
        Its attempt; while it waits for lost pods, those that hold their nodes.
    """

    number: int
    job: SimulatedJob
    kind: int
    rank: Any = 0
    least_gpus: int = field(init=False)
    most_gpus: int = field(init=False)
    lasts_s: float = field(init=False)
    ahead_s: float = field(init=False)
    n_starts: int = 0
    n_refusals: int = 0
    not_before_s: float = 0.0
    evicted_s: float = -1.0
    admitted: bool = False
    running: RunningJob | None = None
    standing: StandingJob | None = None

    def __post_init__(self) -> None:
        gang = self.job.gang
        self.least_gpus, self.most_gpus = fewest_gpus(gang), most_gpus(gang)
        self.ahead_s = self.job.duration_s
        self.lasts_s = self.job.time_for(self.ahead_s) * slowest_pace(gang)

    def __lt__(self, other: JobRun) -> bool:
        mine = self.rank, self.job.submitted_s, self.number
        return mine < (other.rank, other.job.submitted_s, other.number)

    @property
    def attempt(self) -> RunningJob:
        """The attempt of a job that runs."""
        assert self.running is not None
        return self.running

    @property
    def holds_nodes(self) -> bool:
        """Whether it stands still with pods that hold nodes."""
        return self.standing is not None and self.standing.placement.n_placed > 0

    def wanted(self, faulty: Collection[str]) -> Gang:
        """The pods that it waits for; `faulty` holds the names of the nodes that are broken now."""
        return self.job.gang if self.standing is None else self.standing.missing(faulty)

    def stop(self, saved_s: float) -> None:
        """Begin to wait again after a fault, with `saved_s` more seconds of work in checkpoints."""
        self.ahead_s -= saved_s
        self.lasts_s = self.job.restart_s + self.job.time_for(self.ahead_s) * slowest_pace(self.job.gang)


def fewest_gpus(gang: Gang) -> int:
    """Whole GPUs without which a gang cannot start: those of its smallest pods, or Jobs, as many as it needs."""
    if gang.jobs:
        sizes = sorted(fewest_gpus(job.gang) for job in gang.jobs if job.gang is not None)
        return sum(sizes[: max(sum(gang.min_subgroups.values()), 1)])
    counts = sorted(role.n_gpus for role in gang.roles for _ in range(role.count))
    return sum(counts[: max(gang.min_available - gang.ready, 0)])


def most_gpus(gang: Gang) -> int:
    """GPUs that all pods of a gang take; a share of a GPU counts as a whole one."""
    return sum(role.count * (role.n_gpus or (1 if role.gpu_milli else 0)) for role in gang.roles)


def slowest_pace(gang: Gang) -> float:
    """Seconds that a second of work takes at most: with the fewest pods with which a gang starts."""
    if gang.jobs:
        sizes = sorted(job.gang.n_pods for job in gang.jobs if job.gang is not None)
        pods = sum(sizes[: max(sum(gang.min_subgroups.values()), 1)])
    else:
        pods = max(gang.min_available - gang.ready, 1)
    return gang.n_pods / min(max(pods, 1), gang.n_pods)


#: Fields that name a gang, and those that `kind_of` reads one by one; every other field must have its default.
_READ = {"namespace", "name", "uid", "created", "notes"}
_READ |= {"roles", "min_available", "constraint", "queue", "priority", "kind"}
_DEFAULTS = {
    each.name: getattr(Gang("", "", (), 0), each.name) for each in fields(Gang) if each.init and each.name not in _READ
}


def kind_of(gang: Gang) -> Hashable | None:
    """Key that is equal for gangs that ask for the same: roles, minimum, constraint, queue and priority.

    None for a gang with anything else (a HyperJob, sub-groups, requests of one scheduler, labels, affinity to pods),
    which is a kind of its own.
    """
    if any(getattr(gang, name) != default for name, default in _DEFAULTS.items()):
        return None
    roles: list[Hashable] = []
    for role in gang.roles:
        if role.labels or role.annotations or role.succeeded or role.pod_names or role.pod_uids or role.depends_on:
            return None
        if role.rules != NO_RULES:
            return None
        requests, assumed = tuple(role.requests.items()), tuple(role.assumed.items())
        asked = (role.count, requests, role.container_gpus, role.gpu_milli, assumed)
        roles.append((*asked, role.min_available, role.filter, role.priority))
    return (tuple(roles), gang.min_available, gang.constraint, gang.queue, gang.priority, gang.kind)


def runs_of(jobs: Iterable[SimulatedJob], rank: Callable[[SimulatedJob], Any], *, alone: bool) -> tuple[JobRun, ...]:
    """Jobs as they are before a simulation; refuses two of one name.

    `jobs`, `rank`, `alone`: the jobs; their rank by the discipline; whether each is a kind of its own, even if it asks
    for the same.
    """
    runs: list[JobRun] = []
    numbers: dict[Hashable, int] = {}
    seen: set[str] = set()
    for number, job in enumerate(jobs):
        if job.gang.key in seen:
            raise InputError("two jobs with the same name", source="simulation", got=job.gang.key)
        seen.add(job.gang.key)
        kind = None if alone else kind_of(job.gang)
        of_kind = numbers.setdefault(("alone", number) if kind is None else kind, len(numbers))
        runs.append(JobRun(number, job, of_kind, rank(job)))
    return tuple(runs)
