"""How far work is, told only of work that takes long enough to be waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Progress"]

#: Most work is over before anybody could read how far it is, and each message takes the page from drawing the result.
_UNTOLD_S = 0.2


class Progress:
    """Tells what was last known of some work from a while after its beginning until its end, and never after that.

    Parameters
    ----------
    tell : callable
        Takes what is known; called from any thread.
    known : dict
        At the beginning.
    """

    def __init__(self, tell: Callable[[dict[str, Any]], None], known: dict[str, Any]) -> None:
        self._tell, self._known = tell, known
        self._due = self._over = False
        # Held while something is told, so that what the work says at its end comes after it.
        self._lock = threading.Lock()
        self._clock = threading.Timer(_UNTOLD_S, self._begin)
        self._clock.daemon = True
        self._clock.start()

    def now(self, known: dict[str, Any]) -> None:
        """The work is as far as this."""
        with self._lock:
            self._known = known
            self._say()

    def end(self) -> None:
        """The work is over or given up."""
        self._clock.cancel()
        with self._lock:
            self._over = True

    def _begin(self) -> None:
        with self._lock:
            self._due = True
            self._say()

    def _say(self) -> None:
        if self._due and not self._over:
            self._tell(self._known)
