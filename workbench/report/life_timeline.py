"""The picture of an embedded cluster's Jobs over time."""

from __future__ import annotations

from html import escape

from workbench.control.life_views import JobLife, LifeTimeline
from workbench.model.counted import counted
from workbench.model.number_text import instant_text
from workbench.report.chart import bar, chart, keys, label, round_numbers, row_name, tick_across
from workbench.report.colours import NODE, job_colours
from workbench.report.svg_text import short

__all__ = ["draw_timeline"]

#: Jobs that are drawn; the rest is counted.
_LIVES = 60

_NAMES, _BARS, _ROW, _TOP = 190.0, 620.0, 22.0, 40.0

_BLUE, _RED, _GREEN, _BETWEEN = (look.colour for look in (job_colours(6)[i] for i in (0, 5, 2, 1)))

#: Colour of each phase; one that is missing leads from one of these to another.
_COLOURS = {
    "Pending": NODE,
    "Inqueue": NODE,
    "Running": _BLUE,
    "Completed": _GREEN,
    "Failed": _RED,
    "Aborted": _RED,
    "Terminated": _RED,
}


def draw_timeline(timeline: LifeTimeline) -> str:
    """The phases of each Job as bars over the cluster's time, as one ``<svg>`` element; warnings are triangles."""
    shown = timeline.jobs[:_LIVES]
    scale = _BARS / timeline.now if timeline.now else 0.0
    bottom = _TOP + _ROW * len(shown)
    parts = [
        tick_across(_NAMES + tick * scale, (_TOP - 6, bottom + 4), f"{text} s", _TOP - 10)
        for tick, text in round_numbers(0.0, timeline.now)
    ]
    for number, life in enumerate(shown):
        parts += _bars(life, _TOP + _ROW * number, scale)
    parts += _phase_key(timeline, len(shown), bottom)
    return chart("tw-lives", "Jobs over time", (_NAMES + _BARS + 20, bottom + 46), parts)


def _bars(life: JobLife, y: float, scale: float) -> list[str]:
    parts = [row_name(life.name, _NAMES, y + 14)]
    for span in life.spans:
        tip = f"{life.name}: {span.phase} from {instant_text(span.start)} s to {instant_text(span.end)} s"
        size = (max((span.end - span.start) * scale, 1.0), _ROW - 7)
        parts.append(bar(_NAMES + span.start * scale, y + 3, size, f"fill='{_COLOURS.get(span.phase, _BETWEEN)}'", tip))
    for mark in life.marks:
        x = _NAMES + mark.at * scale
        corners = f"{short(x - 4)},{short(y + 1)} {short(x + 4)},{short(y + 1)} {short(x)},{short(y + 9)}"
        said = escape(f"{instant_text(mark.at)} s: {mark.text}")
        parts.append(f"<polygon points='{corners}' fill='{_RED}' stroke='#ffffff'><title>{said}</title></polygon>")
    return parts


def _phase_key(timeline: LifeTimeline, shown: int, bottom: float) -> list[str]:
    phases = dict.fromkeys(span.phase for life in timeline.jobs for span in life.spans)
    entries = [(f"fill='{_COLOURS.get(phase, _BETWEEN)}'", phase) for phase in phases]
    parts, below = keys([*entries, ("fill='none'", "▼ warning")], _NAMES, bottom + 12, _NAMES + _BARS)
    left = len(timeline.jobs) - shown
    return [*parts, label(_NAMES, below + 10, f"and {counted(left, 'more job')}")] if left else parts
