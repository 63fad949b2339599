"""`within`: work whose end nobody controls, bounded in time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["within"]

T = TypeVar("T")


def within(timeout_s: float, work: Callable[[], T], name: str, abandon: Callable[[], object] | None = None) -> T:
    """The result of a function, if it has one in time.

    Raises TimeoutError: no result in time; the thread ends whenever `work` does, and does not keep the program alive.
    Raises BaseException: whatever `work` raised.

    Parameters
    ----------
    timeout_s : float
        Seconds to wait.
    work : callable
        Called without arguments in a thread of its own.
    name : str
        Name of that thread.
    abandon : callable, optional
        Called when nobody waits for the result any more, as after Ctrl-C; it should make `work` end.

    Notes
    -----
    A time limit of a socket bounds each read, and a server that sends a byte a second never exceeds one.
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
