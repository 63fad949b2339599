"""The band beside the rows of a heat map: the NUMA node of each GPU and the NICs nearest to it."""

from __future__ import annotations

import textwrap
from html import escape
from itertools import groupby

from workbench.model.machine_parts import MachineParts
from workbench.report.svg_text import CHARACTER, fit_text

__all__ = ["parts_band", "parts_words"]

_HEAD_PX, _NAME_PX = 9.0, 10.0
_LINE = 11.5
_GAP = 8.0
#: Characters in a line about NICs; rows lower than this have no text.
_ACROSS = 26
_LEAST_ROW = 14.0


def parts_band(parts: MachineParts | None, left: float, above: float, cell: float) -> tuple[str, float]:
    """Draw the band beside the rows of a heat map: the NUMA node of each GPU and the NICs nearest to it.

    `parts`: NUMA nodes and NICs of the machine; None: unknown. `left`, `above`: upper left corner of the band, in
    pixels. `cell`: height of a row of the heat map, in pixels. NICs are left out if it is too low for text. Returns:
    SVG markup and width of the band in pixels; an empty text and 0 if `parts` is None or has no GPU.
    """
    if parts is None or not parts.n_gpus:
        return "", 0.0
    drawn, width = _numa(parts.numa, left, above, cell) if parts.numa else ([], 0.0)
    if parts.nics and cell >= _LEAST_ROW:
        nics, across = _nics(parts, left + width, above, cell)
        drawn += nics
        width += across
    return f"<g class='tw-parts'>{''.join(drawn)}</g>", width


def parts_words(parts: MachineParts | None, cell: float) -> str:
    """Legend text: what the band beside rows of height `cell` (pixels) shows; empty if there is no band."""
    if parts is None or not parts.n_gpus:
        return ""
    told = ["NUMA nodes"] if parts.numa else []
    told += ["nearest NICs with their link type"] if parts.nics and cell >= _LEAST_ROW else []
    return f"beside the rows: {', '.join(told)}" if told else ""


def _numa(numa: tuple[str, ...], left: float, above: float, cell: float) -> tuple[list[str], float]:
    """A box for each run of GPUs on one NUMA node."""
    width = max(30.0, max(len(node) for node in numa) * _NAME_PX * CHARACTER + 8.0)
    parts = [_head("NUMA", left, above)]
    tints = {node: 0.06 + 0.12 * (i % 2) for i, node in enumerate(dict.fromkeys(numa))}
    at = 0
    for node, run in groupby(numa):
        size = len(list(run))
        y, height = above + at * cell, size * cell
        rows = f"GPU {at}" if size == 1 else f"GPUs {at} to {at + size - 1}"
        name = (
            f"<text x='{left + width / 2 - 1:.1f}' y='{y + height / 2 + 3.5:.1f}' font-size='{_NAME_PX:g}' "
            f"text-anchor='middle'>{escape(node)}</text>"
            if height >= _NAME_PX
            else ""
        )
        parts.append(
            f"<g><title>{escape(f'{rows}: NUMA node {node}')}</title><rect x='{left:.1f}' y='{y + 0.5:.1f}' "
            f"width='{width - 2:.1f}' height='{height - 1:.1f}' fill-opacity='{tints[node]:.2f}' stroke='currentColor' "
            f"stroke-opacity='.4'/>{name}</g>"
        )
        at += size
    return parts, width + _GAP


def _nics(parts: MachineParts, left: float, above: float, cell: float) -> tuple[list[str], float]:
    """Draw a text beside each GPU's row, cut to the row's height: the type of the nearest link, and its NICs."""
    most = max(1, int(cell / _LINE))
    drawn, longest = [_head("nearest NICs", left, above)], 12
    for gpu in range(parts.n_gpus):
        nearest = parts.nearest(gpu)
        text = f"{next(iter(nearest.values()))} {', '.join(nearest)}" if nearest else "none near"
        lines = textwrap.wrap(text, _ACROSS)
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1][: _ACROSS - 2]} …"]
        middle = above + (gpu + 0.5) * cell - (len(lines) - 1) * _LINE / 2 + 3.5
        spans = "".join(
            f"<text x='{left:.1f}' y='{middle + i * _LINE:.1f}' font-size='{_NAME_PX:g}'>"
            f"{escape(fit_text(line, 200.0, _NAME_PX))}</text>"
            for i, line in enumerate(lines)
        )
        drawn.append(f"<g><title>{escape(f'nearest to GPU {gpu}: {text}')}</title>{spans}</g>")
        longest = max(longest, *map(len, lines))
    return drawn, longest * _NAME_PX * CHARACTER + _GAP


def _head(text: str, left: float, above: float) -> str:
    return f"<text x='{left:.1f}' y='{above - 4:.1f}' font-size='{_HEAD_PX:g}' fill-opacity='.75'>{text}</text>"
