"""`Worker`: background work in a thread, during which the page can send requests, see progress and cancel."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.cancel import Cancelled, Token, check

__all__ = ["Worker"]

#: How long work waits for what it replaces. Most stops within milliseconds; only a user's function that hangs outside
#: of Python, or a compiled search that is not asked to look up, keeps its thread for longer.
_PATIENCE_S = 2.0


class Worker:
    """Runs one piece of work at a time in a background thread; starting another cancels the running one.

    A piece is a function without arguments, which must call `workbench.cancel.check` between its steps and `finish`
    before it publishes its result: a cancelled piece never publishes one.

    Parameters
    ----------
    stopped : callable, optional
        Called in the background when a cancelled piece has ended and no other follows it.
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
