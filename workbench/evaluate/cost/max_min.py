"""Max-min fair rates of flows over links with capacities, by progressive filling.

Ideal congestion control: no loss, no pause frames, no incast collapse. The arithmetic is that of the numbers given:
floats, or fractions where an exact answer is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from workbench.errors import InputError

__all__ = ["Flow", "exact", "max_min_rates"]

Number = Any  # float, int or Fraction: each keeps its own arithmetic


@dataclass(frozen=True)
class Flow:
    """A flow of data.

    Attributes
    ----------
    path : tuple
        Links that the flow crosses, each direction of a cable being a link; empty inside a node.
    weight : number
        Share relative to other flows.
    demand : number, optional
        GB/s that the flow never exceeds; None: no limit.
    """

    path: tuple[Hashable, ...]
    weight: Number = 1
    demand: Number | None = None


def max_min_rates(capacity: Mapping[Any, Number], flows: Sequence[Flow]) -> list[Number | None]:
    """The weighted max-min fair rate of each flow.

    All rates rise together, each in proportion to its weight, until a link is full or a flow has its demand; the flows
    concerned are frozen, the others go on.

    Parameters
    ----------
    capacity : Mapping
        GB/s of each link.
    flows : sequence of Flow

    Returns
    -------
    list
        GB/s of each flow; None: nothing limits it. Which of two links is looked at first does not change the rates.

    Raises
    ------
    InputError
        A path names an unknown link, a capacity or demand is negative, or a weight is not positive.
    """
    users = _users(capacity, flows)
    rate: list[Number | None] = [flow.demand for flow in flows]
    open_flows = {number for number, flow in enumerate(flows) if flow.path}
    left = {link: capacity[link] for link in users}
    load = {link: sum(flows[number].weight for number in members) for link, members in users.items()}
    while open_flows:
        level, full, done = _next_level(left, load, users, flows, open_flows)
        frozen = {number for link in full for number in users[link] if number in open_flows} | done
        for number in frozen:
            flow = flows[number]
            rate[number] = flow.demand if number in done else level * flow.weight
            for link in set(flow.path):
                left[link] -= rate[number]
                load[link] -= flow.weight
                users[link].discard(number)
        open_flows -= frozen
        users = {link: members for link, members in users.items() if members}
    return rate


def _next_level(
    left: Mapping[Any, Number],
    load: Mapping[Any, Number],
    users: Mapping[Hashable, set[int]],
    flows: Sequence[Flow],
    open_flows: set[int],
) -> tuple[Number, list[Hashable], set[int]]:
    """The rate per weight at which something stops next, with the links that are full then and the flows satisfied."""
    level: Number = math.inf
    full: list[Hashable] = []
    for link in users:
        found = max(left[link], 0) / load[link] if left[link] > 0 else 0
        if found < level:
            level, full = found, [link]
        elif found == level:
            full.append(link)
    done = {
        number
        for number in open_flows
        if flows[number].demand is not None and flows[number].demand <= level * flows[number].weight
    }
    if done:
        level = min(flows[number].demand / flows[number].weight for number in done)
        done = {number for number in done if flows[number].demand <= level * flows[number].weight}
        return level, [], done
    return level, full, done


def _users(capacity: Mapping[Any, Number], flows: Sequence[Flow]) -> dict[Hashable, set[int]]:
    """Numbers of the flows on each link that is used, after checking all numbers."""
    users: dict[Hashable, set[int]] = {}
    for number, flow in enumerate(flows):
        if not flow.weight > 0:
            raise InputError("a flow's weight is not positive", source=f"flow {number}", got=repr(flow.weight))
        if flow.demand is not None and not flow.demand >= 0:
            raise InputError("a flow's demand is negative", source=f"flow {number}", got=repr(flow.demand))
        for link in flow.path:
            if link not in capacity:
                raise InputError(
                    "unknown link", source=f"flow {number}", got=str(link), expected="a link of the fabric"
                )
            users.setdefault(link, set()).add(number)
    for link in users:
        if not capacity[link] >= 0:
            raise InputError("negative capacity", source=f"link {link}", got=repr(capacity[link]))
    return users


def exact(value: float) -> Fraction:
    """The number as its shortest decimal form reads: 0.1 is one tenth."""
    return value if isinstance(value, Fraction) else Fraction(str(value))
