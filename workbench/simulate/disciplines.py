"""Disciplines: which waiting job of a simulation is tried next, and who may pass whom.

A `Discipline` with its name in the decorator `discipline` can be named in a `Simulation`, a study and on the command
line. Those of other packages are read from the entry-point group ``workbench.disciplines``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, NamedTuple, TypeVar

from workbench.errors import InputError, UnknownNameError, named_arguments
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang
from workbench.policies import get_policy, list_policies
from workbench.policies.contract import Policy, SessionPolicy
from workbench.simulate.candidates import Candidates
from workbench.simulate.job import SimulatedJob
from workbench.simulate.job_run import JobRun, fewest_gpus, most_gpus

__all__ = [
    "DISCIPLINES",
    "Discipline",
    "Reservation",
    "discipline",
    "get_discipline",
    "list_disciplines",
    "reserve",
]

D = TypeVar("D", bound=type)


class Discipline:
    """Base class of disciplines: jobs are tried by rank, then arrival, and pass those ahead that do not fit.

    A derived class overrides `rank`, `start` or both. A discipline keeps nothing between calls, so that a simulation
    can be stopped anywhere and goes on alike.

    `name`: the name that users type. `in_sessions`: whether it hands all waiting jobs to the policy together, so that
    those which ask for the same may wait for different reasons.

    Examples
    --------
    >>> class ShortestFirst(Discipline):
    ...     def rank(self, job):
    ...         return job.duration_s
    """

    name = ""
    in_sessions = False

    def rank(self, job: SimulatedJob) -> Any:
        """What jobs are ordered by before their arrival, the smallest first; asked once, before the simulation."""
        return 0

    def start(self, candidates: Candidates) -> None:
        """Start waiting jobs, at each instant at which they are tried."""
        for run in candidates.in_turn():
            candidates.start(run)

    def check(self, policy: Policy) -> None:
        """Raise an `InputError` for a policy that lacks what the discipline needs."""


_registered: dict[str, type[Discipline]] = {}
_packages_read = False


@named_arguments
def discipline(name: str) -> Callable[[D], D]:
    """Decorator that registers a class derived from `Discipline`, replacing an earlier one of that name.

    `name` is what users type; `InputError` for one that is none or is the workbench's own, or for another class.

    Examples
    --------
    >>> import workbench as wb
    >>> @wb.discipline("shortest")
    ... class Shortest(wb.simulate.Discipline):
    ...     def rank(self, job):
    ...         return job.duration_s
    >>> "shortest" in wb.simulate.list_disciplines()
    True
    """
    if type(name) is not str or not name or name != name.strip():
        raise InputError("not a name for a discipline", source="discipline", got=repr(name), expected="no spaces")
    if name in DISCIPLINES:
        raise InputError("this name is taken by a built-in discipline", source="discipline", got=name)

    def register(kind: D) -> D:
        if not (isinstance(kind, type) and issubclass(kind, Discipline)):
            expected = "a class derived from workbench.simulate.Discipline"
            raise InputError("not a discipline", source=f"discipline {name}", got=repr(kind), expected=expected)
        kind.name = name
        _registered[name] = kind
        return kind

    return register


def list_disciplines() -> tuple[str, ...]:
    """Names of all disciplines: those of the workbench in their order, then others by name."""
    global _packages_read
    if not _packages_read:
        _packages_read = True
        for found in entry_points(group="workbench.disciplines"):
            discipline(found.name)(found.load())
    return (*DISCIPLINES, *sorted(_registered.keys() - set(DISCIPLINES), key=str.encode))


def get_discipline(name: str) -> Discipline:
    """Make a discipline from its name; an `UnknownNameError` offers close names."""
    known = list_disciplines()
    if name not in known:
        raise UnknownNameError("discipline", name, known)
    return (_BUILT_IN.get(name) or _registered[name])()


class BestEffort(Discipline):
    """By arrival; later jobs pass one that does not fit."""

    name = "best-effort"


class Fifo(Discipline):
    """By arrival; a job that does not fit holds up all that came after it."""

    name = "fifo"

    def start(self, candidates: Candidates) -> None:
        for run in candidates.in_turn():
            if not candidates.start(run):
                candidates.hold_up(run)
                for other in candidates.first():
                    if run < other:
                        candidates.pass_over(other)
                return


class Priority(Discipline):
    """Higher `Gang.priority` first, then by arrival; later jobs pass one that does not fit."""

    name = "priority"

    def rank(self, job: SimulatedJob) -> int:
        return -job.gang.priority


class Shares(Discipline):
    """One job after the other, of the queue that then holds the fewest GPUs for its weight (ties: by its name)."""

    name = "shares"

    def start(self, candidates: Candidates) -> None:
        def share(run: JobRun) -> tuple[float, bytes, JobRun]:
            queue = run.job.gang.queue
            return candidates.gpus_of(queue), queue.encode(), run

        started = True
        while started:
            in_order = sorted(candidates.first(), key=share)
            started = any(candidates.admits(run) and candidates.start(run) for run in in_order)


class Backfill(Discipline):
    """By arrival; a later job passes the first one that does not fit only if it does not delay that one.

    That is, by the count of GPUs and the durations it ends before that one could start, or leaves it enough GPUs.
    """

    name = "backfill"

    def start(self, candidates: Candidates) -> None:
        kept: Reservation | None = None
        heap = candidates.first()
        while heap:
            run = heapq.heappop(heap)
            if not candidates.admits(run):
                continue
            fits, passes = candidates.may_fit(run), self._passes(candidates, run, kept)
            if fits and passes and candidates.start(run):
                kept = None if candidates.head is None else self._reservation(candidates, candidates.head)
            elif fits and not passes:
                candidates.pass_over(run)
            else:
                # No other job of this kind fits either.
                if candidates.head is None:
                    candidates.hold_up(run)
                    kept = self._reservation(candidates, run)
                continue
            following = (other for other in candidates.behind(run) if self._passes(candidates, other, kept))
            if (other := next(following, None)) is not None:
                heapq.heappush(heap, other)

    def _passes(self, candidates: Candidates, run: JobRun, kept: Reservation | None) -> bool:
        """Whether a job may start before the first that does not fit, with its fewest pods and with all of them."""
        gpus = run.most_gpus if run.standing is None else most_gpus(candidates.wanted(run))
        return kept is None or kept.lets_pass(candidates.now_s + run.lasts_s, gpus)

    def _reservation(self, candidates: Candidates, head: JobRun) -> Reservation:
        """Reservation for the first job that does not fit; idle GPUs of nodes that take no pods do not count."""
        needed = fewest_gpus(candidates.wanted(head))
        return reserve(needed, candidates.free_gpus, candidates.now_s, candidates.running)


class PolicySession(Discipline):
    """The policy's own session decides on all waiting jobs together: Volcano's queues, enqueue, proportion and turns.

    A session that stays open (`SessionStream`: Kueue's queues) goes on; jobs that it preempts are evicted. Else, at
    every instant at which waiting jobs are tried, one session is held on the cluster as it is then; a job that
    `SessionPolicy.admit` has admitted once stays admitted until it has started. Running jobs that lack pods get theirs
    afterwards, one by one, as in every discipline.
    """

    name = "session"
    in_sessions = True

    def check(self, policy: Policy) -> None:
        if not isinstance(policy, SessionPolicy):
            names = (one.name for one in list_policies() if one.kind != "gpu")
            having = " or ".join(name for name in names if isinstance(get_policy(name), SessionPolicy))
            what, source = "the policy has no session of its own", "discipline session"
            raise InputError(what, source=source, got=policy.name, expected=having)

    def start(self, candidates: Candidates) -> None:
        if candidates.session is not None:
            going_on = True
            while going_on:
                for run, result in candidates.decided():
                    candidates.start(run, result)
                going_on = candidates.evict()
            return
        policy = candidates.policy
        assert isinstance(policy, SessionPolicy)
        runs = [run for run in candidates if candidates.admits(run) and not candidates.backs_off(run)]
        if not runs:
            return
        snapshot = candidates.snapshot()
        gangs = [_in_queue(candidates.wanted(run), run.admitted) for run in runs]
        admitted = [why is None for why in policy.admit(gangs, snapshot)]
        decisions = policy.schedule(list(map(_in_queue, gangs, admitted)), snapshot)
        # Nothing is changed before all is decided: a policy may fail, or be cancelled, and is then asked again.
        for run, enters in zip(runs, admitted, strict=True):
            run.admitted = enters
        for run, decision in sorted(zip(runs, decisions, strict=True), key=lambda one: one[1].turn):
            # Jobs that start take from the quota of those behind them.
            if candidates.admits(run):
                candidates.start(run, decision.result)


def _in_queue(gang: Gang, admitted: bool) -> Gang:
    """A gang as its scheduler sees it, which remembers whether it was admitted."""
    return gang.with_extra(replace(gang.extra(VolcanoMemory), inqueue=True)) if admitted else gang


class Reservation(NamedTuple):
    """GPUs that backfilling reserves for the first job that does not fit, by their count alone.

    `begins_s`: when enough GPUs will be free; infinite: never, as far as is known. `spare`: GPUs that will be free then
    beyond those that it needs.
    """

    begins_s: float
    spare: int

    def lets_pass(self, ends_s: float, gpus: int) -> bool:
        """Whether a job that ends at `ends_s` and takes `gpus` GPUs may start before."""
        return ends_s <= self.begins_s or gpus <= self.spare


def reserve(needed: int, free: int, now_s: float, running: Iterable[tuple[float, int]]) -> Reservation:
    """Reserve GPUs for a job that does not fit now.

    `needed`, `free`, `now_s`, `running`: GPUs that it needs; those that are free now; end and GPUs of each running job.
    """
    begins, later = float("inf"), free
    ends: dict[float, int] = {}
    for end, gpus in running:
        ends[end] = ends.get(end, 0) + gpus
    for end in sorted(ends):
        # Where GPUs enough are free, but not where the job can use them, the next change is the first chance.
        later += ends[end]
        if later >= needed and end > now_s:
            begins = end
            break
    return Reservation(begins, later - needed if begins < float("inf") else 0)


_BUILT_IN: dict[str, type[Discipline]] = {
    kind.name: kind for kind in (Fifo, BestEffort, Priority, Backfill, Shares, PolicySession)
}
#: Disciplines of the workbench.
DISCIPLINES = tuple(_BUILT_IN)
