"""`machine_layout`: positions of a machine's GPUs in a picture: a circle, or islands of GPUs joined by fast links.

Only positions are computed here; the picture is drawn in `workbench.report.machine_svg`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["CIRCLE_UP_TO", "Island", "MachineLayout", "machine_layout"]

#: Machines up to this size are drawn as a circle with a line for each pair.
CIRCLE_UP_TO = 24

_NODE = 30.0
_CELL = 24.0
_GAP = 30.0
_HEAD = 15.0
#: Space between the GPUs of a circle and the edge, for the marks of other policies.
_MARGIN = 36.0


@dataclass(frozen=True)
class Island:
    """A box of GPUs joined by fast links: its position in pixels, and the GPUs in it, ascending."""

    gpus: tuple[int, ...]
    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class MachineLayout:
    """Positions of the GPUs of one machine in a picture.

    `centre` (ndarray of shape (n, 2), float64): x and y of each GPU, in pixels. `size`: width of a GPU's symbol.
    `islands` (tuple of Island): empty for a circle. `joined_by`: link class that joins an island: its GPUs reach each
    other over links of this class or faster; -1 for a circle.
    """

    centre: npt.NDArray[np.float64]
    size: float
    width: float
    height: float
    islands: tuple[Island, ...] = ()
    joined_by: int = -1


def machine_layout(classes: npt.NDArray[np.int32]) -> MachineLayout:
    """Compute positions for the GPUs of a machine so that fast links are short.

    `classes` (ndarray of shape (n, n), int32): link class of each pair, symmetric, 0 the slowest. Returns: positions:
    for up to `CIRCLE_UP_TO` GPUs a circle on which GPUs with fast links are neighbours; above, islands in rows, sorted
    by their lowest GPU. Equal input gives equal positions.
    """
    n = len(classes)
    if n <= CIRCLE_UP_TO:
        return _circle(_side_by_side(classes))
    joined_by, groups = _islands(classes)
    return _rows(groups, joined_by, n)


def _side_by_side(classes: npt.NDArray[np.int32]) -> list[int]:
    """Order of the GPUs around a circle: from GPU 0 the fastest link each time, by link classes; ties by index."""
    n = len(classes)
    order, left = [0], set(range(1, n))
    while left:
        last = order[-1]
        nearest = min(left, key=lambda i: (-int(classes[last, i]), i))
        order.append(nearest)
        left.remove(nearest)
    return order


def _circle(order: Sequence[int]) -> MachineLayout:
    n = len(order)
    radius = max(n * _NODE * 1.55 / (2 * math.pi), 62.0) if n > 1 else 0.0
    middle = radius + _MARGIN
    centre = np.empty((n, 2))
    for at, gpu in enumerate(order):
        angle = 2 * math.pi * at / n - math.pi / 2
        centre[gpu] = (middle + radius * math.cos(angle), middle + radius * math.sin(angle))
    return MachineLayout(centre, _NODE, 2 * middle, 2 * middle)


def _islands(classes: npt.NDArray[np.int32]) -> tuple[int, list[list[int]]]:
    """Find groups of GPUs joined by fast links; returns the link class that joins them, and the groups by lowest GPU.

    The class is the slowest one whose links, with all faster ones, leave several groups. Groups most of which are
    single GPUs do not count; if no class gives any, all GPUs are one group.
    """
    off_diagonal = ~np.eye(len(classes), dtype=np.bool_)
    present = np.unique(classes[off_diagonal]).tolist()
    for threshold in present[1:]:
        groups = _components(classes >= threshold)
        if 1 < len(groups) <= len(classes) / 2:
            return int(threshold), groups
    return int(present[0]), [list(range(len(classes)))]


def _components(joined: npt.NDArray[np.bool_]) -> list[list[int]]:
    left = np.ones(len(joined), dtype=np.bool_)
    groups = []
    while left.any():
        group = np.zeros(len(joined), dtype=np.bool_)
        front = group.copy()
        front[int(left.argmax())] = True
        while front.any():
            group |= front
            front = joined[front].any(axis=0) & ~group
        left &= ~group
        groups.append(np.flatnonzero(group).tolist())
    return groups


def _rows(groups: Sequence[Sequence[int]], joined_by: int, n: int) -> MachineLayout:
    cell = _CELL if n <= 160 else 16.0 if n <= 512 else 12.0
    # A bit wider than high, and not more than a page has room for.
    columns = min(math.ceil(math.sqrt(max(len(group) for group in groups) * 1.6)), 24)
    shapes = [(min(len(group), columns), math.ceil(len(group) / columns)) for group in groups]
    wide = max(across for across, _ in shapes) * cell + 8.0
    gap = _GAP if len(groups) <= 12 else 12.0
    # A few islands stand in a square, so that the lines between them do not hide each other.
    square = math.ceil(math.sqrt(len(groups))) if len(groups) <= 12 else len(groups)
    per_row = max(1, min(square, round(560.0 / (wide + gap))))
    islands, centre = [], np.empty((n, 2))
    y = 1.0
    for first in range(0, len(groups), per_row):
        tall = max(down for _, down in shapes[first : first + per_row]) * cell + 6.0 + _HEAD
        for at, group in enumerate(groups[first : first + per_row]):
            x = 1.0 + at * (wide + gap)
            islands.append(Island(tuple(group), x, y, wide, tall))
            for i, gpu in enumerate(group):
                centre[gpu] = (x + 4 + (i % columns + 0.5) * cell, y + _HEAD + 2 + (i // columns + 0.5) * cell)
        y += tall + gap
    return MachineLayout(
        centre, cell - 2.0, per_row * (wide + gap) - gap + 2.0, y - gap + 1.0, tuple(islands), joined_by
    )
