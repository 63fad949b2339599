"""`WorkProgress`: report the progress of work that takes noticeably long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["WorkProgress"]

#: Seconds without reports: most work ends before a report could be read, and each message delays the result.
_UNTOLD_S = 0.2


class WorkProgress:
    """Reports the progress of some work, once it has run for a while.

    It reports only in the thread of the work, at its checks and steps, so that no report follows the result and no
    other thread has to wait for a lock.

    Parameters
    ----------
    tell : callable
        Called with the progress.
    known : dict
        Initial values of the progress, by name.
    """

    def __init__(self, tell: Callable[[dict[str, Any]], None], known: dict[str, Any]) -> None:
        self._tell, self._known = tell, known
        self._told: dict[str, Any] | None = None
        self._due = time.monotonic() + _UNTOLD_S

    def now(self, known: dict[str, Any]) -> None:
        """Update the progress with new values."""
        self._known = known
        self.look()

    def look(self) -> None:
        """Report the progress if it has changed and enough time has passed since the last report."""
        if self._told is not self._known and time.monotonic() >= self._due:
            self._told = self._known
            self._tell(self._known)
