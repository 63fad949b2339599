"""Places of a machine's NICs around its circle of GPUs, each close to the GPUs that it is nearest to.

Owns places and the boxes; the picture is in `workbench.report.machine_svg`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from workbench.model.machine_parts import MachineParts
from workbench.report.machine_layout import MachineLayout
from workbench.report.svg_text import fit_text

__all__ = ["NIC_MARGINS", "NicBox", "draw_nics", "nic_boxes"]

#: Space that the boxes need on the sides of the layout of the GPUs, and above and below it, in pixels.
NIC_MARGINS = (62.0, 42.0)

_WIDTH, _HEIGHT, _FONT = 58.0, 15.0, 9.0
#: From the centres of the GPUs to those of the boxes, outside the marks of policies.
_OUT = 67.0
#: More boxes would not fit around a small circle.
_MOST = 12
_ROUNDS = 100


@dataclass(frozen=True)
class NicBox:
    """NICs with the same links as one box: its centre in pixels, and the GPUs that it is joined to."""

    names: tuple[str, ...]
    x: float
    y: float
    gpus: tuple[int, ...]
    kind: str


def nic_boxes(parts: MachineParts | None, layout: MachineLayout) -> list[NicBox]:
    """Boxes for the NICs of a machine; empty if the picture has no room for them, as around islands of GPUs.

    `layout`: the places of the GPUs; boxes may lie up to `NIC_MARGINS` outside of it. A box is joined to the GPUs to
    which its NICs have their nearest link, if these GPUs have no nearer NIC.
    """
    if parts is None or not parts.nics or layout.islands:
        return []
    alike: dict[tuple[str, ...], list[str]] = {}
    for nic, types in parts.nics.items():
        alike.setdefault(types, []).append(nic)
    if len(alike) > _MOST:
        return []
    nearest = [parts.nearest(gpu) for gpu in range(parts.n_gpus)]
    middle = layout.width / 2
    boxes = []
    for nics in alike.values():
        links = [(gpu, kinds[nics[0]]) for gpu, kinds in enumerate(nearest) if nics[0] in kinds]
        own = parts.nearest_kind(nics[0])
        joined = tuple(gpu for gpu, kind in links if kind == own)
        x, y = (sum(float(layout.centre[gpu][axis]) - middle for gpu in joined) for axis in (0, 1))
        # Opposite GPUs, or none: the place is free, and the top is as good as any.
        angle = math.atan2(y, x) if math.hypot(x, y) > 1.0 else -math.pi / 2
        boxes.append((angle, tuple(nics), joined, own))
    boxes.sort(key=lambda box: (box[0], box[1]))
    radius = middle - _margin_of(layout) + _OUT
    angles = _apart([box[0] for box in boxes], min((_WIDTH + 6.0) / radius, 2 * math.pi / len(boxes)))
    return [
        NicBox(names, middle + radius * math.cos(angle), middle + radius * math.sin(angle), joined, kind)
        for angle, (_, names, joined, kind) in zip(angles, boxes, strict=True)
    ]


def draw_nics(boxes: Sequence[NicBox], layout: MachineLayout) -> tuple[str, str]:
    """Draw a machine's NICs: SVG markup of the lines from each box of NICs to its GPUs, and of the boxes.

    The lines come first, because they are to be drawn below the GPUs.
    """
    lines = [
        f"<line class='tw-near' x1='{box.x:.1f}' y1='{box.y:.1f}' x2='{layout.centre[gpu][0]:.1f}' "
        f"y2='{layout.centre[gpu][1]:.1f}' stroke='currentColor' stroke-opacity='.45' stroke-dasharray='2 3'/>"
        for box in boxes
        for gpu in box.gpus
    ]
    return "".join(lines), "".join(_box(box) for box in boxes)


def _box(box: NicBox) -> str:
    more = f" +{len(box.names) - 1}" if len(box.names) > 1 else ""
    # The device and function of most cards is 00.0: the bus tells cards apart.
    text = fit_text(box.names[0].removesuffix(":00.0"), _WIDTH - 4.0 - 5.4 * len(more), _FONT) + more
    near = f"nearest to GPU {', '.join(map(str, box.gpus))} ({box.kind})" if box.gpus else "nearest to no GPU"
    about = f"{', '.join(box.names)}: {near}"
    return (
        f"<g class='tw-nic'><title>{escape(about)}</title>"
        f"<rect x='{box.x - _WIDTH / 2:.1f}' y='{box.y - _HEIGHT / 2:.1f}' width='{_WIDTH:g}' height='{_HEIGHT:g}' "
        f"rx='3' style='fill:var(--jp-layout-color1, Canvas)' stroke='currentColor' stroke-opacity='.6'/>"
        f"<text x='{box.x:.1f}' y='{box.y + 3.2:.1f}' font-size='{_FONT:g}' text-anchor='middle'>{escape(text)}</text>"
        f"</g>"
    )


def _margin_of(layout: MachineLayout) -> float:
    """Distance from the edge of the picture to the centres of the outermost GPUs."""
    return float(min(layout.centre[:, 1]))


def _apart(angles: Sequence[float], least: float) -> list[float]:
    """Push neighbours on a circle apart until they have the least distance; the order stays."""
    placed, n = list(angles), len(angles)
    for _ in range(_ROUNDS if n > 1 else 0):
        for i in range(n):
            after = (i + 1) % n
            turn = 2 * math.pi if after == 0 else 0.0
            lacking = least - (placed[after] + turn - placed[i])
            if lacking > 0:
                placed[i] -= lacking / 2
                placed[after] += lacking / 2
    return placed
