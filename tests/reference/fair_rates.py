"""Max-min fair rates of bundles, found by raising all rates in fractions: slow, and exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction


def fair_rates(
    loads: Sequence[Mapping[int, Fraction]],
    capacity: Sequence[Fraction],
    weight: Sequence[Fraction],
    demand: Sequence[Fraction | None],
) -> list[Fraction | None]:
    """The rate of each bundle; None: nothing limits it."""
    rate: list[Fraction | None] = list(demand)
    rising = {number for number, one in enumerate(loads) if one}
    while rising:
        # By link: the level at which it is full if nobody else stops.
        levels = {}
        for link, whole in enumerate(capacity):
            held = sum((rate[n] or 0) * one.get(link, 0) for n, one in enumerate(loads) if n not in rising)
            speed = sum(weight[n] * loads[n].get(link, 0) for n in rising)
            if speed:
                levels[link] = (whole - held) / speed
        level = min(levels.values())
        content = {n for n in rising if (wish := demand[n]) is not None and wish / weight[n] <= level}
        if content:
            lowest = min((demand[n] or Fraction(0)) / weight[n] for n in content)
            rising -= {n for n in content if (demand[n] or Fraction(0)) / weight[n] == lowest}
            continue
        full = {link for link, found in levels.items() if found == level}
        stopped = {n for n in rising if full & set(loads[n])}
        for number in stopped:
            rate[number] = level * weight[number]
        rising -= stopped
    return rate
