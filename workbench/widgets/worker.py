"""`Worker`: background work in a thread, during which the page can send requests, see progress and cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from workbench.cancel import Cancelled, Token, check

__all__ = ["WorkProgress", "Worker"]

#: How long work waits for what it replaces. Most stops within milliseconds; only a user's function that hangs outside
#: of Python, or a compiled search that is not asked to look up, keeps its thread for longer.
_PATIENCE_S = 2.0


class Worker:
    """Runs one piece of work at a time in a background thread; starting another cancels the running one.

    A piece is a function without arguments, which must call `workbench.cancel.check` between its steps and `finish`
    before it publishes its result: a cancelled piece never publishes one.

    `stopped`: called in the background when a cancelled piece has ended and no other follows it.
    """

    def __init__(self, stopped: Callable[[], None] = lambda: None) -> None:
        self._stopped = stopped
        self._thread: threading.Thread | None = None
        self._token: Token | None = None

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, work: Callable[[], None], tick: Callable[[], None] | None = None) -> None:
        """Start the function `work` in the background; `tick` is called whenever it checks for cancellation."""
        self.cancel()
        before, token = self._thread, Token(tick)

        def run() -> None:
            if before is not None:
                before.join(_PATIENCE_S)
            try:
                with token.watched():
                    check()
                    work()
            except Cancelled:
                if self._token is token:
                    self._stopped()

        self._token = token
        self._thread = threading.Thread(target=run, name="workbench-worker", daemon=True)
        self._thread.start()

    def cancel(self) -> bool:
        """Ask the running work to stop at its next check.

        False if nothing is running or the result is already there.
        """
        return self._token is not None and self.busy and self._token.cancel()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the work is done; returns False if it is not done within the given number of seconds."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.busy


#: Seconds without reports: most work ends before a report could be read, and each message delays the result.
_UNTOLD_S = 0.2


class WorkProgress:
    """Reports the progress of some work, once it has run for a while.

    It reports only in the thread of the work, at its checks and steps, so that no report follows the result and no
    other thread has to wait for a lock.

    `tell`: called with the progress. `known`: initial values of the progress, by name.
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
