"""What the colours of pictures of a topology mean: one legend for a picture, or for several side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from workbench.model.counted import counted
from workbench.report.colours import OTHER_JOBS, JobColour, ink_on, tier_colour
from workbench.report.fill_levels import LEVEL_FREE, LEVEL_USED
from workbench.report.occupancy import Occupancy
from workbench.report.svg_text import CHARACTER, LABEL_PX, fit_text, short

__all__ = ["BOX_FILL", "STRIPES", "Key", "hatching", "job_fill", "legend_html", "legend_keys", "legend_svg", "patterns"]

#: Opacity with which the box of a HyperNode is filled by its tier's colour.
BOX_FILL = ".07"

#: Stripes of a square that no job can use.
STRIPES = 4

_LINE = 19.0
#: Jobs that get an entry of their own; the rest is counted.
_JOBS = 24
#: Width of the longest text of an entry, in pixels.
_TEXT_PX = 240.0

_SQUARE = "x='.5' y='.5' width='12' height='12'"


@dataclass(frozen=True)
class Key:
    """An entry of a legend.

    `swatch`: SVG markup of the sample of the colour, 13 by 13 pixels, at the origin. `text`: what the colour means.
    """

    swatch: str
    text: str


def job_fill(job: int, colours: Sequence[JobColour], key: str) -> str:
    """The SVG paint of a job: its colour, or a reference to its hatching pattern.

    `job`: number of the job. `key`: prefix of the SVG ids of the hatching patterns, as given to `patterns`.
    """
    return f"url(#{key}p{job})" if colours[job].hatched else colours[job].colour


@lru_cache(maxsize=64)
def hatching(size: float) -> str:
    """Markup of the stripes over a square of a node that no job can use. `size`: side of the square, in pixels."""
    step = size / STRIPES
    place = f"width='{short(max(size / 16, 1.0))}' height='{short(size)}' stroke='none' fill-opacity='.6'"
    # Rectangles, because a page moves a square by the x and y of its parts.
    return "".join(f"<rect class='tw-closed' x='{short((i + 0.4) * step)}' {place}/>" for i in range(STRIPES))


def patterns(colours: Sequence[JobColour], key: str) -> str:
    """Markup of the hatching patterns to which `job_fill` refers; empty if there is none."""
    stripes = "".join(
        f"<pattern id='{key}p{i}' width='5' height='5' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
        f"<rect width='5' height='5' fill='{look.colour}'/>"
        f"<rect width='2' height='5' fill='{ink_on(look.colour)}' fill-opacity='.55'/></pattern>"
        for i, look in enumerate(colours)
        if look.hatched
    )
    return f"<defs>{stripes}</defs>" if stripes else ""


def legend_keys(who: Occupancy, colours: Sequence[JobColour], tiers: Iterable[int], key: str) -> list[Key]:
    """The entries of a legend: jobs, states of GPUs, tiers of the boxes, and the bars of the HyperNodes.

    `tiers`: tiers of the HyperNodes that have a box, smallest first. `key`: prefix of the SVG ids of the hatching
    patterns.
    """
    tiers = list(tiers)
    edge = "stroke='currentColor' stroke-opacity='.5'"
    keys = [
        Key(f"<rect {_SQUARE} {edge} fill='{job_fill(i, colours, key)}'/>", name)
        for i, name in enumerate(who.jobs[:_JOBS])
    ]
    if len(who.jobs) > _JOBS:
        more = f"and {counted(len(who.jobs) - _JOBS, 'more job')} (hover)"
        keys.append(Key(f"<rect {_SQUARE} {edge} fill='{OTHER_JOBS}'/>", more))
    if any(who.n_busy.values()):
        keys.append(Key(f"<rect {_SQUARE} {edge} fill-opacity='.4'/>", "in use before"))
    if who.jobs or who.n_gpus:
        keys.append(Key(f"<rect {_SQUARE} {edge} fill-opacity='.06'/>", "free"))
    if who.closed:
        words = ", ".join(dict.fromkeys(who.closed.values()))
        keys.append(Key(f"<rect {_SQUARE} {edge} fill-opacity='.06'/>{hatching(13.0)}", f"no job can use it: {words}"))
    for tier in tiers:
        colour = tier_colour(tier)
        paint = f"fill='{colour}' fill-opacity='{BOX_FILL}' stroke='{colour}' stroke-width='1.5' rx='2'"
        keys.append(Key(f"<rect {_SQUARE} {paint}/>", f"tier {tier}"))
    if tiers and who.n_gpus:
        bar = f"<rect y='4' width='13' height='5' {LEVEL_FREE}/><rect y='4' width='8' height='5' {LEVEL_USED}/>"
        keys.append(Key(bar, "GPUs of a HyperNode in use"))
    return keys


def legend_svg(keys: Sequence[Key], note: str, width: float) -> tuple[str, float]:
    """Markup of a legend at the origin, and its height in pixels.

    `note`: written below the entries. `width`: in pixels.
    """
    parts, x, y = [], 0.0, 0.0
    for entry in keys:
        text = fit_text(entry.text, min(width - 20.0, _TEXT_PX), LABEL_PX)
        span = 17.0 + len(text) * LABEL_PX * CHARACTER + 12.0
        if x and x + span > width:
            x, y = 0.0, y + _LINE
        parts.append(
            f"<g transform='translate({short(x)} {short(y + 2.5)})'>{entry.swatch}"
            f"<text x='17' y='10.5'>{escape(text)}</text></g>"
        )
        x += span
    y += _LINE if keys else 0.0
    for line in _wrapped(note, width):
        parts.append(f"<text x='0' y='{short(y + 13)}' fill-opacity='.75'>{escape(line)}</text>")
        y += 15.0
    return "".join(parts), y + 4.0


def legend_html(who: Occupancy, colours: Sequence[JobColour], tiers: Iterable[int], note: str = "") -> str:
    """A legend as a strip of HTML for a page of several pictures.

    `who`: names of the jobs, and what is known of GPUs. `tiers`: tiers of the HyperNodes that have a box, smallest
    first. `note`: written below the entries.
    """
    entries = "".join(
        f"<span style='display:inline-flex;align-items:center;gap:4px;margin:0 14px 2px 0;white-space:nowrap'>"
        f"<svg class='tw-swatch' width='13' height='13' viewBox='0 0 13 13' fill='currentColor' style='flex:none' "
        f"aria-hidden='true'>{entry.swatch}</svg>{escape(entry.text)}</span>"
        for entry in legend_keys(who, colours, tiers, "tl")
    )
    stripes = patterns(colours, "tl")
    hidden = (
        f"<svg width='0' height='0' style='position:absolute' aria-hidden='true'>{stripes}</svg>" if stripes else ""
    )
    said = f"<div>{escape(note)}</div>" if note else ""
    return (
        f"<div class='tw-key' style='font:12px system-ui, sans-serif;margin:4px 0 10px'>{hidden}{entries}{said}</div>"
    )


def _wrapped(text: str, width: float) -> list[str]:
    room, lines = int(width / (LABEL_PX * CHARACTER)), [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [line for line in lines if line]
