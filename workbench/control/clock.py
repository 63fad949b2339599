"""The clock of an embedded cluster: virtual seconds, which pass only when the cluster is told to run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from workbench.model.value import Working

__all__ = ["Clock", "VirtualClock"]

#: The moment that virtual time counts from, so that equal runs write equal objects.
_START = datetime(2026, 1, 1, tzinfo=UTC)

#: Seconds until the last moment that can be written, in the year 9999.
_LAST_S = int((datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - _START).total_seconds())

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Clock(Protocol):
    """Interface of a clock, by which reconcilers read the time."""

    @property
    def now(self) -> float:
        """Seconds since the start of the cluster."""

    @property
    def stamp(self) -> str:
        """The present time as Kubernetes writes it, in whole seconds: ``2026-01-01T00:00:00Z``."""

    def seconds_of(self, stamp: str) -> float | None:
        """Seconds from the start of the cluster to a time as Kubernetes writes it; None if it is no such time.

        Negative for a time at which a cluster existed of which only this clock is new.
        """


class VirtualClock(Working):
    """A clock in virtual time: it stands still until its `now` is set.

    Parameters
    ----------
    now : float
        Seconds since the start, which is midnight of 2026-01-01 (UTC).
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
