"""Phases of jobs that share a link: every tuple of shifts that are multiples of a slot, in whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

#: Period of a job, and (start, length, GB/s) of each phase of it; a phase may run over the end into the beginning.
Job = tuple[int, list[tuple[int, int, float]]]


def best_rotation(capacity_gb_s: float, slot: int, jobs: list[Job]) -> dict[str, object]:
    """Score every tuple of shifts, the first job staying at 0.

    A score is 1 minus the excess over the link's capacity, as a share of what the link carries in the perimeter. Rates
    count as their decimals read: in binary 0.1 + 0.2 is more than 0.3.
    """
    capacity = Fraction(str(capacity_gb_s))
    rates = [[Fraction(str(gb_s)) for _, _, gb_s in phases] for _, phases in jobs]
    scale = math.lcm(capacity.denominator, *(rate.denominator for each in rates for rate in each))
    perimeter = math.lcm(*(period for period, _ in jobs))
    at = np.arange(0, perimeter, slot)
    demands = []
    for (period, phases), of_phases in zip(jobs, rates, strict=True):
        demand = np.zeros(period, dtype=np.int64)
        for (start, length, _), rate in zip(phases, of_phases, strict=True):
            np.add.at(demand, np.arange(start, start + length) % period, int(rate * scale))
        demands.append(demand)

    def excess(shifts: tuple[int, ...]) -> int:
        wanted = sum(demand[(at - shift) % len(demand)] for demand, shift in zip(demands, shifts, strict=True))
        return int(np.maximum(wanted - int(capacity * scale), 0).sum())

    whole = len(at) * int(capacity * scale)
    found = {shifts: excess(shifts) for shifts in product([0], *(range(0, period, slot) for period, _ in jobs[1:]))}
    least = min(found.values())
    best = [shifts for shifts, over in found.items() if over == least]
    return {
        "perimeter": perimeter,
        "score_unshifted": float(1 - Fraction(found[(0,) * len(jobs)], whole)),
        "best_score": float(1 - Fraction(least, whole)),
        "compatible": least == 0,
        "best_shifts_first": list(min(best)),
        "best_shift_tuples": len(best),
    }
