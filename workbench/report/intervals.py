"""`draw_intervals`: differences with their intervals as SVG, one line each, beside a line at zero."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite
from typing import NamedTuple

from workbench.model.number_text import number_text
from workbench.report.chart import chart, label, round_numbers, row_name, tick_across
from workbench.report.colours import job_colours
from workbench.report.svg_text import CHARACTER, short

__all__ = ["DrawnInterval", "draw_intervals"]

_AXIS, _RIGHT = 400.0, 16.0
#: Width of the names: as much as the longest needs, within these bounds.
_LEAST_NAMES, _MOST_NAMES = 120.0, 640.0
_TOP, _ROW, _BOTTOM = 30.0, 20.0, 40.0
_PX = 11.0


class DrawnInterval(NamedTuple):
    """One line of the chart.

    `group`: lines of one group have one colour. `value`: not finite: the line is drawn without a mark. `low`, `high`:
    ends of the interval; not finite: none is known.
    """

    label: str
    group: str
    value: float
    low: float
    high: float


def draw_intervals(title: str, across: str, rows: Sequence[DrawnInterval]) -> str:
    """Draw values with intervals on a common axis that holds zero.

    `across`: what the axis counts, with the unit. `rows`: from top to bottom. Returns: one ``<svg>`` element; all text
    escaped. Same input, same bytes.
    """
    ends = [end for row in rows for end in (row.low, row.value, row.high) if isfinite(end)]
    least, most = min([0.0, *ends]), max([0.0, *ends])
    spare = (most - least) * 0.04 or 1.0
    low, high = least - spare, most + spare
    longest = max((len(row.label) for row in rows), default=0)
    names = min(max(_LEAST_NAMES, (longest + 1) * _PX * CHARACTER + 8), _MOST_NAMES)
    scale = _AXIS / (high - low)
    width = names + _AXIS + _RIGHT
    bottom = _TOP + _ROW * len(rows)

    def at(value: float) -> float:
        return names + (value - low) * scale

    parts = [
        tick_across(at(tick), (_TOP, bottom), text, bottom + 14, ".2" if tick else ".7")
        for tick, text in round_numbers(low, high)
    ]
    parts.append(label(names + _AXIS / 2, bottom + 30, across, "middle"))
    groups = list(dict.fromkeys(row.group for row in rows))
    colours = {group: look.colour for group, look in zip(groups, job_colours(len(groups)), strict=True)}
    for i, row in enumerate(rows):
        y = _TOP + _ROW * (i + 0.5)
        colour = colours[row.group]
        tip = f"{row.label}: {number_text(row.value)}"
        parts.append(row_name(row.label, names, y + 4))
        if isfinite(row.low) and isfinite(row.high):
            tip += f", {number_text(row.low)} to {number_text(row.high)}"
            parts.append(
                f"<line x1='{short(at(row.low))}' x2='{short(at(row.high))}' y1='{y:.0f}' y2='{y:.0f}' "
                f"stroke='{colour}' stroke-width='2'/>"
            )
        if isfinite(row.value):
            parts.append(
                f"<circle cx='{short(at(row.value))}' cy='{y:.0f}' r='4' fill='{colour}'>"
                f"<title>{escape(tip)}</title></circle>"
            )
    return chart("tw-intervals", title, (width, bottom + _BOTTOM), parts)
