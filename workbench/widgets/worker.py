"""Work beside the kernel's own thread, so that the page can ask, see progress and cancel meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable

__all__ = ["Worker"]


class Cancelled(BaseException):
    """Raised inside the work; a policy that catches every Exception does not catch it."""


class Worker:
    """Runs one piece of work at a time; starting another cancels the one that runs.

    A piece is a function that takes `current`: a function which tells whether the piece is still wanted. What a
    cancelled piece would have said is never said.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._generation = 0

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, work: Callable[[Callable[[], bool]], None]) -> None:
        """Begin with something, in the background."""
        self.cancel()
        generation, before = self._generation, self._thread

        def run() -> None:
            with contextlib.suppress(Cancelled):
                # What was cancelled may still be inside a kernel, and both would use the same matrices.
                if before is not None:
                    before.join()
                work(lambda: generation == self._generation)

        self._thread = threading.Thread(target=run, name="workbench-comparison", daemon=True)
        self._thread.start()

    def cancel(self) -> bool:
        """Stop what runs, at its next step in Python; False when nothing ran."""
        self._generation += 1
        thread = self._thread
        if thread is None or not thread.is_alive() or thread.ident is None:
            return False
        # The only way to stop somebody's loop from outside; it works between two steps of Python, not inside a kernel.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Cancelled))
        return True

    def wait(self, seconds: float | None = None) -> None:
        """Until the work is done, for scripts and tests."""
        if self._thread is not None:
            self._thread.join(seconds)
