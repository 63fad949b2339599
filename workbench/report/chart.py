"""What all charts are drawn with: the frame with its heading, axes with ticks, bars with tips, and legends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import ceil, floor, log10

from workbench.model.number_text import TimeUnit, number_text
from workbench.report.colours import heat
from workbench.report.svg_text import CHARACTER, fit_text, short

__all__ = [
    "ROUNDING",
    "axis_step",
    "bar",
    "chart",
    "colour_bar",
    "keys",
    "label",
    "round_numbers",
    "row_name",
    "tick_across",
    "tick_upwards",
    "time_axis",
]

_TICKS = 5
#: Part by which a sum may miss a round number: 100.00000001 % needs no axis to 150 %.
ROUNDING = 1e-6
#: Side of the square of a legend's entry, from its left to its text, and from a line of entries to the next, in pixels.
_SQUARE, _TO_TEXT, _LINE = 10.0, 14.0, 16.0


def chart(
    kind: str,
    title: str,
    size: tuple[float, float],
    parts: Iterable[str],
    *,
    px: float = 11.0,
    attributes: str = "",
    description: str = "",
) -> str:
    """One ``<svg>`` element with a heading, no wider than the page around it.

    Parameters
    ----------
    kind : str
        Its class.
    title : str
        Heading, and name for whoever cannot see the picture.
    size : (float, float)
        Width and height in pixels.
    parts : iterable of str
        Markup.
    px : float
        Font size.
    attributes : str
        Further attributes, each after a space.
    description : str
        What is seen, for whoever cannot see the picture; empty: the title says it.
    """
    described = f"<desc>{escape(description)}</desc>" if description else ""
    heading = escape(fit_text(title, size[0], 13.0))
    width, height = (short(side) for side in size)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' class='{kind}' role='img'{attributes} width='{width}' "
        f"height='{height}' viewBox='0 0 {width} {height}' style='max-width:100%;height:auto' "
        f"font-family='system-ui, sans-serif' font-size='{px:g}' fill='currentColor'><title>{escape(title)}</title>"
        f"{described}<text x='0' y='13' font-size='13' font-weight='600'>{heading}</text>"
        f"{''.join(parts)}</svg>"
    )


def label(x: float, y: float, text: str, anchor: str = "", more: str = "") -> str:
    """A text.

    `anchor` ({"", "start", "middle", "end"}): part of the text that stands at `x`; empty: its start. `more`: further
    attributes, each after a space.
    """
    held = f" text-anchor='{anchor}'" if anchor else ""
    return f"<text x='{short(x)}' y='{short(y)}'{held}{more}>{escape(text)}</text>"


def bar(x: float, y: float, size: tuple[float, float], paint: str, tip: str = "") -> str:
    """A rectangle.

    `x`, `y`: upper left corner. `size`: width and height. `paint`: attributes, such as ``fill='#0072b2'``. `tip`: tool
    tip; empty: none.
    """
    place = f"<rect x='{short(x)}' y='{short(y)}' width='{short(size[0])}' height='{short(size[1])}' {paint}"
    return f"{place}><title>{escape(tip)}</title></rect>" if tip else f"{place}/>"


def row_name(name: str, right: float, y: float, *, px: float = 11.0, more: str = "") -> str:
    """The name of a row, left of its bars; a long name is cut, and whole in its tool tip.

    `right`, `y`: where the bars begin, and the base line of the text. `px`: font size. `more`: further attributes, each
    after a space.
    """
    shown = fit_text(name, right - 8.0, px)
    tip = "" if shown == name else f"<title>{escape(name)}</title>"
    place = f"<text x='{short(right - 8.0)}' y='{short(y)}' text-anchor='end'{more}>"
    return f"{place}{escape(shown)}{tip}</text>"


def tick_across(x: float, between: tuple[float, float], text: str, y: float, opacity: str = ".2") -> str:
    """A tick of the horizontal axis: a line from top to bottom, and a text.

    `between`: top and bottom of the line. `y`: base line of the text. `opacity`: opacity of the line.
    """
    top, bottom = (short(end) for end in between)
    line = f"<line x1='{short(x)}' x2='{short(x)}' y1='{top}' y2='{bottom}' stroke='currentColor' "
    return f"{line}stroke-opacity='{opacity}'/>{label(x, y, text, 'middle')}"


def tick_upwards(y: float, between: tuple[float, float], text: str) -> str:
    """A tick of the vertical axis: a line from left to right, and a text beside it.

    `between`: left and right end of the line.
    """
    left, right = (short(end) for end in between)
    line = f"<line x1='{left}' x2='{right}' y1='{short(y)}' y2='{short(y)}' stroke='currentColor' "
    return f"{line}stroke-opacity='.2'/>{label(between[0] - 6, y + 4, text, 'end')}"


def keys(
    entries: Sequence[tuple[str, str]], left: float, top: float, right: float, px: float = 11.0
) -> tuple[list[str], float]:
    """A legend: squares with the meanings of their paints, in as many lines as they need.

    `entries`: attributes of the square, and what they mean. `left`, `top`, `right`: where it begins and ends, in
    pixels. `px`: font size.

    Returns
    -------
    parts : list of str
    bottom : float
        Lower end of the last line.
    """
    parts, x, y = [], left, top
    for paint, meaning in entries:
        span = _TO_TEXT + 12.0 + px * CHARACTER * len(meaning)
        if x > left and x + span > right:
            x, y = left, y + _LINE
        parts += [bar(x, y, (_SQUARE, _SQUARE), paint), label(x + _TO_TEXT, y + 9, meaning)]
        x += span
    return parts, y + _LINE


def colour_bar(x: float, y: float, width: float, shades: Sequence[float]) -> list[str]:
    """The colours of a scale side by side, ten pixels high.

    `shades`: places on the scale of `heat`, 0 to 1.
    """
    step = width / len(shades)
    return [bar(x + i * step, y, (step + 0.5, 10.0), f"fill='{heat(shade)}'") for i, shade in enumerate(shades)]


def time_axis(
    unit: TimeUnit, left: float, width: float, between: tuple[float, float], across: tuple[float, float]
) -> str:
    """The attribute by which pages know a chart's axis of time (``crosshair.js``).

    `left`, `width`: of the axis, in pixels. `between`: first and last time, in units. `across`: top and bottom of the
    charted area, in pixels.
    """
    low, high = (round(time * unit.seconds, 6) for time in between)
    parts = (left, width, low, high, unit.seconds, unit.symbol, *across)
    return f" data-time='{' '.join(part if isinstance(part, str) else f'{part:.15g}' for part in parts)}'"


def round_numbers(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers from `low` to `high`, at even distances, with their texts: the ticks of an axis."""
    step = axis_step(high - low)
    numbers = [round(i * step, 9) for i in range(ceil(low / step), floor(high / step) + 1)]
    return [(number, number_text(float(number))) for number in numbers]


def axis_step(most: float) -> float:
    """A round distance between grid lines: 1, 2 or 5 times a power of ten, such that at most five reach `most`."""
    if most <= 0:
        return 1.0
    rough = most / _TICKS
    power = 10.0 ** floor(log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - ROUNDING))
