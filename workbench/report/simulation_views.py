"""Simulations as a table of policies, as charts over time, and as a page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from workbench.evaluate.metric import View
from workbench.model.counted import counted
from workbench.model.number_text import TimeUnit, time_unit
from workbench.model.snapshot import ClusterSnapshot
from workbench.report.gantt import draw_gantt
from workbench.report.html import render
from workbench.report.lines import AxisBand, draw_lines
from workbench.report.link_traffic import draw_link_traffic
from workbench.report.metric_columns import ShownMetric, legend, shown_cells, shown_metrics
from workbench.report.svg_text import Inserted
from workbench.report.tables import metric_table, new_table, text_row
from workbench.simulate.free_nodes import free_nodes
from workbench.simulate.result import SimulationResult, Usage

__all__ = [
    "Stretch",
    "draw_free_nodes",
    "draw_reasons",
    "draw_step_times",
    "draw_usage",
    "draw_waiting",
    "reason_text",
    "run_names",
    "simulation_html",
    "simulation_page",
    "simulation_tables",
]

#: Seconds from which and to which a chart goes.
Between = tuple[float, float]

#: Points of a line; more than a chart has pixels say nothing.
_POINTS = 240
#: Reasons of waiting that have a line of their own.
_REASONS = 5
#: Short forms of the reasons that are most common in simulations.
_SHORT_REASONS = {
    "behind": "a job ahead holds the line",
    "few-gpus": "too few free GPUs",
    "insufficient": "nodes have too little left",
    "no-domain": "no HyperNode has room",
    "not-tried": "not tried yet",
    "quota": "quota used up",
    "queue-limit": "queue is full",
    "queue-overused": "queue has its share",
}
#: Jobs without nodes that are named; -o json has all.
_NAMED = 10


def simulation_tables(results: Sequence[SimulationResult]) -> list[Any]:
    """A table with a row per policy, and the jobs that never ran with their reasons."""
    note, columns, rows = _rows(results, View.TABLE)
    table = metric_table(
        ["policy"], columns, [([result.policy], cells) for result, cells in zip(results, rows, strict=True)], note
    )
    return [*table, *(_never(result) for result in results if result.refused)]


def simulation_page(results: Sequence[SimulationResult], snapshot: ClusterSnapshot) -> str:
    """An HTML page, complete in itself.

    The table; GPUs in use, jobs waiting and free nodes in one HyperNode of each tier over time; on a network the
    distribution of step times and the traffic per link; and a Gantt chart per policy.

    `results`: results of the same jobs. `snapshot`: the cluster at the start.
    """
    note, columns, rows = _rows(results, View.PAGE)
    pictures = [draw_usage(results), draw_waiting(results)]
    pictures += [
        draw_reasons(result, (0.0, _longest(results)), name=name)
        for name, result in zip(run_names(results), results, strict=True)
        if result.refusals
    ]
    pictures += draw_free_nodes(results, snapshot)
    if any(result.steps for result in results):
        pictures.append(draw_step_times(results))
    wide = [draw_link_traffic(result, snapshot.topology) for result in results if result.steps]
    wide += map(draw_gantt, results)
    script = crosshair_script()
    return render(
        "simulation_page.html.j2",
        title="A cluster over time",
        heads=["policy", *(column.heading for column in columns)],
        rows=[(result.policy, cells) for result, cells in zip(results, rows, strict=True)],
        note=note,
        legend=legend(columns, View.PAGE),
        pictures=[Inserted(picture) for picture in pictures],
        wide=[Inserted(picture) for picture in wide],
        script=Inserted(script),
        script_digest=b64encode(sha256(script.encode()).digest()).decode(),
        never=[
            (result.policy, [(result.jobs[number].gang.key, text) for number, text in result.refused.items()])
            for result in results
            if result.refused
        ],
        provenance=orjson.dumps([result.provenance.to_dict() for result in results]).decode(),
    )


def crosshair_script() -> str:
    """The script by which the charts of a page have one crosshair."""
    module = files("workbench.report").joinpath("templates/crosshair.js").read_text("utf-8")
    return f"{module}linkCharts(document.body);\n"


def simulation_html(result: SimulationResult) -> str:
    """A simulation as a notebook shows it: a line of numbers, use and waiting over time, step times, a Gantt chart."""
    pictures = [draw_usage([result]), draw_waiting([result])]
    if result.refusals:
        pictures.append(draw_reasons(result))
    if result.steps:
        pictures.append(draw_step_times([result]))
    charts = "".join([*pictures, draw_gantt(result)])
    return f"<div class='tw-simulation'><p>{escape(repr(result))}</p>{charts}</div>"


def _rows(
    results: Sequence[SimulationResult], view: View
) -> tuple[str, list[ShownMetric], list[list[tuple[str, bool]]]]:
    """A line about all simulations, the columns of their metrics, and the cells of each simulation."""
    first, unit = results[0], time_unit(_longest(results))
    measured = [result.measured() for result in results]
    columns = shown_metrics(measured, view, unit)
    note = f"{counted(len(first.jobs), 'job')}, {first.discipline}; times in {unit.plural}"
    return note, columns, shown_cells(columns, measured, "completed")


def _longest(results: Sequence[SimulationResult]) -> float:
    """Seconds up to which something is to be seen in one of the simulations."""
    return max((result.end_s for result in results), default=0.0)


def _axis(results: Sequence[SimulationResult], between: Between | None) -> TimeUnit:
    """What the axis of time counts: hours, or what suits a shorter time."""
    return time_unit(_longest(results) if between is None else between[1])


def _draw_over_time(
    title: str,
    upwards: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    unit: TimeUnit,
    stretches: Sequence[Stretch] = (),
) -> str:
    marks = [AxisBand(one.since_s / unit.seconds, one.until_s / unit.seconds, *one[2:]) for one in stretches]
    return draw_lines(title, unit.plural, upwards, lines, time=unit, marks=marks)


class Stretch(NamedTuple):
    """A stretch of time that a chart marks. `said`: its tip."""

    since_s: float
    until_s: float
    colour: str
    said: str


def _never(result: SimulationResult) -> Any:
    title = f"{result.policy}: {counted(len(result.refused), 'job waits', 'jobs wait')} at the end"
    table = new_table("job", "why", title=title)
    for number, text in list(result.refused.items())[:_NAMED]:
        text_row(table, result.jobs[number].gang.key, text)
    if len(result.refused) > _NAMED:
        text_row(table, f"and {len(result.refused) - _NAMED} more", "")
    return table


def reason_text(code: str) -> str:
    """A reason of waiting in a few words."""
    return _SHORT_REASONS.get(code, code.replace("-", " "))


def run_names(results: Sequence[SimulationResult]) -> list[str]:
    """A name for each of some simulations: the policy; where two have one policy, its discipline, and a number."""
    names = [result.policy for result in results]
    if len(set(names)) < len(names):
        names = [f"{result.policy}, {result.discipline}" for result in results]
    return [f"{name} ({i + 1})" if names.count(name) > 1 else name for i, name in enumerate(names)]


def draw_usage(
    results: Sequence[SimulationResult], between: Between | None = None, stretches: Sequence[Stretch] = ()
) -> str:
    """An SVG chart of the GPUs in use over time, in percent of the cluster's: a line per policy.

    Each point is the mean over an equal part of the time.

    `between`: seconds from which and to which the chart goes; None: all the time that the longest simulation took.
    `stretches`: marked in the chart.
    """
    lines = _over_time(results, lambda result, row: 100 * row.gpus / max(result.n_gpus, 1), between)
    return _draw_over_time("GPUs in use", "% of the cluster's GPUs", lines, _axis(results, between), stretches)


def draw_waiting(
    results: Sequence[SimulationResult], between: Between | None = None, stretches: Sequence[Stretch] = ()
) -> str:
    """An SVG chart of the jobs that wait over time: a line per policy; points and parameters as in `draw_usage`.

    Parameters
    ----------
    between : (float, float), optional
    """
    lines = _over_time(results, lambda _, row: row.waiting, between)
    return _draw_over_time("Jobs waiting", "jobs", lines, _axis(results, between), stretches)


def draw_reasons(
    result: SimulationResult, between: Between | None = None, stretches: Sequence[Stretch] = (), name: str = ""
) -> str:
    """An SVG chart of how many jobs of a simulation wait for which reason: a line per reason, at most five.

    `between`: as for `draw_usage`. `name`: of the simulation, for the title; empty: the policy.
    """
    steps = result.waiting_by_reason
    shown = list(steps)[:_REASONS]
    lines = _means([result], {reason_text(code): steps[code] for code in shown}, between)
    title = f"Why jobs wait, {name or result.policy}"
    return _draw_over_time(title, "jobs", lines, _axis([result], between), stretches)


def draw_free_nodes(results: Sequence[SimulationResult], snapshot: ClusterSnapshot) -> list[str]:
    """An SVG chart per tier of the most free nodes in one of its HyperNodes: the slots for a job that must stay inside.

    Of a tier with one HyperNode these are all free nodes. Points as in `draw_usage`.

    `snapshot`: the cluster at the start.
    """
    frames = {name: free_nodes(result, snapshot) for name, result in zip(run_names(results), results, strict=True)}
    charts = []
    for tier in snapshot.topology.tiers:
        steps = {
            policy: (frame["time_s"].to_numpy(), frame[f"tier {tier}"].to_numpy(dtype=np.float64))
            for policy, frame in frames.items()
        }
        title = f"Most free nodes in one HyperNode of tier {tier}"
        charts.append(_draw_over_time(title, "nodes", _means(results, steps), _axis(results, None)))
    return charts


def draw_step_times(results: Sequence[SimulationResult], between: Between | None = None) -> str:
    """An SVG chart of how slow training steps were: a line per policy.

    Across: a step over the same step with only the network cards of its nodes in the way. Upwards: the part of the GPU
    time of jobs that send in which steps were no slower than that.

    `between`: seconds from which and to which steps count; None: all.
    """
    lines = {}
    since, until = between or (0.0, float("inf"))
    for name, result in zip(run_names(results), results, strict=True):
        gpus = {result.jobs[attempt.job].gang.key: attempt.gpus for attempt in result.attempts}
        frame = result.step_frame()
        frame = frame[frame["card_s"] > 0]
        slow = (frame["now_s"] / frame["card_s"]).to_numpy()
        lasted = (frame["to_s"].clip(upper=until) - frame["from_s"].clip(lower=since)).clip(lower=0.0)
        time = (lasted * frame["job"].map(gpus)).to_numpy(dtype=np.float64)
        order = np.argsort(slow, kind="stable")
        part = 100 * np.cumsum(time[order]) / max(float(time.sum()), 1e-9)
        finite = np.isfinite(slow[order]) & (time[order] > 0)
        points = np.column_stack([slow[order], part])[finite]
        # As many points as the chart has pixels, at even steps upwards.
        wanted = np.unique(np.searchsorted(points[:, 1], np.linspace(0, 100, _POINTS)).clip(0, max(len(points) - 1, 0)))
        shown = points[wanted].tolist() if len(points) else []
        # Steps: nothing lies between two times that were seen.
        before = [0.0, *(y for _, y in shown)][: len(shown)]
        lines[name] = [corner for (x, y), last in zip(shown, before, strict=True) for corner in ((x, last), (x, y))]
    return draw_lines(
        "Step times", "times as long as with free links, at most", "% of GPU time, cumulative", lines, dots=False
    )


def _over_time(
    results: Sequence[SimulationResult],
    value: Callable[[SimulationResult, Usage], float],
    between: Between | None = None,
) -> dict[str, list[tuple[float, float]]]:
    """By policy: means of a value of the usage rows over equal parts of the time."""
    steps = {
        name: (
            np.array([row.time_s for row in result.usage]),
            np.array([value(result, row) for row in result.usage], dtype=np.float64),
        )
        for name, result in zip(run_names(results), results, strict=True)
    }
    return _means(results, steps, between)


def _means(
    results: Sequence[SimulationResult],
    steps: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
    between: Between | None = None,
) -> dict[str, list[tuple[float, float]]]:
    """By policy: means of a step function, given by its times and values, over equal parts of the time."""
    end = max((result.ended_s for result in results), default=0.0)
    first, last = between or (0.0, _longest(results))
    unit = time_unit(last)
    edges = np.linspace(first, last, _POINTS + 1)
    lines = {}
    for policy, (times, values) in steps.items():
        # The integral of a step function is piecewise linear between its steps.
        until = np.append(times, end)
        integral = np.append(0.0, np.cumsum(values * np.diff(until)))
        sums = np.diff(np.interp(edges, until, integral))
        # Without any time the chart shows the only state that there was.
        means = (
            sums / ((last - first) / _POINTS) if last > first else np.full(_POINTS, values[-1] if len(values) else 0.0)
        )
        middle = (edges[:-1] + edges[1:]) / 2 / unit.seconds
        lines[policy] = list(zip(middle.tolist(), means.tolist(), strict=True))
    return lines
