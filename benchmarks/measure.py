"""Helpers of the benchmarks: timing a call, and the dict of one measurement that `run.py` prints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["microseconds", "row"]

#: Once the calls of a row have taken so long together, no further one is begun; three are always made.
LONGEST_S = 3.0
FEWEST = 3


def microseconds(
    call: Callable[[], object], repeats: int, undo: Callable[[], object] | None = None
) -> NDArray[np.float64]:
    """Wall-clock time of each of `repeats` calls in microseconds.

    Fewer calls if they take longer than `LONGEST_S` together. `undo` is called after each call and not timed.
    """
    times: list[float] = []
    spent = 0.0
    while len(times) < min(FEWEST, repeats) or (len(times) < repeats and spent < LONGEST_S * 1e6):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
        spent += times[-1]
        if undo is not None:
            undo()
    return np.array(times)


def row(
    benchmark: str,
    size: str,
    ours_us: Sequence[float] | NDArray[np.float64],
    baseline: str,
    baseline_us: float | None,
    goal_us: float | None,
    note: str,
    goal_of: Literal["p50", "p99"] = "p99",
    fault: str = "",
) -> dict[str, object]:
    """One measurement as the dict that `run.py` describes.

    `ours_us` are the single measurements in microseconds, `baseline_us` the baseline's time; None if there is none.
    `fault` says what was wrong with the answers; "" if nothing was.
    """
    return {
        "benchmark": benchmark,
        "size": size,
        "ours_us_p50": float(np.percentile(ours_us, 50)),
        "ours_us_p99": float(np.percentile(ours_us, 99)),
        "baseline": baseline,
        "baseline_us": baseline_us,
        "goal_us": goal_us,
        "goal_of": goal_of,
        "note": note,
        "fault": fault,
    }
