"""The picture of an embedded cluster's Jobs over time."""

from __future__ import annotations

from html import escape

from workbench.control.life_views import JobLife, LifeTimeline
from workbench.model.counted import counted
from workbench.model.duration_text import instant_text
from workbench.report.colours import NODE, job_colours
from workbench.report.svg_text import fit_text, short

__all__ = ["draw_timeline"]

#: Jobs that are drawn; the rest is counted.
_LIVES = 60

_NAMES, _BARS, _ROW, _TOP = 190.0, 620.0, 22.0, 24.0

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
    width, height = short(_NAMES + _BARS + 20), _TOP + _ROW * len(shown) + 46
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {short(height)}' role='img' "
        f"aria-label='Jobs over time' style='max-width:100%;width:{width}px' "
        "font-family='system-ui, sans-serif' font-size='11' fill='currentColor'>"
    ]
    for step in range(5):
        at = timeline.now * step / 4
        x = short(_NAMES + _BARS * step / 4)
        parts.append(
            f"<line x1='{x}' x2='{x}' y1='{short(_TOP - 6)}' y2='{short(height - 42)}' stroke='currentColor' "
            f"opacity='.25'/><text x='{x}' y='{short(_TOP - 10)}' text-anchor='middle'>{instant_text(at)} s</text>"
        )
    for number, life in enumerate(shown):
        parts += _bars(life, _TOP + _ROW * number, scale)
    parts += _phase_key(timeline, len(shown), height)
    return "".join([*parts, "</svg>"])


def _bars(life: JobLife, y: float, scale: float) -> list[str]:
    name = escape(fit_text(life.name, _NAMES - 8, 11))
    parts = [
        f"<text x='{short(_NAMES - 8)}' y='{short(y + 14)}' text-anchor='end'>{name}"
        f"<title>{escape(life.name)}</title></text>"
    ]
    for span in life.spans:
        said = escape(f"{life.name}: {span.phase} from {instant_text(span.start)} s to {instant_text(span.end)} s")
        parts.append(
            f"<rect x='{short(_NAMES + span.start * scale)}' y='{short(y + 3)}' "
            f"width='{short(max((span.end - span.start) * scale, 1))}' height='{short(_ROW - 7)}' "
            f"fill='{_COLOURS.get(span.phase, _BETWEEN)}'><title>{said}</title></rect>"
        )
    for mark in life.marks:
        x = _NAMES + mark.at * scale
        corners = f"{short(x - 4)},{short(y + 1)} {short(x + 4)},{short(y + 1)} {short(x)},{short(y + 9)}"
        said = escape(f"{instant_text(mark.at)} s: {mark.text}")
        parts.append(f"<polygon points='{corners}' fill='{_RED}' stroke='#ffffff'><title>{said}</title></polygon>")
    return parts


def _phase_key(timeline: LifeTimeline, shown: int, height: float) -> list[str]:
    phases = list(dict.fromkeys(span.phase for life in timeline.jobs for span in life.spans))
    parts, x = [], _NAMES
    for phase in phases:
        parts.append(
            f"<rect x='{short(x)}' y='{short(height - 32)}' width='12' height='12' "
            f"fill='{_COLOURS.get(phase, _BETWEEN)}'/>"
            f"<text x='{short(x + 17)}' y='{short(height - 22)}'>{escape(phase)}</text>"
        )
        x += 34 + 6.6 * len(phase)
    parts.append(f"<text x='{short(x)}' y='{short(height - 22)}'>▼ warning</text>")
    left = len(timeline.jobs) - shown
    if left:
        parts.append(f"<text x='{short(_NAMES)}' y='{short(height - 4)}'>and {counted(left, 'more job')}</text>")
    return parts
