"""Virtual time, shared by embedded clusters and simulations: a clock that stands still until it is set, and events;
and times as the API of Kubernetes writes them.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from workbench.model.value import Working

__all__ = ["Clock", "EventQueue", "VirtualClock", "seconds_of"]

K = TypeVar("K", bound=Hashable)

#: The moment that virtual time counts from, so that equal runs write equal objects.
_START = datetime(2026, 1, 1, tzinfo=UTC)

#: Seconds until the last moment that can be written, in the year 9999.
_LAST_S = int((datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - _START).total_seconds())

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Clock(Protocol):
    """Interface of a clock, by which reconcilers read the time."""

    @property
    def now(self) -> float:
        """Seconds since the start."""

    @property
    def stamp(self) -> str:
        """The present time as Kubernetes writes it, in whole seconds: ``2026-01-01T00:00:00Z``."""

    def seconds_of(self, stamp: str) -> float | None:
        """Seconds from the start of the cluster to a time as Kubernetes writes it; None if it is no such time.

        Negative for a time at which a cluster existed of which only this clock is new.
        """


class VirtualClock(Working):
    """A clock in virtual time: it stands still until its `now` is set.

    `now`: seconds since the start, which is midnight of 2026-01-01 (UTC).
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    @property
    def stamp(self) -> str:
        """The present time as Kubernetes writes it, in whole seconds; from the year 10000 on the end of 9999."""
        return (_START + timedelta(seconds=min(int(self.now), _LAST_S))).strftime(_FORMAT)

    def seconds_of(self, stamp: str) -> float | None:
        """Seconds from the start to a time as Kubernetes writes it; None for a time before it, and for other texts."""
        try:
            moment = datetime.strptime(stamp, _FORMAT).replace(tzinfo=UTC)
        except ValueError:
            return None
        return (moment - _START).total_seconds() if moment >= _START else None


class EventQueue(Working, Generic[K]):
    """Events that lie ahead: a time for each key, which a later plan for the same key replaces.

    Events of one time come in the order of their keys, in whatever order they were planned.
    """

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        # Also holds events that were cancelled or planned anew; those are dropped when they come first.
        self._heap: list[tuple[float, Any]] = []

    def __len__(self) -> int:
        return len(self._due)

    def plan(self, key: K, at: float) -> None:
        """Let the event of a key happen at a time, and not at the one that was planned before."""
        self._due[key] = at
        heapq.heappush(self._heap, (at, key))

    def cancel(self, key: K) -> None:
        """Let the event of a key not happen; nothing changes if none is planned."""
        self._due.pop(key, None)

    def time_of(self, key: K) -> float:
        """Time of the event of a key; infinite: none is planned."""
        return self._due.get(key, float("inf"))

    @property
    def first(self) -> tuple[float, K] | None:
        """Time and key of the next event; None if none is planned."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def drop_first(self) -> None:
        """Take out the event that `first` tells, because it happens."""
        if self.first is not None:
            del self._due[heapq.heappop(self._heap)[1]]

    def clear(self) -> None:
        """Let no event happen."""
        self._due.clear()
        self._heap.clear()


def seconds_of(text: str) -> float | None:
    """Seconds since 1970 of a time such as ``2026-01-01T00:00:00Z``; None: there is none, or it is no time."""
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return None if time is None else (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
