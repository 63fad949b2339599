"""A Gantt chart of simulated jobs: when each waited and ran, and where a fault stopped it."""

from __future__ import annotations

from html import escape

from workbench.model.counted import counted
from workbench.report.colours import NODE, job_colours
from workbench.report.svg_text import fit_text, short
from workbench.simulate.result import SimulationResult

__all__ = ["draw_gantt"]

#: Jobs that are drawn, those that waited longest; the rest is counted.
_JOBS = 60
_NAMES, _BARS, _ROW, _TOP = 190.0, 620.0, 16.0, 28.0
_HOUR = 3600.0
_RUNNING, _STOPPED = (job_colours(6)[i].colour for i in (0, 5))


def draw_gantt(result: SimulationResult, between: tuple[float, float] | None = None, job: int | None = None) -> str:
    """The jobs that waited longest, in the order of their submission, as one ``<svg>`` element.

    Grey: waiting; blue: running, pale while a HyperJob waits for some of its Jobs; red: an attempt that a fault
    stopped.

    Parameters
    ----------
    result : SimulationResult
    between : (float, float), optional
        Seconds from which and to which the chart goes, with the jobs that waited or ran then; None: all the time.
    job : int, optional
        Number of a job that stands out, and is drawn in any case; None: no one.
    """
    since, until = between or (0.0, result.ended_s)
    frame = result.job_frame()
    here = (frame["submitted_s"] <= until) & ~(frame["ended_s"] < since)
    waited = frame["waited_s"].fillna(result.ended_s - frame["submitted_s"])
    longest = waited[here].sort_values(ascending=False, kind="stable").index[:_JOBS]
    named = () if job is None else (job,)
    shown = sorted({*longest, *named}, key=lambda number: (result.jobs[number].submitted_s, number))
    row_of = {number: row for row, number in enumerate(shown)}
    scale = _BARS / (until - since) if until > since else 0.0
    width, height = short(_NAMES + _BARS + 20), _TOP + _ROW * len(shown) + 26
    title = f"{result.policy}: the {counted(len(shown), 'job')} of {len(result.jobs):,} that waited longest"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {short(height)}' role='img' "
        f"aria-label='{escape(title, quote=True)}' style='max-width:100%;width:{width}px' "
        "font-family='system-ui, sans-serif' font-size='10' fill='currentColor'>"
        f"<text x='0' y='12' font-size='13' font-weight='600'>{escape(title)}</text>"
    ]
    for step in range(5):
        x = short(_NAMES + _BARS * step / 4)
        at = (since + (until - since) * step / 4) / _HOUR
        parts.append(
            f"<line x1='{x}' x2='{x}' y1='{short(_TOP)}' y2='{short(height - 22)}' stroke='currentColor' "
            f"opacity='.2'/><text x='{x}' y='{short(height - 8)}' text-anchor='middle'>{at:.3g} h</text>"
        )

    def bar(start: float, end: float, row: int, colour: str, said: str, opacity: float) -> None:
        if start > until or end < since:
            return
        text = escape(f"{said}, {start / _HOUR:.4g} to {end / _HOUR:.4g} h")
        first, last = max(start, since) - since, min(end, until) - since
        parts.append(
            f"<rect x='{short(_NAMES + first * scale)}' y='{short(_TOP + _ROW * row + 2)}' "
            f"width='{short(max((last - first) * scale, 1.0))}' height='{short(_ROW - 4)}' fill='{colour}' "
            f"opacity='{opacity:g}'><title>{text}</title></rect>"
        )

    for number, row in row_of.items():
        name, weight = result.jobs[number].gang.name, " font-weight='700'" if number == job else ""
        parts.append(
            f"<text x='{short(_NAMES - 8)}' y='{short(_TOP + _ROW * row + 11)}' text-anchor='end'{weight}>"
            f"{escape(fit_text(name, _NAMES - 8, 10))}<title>{escape(name)}</title></text>"
        )
        end = frame["ended_s"][number]
        submitted = result.jobs[number].submitted_s
        bar(submitted, result.ended_s if end != end else end, row, NODE, f"{name}: submitted", 0.5)
    for attempt in result.attempts:
        if attempt.job in row_of:
            colour = _STOPPED if attempt.outcome == "stopped" else _RUNNING
            said = f"{result.jobs[attempt.job].gang.name}: {attempt.outcome}, GPUs: {attempt.gpus:g}"
            pale = attempt.outcome == "standing" or job not in (None, attempt.job)
            bar(attempt.start_s, attempt.end_s, row_of[attempt.job], colour, said, 0.4 if pale else 1.0)
    return "".join([*parts, "</svg>"])
