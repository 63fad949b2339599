"""Times of collectives as ASTRA-sim's analytical network backends give them, in whole nanoseconds.

Agreement with the congestion-unaware backend is agreement with a formula: no message waits for another there, so that
two active chunks make large transfers faster than the wire.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ALGORITHMS = {"ring": 0, "halving-doubling": 1, "direct": 2}
_COLLECTIVES = {"all-reduce": 0, "reduce-scatter": 1, "all-gather": 2, "all-to-all": 3}


@dataclass(frozen=True)
class Dimension:
    """One dimension of the simulated network.

    Attributes
    ----------
    topology : str
        "ring", "switch" or "fully-connected".
    npus : int
    bandwidth_gib_s : float
        Of one link, in 2**30 bytes per second.
    latency_ns : float
        Of one link.
    algorithm : str
        "ring", "halving-doubling" or "direct".
    """

    topology: str
    npus: int
    bandwidth_gib_s: float
    latency_ns: float
    algorithm: str

    @property
    def links(self) -> int:
        """Links that a message crosses."""
        return 2 if self.topology == "switch" else 1

    def serialization_ns(self, size: int) -> float:
        """Nanoseconds for the bytes of a message on one link."""
        return size / (self.bandwidth_gib_s * 2**30 / 1e9)


@dataclass(frozen=True)
class SimulatorSettings:
    """How the simulator cuts and delays messages.

    Attributes
    ----------
    chunks : int
        Pieces of the vector that go through the phases on their own.
    active_chunks : int
        Chunks that run at once in a dimension; the others wait in order of arrival.
    endpoint_delay_ns : int
        Follows every message and every phase.
    local_memory_gb_s : float, optional
        Speed of reducing; None: reducing costs nothing.
    """

    chunks: int = 1
    active_chunks: int = 1
    endpoint_delay_ns: int = 0
    local_memory_gb_s: float | None = None

    def after_message_ns(self, size: int, reduces: bool) -> int:
        """Nanoseconds between the arrival of a message and the start of the next one."""
        reducing = 3 * int(size / self.local_memory_gb_s) if reduces and self.local_memory_gb_s else 0
        return reducing + self.endpoint_delay_ns


@dataclass(frozen=True)
class _Round:
    """Messages of equal size that a rank sends at once: one, or n - 1 of a direct round."""

    size: int
    messages: int
    reduces: bool


@dataclass(frozen=True)
class _Phase:
    """What a chunk does in one dimension."""

    dimension: int
    rounds: tuple[_Round, ...]


def simulated_time_ns(
    dimensions: Sequence[Dimension], collective: str, size: int, settings: SimulatorSettings, congestion: bool
) -> int:
    """Nanoseconds of one collective over all NPUs.

    Parameters
    ----------
    dimensions : sequence of Dimension
        The innermost first.
    collective : str
        "all-reduce", "reduce-scatter", "all-gather" or "all-to-all".
    size : int
        Bytes of a rank's whole vector; for an all-gather of one rank's share.
    settings : SimulatorSettings
    congestion : bool
        The congestion-aware backend, which knows one dimension only: links are queues, store and forward.
    """
    phases = _phases(dimensions, collective, size // settings.chunks)
    return _Run(dimensions, settings, phases, congestion).last_end()


def _phases(dimensions: Sequence[Dimension], collective: str, size: int) -> list[_Phase]:
    """The phases of one chunk."""
    numbers = range(len(dimensions))
    found = []
    if collective == "all-to-all":
        return [_Phase(d, tuple(_all_to_all(dimensions[d], size))) for d in numbers]
    if collective == "all-gather":
        for d in reversed(numbers):
            found.append(_Phase(d, tuple(_gather(dimensions[d], size))))
            size *= dimensions[d].npus
        return found
    shares = []
    for d in numbers:
        rounds, share = tuple(_scatter(dimensions[d], size)), size // dimensions[d].npus
        if collective == "all-reduce" and d == len(dimensions) - 1:
            rounds += tuple(_gather(dimensions[d], share))
        found.append(_Phase(d, rounds))
        size = share
        shares.append(share)
    if collective == "all-reduce":
        found += [_Phase(d, tuple(_gather(dimensions[d], shares[d]))) for d in reversed(numbers[:-1])]
    return found


def _scatter(dimension: Dimension, size: int) -> Iterator[_Round]:
    n = dimension.npus
    if dimension.algorithm == "halving-doubling":
        for _ in range(n.bit_length() - 1):
            size //= 2
            yield _Round(size, 1, True)
    elif dimension.algorithm == "direct":
        yield _Round(size // n, n - 1, True)
    else:
        yield from [_Round(size // n, 1, True)] * (n - 1)


def _gather(dimension: Dimension, size: int) -> Iterator[_Round]:
    n = dimension.npus
    if dimension.algorithm == "halving-doubling":
        for step in range(n.bit_length() - 1):
            yield _Round(size << step, 1, False)
    elif dimension.algorithm == "direct":
        yield _Round(size, n - 1, False)
    else:
        yield from [_Round(size, 1, False)] * (n - 1)


def _all_to_all(dimension: Dimension, size: int) -> Iterator[_Round]:
    n = dimension.npus
    if dimension.algorithm == "direct":
        yield _Round(size // n, n - 1, False)
    else:
        yield from [_Round(size // n, 1, False)] * (n * (n - 1) // 2)


class _Run:
    """One collective as a run of events: chunks enter dimensions, messages enter links.

    In these collectives all NPUs do the same at the same time, so that one queue per link of a path stands for all.
    """

    def __init__(
        self, dimensions: Sequence[Dimension], settings: SimulatorSettings, phases: list[_Phase], congestion: bool
    ) -> None:
        self._dimensions, self._settings, self._phases = dimensions, settings, phases
        self._congestion = congestion
        self._events: list[tuple[int, int, int, tuple[int, ...]]] = []
        self._told = 0
        self._phase = [0] * settings.chunks
        self._round = [0] * settings.chunks
        self._arriving = [0] * settings.chunks
        self._waiting = [deque[int]() for _ in dimensions]
        self._active = [0] * len(dimensions)
        self._link_free = [0, 0]
        self._end = 0

    def last_end(self) -> int:
        for chunk in range(self._settings.chunks):
            self._enter(chunk, 0)
        while self._events:
            now, _, chunk, message = heapq.heappop(self._events)
            if message:
                self._hop(now, chunk, message)
            else:
                self._start_round(now, chunk)
        return self._end

    def _at(self, when: int, chunk: int, message: tuple[int, ...] = ()) -> None:
        self._told += 1
        heapq.heappush(self._events, (when, self._told, chunk, message))

    def _enter(self, chunk: int, now: int) -> None:
        """The chunk is ready for its phase: it starts or waits for its turn."""
        at = self._phases[self._phase[chunk]].dimension
        self._waiting[at].append(chunk)
        self._admit(at, now)

    def _admit(self, dimension: int, now: int) -> None:
        while self._waiting[dimension] and self._active[dimension] < self._settings.active_chunks:
            self._active[dimension] += 1
            self._at(now, self._waiting[dimension].popleft())

    def _start_round(self, now: int, chunk: int) -> None:
        phase = self._phases[self._phase[chunk]]
        if self._round[chunk] == len(phase.rounds):
            self._leave(now, chunk, phase.dimension)
            return
        one, dimension = phase.rounds[self._round[chunk]], self._dimensions[phase.dimension]
        if self._congestion:
            self._arriving[chunk] = one.messages
            for _ in range(one.messages):
                self._hop(now, chunk, (0, one.size))
            return
        arrival = now + int(dimension.links * dimension.latency_ns + dimension.serialization_ns(one.size))
        self._after(arrival, chunk, one)

    def _hop(self, now: int, chunk: int, message: tuple[int, ...]) -> None:
        """A message joins the queue of its next link, or has arrived."""
        link, size = message
        phase = self._phases[self._phase[chunk]]
        dimension = self._dimensions[phase.dimension]
        if link == dimension.links:
            self._arriving[chunk] -= 1
            if not self._arriving[chunk]:
                self._after(now, chunk, phase.rounds[self._round[chunk]])
            return
        start = max(now, self._link_free[link])
        serialization = dimension.serialization_ns(size)
        self._link_free[link] = start + int(serialization)
        self._at(start + int(dimension.latency_ns + serialization), chunk, (link + 1, size))

    def _after(self, arrival: int, chunk: int, one: _Round) -> None:
        """The round's last message has arrived."""
        rounds = self._phases[self._phase[chunk]].rounds
        self._round[chunk] += 1
        last = self._settings.endpoint_delay_ns if self._round[chunk] == len(rounds) else 0
        self._at(arrival + self._settings.after_message_ns(one.size, one.reduces) + last, chunk)

    def _leave(self, now: int, chunk: int, dimension: int) -> None:
        self._active[dimension] -= 1
        self._phase[chunk] += 1
        self._round[chunk] = 0
        if self._phase[chunk] == len(self._phases):
            self._end = max(self._end, now)
        else:
            self._enter(chunk, now)
        self._admit(dimension, now)
