"""How far work is, told only of work that takes long enough to be waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["Progress"]

#: Most work is over before anybody could read how far it is, and each message takes the page from drawing the result.
_UNTOLD_S = 0.2


class Progress:
    """Tells what is known of some work from a while after its beginning, and each change of it after that.

    All of it happens in the thread of the work, at its checks and steps: nothing can be told after its result, and
    there is no lock for which another thread would have to wait.

    Parameters
    ----------
    tell : callable
        Takes what is known.
    known : dict
        At the beginning.
    """

    def __init__(self, tell: Callable[[dict[str, Any]], None], known: dict[str, Any]) -> None:
        self._tell, self._known = tell, known
        self._told: dict[str, Any] | None = None
        self._due = time.monotonic() + _UNTOLD_S

    def now(self, known: dict[str, Any]) -> None:
        """The work is as far as this."""
        self._known = known
        self.look()

    def look(self) -> None:
        """Tell what is known if it is time and the page does not know it yet."""
        if self._told is not self._known and time.monotonic() >= self._due:
            self._told = self._known
            self._tell(self._known)
