"""A Gantt chart of simulated jobs: when each waited and ran, and where a fault stopped it."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.model.counted import counted
from workbench.model.number_text import span_text, time_unit
from workbench.report.chart import bar, chart, keys, round_numbers, row_name, tick_across, time_axis
from workbench.report.colours import NODE, OTHER_JOBS, job_colours
from workbench.simulate.result import Attempt, SimulationResult

__all__ = ["draw_gantt"]

#: Jobs that are drawn, those that waited longest; the rest is counted.
_JOBS = 60
_NAMES, _BARS, _ROW, _TOP = 190.0, 620.0, 16.0, 40.0


class _BarStyle(NamedTuple):
    """Colour of a bar, and what it means."""

    colour: str
    opacity: float
    meaning: str


_BLUE, _RED = (job_colours(6)[i].colour for i in (0, 5))
_WAITING = _BarStyle(NODE, 0.5, "waiting")
_RUNNING = _BarStyle(_BLUE, 1.0, "running")
_STOPPED = _BarStyle(_RED, 1.0, "running until a fault stopped it")
_STANDING = _BarStyle(_BLUE, 0.4, "holding nodes, waiting for lost pods")


def draw_gantt(result: SimulationResult, between: tuple[float, float] | None = None, job: int | None = None) -> str:
    """The jobs that waited longest, in the order of their submission, as one ``<svg>`` element.

    A legend tells the colours: waiting, running, and where they occur attempts that a fault stopped, and nodes that a
    job holds without working, while some of its pods wait for nodes.

    `between`: seconds from which and to which the chart goes, with the jobs that waited or ran then; None: all the
    time. `job`: number of a job that stands out, and is drawn in any case; None: no one.
    """
    since, until = between or (0.0, result.end_s)
    unit = time_unit(until)
    submitted_s, ended_s, waited_s = result.job_times
    here = np.flatnonzero((submitted_s <= until) & ~(ended_s < since))
    waited = np.where(np.isnan(waited_s), result.ended_s - submitted_s, waited_s)
    longest = here[np.argsort(-waited[here], kind="stable")][:_JOBS].tolist()
    named = () if job is None else (job,)
    shown = sorted({*longest, *named}, key=lambda number: (result.jobs[number].submitted_s, number))
    row_of = {number: row for row, number in enumerate(shown)}
    scale = _BARS / (until - since) if until > since else 0.0
    bottom = _TOP + _ROW * len(shown)
    title = _title(result, waited[longest], len(here), between)
    ends = since / unit.seconds, until / unit.seconds
    axis = time_axis(unit, _NAMES, _BARS, ends, (_TOP, bottom))
    own = [attempt for attempt in result.attempts if attempt.job in row_of]
    parts = _legend({_style(attempt.outcome) for attempt in own})
    parts += [
        tick_across(
            _NAMES + (tick * unit.seconds - since) * scale, (_TOP, bottom + 4), f"{text} {unit.symbol}", bottom + 18
        )
        for tick, text in round_numbers(*ends)
    ]

    def draw(start: float, end: float, number: int, style: _BarStyle, said: str) -> None:
        if start > until or end < since:
            return
        row = row_of[number]
        # The job that stands out has its colour also while it waits; all others are pale.
        colour, opacity, edge = style.colour, style.opacity, ""
        if job is not None and job != number:
            colour, opacity = OTHER_JOBS, style.opacity * 0.35
        elif job is not None and style is _WAITING:
            colour, edge = _BLUE, f" stroke='{_BLUE}' stroke-dasharray='3 2'"
            opacity = 0.3
        first, last = max(start, since) - since, min(end, until) - since
        size, paint = (max((last - first) * scale, 1.0), _ROW - 4), f"fill='{colour}' fill-opacity='{opacity:g}'{edge}"
        tip = f"{said}, {span_text(start, end)}"
        parts.append(bar(_NAMES + first * scale, _TOP + _ROW * row + 2, size, paint, tip))

    by_job: dict[int, list[Attempt]] = {}
    for attempt in own:
        by_job.setdefault(attempt.job, []).append(attempt)
    for number, row in row_of.items():
        name, weight = result.jobs[number].gang.name, " font-weight='700'" if number == job else ""
        parts.append(
            f"<g class='tw-row' data-job='{escape(result.jobs[number].gang.key, quote=True)}'>"
            + row_name(name, _NAMES, _TOP + _ROW * row + 11, px=10, more=weight)
        )
        end, submitted = float(ended_s[number]), result.jobs[number].submitted_s
        draw(submitted, result.ended_s if end != end else end, number, _WAITING, f"{name}: submitted")
        for attempt in by_job.get(number, ()):
            said = f"{name}: {attempt.outcome}, GPUs: {attempt.gpus:g}"
            draw(attempt.start_s, attempt.end_s, number, _style(attempt.outcome), said)
        parts.append("</g>")
    return chart("tw-gantt", title, (_NAMES + _BARS + 20, bottom + 26), parts, px=10, attributes=axis)


def _style(outcome: str) -> _BarStyle:
    """How an attempt with some outcome is drawn; one that goes on with more pods (``grown``) was running."""
    return {"stopped": _STOPPED, "standing": _STANDING}.get(outcome, _RUNNING)


def _legend(seen: set[_BarStyle]) -> list[str]:
    """Squares with the meaning of their colours, in the line below the title."""
    shown = [
        style for style in (_WAITING, _RUNNING, _STOPPED, _STANDING) if style in seen or style in (_WAITING, _RUNNING)
    ]
    entries = [(f"fill='{style.colour}' opacity='{style.opacity:g}'", style.meaning) for style in shown]
    return keys(entries, _NAMES, 20, _NAMES + _BARS + 20, 10)[0]


def _title(
    result: SimulationResult, waited: npt.NDArray[np.float64], n_here: int, between: tuple[float, float] | None
) -> str:
    """Title of the chart; `waited` are the seconds that the chosen jobs waited, out of `n_here` jobs."""
    some, everything = int((waited > 0).sum()), counted(n_here, "job", form=",")
    if n_here <= len(waited):
        jobs = everything
    elif some < len(waited):
        jobs = f"the {some} of {everything} that waited, and {len(waited) - some} others"
    else:
        jobs = f"the {some} of {everything} that waited longest"
    when = "" if between is None else f", {span_text(*between)}"
    return f"{result.policy}{when}: {jobs}"
