"""`WallClock`: the time of this machine, for controllers of a live cluster."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["WallClock"]

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class WallClock:
    """The real time, as `workbench.model.clock.Clock` describes a clock.

    Notes
    -----
    The seconds are those of a clock that nobody can set: what is due in ten seconds stays due in ten seconds while the
    machine's time is corrected. A written time is placed by how long ago it was, by the machine's time of the moment.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self._started

    @property
    def stamp(self) -> str:
        """The present time as Kubernetes writes it, in whole seconds."""
        return datetime.fromtimestamp(time.time(), UTC).strftime(_FORMAT)

    def seconds_of(self, stamp: str) -> float | None:
        """Seconds from the making of the clock to a written time, negative before it; None if it is no such time."""
        try:
            moment = datetime.strptime(stamp, _FORMAT).replace(tzinfo=UTC)
        except ValueError:
            return None
        return self.now - (time.time() - moment.timestamp())
