"""`Network` and `SharedLinks`: how fast the steps of jobs are that share the links of a fabric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from workbench.errors import UnknownNameError
from workbench.evaluate.contention.fabric import RoutedFabric
from workbench.evaluate.contention.traffic import JobTraffic, TrainingStep, job_traffic
from workbench.kernels.fair_rates import fair_rates
from workbench.model.placement import Placement
from workbench.model.value import Value, Working

__all__ = ["PHASES", "Network", "Phases", "SharedLinks", "StepTimes"]

Phases = Literal["together", "interleaved"]
PHASES: tuple[str, ...] = get_args(Phases)

_NEVER = float("inf")


@dataclass(frozen=True, eq=False)
class Network(Value):
    """A fabric, and when its jobs send.

    `phases` ({"together", "interleaved"}): the two ends of what the phases of jobs do. ``together``: whenever a job
    sends, so do all others, and a step is its compute and its traffic at that rate. ``interleaved``: jobs send while
    others compute, as far as the links can carry all their steps at all: each asks for its mean rate, and a step takes
    as long as alone while the links are not full.
    """

    fabric: RoutedFabric
    phases: Phases = "together"

    def __post_init__(self) -> None:
        if self.phases not in PHASES:
            raise UnknownNameError("phases", self.phases, PHASES)


@dataclass(frozen=True)
class StepTimes:
    """Seconds of a step of one job, as long as no job starts or ends beside it.

    `card_s`: if nothing but the network cards of its own nodes limited it. `alone_s`: without other jobs. `now_s`:
    beside the other jobs; infinite: a link that it needs carries nothing.
    """

    card_s: float
    alone_s: float
    now_s: float


class _Member:
    """A job on the network: its traffic, and its fastest step alone."""

    __slots__ = ("alone", "card", "placement", "rate", "step", "traffic", "weight")

    def __init__(self, placement: Placement, step: TrainingStep) -> None:
        self.placement, self.step = placement, step
        self.traffic = JobTraffic(np.empty(0, dtype=np.int32), np.empty(0), 0.0)
        # Steps of traffic per second: cards only, alone, and now.
        self.card = self.alone = self.rate = _NEVER
        self.weight = 1.0


class SharedLinks(Working):
    """The jobs that are on a network now, and the times of their steps.

    The flows of a job run in lock-step, as those of a ring do: the slowest link that it crosses sets the rate of all of
    them. Links are shared max-min fairly, flow by flow.

    Notes
    -----
    A change costs the jobs that share links with those that changed, directly or over others; links that one job has
    for itself enter as the most that it can use.
    """

    # `join`, `leave` and `change_broken` change which flows are on which links (`_route`), then call `_settle`: it
    # finds the jobs that the changed links reach (`_reached`), computes their max-min fair rates together, and returns
    # the step times (`_times`) of those whose rate is new.

    def __init__(self, network: Network) -> None:
        self.network = network
        self._whole = network.fabric.link_gb_s()
        self._capacity = self._whole
        self._members: dict[int, _Member] = {}
        self._users = np.zeros(len(self._capacity), dtype=np.int32)
        self._broken: frozenset[int] = frozenset()

    def join(self, job: int, placement: Placement, step: TrainingStep) -> dict[int, StepTimes]:
        """Add a job, and return the times of all jobs whose steps it changes, its own among them.

        `job`: number of the job; not one that is on the network. Raises InputError: the shape of the step does not fit
        the placement.
        """
        member = _Member(placement, step)
        self._route(job, member)
        self._members[job] = member
        return self._settle([job], member.traffic.link)

    def leave(self, job: int) -> dict[int, StepTimes]:
        """Remove a job, and return the times of all jobs whose steps that changes."""
        member = self._members.pop(job)
        self._users[member.traffic.link] -= 1
        return self._settle([], member.traffic.link)

    def change_broken(self, cables: frozenset[int]) -> dict[int, StepTimes]:
        """Say which cables are broken now; jobs take others where there are some.

        Returns: the step times of all jobs whose steps that changes.
        """
        changed = sorted(self._broken ^ cables)
        self._broken = cables
        links = np.array([2 * cable + way for cable in changed for way in (0, 1)], dtype=np.int64)
        self._capacity = self._whole.copy()
        self._capacity[[2 * cable + way for cable in cables for way in (0, 1)]] = 0.0
        moved = []
        touched: list[npt.NDArray[np.integer]] = [links]
        for job, member in self._members.items():
            if member.traffic.largest_gb:
                before, gb = member.traffic.link, member.traffic.gb
                self._users[before] -= 1
                self._route(job, member)
                after = member.traffic
                # The same links may carry other shares of the flows.
                same = np.array_equal(before, after.link) and np.array_equal(gb, after.gb)
                if not same or np.isin(links, before).any():
                    moved.append(job)
                    touched += [before, after.link]
        return self._settle(moved, np.unique(np.concatenate(touched)))

    def traffic(self, job: int) -> JobTraffic:
        """The traffic that a step of a job on the network puts on each link."""
        return self._members[job].traffic

    def _route(self, job: int, member: _Member) -> None:
        fabric = self.network.fabric
        traffic = job_traffic(fabric, member.placement, member.step, job, self._broken)
        member.traffic = traffic
        self._users[traffic.link] += 1
        if not traffic.largest_gb:
            return
        member.weight = 1 / traffic.largest_gb
        cards = traffic.link < 2 * fabric.n_card_cables
        # What the cards allow is the measure of a job's work; a broken card slows the job against it.
        member.card = float((self._whole[traffic.link][cards] / traffic.gb[cards]).min())
        member.alone = float((self._capacity[traffic.link] / traffic.gb).min())

    def _settle(self, changed: list[int], links: npt.NDArray[np.integer]) -> dict[int, StepTimes]:
        """Compute the rates of all jobs that some links reach, and return the times of those that have new ones."""
        reached = self._reached(changed, links)
        start, link, load, demand = [0], [], [], []
        for job in reached:
            member = self._members[job]
            traffic = member.traffic
            shared = self._users[traffic.link] > 1
            own = self._capacity[traffic.link][~shared] / traffic.gb[~shared]
            wished = float(own.min()) if len(own) else _NEVER
            if self.network.phases == "interleaved":
                alone_s = member.step.compute_s + 1 / member.alone if member.alone else _NEVER
                wished = min(wished, 1 / alone_s)
            link.append(traffic.link[shared])
            load.append(traffic.gb[shared])
            demand.append(wished)
            start.append(start[-1] + int(shared.sum()))
        if reached:
            rates = fair_rates(
                np.array(start, dtype=np.int64),
                np.concatenate(link),
                np.concatenate(load),
                self._capacity,
                weight=np.array([self._members[job].weight for job in reached]),
                demand=np.array(demand),
            )
            for job, rate in zip(reached, rates.tolist(), strict=True):
                if rate != self._members[job].rate:
                    self._members[job].rate = rate
                    changed = changed if job in changed else [*changed, job]
        return {job: self._times(self._members[job]) for job in sorted(changed)}

    def _reached(self, changed: list[int], links: npt.NDArray[np.integer]) -> list[int]:
        """Jobs that send over these links, or share links with such jobs, directly or over others; by number."""
        marked = np.zeros(len(self._capacity), dtype=bool)
        marked[links] = True
        far = {job for job, member in self._members.items() if member.traffic.largest_gb}
        near = far & set(changed)
        far -= near
        for job in near:
            marked[self._members[job].traffic.link] = True
        grew = True
        while grew:
            found = {job for job in far if marked[self._members[job].traffic.link].any()}
            for job in found:
                marked[self._members[job].traffic.link] = True
            near |= found
            far -= found
            grew = bool(found)
        return sorted(near)

    def _times(self, member: _Member) -> StepTimes:
        compute = member.step.compute_s

        def seconds(rate: float) -> float:
            return compute + 1 / rate if rate else _NEVER

        now = seconds(member.rate)
        if self.network.phases == "interleaved" and member.traffic.largest_gb:
            now = 1 / member.rate if member.rate else _NEVER
        return StepTimes(seconds(member.card), seconds(member.alone), now)
