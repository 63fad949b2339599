"""Phases of jobs that share a link: which shifts in time make their transfers fit beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from workbench.errors import InputError
from workbench.evaluate.cost.checks import positive, whole

__all__ = ["MAX_TUPLES", "Circle", "RotatingJob", "Rotation", "best_rotation", "time_shifts"]

#: Tuples of shifts that a search tries at most.
MAX_TUPLES = 2_000_000


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
    """

    name: str
    period: int
    phases: tuple[tuple[int, int, float], ...]


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
        whole(self.slot, "slot")
        if not self.jobs:
            raise InputError("no jobs to rotate", source="jobs", expected="at least one")
        for job in self.jobs:
            whole(job.period, f"period of {job.name}")
            if any(length < 0 or length > job.period or start < 0 for start, length, _ in job.phases):
                raise InputError("a phase is longer than its period or negative", source=job.name)

    @property
    def perimeter(self) -> int:
        """Least common multiple of the periods."""
        return math.lcm(*(job.period for job in self.jobs))

    def demands(self, job: RotatingJob, shift: int) -> list[Fraction]:
        """Rate of a job in each slot of the perimeter, with its phases begun `shift` later."""
        rate = [Fraction(0)] * job.period
        for start, length, gb_s in job.phases:
            for at in range(start, start + length):
                rate[at % job.period] += Fraction(gb_s)
        return [rate[(at - shift) % job.period] for at in range(0, self.perimeter, self.slot)]


def best_rotation(circle: Circle) -> Rotation:
    """Try every tuple of shifts that are multiples of the slot, the first job staying at 0.

    Raises
    ------
    InputError
        There are more than `MAX_TUPLES` tuples.
    """
    first, *others = circle.jobs
    choices = [range(0, job.period, circle.slot) for job in others]
    if math.prod(map(len, choices)) > MAX_TUPLES:
        raise InputError(
            "too many shifts to try", source="slot", got=str(circle.slot), expected=f"at most {MAX_TUPLES} tuples"
        )
    shapes = [
        {shift: circle.demands(job, shift) for shift in shifts} for job, shifts in zip(others, choices, strict=True)
    ]
    fixed = circle.demands(first, 0)
    # Whole numbers from here on: exact, and faster than fractions.
    scale = math.lcm(*(rate.denominator for rate in fixed), Fraction(circle.capacity_gb_s).denominator)
    for shape in shapes:
        scale = math.lcm(scale, *(rate.denominator for rate in next(iter(shape.values()))))
    whole_fixed = [int(rate * scale) for rate in fixed]
    whole_shapes = [{shift: [int(r * scale) for r in rates] for shift, rates in shape.items()} for shape in shapes]
    capacity = int(Fraction(circle.capacity_gb_s) * scale)

    def excess(shifts: tuple[int, ...]) -> int:
        rows = [whole_fixed, *(shape[shift] for shape, shift in zip(whole_shapes, shifts, strict=True))]
        return sum(max(0, sum(slot) - capacity) for slot in zip(*rows, strict=True))

    least, chosen, tuples = excess((0,) * len(others)), (0,) * len(others), 0
    unshifted = least
    for shifts in product(*choices):
        found = excess(shifts)
        if found < least:
            least, chosen, tuples = found, shifts, 0
        tuples += found == least
    whole_link = len(fixed) * capacity

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
    """
    links_of: dict[str, list[str]] = {job: [] for job in periods}
    for link, shifts in shift_on_link.items():
        for job in shifts:
            if job not in links_of:
                raise InputError("a link names an unknown job", source=f"shift_on_link {link}", got=job)
            links_of[job].append(link)
    found: dict[str, int] = {}
    seen: set[str] = set()
    edges, parts = sum(map(len, shift_on_link.values())), sum(not jobs for jobs in shift_on_link.values())
    for root in periods:
        if root in found:
            continue
        parts += 1
        found[root] = 0
        _walk([root], found, seen, links_of, periods, shift_on_link)
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
