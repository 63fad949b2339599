"""`draw_lines`: a line chart as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, isfinite
from typing import NamedTuple

from workbench.model.number_text import TimeUnit, number_text
from workbench.report.chart import ROUNDING, axis_step, bar, chart, label, round_numbers, tick_upwards, time_axis
from workbench.report.colours import job_colours
from workbench.report.svg_text import short

__all__ = ["AxisBand", "draw_lines"]

_WIDTH, _HEIGHT = 520.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 16.0, 30.0, 58.0
#: Points up to which each has a dot and, as far as there is room, its number below.
_DOTS = 32
#: Strokes of the lines after the first, so that colour never stands alone.
_DASHES = ("", "6 4", "2 3", "8 3 2 3")


class AxisBand(NamedTuple):
    """A coloured stretch of a chart's horizontal axis. `since`, `until`: as the axis counts. `said`: its tip."""

    since: float
    until: float
    colour: str
    said: str


def draw_lines(
    title: str,
    across: str,
    upwards: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    *,
    dots: bool = True,
    time: TimeUnit | None = None,
    marks: Sequence[AxisBand] = (),
) -> str:
    """Draw a line chart whose vertical axis begins at zero.

    Returns: one ``<svg>`` element; all text escaped. Same input, same bytes.

    Parameters
    ----------
    across, upwards : str
        What the two axes count, with the unit.
    lines : mapping of str to sequence of (float, float)
        Points of each line by its name, in the order of the horizontal axis. Points that are not finite are left out.
    dots : bool
        Draw a dot at each point, and below the chart its number as far as there is room; a chart with more than 32
        points has neither. False: points are corners of the line and nothing more, as of a step function.
    time : TimeUnit, optional
        What the horizontal axis counts if it is time: pages give such charts one crosshair.
    marks : sequence of AxisBand
        Stretches of the horizontal axis that are coloured, behind the lines.
    """
    drawn = {name: [(x, y) for x, y in points if isfinite(y)] for name, points in lines.items()}
    xs = sorted({x for points in drawn.values() for x, _ in points})
    most = max((y for points in drawn.values() for _, y in points), default=0.0)
    step = axis_step(most)
    top = step * ceil(most / step - ROUNDING) if most > 0 else 1.0
    low, high = (xs[0], xs[-1]) if xs else (0.0, 1.0)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at(x: float, y: float) -> tuple[float, float]:
        part = (x - low) / (high - low) if high > low else 0.5
        return _LEFT + part * width, _TOP + height * (1 - y / top)

    parts = []
    for mark in marks:
        begin, end = (at(min(max(x, low), high), 0)[0] for x in (mark.since, mark.until))
        if mark.since <= high and mark.until >= low:
            paint = f"fill='{mark.colour}' fill-opacity='.22'"
            parts.append(bar(begin, _TOP, (max(end - begin, 1.0), height), paint, mark.said))
    for i in range(round(top / step) + 1):
        parts.append(tick_upwards(at(low, i * step)[1], (_LEFT, _WIDTH - _RIGHT), number_text(round(i * step, 6))))
    dense = not dots or len(xs) > _DOTS
    few = [(x, number_text(x)) for x in xs[:: max(1, ceil(len(xs) / 16))]]
    parts += [
        label(at(x, 0)[0], _TOP + height + 16, text, "middle")
        for x, text in (round_numbers(low, high) if dense else few)
    ]
    middle = _TOP + height / 2
    parts.append(label(_LEFT + width / 2, _TOP + height + 32, across, "middle"))
    parts.append(label(12, middle, upwards, "middle", f" transform='rotate(-90 12 {short(middle)})'"))
    places = _legend(list(drawn))
    # The dots of many points would hide the line; their tips stay.
    hidden = " fill-opacity='0'" if dense else ""
    for i, ((name, points), look) in enumerate(zip(drawn.items(), job_colours(len(drawn)), strict=True)):
        stroke = f"stroke='{look.colour}' stroke-width='2' stroke-dasharray='{_DASHES[i % len(_DASHES)]}'"
        parts.append(_line(name, [(*point, *at(*point)) for point in points], stroke, f"fill='{look.colour}'{hidden}"))
        x, y = places[i]
        parts.append(
            f"<line x1='{x:.0f}' x2='{x + 24:.0f}' y1='{y:.0f}' y2='{y:.0f}' {stroke}/>{label(x + 30, y + 4, name)}"
        )
    tall = max((y for _, y in places), default=_HEIGHT - 8.0) + 8.0
    axis = time_axis(time, _LEFT, width, (low, high), (_TOP, _TOP + height)) if time is not None else ""
    return chart("tw-lines", title, (_WIDTH, tall), parts, attributes=axis)


def _line(name: str, points: Sequence[tuple[float, float, float, float]], stroke: str, fill: str) -> str:
    """A line and its dots with their tips; each point as its two numbers and its place in the picture."""
    corners = " ".join(f"{at_x:.1f},{at_y:.1f}" for _, _, at_x, at_y in points)
    dots = "".join(
        f"<circle cx='{at_x:.1f}' cy='{at_y:.1f}' r='3' {fill}>"
        f"<title>{escape(f'{name}: {number_text(y)} at {number_text(x)}')}</title></circle>"
        for x, y, at_x, at_y in points
    )
    return f"<g class='tw-line'><polyline fill='none' {stroke} points='{corners}'/>{dots}</g>"


def _legend(names: Sequence[str]) -> list[tuple[float, float]]:
    """Place of each name below the chart, in as many rows as they need."""
    found, x, y = [], _LEFT, _HEIGHT - 8.0
    for name in names:
        width = 46.0 + 6.6 * len(name)
        if x > _LEFT and x + width > _WIDTH:
            x, y = _LEFT, y + 16.0
        found.append((x, y))
        x += width
    return found
