"""`WallClock`: the time of this machine, for controllers of a live cluster."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["WallClock"]

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class WallClock:
    """The real time, as `workbench.control.clock.Clock` describes a clock."""

    def __init__(self) -> None:
        self._started = time.time()

    @property
    def now(self) -> float:
        """Seconds since the clock was made."""
        return time.time() - self._started

    @property
    def stamp(self) -> str:
        """The present time as Kubernetes writes it, in whole seconds."""
        return datetime.now(UTC).strftime(_FORMAT)

    def seconds_of(self, stamp: str) -> float | None:
        """Seconds from the making of the clock to a time as Kubernetes writes it; None if it is no such time."""
        try:
            moment = datetime.strptime(stamp, _FORMAT).replace(tzinfo=UTC)
        except ValueError:
            return None
        return moment.timestamp() - self._started
