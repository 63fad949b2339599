"""Waiting for what another thread, process or page does: for a condition, never for a number of seconds.

How long that takes says nothing about the program, only about how busy the machine is. So there is one limit for all,
and it is generous: it only ends a test that would wait for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["PATIENCE_S", "until"]

#: Seconds until something that should have happened counts as something that never will.
PATIENCE_S = 120.0


def until(holds: Callable[[], object], what: str = "it", pause_s: float = 0.01) -> None:
    """Wait until a condition is true.

    Parameters
    ----------
    holds : callable
        Asked again and again.
    what : str
        What is waited for, in the message of the failure.
    pause_s : float
        Seconds between two questions.
    """
    give_up = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > give_up:
            raise AssertionError(f"waited {PATIENCE_S:g} s for {what}")
        time.sleep(pause_s)
