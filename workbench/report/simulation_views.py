"""Simulations as a table of policies, and GPUs in use over time as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from workbench.model.counted import counted
from workbench.report.lines import draw_lines
from workbench.report.tables import new_table, text_row
from workbench.simulate.result import SimulationResult

__all__ = ["draw_usage", "simulation_tables"]

_HOUR = 3600.0
#: Points of a line; more than a chart has pixels say nothing.
_POINTS = 240
#: Jobs without nodes that are named; -o json has all.
_NAMED = 10


def simulation_tables(results: Sequence[SimulationResult]) -> list[Any]:
    """A table with a row per policy, and the jobs that never ran with their reasons."""
    first = results[0]
    longest = max(result.ended_s for result in results)
    unit, name = (_HOUR, "hours") if longest >= 3 * _HOUR else (1.0, "seconds")
    title = f"{counted(len(first.jobs), 'job')}, {first.discipline}; times in {name}"
    heads = ("policy", "completed", "GPUs in use", "until", "wait mean", "p50", "p99", "slowdown", "restarts", "redone")
    table = new_table(*heads, title=title, right=range(1, 10))
    for result in results:
        told = result.summary()
        waits = (told[key] / unit for key in ("makespan_s", "waited_mean_s", "waited_p50_s", "waited_p99_s"))
        text_row(
            table,
            result.policy,
            int(told["completed"]),
            _percent(told["gpu_use"]),
            *map(_number, waits),
            _number(told["slowdown_p50"]),
            int(told["restarts"]),
            _percent(told["redone"]),
        )
    parts: list[Any] = [table]
    for result in results:
        if result.refused:
            parts.append(_never(result))
    return parts


def _never(result: SimulationResult) -> Any:
    title = f"{result.policy}: {counted(len(result.refused), 'job waits', 'jobs wait')} at the end"
    table = new_table("job", "why", title=title)
    for number, text in list(result.refused.items())[:_NAMED]:
        text_row(table, result.jobs[number].gang.key, text)
    if len(result.refused) > _NAMED:
        text_row(table, f"and {len(result.refused) - _NAMED} more", "")
    return table


def draw_usage(results: Sequence[SimulationResult]) -> str:
    """An SVG chart of the GPUs in use over time, in percent of the cluster's: a line per policy.

    Each point is the mean over an equal part of the time that the longest simulation took.
    """
    end = max((result.ended_s for result in results), default=0.0)
    lines = {result.policy: _means(result, end) for result in results}
    return draw_lines("GPUs in use", "hours", "% of the cluster's GPUs", lines)


def _means(result: SimulationResult, end: float) -> list[tuple[float, float]]:
    if not result.n_gpus or end <= 0:
        return []
    width = end / _POINTS
    used = [0.0] * _POINTS
    rows = [*result.usage, result.usage[-1]._replace(time_s=end)]
    for row, after in pairwise(rows):
        time = row.time_s
        while time < after.time_s:
            i = min(int(time / width), _POINTS - 1)
            until = after.time_s if i == _POINTS - 1 else min(after.time_s, (i + 1) * width)
            # Rounding may put a time on the border of a part: it then belongs to the next.
            until = max(until, min(after.time_s, time + width * 1e-9))
            used[i] += row.gpus * (until - time)
            time = until
    return [((i + 0.5) * width / _HOUR, 100 * used[i] / (width * result.n_gpus)) for i in range(_POINTS)]


def _percent(part: float) -> str:
    return "–" if part != part else f"{100 * part:.1f} %"


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.2f}"
