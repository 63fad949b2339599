"""`lower_minimum`: the minimum of a gang that loses some of its pods."""

from __future__ import annotations

__all__ = ["lower_minimum"]


def lower_minimum(least: int, by: int, started: int) -> int:
    """A lower minimum of a gang: not below the pods that have started and one more, unless it was already.

    Parameters
    ----------
    least : int
        The minimum so far.
    by : int
        Number of pods that the gang loses.
    started : int
        Pods that count towards the minimum already.
    """
    return max(least - by, min(started + 1, least))
