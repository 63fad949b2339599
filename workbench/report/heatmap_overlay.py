"""Marks drawn over a heat map: the slower direction of each GPU pair, and the GPUs that policies choose."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np

from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.report.colours import SET_COLOURS
from workbench.report.png import svg_image

__all__ = ["COLUMN", "asymmetry_overlay", "asymmetry_text", "set_columns"]

#: Width of the column of one policy.
COLUMN = 11.0

#: Directions that differ by less are measurement noise.
_EQUAL = 0.98
_COLOUR = "#ff3d9a"


def asymmetry_overlay(matrix: BandwidthMatrix, left: float, above: float, cell: float, as_image: bool) -> str:
    """SVG marks on the slower direction of each pair with unequal directions, stronger the more unequal they are.

    `left`, `above`, `cell`: place and size of the entries. `as_image`: pixels instead of corners, for entries too small
    for a corner.
    """
    ratio = np.where(matrix.gb_s < matrix.gb_s.T, matrix.asymmetry(), 1.0)
    slower = ratio < _EQUAL
    if as_image:
        pixels = np.zeros((*ratio.shape, 4), dtype=np.uint8)
        pixels[..., :3] = [int(_COLOUR[c : c + 2], 16) for c in (1, 3, 5)]
        pixels[..., 3] = np.where(slower, 90 + 165 * (1.0 - ratio), 0).astype(np.uint8)
        side = len(matrix) * cell
        return svg_image(pixels, "tw-asymmetry", left, above, side, side)
    corners = []
    for i, j in np.argwhere(slower).tolist():
        side = cell * (0.2 + 0.25 * (1.0 - float(ratio[i, j])))
        x, y = left + (j + 1) * cell - 1, above + i * cell + 1
        text = f"{i} → {j} has {ratio[i, j]:.0%} of {j} → {i}"
        corners.append(f"<path d='M{x:.1f} {y:.1f}v{side:.1f}l{-side:.1f} {-side:.1f}z'><title>{text}</title></path>")
    return f"<g class='tw-asymmetry' fill='{_COLOUR}' stroke='#fff' stroke-width='.7'>{''.join(corners)}</g>"


def asymmetry_text(matrix: BandwidthMatrix) -> str:
    """One line of text on how unequal the two directions of the GPU pairs are."""
    ratio = np.where(matrix.gb_s < matrix.gb_s.T, matrix.asymmetry(), 1.0)
    count = int((ratio < _EQUAL).sum())
    if not count:
        return "both directions of every pair are alike (within 2 %)"
    i, j = (int(x) for x in np.unravel_index(int(ratio.argmin()), ratio.shape))
    pairs = counted(count, "unequal pair")
    return f"pink: slower direction of {pairs}; most: {i} → {j} has {ratio[i, j]:.0%} of {j} → {i}"


def set_columns(sets: Sequence[tuple[str, Collection[int]]], left: float, above: float, cell: float) -> str:
    """SVG markup of one column per policy beside the heat map's rows, filled where the policy chooses the GPU.

    `sets`: name and choice of each policy. `left`, `above`: place of the first column, in pixels. `cell`: height of a
    row, in pixels.
    """
    parts = []
    for at, (name, gpus) in enumerate(sets):
        x = left + at * COLUMN
        for gpu in sorted(gpus):
            parts.append(
                f"<rect class='tw-mark' x='{x:.1f}' y='{above + gpu * cell + cell * 0.1:.1f}' width='{COLUMN - 3:.1f}' "
                f"height='{max(cell * 0.8, 1.0):.1f}' fill='{SET_COLOURS[at]}'>"
                f"<title>{escape(f'{name} takes GPU {gpu}')}</title></rect>"
            )
    return "".join(parts)
