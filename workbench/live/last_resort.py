"""`keep_on`: work in a thread that must go on whatever happens, or be known to fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workbench.errors import WorkbenchError

__all__ = ["keep_on"]

#: Seconds until a step that failed is begun anew: doubled after each failure in a row. A step that has lasted longer
#: than the longest pause before it failed counts as one that went well.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 30.0


def keep_on(step: Callable[[], object], stopped: threading.Event, failed: Callable[[Exception, str], object]) -> None:
    """Call a function again and again until `stopped` is set.

    Parameters
    ----------
    step : callable
        Each call does work of some time, such as following a watch until it ends.
    failed : callable
        Called with whatever a step raised, and with a line of text about that; the next step follows after a pause.
        The text of an exception that is not of this package is not quoted, because it may quote credentials.
    """
    pause = _FIRST_PAUSE_S
    while not stopped.is_set():
        begun = time.monotonic()
        try:
            step()
        except Exception as error:
            if stopped.is_set():
                return
            failed(error, str(error) if isinstance(error, WorkbenchError) else _text(error))
            if time.monotonic() - begun > _LONGEST_PAUSE_S:
                pause = _FIRST_PAUSE_S
            stopped.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        else:
            pause = _FIRST_PAUSE_S


def _text(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"
    return f"internal error: {type(error).__name__}{where}; please report it"
