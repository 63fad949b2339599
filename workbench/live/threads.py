"""Threads: `within` bounds work in time whose end nobody controls; `keep_on` is for work that must go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from workbench.errors import WorkbenchError

__all__ = ["keep_on", "within"]

T = TypeVar("T")


def within(timeout_s: float, work: Callable[[], T], name: str, abandon: Callable[[], object] | None = None) -> T:
    """The result of a function, if it has one in time.

    Raises TimeoutError: no result in time; the thread ends whenever `work` does, and does not keep the program alive.
    Raises BaseException: whatever `work` raised.

    `timeout_s`: seconds to wait. `work`: called without arguments in a thread of its own. `name`: name of that thread.
    `abandon`: called when nobody waits for the result any more, as after Ctrl-C; it should make `work` end. A time
    limit of a socket bounds each read, and a server that sends a byte a second never exceeds one.
    """
    outcome: list[tuple[T | None, BaseException | None]] = []
    done = threading.Event()

    def run() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:  # handed to the thread that waits
            outcome.append((None, error))
        finally:
            done.set()

    threading.Thread(target=run, name=name, daemon=True).start()
    in_time = False
    try:
        in_time = done.wait(timeout_s)
    finally:
        if not in_time and abandon is not None:
            abandon()
    if not in_time:
        raise TimeoutError
    result, error = outcome[0]
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


#: Seconds until a step that failed is begun anew: doubled after each failure in a row. A step that has lasted longer
#: than the longest pause before it failed counts as one that went well.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 30.0


def keep_on(step: Callable[[], object], stopped: threading.Event, failed: Callable[[Exception, str], object]) -> None:
    """Call a function again and again until `stopped` is set.

    `step`: each call does work of some time, such as following a watch until it ends. `failed`: called with whatever a
    step raised, and with a line of text about that; the next step follows after a pause. The text of an exception that
    is not of this package is not quoted, because it may quote credentials.
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
