"""Phases of jobs that share a link: which shifts in time make their transfers fit beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.evaluate.cost.checks import keep_whole, not_negative, positive, whole
from workbench.evaluate.cost.max_min import exact

__all__ = ["MAX_TUPLES", "Circle", "RotatingJob", "Rotation", "best_rotation", "time_shifts"]

#: Tuples of shifts that a search tries at most, and slots that it adds up for them.
MAX_TUPLES = 2_000_000
_MAX_SLOTS = 4_000_000_000
#: Slots of all shifts of a job that are kept at once.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class RotatingJob:
    """A job whose traffic on a link repeats.

    Attributes
    ----------
    name : str
    period : int
        Iteration time.
    phases : tuple of (int, int, float)
        (start, length, rate in GB/s) within the period; a phase may run over the end into the beginning.

    Raises
    ------
    InputError
        A number is negative, or a time not whole; a phase is longer than the period.
    """

    name: str
    period: int
    phases: tuple[tuple[int, int, float], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", whole(self.period, f"period of {self.name}"))
        phases = []
        for start, length, gb_s in self.phases:
            begin, lasts = (whole(each, f"phase of {self.name}", 0) for each in (start, length))
            if lasts > self.period:
                expected = f"at most {self.period}"
                raise InputError(
                    "a phase is longer than its period", source=self.name, got=str(lasts), expected=expected
                )
            phases.append((begin, lasts, not_negative(gb_s, f"rate of {self.name}")))
        object.__setattr__(self, "phases", tuple(phases))


@dataclass(frozen=True)
class Rotation:
    """What a search over shifts found.

    Attributes
    ----------
    perimeter : int
        Least common multiple of the periods.
    score_unshifted, best_score : float
        1 minus the excess over the link's capacity, as a share of what the link carries in the perimeter.
    shifts : tuple of int
        The lexicographically smallest tuple with the best score; the first job stays at 0.
    tuples : int
        Tuples with the best score.
    """

    perimeter: int
    score_unshifted: float
    best_score: float
    shifts: tuple[int, ...]
    tuples: int

    @property
    def compatible(self) -> bool:
        """True if no transfer has to wait for another."""
        return self.best_score == 1


@dataclass(frozen=True)
class Circle:
    """The link's time as a circle of slots.

    Attributes
    ----------
    capacity_gb_s : float
    slot : int
        Length of a slot, in the unit of the periods.
    jobs : tuple of RotatingJob
    """

    capacity_gb_s: float
    slot: int
    jobs: tuple[RotatingJob, ...]

    def __post_init__(self) -> None:
        positive(self.capacity_gb_s, "capacity_gb_s")
        keep_whole(self, "slot")
        if not self.jobs:
            raise InputError("no jobs to rotate", source="jobs", expected="at least one")

    @property
    def perimeter(self) -> int:
        """Least common multiple of the periods."""
        return math.lcm(*(job.period for job in self.jobs))

    def demand(self, job: RotatingJob) -> list[Fraction]:
        """Rate of a job at each time of its period."""
        rate = [Fraction(0)] * job.period
        for start, length, gb_s in job.phases:
            for at in range(start, start + length):
                rate[at % job.period] += exact(gb_s)
        return rate


def best_rotation(circle: Circle) -> Rotation:
    """Try every tuple of shifts that are multiples of the slot, the first job staying at 0.

    Raises
    ------
    InputError
        There are more than `MAX_TUPLES` tuples.
    """
    _, *others = circle.jobs
    choices = [range(0, job.period, circle.slot) for job in others]
    if math.prod(map(len, choices)) > MAX_TUPLES:
        raise InputError(
            "too many shifts to try", source="slot", got=str(circle.slot), expected=f"at most {MAX_TUPLES} tuples"
        )
    slots = -(-circle.perimeter // circle.slot)
    if math.prod(map(len, choices)) * slots > _MAX_SLOTS:
        expected = f"periods that have more in common, or a longer slot: {_MAX_SLOTS:,} slots at most"
        got = f"perimeter {circle.perimeter:,}"
        raise InputError("too many slots to add up", source="jobs", got=got, expected=expected)
    demands = [circle.demand(job) for job in circle.jobs]
    # Whole numbers from here on: exact, and faster than fractions.
    scale = math.lcm(exact(circle.capacity_gb_s).denominator, *(r.denominator for rates in demands for r in rates))
    capacity = int(exact(circle.capacity_gb_s) * scale)
    most = capacity + sum(int(max(each) * scale) for each in demands)
    # Rates of many digits do not fit 64 bits; they cost the speed, not the answer.
    kind = np.int64 if most * slots < 2**62 else np.object_
    rates = [np.array([int(rate * scale) for rate in each], dtype=kind) for each in demands]
    at = np.arange(0, circle.perimeter, circle.slot)

    def shifted(number: int, shifts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return np.asarray(rates[number][(at - shifts[:, None]) % len(rates[number])])

    least: int | None = None
    chosen: tuple[int, ...] = ()
    tuples = unshifted = 0
    *outer, inner = choices or [range(1)]
    last = len(others)
    n_parts = min(len(inner), max(1, -(-len(inner) * slots // _BLOCK)))
    parts = np.array_split(np.arange(len(inner)), n_parts)
    kept = shifted(last, np.array(inner)) if others and len(parts) == 1 else None
    for before in product(*outer):
        base = rates[0][at % len(rates[0])] - capacity
        for number, shift in enumerate(before, start=1):
            base = base + shifted(number, np.array([shift]))[0]
        for part in parts:
            of_shift = np.array(inner)[part]
            if others:
                rows = base + (kept if kept is not None else shifted(last, of_shift))
            else:
                rows = base[None, :]
            over = np.maximum(rows, 0).sum(axis=1)
            if not any(before) and part[0] == 0:
                unshifted = int(over[0])
            smallest = int(over.min())
            if least is None or smallest < least:
                found = int(of_shift[int(over.argmin())])
                least, chosen, tuples = smallest, (*before, found) if others else (), 0
            tuples += int((over == least).sum())
    assert least is not None
    whole_link = slots * capacity

    def score(over: int) -> float:
        return float(1 - Fraction(over, whole_link))

    return Rotation(circle.perimeter, score(unshifted), score(least), (0, *chosen), tuples)


def time_shifts(periods: Mapping[str, int], shift_on_link: Mapping[str, Mapping[str, int]]) -> dict[str, int] | None:
    """One shift per job from the shifts that each link wants.

    Parameters
    ----------
    periods : Mapping of str to int
        Period of each job, in the order in which jobs are visited.
    shift_on_link : Mapping
        Link -> job -> shift that the link's own rotation found.

    Returns
    -------
    dict of str to int or None
        None where jobs share links in a loop, so that the links may contradict each other.

    Raises
    ------
    InputError
        A link names an unknown job, a period is no whole number of at least 1, or a shift no whole number.
    """
    links_of: dict[str, list[str]] = {job: [] for job in periods}
    periods = {job: whole(period, f"period of {job}") for job, period in periods.items()}
    wanted: dict[str, dict[str, int]] = {link: {} for link in shift_on_link}
    for link, shifts in shift_on_link.items():
        for job, shift in shifts.items():
            if job not in links_of:
                raise InputError("a link names an unknown job", source=f"shift_on_link {link}", got=job)
            links_of[job].append(link)
            wanted[link][job] = whole(shift, f"shift of {job} on {link}", None)
    found: dict[str, int] = {}
    seen: set[str] = set()
    edges, parts = sum(map(len, shift_on_link.values())), sum(not jobs for jobs in shift_on_link.values())
    for root in periods:
        if root in found:
            continue
        parts += 1
        found[root] = 0
        _walk([root], found, seen, links_of, periods, wanted)
    loop_free = edges == len(periods) + len(shift_on_link) - parts
    return {job: found[job] for job in periods} if loop_free else None


def _walk(
    queue: list[str],
    found: dict[str, int],
    seen: set[str],
    links_of: Mapping[str, Sequence[str]],
    periods: Mapping[str, int],
    shift_on_link: Mapping[str, Mapping[str, int]],
) -> None:
    """Give every job that `queue` reaches over links its shift, breadth first."""
    for job in queue:
        for link in links_of[job]:
            if link in seen:
                continue
            seen.add(link)
            wanted = shift_on_link[link]
            for other in wanted:
                if other not in found:
                    found[other] = (found[job] - wanted[job] + wanted[other]) % periods[other]
                    queue.append(other)
