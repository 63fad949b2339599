"""Flows in time, in fractions: rates are max-min fair at every moment and change when a flow starts or ends."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.reference.fair_rates import fair_rates


@dataclass(frozen=True)
class Flow:
    """A flow of data over links, each direction of a cable being a link; no link inside a node.

    `weight` is its share relative to other flows; it never exceeds `demand` GB/s if that is given.
    """

    path: tuple[Hashable, ...]
    weight: float = 1
    demand: float | None = None


@dataclass(frozen=True)
class Transfer:
    """A flow with an amount of data and the second at which it starts."""

    flow: Flow
    size_gb: float
    start_s: float = 0


@dataclass(frozen=True)
class IteratingJob:
    """A job that computes for some seconds, then sends all its flows at once, each with its GB, again and again."""

    compute_s: float
    flows: tuple[tuple[Flow, float], ...]
    start_s: float = 0


def exact(value: float | Fraction) -> Fraction:
    """The number as its shortest decimal form reads: 0.1 is one tenth."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def max_min_rates(capacity: Mapping[Any, float | Fraction], flows: Sequence[Flow]) -> list[Fraction | None]:
    """The weighted max-min fair rate of each flow; None: nothing limits it."""
    number = {link: index for index, link in enumerate(capacity)}
    return fair_rates(
        [{number[link]: Fraction(1) for link in flow.path} for flow in flows],
        [exact(gb_s) for gb_s in capacity.values()],
        [exact(flow.weight) for flow in flows],
        [None if flow.demand is None else exact(flow.demand) for flow in flows],
    )


class _Running:
    """The transfers under way, advanced from event to event."""

    def __init__(self, capacity: Mapping[Any, float]) -> None:
        self._capacity = capacity
        self.left: dict[Any, Fraction] = {}
        self._flow: dict[Any, Flow] = {}
        self._rate: dict[Any, Fraction | None] = {}

    def add(self, key: Hashable, flow: Flow, size_gb: float) -> None:
        self.left[key], self._flow[key] = exact(size_gb), flow
        self._rate = {}

    def next_end(self) -> Fraction | None:
        """Seconds until the first transfer ends; None if none will."""
        if not self._rate:
            self._rate = dict(zip(self.left, max_min_rates(self._capacity, list(self._flow.values())), strict=True))
        if any(rate is None or not self._flow[key].path or not self.left[key] for key, rate in self._rate.items()):
            return Fraction(0)
        return min((self.left[key] / rate for key, rate in self._rate.items() if rate), default=None)

    def advance(self, seconds: Fraction) -> list[Any]:
        """Send for some seconds; the keys of transfers that have ended then."""
        for key, rate in self._rate.items():
            unlimited = rate is None or not self._flow[key].path
            self.left[key] = Fraction(0) if unlimited else self.left[key] - rate * seconds
        ended = [key for key, left in self.left.items() if not left]
        for key in ended:
            del self.left[key], self._flow[key]
        if ended:
            self._rate = {}
        return ended


def finish_times(capacity: Mapping[Any, float], transfers: Sequence[Transfer]) -> list[float | None]:
    """When each transfer ends; None: its rate is 0 and no further event can change it."""
    ends: list[float | None] = [None] * len(transfers)
    starts = [exact(one.start_s) for one in transfers]
    waiting = sorted(range(len(transfers)), key=lambda number: (starts[number], number), reverse=True)
    running = _Running(capacity)
    now = Fraction(0)
    while waiting or running.left:
        if not running.left:
            now = max(now, starts[waiting[-1]])
        while waiting and starts[waiting[-1]] <= now:
            number = waiting.pop()
            running.add(number, transfers[number].flow, transfers[number].size_gb)
        wait = running.next_end()
        until = starts[waiting[-1]] if waiting else None
        if wait is None and until is None:
            break
        if wait is None or (until is not None and until < now + wait):
            wait = until - now
        now += wait
        for number in running.advance(wait):
            ends[number] = float(now)
    return ends


def iteration_ends(capacity: Mapping[Any, float], jobs: Sequence[IteratingJob], count: int) -> list[list[float]]:
    """When each job ends its first `count` iterations.

    Jobs that have finished their iterations go on and still disturb the others.
    """
    running = _Running(capacity)
    now = Fraction(0)
    sending: list[int] = [0] * len(jobs)
    ready: list[Fraction | None] = [exact(job.start_s) + exact(job.compute_s) for job in jobs]
    ends: list[list[Fraction]] = [[] for _ in jobs]

    def end(number: int) -> None:
        ends[number].append(now)
        ready[number] = now + exact(jobs[number].compute_s)

    while any(len(each) < count for each in ends):
        wait = running.next_end()
        until = min((when for when in ready if when is not None), default=None)
        if wait is not None and (until is None or now + wait <= until):
            now += wait
            for number, _ in running.advance(wait):
                sending[number] -= 1
                if not sending[number]:
                    end(number)
            continue
        running.advance(until - now)
        now = until
        for number, when in enumerate(ready):
            if when != now:
                continue
            ready[number] = None
            sending[number] = len(jobs[number].flows)
            for part, (flow, size) in enumerate(jobs[number].flows):
                running.add((number, part), flow, size)
            if not sending[number]:
                end(number)
    return [[float(when) for when in each[:count]] for each in ends]
