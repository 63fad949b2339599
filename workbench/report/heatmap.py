"""`draw_heatmap`: a GPU bandwidth matrix as a heat map, with a chosen set of GPUs marked.

Up to `_TILES_UP_TO` GPUs every entry is an SVG square with its tool tip; above, the entries are one embedded image (a
page of 147,456 squares for 384 GPUs would not scroll), and marks are drawn over it. A link class has one colour
(`workbench.model.links.class_speeds_gb_s`): noise should not look like a difference.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Collection, Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.links import LinkClass, class_speeds_gb_s, link_class_table, suspicious_links
from workbench.report.colours import MARK, SET_COLOURS, heat, ink_on
from workbench.report.heatmap_overlay import COLUMN, asymmetry_overlay, asymmetry_text, set_columns
from workbench.report.heatmap_parts import parts_band, parts_words
from workbench.report.png import svg_image
from workbench.report.speed_colours import SpeedScale
from workbench.report.svg_text import fit_text

__all__ = ["draw_heatmap", "slowest_pair"]

_TILES_UP_TO = 32
_VALUES_UP_TO = 16
_LABELS_UP_TO = 96
_CLASSES_SHOWN = 12
_LINE = 66  # characters of a line of the legend
_FADED = 0.28


def draw_heatmap(
    matrix: BandwidthMatrix,
    chosen: Sequence[int] = (),
    pair: tuple[int, int] | None = None,
    title: str = "",
    note: str = "",
    others: Mapping[str, Collection[int]] | None = None,
    asymmetry: bool = False,
    words: bool = True,
) -> str:
    """Draw a GPU bandwidth matrix as a heat map; row i, column j is the bandwidth from GPU i to GPU j.

    Returns one ``<svg>`` element.

    Parameters
    ----------
    chosen : sequence of int
        GPUs to mark; the others are faded.
    pair : tuple of int, optional
        The slowest pair of the set; by default the slowest direction inside it.
    title, note : str
        Heading, and a line below the picture.
    others : mapping of str to collection of int, optional
        GPUs that policies choose, by the policy's name: each policy gets a column of marks beside the rows, until the
        colours are used up.
    asymmetry : bool
        Mark the slower direction of each unequal pair.
    words : bool
        Write below the picture the chosen GPUs, the slowest pair and suspicious links; False if the page does so
        itself.
    """
    n = len(matrix)
    chosen = sorted(chosen)
    if pair is None and len(chosen) > 1:
        pair = slowest_pair(matrix, chosen)
    sets = list((others or {}).items())[: len(SET_COLOURS)]
    cell = _cell_size(n)
    texts = matrix.labels if n <= _LABELS_UP_TO else tuple(str(i) for i in range(n))
    left = min(max(len(t) for t in texts) * 7.6 + 10.0, 110.0)
    above = (24.0 if title else 2.0) + 16.0
    drawn = f"{matrix.checksum}{matrix.parts}{chosen}{pair}{title}{note}{sets}{asymmetry}"
    key = "tw" + hashlib.sha256(drawn.encode()).hexdigest()[:10]
    speeds = class_speeds_gb_s(matrix)
    scale = SpeedScale.over(speeds)
    parts = [_entries(matrix, scale.shades(speeds), chosen, left, above, cell)]
    parts.append(_labels(texts, chosen, left, above, cell))
    if pair is not None:
        parts.extend(_mark(matrix, i, j, left, above, cell) for i, j in (pair, pair[::-1]))
    if asymmetry:
        parts.append(asymmetry_overlay(matrix, left, above, cell, n > _TILES_UP_TO))
        note = f"{note}\n{asymmetry_text(matrix)}".strip()
    band, band_width = parts_band(matrix.parts, left + n * cell + 8.0, above, cell)
    parts.append(band)
    parts.append(set_columns(sets, left + n * cell + 8.0 + band_width, above, cell))
    legend, legend_height = _legend(matrix, scale, chosen, pair, bool(sets), note, words)
    width = max(left + n * cell + 8.0 + band_width + COLUMN * len(sets), 420.0)
    top = above + n * cell + 8.0
    height = top + legend_height
    heading = f"<text x='1' y='15' font-size='13' font-weight='600'>{escape(fit_text(title, width, 13.0))}</text>"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' class='tw-heatmap' role='img' aria-labelledby='{key}t {key}d' "
        f"width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {width:.1f} {height:.1f}' "
        f"font-family='system-ui, sans-serif' font-size='11' fill='currentColor'>"
        f"<title id='{key}t'>{escape(title or 'Bandwidth between GPUs')}</title>"
        f"<desc id='{key}d'>{escape(_describe(matrix, chosen, pair))}</desc>"
        f"{heading if title else ''}"
        f"{''.join(parts)}<g transform='translate(1 {top:.1f})'>{legend}</g></svg>"
    )


def slowest_pair(matrix: BandwidthMatrix, gpus: Sequence[int]) -> tuple[int, int]:
    """The slowest direction (from, to) between any two of the given GPUs, at least two; ties: lowest indices."""
    block = matrix.gb_s[np.ix_(gpus, gpus)].copy()
    np.fill_diagonal(block, np.inf)
    i, j = np.unravel_index(int(block.argmin()), block.shape)
    return gpus[int(i)], gpus[int(j)]


def _cell_size(n: int) -> float:
    for most, size in ((8, 46.0), (16, 36.0), (32, 18.0), (72, 9.0), (128, 5.0)):
        if n <= most:
            return size
    return max(600.0 / n, 1.0)


def _entries(
    matrix: BandwidthMatrix,
    shades: npt.NDArray[np.float64],
    chosen: Sequence[int],
    left: float,
    above: float,
    cell: float,
) -> str:
    n = len(matrix)
    if n > _TILES_UP_TO:
        return svg_image(_pixels(shades, chosen), "tw-entries", left, above, n * cell, n * cell)
    inside = set(chosen) or set(range(n))
    parts = ["<g class='tw-entries' stroke='currentColor' stroke-opacity='.25' stroke-width='.5'>"]
    for i in range(n):
        for j in range(n):
            faded = i not in inside or j not in inside
            parts.append(_entry(matrix, shades, i, j, left + j * cell, above + i * cell, cell, faded))
    return "".join(parts) + "</g>"


def _entry(
    matrix: BandwidthMatrix,
    shades: npt.NDArray[np.float64],
    i: int,
    j: int,
    x: float,
    y: float,
    cell: float,
    faded: bool,
) -> str:
    value, shade = float(matrix.gb_s[i, j]), float(shades[i, j])
    if i == j:
        return f"<rect x='{x:.1f}' y='{y:.1f}' width='{cell:.1f}' height='{cell:.1f}' fill-opacity='.05'/>"
    kind = f" ({matrix.link_types[i][j]})" if matrix.link_types else ""
    speed = f"{value:g} GB/s{kind}" if value else "no link"
    text = f"{matrix.labels[i]} → {matrix.labels[j]}: {speed}"
    paint = "fill-opacity='.15'" if np.isnan(shade) else f"fill='{heat(shade)}'"
    if faded:
        paint = "fill-opacity='.06'" if np.isnan(shade) else f"{paint} fill-opacity='{_FADED}'"
    number = ""
    if len(matrix) <= _VALUES_UP_TO:
        # On a faded ground the page's own text colour is the readable one.
        ink = " fill-opacity='.8'" if np.isnan(shade) or faded else f" fill='{ink_on(heat(shade))}'"
        font = min(11.0, cell / 3.6)
        number = (
            f"<text x='{x + cell / 2:.1f}' y='{y + cell / 2 + font / 3:.1f}' font-size='{font:.1f}' "
            f"text-anchor='middle' stroke='none'{ink}>{_short(value)}</text>"
        )
    return (
        f"<g><title>{escape(text)}</title><rect x='{x:.1f}' y='{y:.1f}' width='{cell:.1f}' "
        f"height='{cell:.1f}' {paint}/>{number}</g>"
    )


def _short(value: float) -> str:
    return "–" if value == 0 else f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _labels(texts: Sequence[str], chosen: Sequence[int], left: float, above: float, cell: float) -> str:
    n, parts = len(texts), []
    every = 1 if cell >= 9.0 else max(1, round(40.0 / cell))
    font = min(11.0, max(cell - 1.0, 8.0)) if every == 1 else 9.0
    for i, text in enumerate(texts):
        marked = i in chosen
        if i % every and not (marked and n <= _LABELS_UP_TO):
            continue
        middle = above + (i + 0.5) * cell + font / 3
        weight = " font-weight='700'" if marked else ""
        row = fit_text(text, left - 8.0, font)
        parts.append(
            f"<text x='{left - 6:.1f}' y='{middle:.1f}' font-size='{font:.1f}' text-anchor='end'{weight}>"
            f"{escape(row)}</text>"
        )
        if cell >= 14.0 or every > 1:
            parts.append(
                f"<text x='{left + (i + 0.5) * cell:.1f}' y='{above - 4:.1f}' font-size='{font:.1f}' "
                f"text-anchor='middle'{weight}>{i}</text>"
            )
    # Chosen GPUs get a bar beside their row and above their column: readable at every size.
    for i in chosen:
        parts.append(
            f"<g class='tw-chosen' fill='{MARK}'><title>GPU {i} is chosen</title>"
            f"<rect x='{left - 4:.1f}' y='{above + i * cell:.1f}' width='3' height='{cell:.1f}'/>"
            f"<rect x='{left + i * cell:.1f}' y='{above - 3:.1f}' width='{cell:.1f}' height='3'/></g>"
        )
    return f"<g class='tw-labels'>{''.join(parts)}</g>"


def _mark(matrix: BandwidthMatrix, i: int, j: int, left: float, above: float, cell: float) -> str:
    grow = max(0.0, 6.0 - cell) / 2
    side = cell + 2 * grow
    return (
        f"<rect class='tw-bottleneck' x='{left + j * cell - grow:.1f}' y='{above + i * cell - grow:.1f}' "
        f"width='{side:.1f}' height='{side:.1f}' fill='none' stroke='{MARK}' stroke-width='{3 if cell >= 18 else 2}'>"
        f"<title>slowest pair of the chosen GPUs: {i} → {j} has {matrix.gb_s[i, j]:g} GB/s</title></rect>"
    )


def _legend(
    matrix: BandwidthMatrix,
    scale: SpeedScale,
    chosen: Sequence[int],
    pair: tuple[int, int] | None,
    has_sets: bool,
    note: str,
    words: bool,
) -> tuple[str, float]:
    classes = link_class_table(matrix)
    if len(classes) <= _CLASSES_SHOWN:
        parts, y = _class_keys(classes, scale)
    else:
        bar, y = scale.legend()
        parts = [f"<g><title>colours of GB/s on a logarithmic scale, dark is slow</title>{bar}</g>"]
    lines = [part for line in note.splitlines() for part in textwrap.wrap(line, _LINE)]
    lines.append(f"row → column, GB/s; {len(classes)} link class{'es' if len(classes) != 1 else ''}")
    if any(c.noise for c in classes):
        lines[-1] += " (± noise inside it)"
    lines += _explained(matrix, classes, chosen, pair, has_sets)
    if chosen and words:
        shown = ", ".join(map(str, chosen[:24])) + (", …" if len(chosen) > 24 else "")
        lines.append(f"chosen: {shown}")
    if pair is not None and words:
        i, j = pair
        lines.append(f"slowest pair: {i} → {j}: {matrix.gb_s[i, j]:.4g} GB/s, {j} → {i}: {matrix.gb_s[j, i]:.4g} GB/s")
    for doubt in suspicious_links(matrix) if words else ():
        lines += textwrap.wrap(f"suspicious: {doubt.message}", _LINE)
    for line in lines:
        parts.append(f"<text x='0' y='{y + 13:.1f}'>{escape(line)}</text>")
        y += 15.0
    return "".join(parts), y + 5.0


def _explained(
    matrix: BandwidthMatrix,
    classes: Sequence[LinkClass],
    chosen: Sequence[int],
    pair: tuple[int, int] | None,
    has_sets: bool,
) -> list[str]:
    """What colours, bars, frames and marks of the picture mean, a line each."""
    ranges = [one for one in classes if not one.is_noise and one.low_gb_s < one.high_gb_s]
    what = "by bandwidth" if ranges else "one for each link class"
    lines = [f"colour: {what}, from dark (slow) to light (fast)"]
    if chosen:
        frame = "; orange frames: their slowest pair" if pair is not None else ""
        lines.append(f"orange bars: chosen GPUs{frame}")
        if len(chosen) < len(matrix):
            lines.append("pale: pairs with a GPU that is not chosen")
    if band := parts_words(matrix.parts, _cell_size(len(matrix))):
        lines.append(band)
    if has_sets:
        lines.append("marks at the right: GPUs that policies would take, a column each")
    return lines


def _class_keys(classes: Sequence[LinkClass], scale: SpeedScale) -> tuple[list[str], float]:
    """A square for each link class with its name, range and noise, and the height that they take."""
    parts: list[str] = []
    if not any(c.low_gb_s > 0 for c in classes):
        return parts, 0.0
    x, y = 0.0, 0.0
    for c in classes:
        shown = (c.median_gb_s, c.median_gb_s) if c.is_noise else (c.low_gb_s, c.high_gb_s)
        ends = scale.shades(shown).tolist()
        paint = f"fill='{heat(ends[0])}'" if c.low_gb_s > 0 else "fill-opacity='.15'"
        speed = "no link" if c.high_gb_s == 0 else _range(c.low_gb_s, c.high_gb_s)
        noise = f" ±{100 * c.noise:.2g} %" if c.noise else ""
        text = fit_text(f"{c.name} {speed}{noise}" if c.name and c.high_gb_s else f"{speed}{noise}", 380.0, 11.0)
        span = 17.0 + 6.6 * len(text) + 10.0
        if x and x + span > 400.0:
            x, y = 0.0, y + 18.0
        about = f"{counted(c.n_links, 'link')}, standard deviation {c.noise:.2%} of their mean"
        parts.append(
            f"<g><title>{escape(about)}</title><rect x='{x + 0.5:.1f}' y='{y + 3:.1f}' width='12' height='12' "
            f"stroke='currentColor' stroke-opacity='.4' {paint}/>"
            f"{'' if c.is_noise else _second_half(x, y, ends[1])}"
            f"<text x='{x + 17:.1f}' y='{y + 13:.1f}'>{escape(text)}</text></g>"
        )
        x += span
    return parts, y + 18.0


def _second_half(x: float, y: float, shade: float) -> str:
    """Markup of the second colour of a key, for a class of more colours than one."""
    return f"<rect x='{x + 7:.1f}' y='{y + 3.5:.1f}' width='5' height='11' fill='{heat(shade)}'/>"


def _range(low: float, high: float) -> str:
    return f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g}–{high:.3g}"


def _describe(matrix: BandwidthMatrix, chosen: Sequence[int], pair: tuple[int, int] | None) -> str:
    text = f"{len(matrix)} x {len(matrix)} bandwidths in GB/s from {matrix.source}"
    if chosen:
        text += f"; chosen GPUs {', '.join(map(str, chosen))}"
    if pair is not None:
        text += f"; slowest {pair[0]} to {pair[1]} with {matrix.gb_s[pair]:g} GB/s"
    return text


def _pixels(shades: npt.NDArray[np.float64], chosen: Sequence[int]) -> npt.NDArray[np.uint8]:
    """RGBA of each matrix entry, uint8 of shape (n, n, 4); entries outside `chosen` are faded."""
    table = np.array([[int(heat(i / 255)[c : c + 2], 16) for c in (1, 3, 5)] for i in range(256)], dtype=np.uint8)
    none = np.isnan(shades)
    step = np.where(none, 0, np.nan_to_num(shades) * 255).astype(np.uint8)
    pixels = np.empty((*shades.shape, 4), dtype=np.uint8)
    pixels[..., :3] = table[step]
    pixels[..., 3] = 255
    pixels[none] = (128, 128, 128, 60)
    if chosen:
        inside = np.zeros(len(shades), dtype=np.bool_)
        inside[list(chosen)] = True
        pixels[..., 3] = np.where(inside[:, None] & inside[None, :], pixels[..., 3], pixels[..., 3] * _FADED)
    return pixels
