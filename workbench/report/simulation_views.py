"""Simulations as a table of policies, as charts over time, and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import orjson

from workbench.model.counted import counted
from workbench.report.gantt import draw_gantt
from workbench.report.html import render
from workbench.report.inserted import Inserted
from workbench.report.lines import draw_lines
from workbench.report.tables import new_table, text_row
from workbench.simulate.result import SimulationResult, Usage

__all__ = ["draw_usage", "draw_waiting", "simulation_page", "simulation_tables"]

_HOUR = 3600.0
#: Points of a line; more than a chart has pixels say nothing.
_POINTS = 240
_HEADS = ("policy", "completed", "GPUs in use", "until", "wait mean", "p50", "p99", "slowdown", "restarts", "redone")
#: Jobs without nodes that are named; -o json has all.
_NAMED = 10


def simulation_tables(results: Sequence[SimulationResult]) -> list[Any]:
    """A table with a row per policy, and the jobs that never ran with their reasons."""
    title, rows = _rows(results)
    table = new_table(*_HEADS, title=title, right=range(1, len(_HEADS)))
    for row in rows:
        text_row(table, *row)
    return [table, *(_never(result) for result in results if result.refused)]


def simulation_page(results: Sequence[SimulationResult]) -> str:
    """An HTML page, complete in itself: the table, GPUs in use and jobs waiting over time, a Gantt chart per policy."""
    note, rows = _rows(results)
    pictures = [draw_usage(results), draw_waiting(results), *map(draw_gantt, results)]
    return render(
        "simulation_page.html.j2",
        title="A cluster over time",
        heads=_HEADS,
        rows=rows,
        note=note,
        pictures=[Inserted(picture) for picture in pictures],
        never=[
            (result.policy, [(result.jobs[number].gang.key, text) for number, text in result.refused.items()])
            for result in results
            if result.refused
        ],
        provenance=orjson.dumps([result.provenance.to_dict() for result in results]).decode(),
    )


def _rows(results: Sequence[SimulationResult]) -> tuple[str, list[tuple[str, ...]]]:
    """A line about all simulations, and the cells of each."""
    first = results[0]
    longest = max(result.ended_s for result in results)
    unit, name = (_HOUR, "hours") if longest >= 3 * _HOUR else (1.0, "seconds")
    rows = []
    for result in results:
        told = result.summary()
        times = (told[key] / unit for key in ("makespan_s", "waited_mean_s", "waited_p50_s", "waited_p99_s"))
        rows.append(
            (
                result.policy,
                f"{int(told['completed']):,}",
                _percent(told["gpu_use"]),
                *map(_number, times),
                _number(told["slowdown_p50"]),
                str(int(told["restarts"])),
                _percent(told["redone"]),
            )
        )
    return f"{counted(len(first.jobs), 'job')}, {first.discipline}; times in {name}", rows


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
    lines = _over_time(results, lambda result, row: 100 * row.gpus / max(result.n_gpus, 1))
    return draw_lines("GPUs in use", "hours", "% of the cluster's GPUs", lines)


def draw_waiting(results: Sequence[SimulationResult]) -> str:
    """An SVG chart of the jobs that wait over time: a line per policy, points as in `draw_usage`."""
    return draw_lines("Jobs waiting", "hours", "jobs", _over_time(results, lambda _, row: row.waiting))


def _over_time(
    results: Sequence[SimulationResult], value: Callable[[SimulationResult, Usage], float]
) -> dict[str, list[tuple[float, float]]]:
    """By policy: means of a value of the usage rows over equal parts of the time."""
    end = max((result.ended_s for result in results), default=0.0)
    edges = np.linspace(0.0, end, _POINTS + 1)
    lines = {}
    for result in results:
        times = np.array([row.time_s for row in result.usage])
        values = np.array([value(result, row) for row in result.usage], dtype=np.float64)
        # The integral of a step function is piecewise linear between its steps.
        until = np.append(times, end)
        integral = np.append(0.0, np.cumsum(values * np.diff(until)))
        means = np.diff(np.interp(edges, until, integral)) / (end / _POINTS) if end else np.zeros(_POINTS)
        middle = (edges[:-1] + edges[1:]) / 2 / _HOUR
        lines[result.policy] = list(zip(middle.tolist(), means.tolist(), strict=True))
    return lines


def _percent(part: float) -> str:
    return "–" if part != part else f"{100 * part:.1f} %"


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.2f}"
