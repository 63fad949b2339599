"""Slow twin of `workbench.evaluate.cost.rotation`: every tuple of shifts, slot by slot, in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

Job = tuple[int, list[tuple[int, int, str]]]


def demand(job: Job, at: int) -> Fraction:
    """Rate of a job at its own time; `job`: period, and (start, length, rate as decimal text) of each phase."""
    period, phases = job
    rate = Fraction(0)
    for start, length, gb_s in phases:
        for step in range(length):
            if (start + step) % period == at % period:
                rate += Fraction(gb_s)
    return rate


def best_rotation(capacity: str, slot: int, jobs: list[Job]) -> tuple[int, Fraction, Fraction, tuple[int, ...], int]:
    """Perimeter, score without shifts, best score, first tuple with the best score, and number of such tuples."""
    perimeter = math.lcm(*(period for period, _ in jobs))
    slots = range(0, perimeter, slot)
    limit = Fraction(capacity)

    def score(shifts: tuple[int, ...]) -> Fraction:
        over = Fraction(0)
        for at in slots:
            wanted = sum((demand(job, at - shift) for job, shift in zip(jobs, shifts, strict=True)), Fraction(0))
            over += max(Fraction(0), wanted - limit)
        return 1 - over / (len(slots) * limit)

    choices = [[0], *(range(0, period, slot) for period, _ in jobs[1:])]
    scores = {shifts: score(shifts) for shifts in product(*choices)}
    best = max(scores.values())
    found = [shifts for shifts, value in scores.items() if value == best]
    return perimeter, score((0,) * len(jobs)), best, min(found), len(found)
