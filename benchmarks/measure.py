"""What the benchmarks share: a clock around a call and the dict that `run.py` prints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["microseconds", "row"]


def microseconds(
    call: Callable[[], object], repeats: int, undo: Callable[[], object] | None = None
) -> NDArray[np.float64]:
    """Wall time of each of `repeats` calls, in microseconds; `undo` follows each of them, outside of the clock."""
    times = np.empty(repeats)
    for i in range(repeats):
        begin = time.perf_counter()
        call()
        times[i] = (time.perf_counter() - begin) * 1e6
        if undo is not None:
            undo()
    return times


def row(
    benchmark: str,
    size: str,
    ours_us: Sequence[float] | NDArray[np.float64],
    baseline: str,
    baseline_us: float | None,
    goal_us: float | None,
    note: str,
) -> dict[str, object]:
    """One measurement, as `run.py` describes it."""
    return {
        "benchmark": benchmark,
        "size": size,
        "ours_us_p50": float(np.percentile(ours_us, 50)),
        "ours_us_p99": float(np.percentile(ours_us, 99)),
        "baseline": baseline,
        "baseline_us": baseline_us,
        "goal_us": goal_us,
        "note": note,
    }
