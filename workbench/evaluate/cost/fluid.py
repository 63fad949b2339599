"""Flows in time: rates are max-min fair at every moment and change when a flow starts or ends."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from workbench.errors import InputError
from workbench.evaluate.cost.checks import not_negative, whole
from workbench.evaluate.cost.max_min import Flow, exact, max_min_rates

__all__ = ["IteratingJob", "Transfer", "finish_times", "iteration_ends"]

Number = Any  # float, int or Fraction

#: A number; None: no limit, or never.
Maybe = Any


@dataclass(frozen=True)
class Transfer:
    """A flow with an amount of data.

    Attributes
    ----------
    flow : Flow
    size_gb : number
    start_s : number
    """

    flow: Flow
    size_gb: Number
    start_s: Number = 0


@dataclass(frozen=True)
class IteratingJob:
    """A job that computes, then sends, again and again.

    Attributes
    ----------
    compute_s : number
        Seconds of computing at the start of each iteration.
    flows : tuple of (Flow, number)
        What it then sends, all flows at once, each with its GB.
    start_s : number
        When the first iteration begins.
    """

    compute_s: Number
    flows: tuple[tuple[Flow, Number], ...]
    start_s: Number = 0


class _Running:
    """The transfers under way, advanced from event to event."""

    def __init__(self, capacity: Mapping[Any, Number]) -> None:
        self._capacity = capacity
        self.left: dict[Hashable, Number] = {}
        self._flow: dict[Hashable, Flow] = {}
        self._rate: dict[Hashable, Maybe] = {}

    def add(self, key: Hashable, flow: Flow, size_gb: Number) -> None:
        self.left[key], self._flow[key] = size_gb, flow
        self._rate = {}

    def next_end(self) -> Maybe:
        """Seconds until the first transfer ends; None if none will."""
        if not self._rate:
            self._rate = dict(zip(self.left, max_min_rates(self._capacity, list(self._flow.values())), strict=True))
        waits = []
        for key, rate in self._rate.items():
            if rate is None or not self._flow[key].path or not self.left[key]:
                return 0
            if rate > 0:
                waits.append(self.left[key] / rate)
        return min(waits) if waits else None

    def advance(self, seconds: Number, ending: bool) -> list[Any]:
        """Send for some seconds; the keys of transfers that end then. `ending`: the next one to end does so."""
        ended = []
        for key, rate in list(self._rate.items()):
            unlimited = rate is None or not self._flow[key].path
            # The transfers that set the length of the interval end exactly, whatever their remainder rounds to.
            over = unlimited or not self.left[key] or (ending and rate > 0 and self.left[key] / rate <= seconds)
            if over:
                ended.append(key)
            else:
                self.left[key] = max(self.left[key] - rate * seconds, 0)
        for key in ended:
            del self.left[key], self._flow[key]
        if ended:
            self._rate = {}
        return ended


def finish_times(capacity: Mapping[Any, Number], transfers: Sequence[Transfer]) -> list[Maybe]:
    """When each transfer ends.

    Parameters
    ----------
    capacity : Mapping
        GB/s of each link.
    transfers : sequence of Transfer

    Returns
    -------
    list
        Seconds; None: its rate is 0 and no further event can change it. A transfer without links ends as it starts.
    """
    for number, one in enumerate(transfers):
        if not one.size_gb >= 0 or not one.start_s >= 0:
            raise InputError("negative size or start", source=f"transfer {number}")
    ends: list[Maybe] = [None] * len(transfers)
    waiting = sorted(range(len(transfers)), key=lambda number: (transfers[number].start_s, number), reverse=True)
    running = _Running(capacity)
    now: Number = 0
    while waiting or running.left:
        if not running.left:
            now = max(now, transfers[waiting[-1]].start_s)
        while waiting and transfers[waiting[-1]].start_s <= now:
            number = waiting.pop()
            running.add(number, transfers[number].flow, transfers[number].size_gb)
        wait = running.next_end()
        until = transfers[waiting[-1]].start_s if waiting else None
        if wait is None and until is None:
            break
        if wait is None or (until is not None and until < now + wait):
            running.advance(until - now, ending=False)
            now = until
            continue
        now = now + wait
        for number in running.advance(wait, ending=True):
            ends[number] = now
    return ends


def iteration_ends(capacity: Mapping[Any, float], jobs: Sequence[IteratingJob], count: int) -> list[list[float]]:
    """When each job ends its first `count` iterations, in exact arithmetic rounded once at the end.

    Jobs that have finished their iterations go on and still disturb the others.

    Parameters
    ----------
    capacity : Mapping
        GB/s of each link.
    jobs : sequence of IteratingJob
    count : int

    Raises
    ------
    InputError
        A job needs no time for an iteration, or never ends one because a link carries nothing; a number is negative or
        not finite.
    """
    count = whole(count, "count", 0)
    for link, gb_s in capacity.items():
        not_negative(gb_s, f"link {link}")
    for number, job in enumerate(jobs):
        not_negative(job.compute_s, f"job {number}, compute_s")
        not_negative(job.start_s, f"job {number}, start_s")
        for _, size in job.flows:
            not_negative(size, f"job {number}, size of a flow")
    exact_capacity = {link: exact(gb_s) for link, gb_s in capacity.items()}
    running = _Running(exact_capacity)
    now = Fraction(0)
    sending: list[int] = [0] * len(jobs)
    ready: list[Fraction | None] = [exact(job.start_s) + exact(job.compute_s) for job in jobs]
    ends: list[list[Fraction]] = [[] for _ in jobs]
    for number, job in enumerate(jobs):
        if not exact(job.compute_s) and not any(flow.path and size for flow, size in job.flows):
            raise InputError("an iteration takes no time", source=f"job {number}")
        if any(size and not all(exact_capacity.get(link, 1) for link in flow.path) for flow, size in job.flows):
            expected = "links with a capacity above 0"
            raise InputError("a job never ends an iteration", source=f"job {number}", expected=expected)

    def end(number: int) -> None:
        ends[number].append(now)
        ready[number] = now + exact(jobs[number].compute_s)

    while any(len(each) < count for each in ends):
        starts = [when for when in ready if when is not None]
        wait = running.next_end()
        if not starts and wait is None:
            raise InputError("a job never ends an iteration", expected="links with a capacity above 0")
        until = min(starts, default=None)
        if wait is not None and (until is None or now + wait <= until):
            now += wait
            for key in running.advance(wait, ending=True):
                number = key[0]
                sending[number] -= 1
                if not sending[number]:
                    end(number)
            continue
        assert until is not None
        running.advance(until - now, ending=False)
        now = until
        for number, when in enumerate(ready):
            if when != now:
                continue
            ready[number] = None
            sending[number] = len(jobs[number].flows)
            for part, (flow, size) in enumerate(jobs[number].flows):
                running.add((number, part), flow, exact(size))
            if not sending[number]:
                end(number)
    return [[float(when) for when in each[:count]] for each in ends]
