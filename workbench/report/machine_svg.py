"""`draw_machine`: the GPUs of one machine and the links between them as SVG; thick lines are fast links.

Theme-safe without a style sheet, like `workbench.report.topology_svg`: lines and text are `currentColor`. Link classes
keep the colours of the heat map; a chosen set is filled, its slowest pair is joined by a line of the mark's colour.
Around a circle of GPUs stand the NICs, where the matrix knows them.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Collection, Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.model.counted import counted
from workbench.report.colours import CHOSEN, MARK, SET_COLOURS
from workbench.report.machine_layout import Island, MachineLayout, machine_layout
from workbench.report.machine_nics import NIC_MARGINS, NicBox, draw_nics, nic_boxes

__all__ = ["draw_machine"]

#: Sets of other policies that there is room for at a GPU: two rows of four.
_MARKED_SETS = 8
_THIN, _THICK = 1.0, 6.5
#: Between more islands than this, or over the slowest class of a larger circle, lines would hide everything.
_JOINED_ISLANDS = 12
_ALL_PAIRS_UP_TO = 16
_LINE = 15.0
#: Characters of a NUMA node's name that fit into a GPU.
_NUMA_SHOWN = 3


def draw_machine(
    matrix: BandwidthMatrix,
    chosen: Sequence[int] = (),
    pair: tuple[int, int] | None = None,
    others: Mapping[str, Collection[int]] | None = None,
    symmetric: Symmetric = "min",
    taken: Collection[int] = (),
    title: str = "",
    named: bool = True,
) -> str:
    """Draw the GPUs of one machine and the links between them.

    Returns: one ``<svg>`` element; all text escaped. Same input, same bytes.

    Parameters
    ----------
    chosen : sequence of int
        GPUs whose symbols are filled.
    pair : tuple of int, optional
        Slowest pair of the chosen set.
    others : mapping of str to collection of int, optional
        Choices of policies by name: a small mark per GPU and policy, for the first `_MARKED_SETS` policies.
    symmetric : {"min", "max", "mean"}
        How the two directions of a pair become one line.
    taken : collection of int
        GPUs that are not free: drawn faint.
    title : str
        Heading; also the accessible name.
    named : bool
        Whether the marks of `others` are named beneath; False where a table beside the picture does.
    """
    classes = matrix.link_classes(symmetric)
    layout = machine_layout(classes)
    sets = list((others or {}).items())[:_MARKED_SETS]
    key = (
        "tm"
        + hashlib.sha256(
            f"{matrix.checksum}{matrix.parts}{chosen}{pair}{sets}{symmetric}{taken}{title}".encode()
        ).hexdigest()[:10]
    )
    head = 24.0 if title else 2.0
    boxes = nic_boxes(matrix.parts, layout)
    beside, above = NIC_MARGINS if boxes else (0.0, 0.0)
    width = max(layout.width + 2 * beside + 2.0, 300.0)
    words = _words(matrix, layout, classes, chosen, pair) + _part_words(matrix, layout, boxes)
    lines = [part for line in words for part in textwrap.wrap(line, int(width / 6.2))]
    legend, legend_height = _legend(lines, [name for name, _ in sets] if named else [], width)
    below = head + layout.height + 2 * above + 6.0
    height = below + legend_height
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' class='tw-machine' role='img' aria-labelledby='{key}t {key}d' "
        f"width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {width:.1f} {height:.1f}' "
        f"style='max-width:100%;height:auto' font-family='system-ui, sans-serif' font-size='11' fill='currentColor'>"
        f"<title id='{key}t'>{escape(title or 'GPUs and their links')}</title>"
        f"<desc id='{key}d'>{escape('; '.join(words))}</desc>"
    ]
    if title:
        parts.append(f"<text x='1' y='15' font-size='13' font-weight='600'>{escape(title)}</text>")
    parts.append(f"<g transform='translate({1.0 + beside:.0f} {head + above:.1f})'>")
    lines_to_nics, nics = draw_nics(boxes, layout)
    parts.append(lines_to_nics)
    parts += _island_links(layout, classes) if layout.islands else _pair_links(layout, classes, set(chosen))
    parts += [_box(island) for island in layout.islands]
    if pair is not None:
        parts.append(_pair_line(layout, pair))
    slow = pair or ()
    parts += [_gpu(matrix, layout, gpu, gpu in chosen, gpu in taken, gpu in slow) for gpu in range(len(matrix))]
    parts += _marks(layout, sets)
    parts.append(nics)
    parts.append(f"</g><g transform='translate(1 {below:.1f})'>{legend}</g></svg>")
    return "".join(parts)


def _thickness(link_class: int, n_classes: int) -> float:
    return _THICK if n_classes < 2 else _THIN + (_THICK - _THIN) * link_class / (n_classes - 1)


def _pair_links(layout: MachineLayout, classes: npt.NDArray[np.int32], chosen: set[int]) -> list[str]:
    """SVG lines between pairs of GPUs, fast links on top; links of the slowest class only on small machines."""
    n, n_classes = len(classes), int(classes.max(initial=0)) + 1
    off_diagonal = ~np.eye(n, dtype=np.bool_)
    slowest = int(classes[off_diagonal].min()) if n > 1 else 0
    several = n > 1 and int(classes[off_diagonal].max()) > slowest
    parts = []
    for link_class in range(slowest, n_classes):
        if link_class == slowest and several and n > _ALL_PAIRS_UP_TO:
            continue
        for i, j in np.argwhere(np.triu(classes == link_class, 1)).tolist():
            inside = i in chosen and j in chosen
            # Where all links are alike the lines say little: let the GPUs stand out.
            faint = not several and not inside
            width = _thickness(link_class, n_classes) * (0.35 if not several else 1.0)
            opacity = 0.95 if inside else 0.18 if faint else 0.16 + 0.3 * link_class / max(n_classes - 1, 1)
            paint = f"stroke='{CHOSEN}'" if inside else "stroke='currentColor'"
            (x1, y1), (x2, y2) = layout.centre[i], layout.centre[j]
            parts.append(
                f"<line class='tw-link' x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' {paint} "
                f"stroke-width='{width:.1f}' stroke-opacity='{opacity:.2f}'/>"
            )
    return parts


def _island_links(layout: MachineLayout, classes: npt.NDArray[np.int32]) -> list[str]:
    """SVG lines between pairs of islands (if they are few), as thick as the fastest link between them."""
    if not 1 < len(layout.islands) <= _JOINED_ISLANDS:
        return []
    n_classes = int(classes.max()) + 1
    parts = []
    for a, first in enumerate(layout.islands):
        for second in layout.islands[a + 1 :]:
            fastest = int(classes[np.ix_(first.gpus, second.gpus)].max())
            (x1, y1), (x2, y2) = first.centre, second.centre
            parts.append(
                f"<line class='tw-link' x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='currentColor' "
                f"stroke-width='{_thickness(fastest, n_classes):.1f}' stroke-opacity='.25'/>"
            )
    return parts


def _box(island: Island) -> str:
    count = len(island.gpus)
    text = counted(count, "GPU")
    inside = " ".join(map(str, island.gpus))
    return (
        f"<rect data-gpus='{inside}' x='{island.x:.1f}' y='{island.y:.1f}' width='{island.width:.1f}' "
        f"height='{island.height:.1f}' rx='3' "
        f"style='fill:var(--jp-layout-color1, Canvas)' stroke='currentColor' stroke-opacity='.45'/>"
        f"<text x='{island.x + 4:.1f}' y='{island.y + 11:.1f}' font-size='9' fill-opacity='.75'>{text}</text>"
    )


def _pair_line(layout: MachineLayout, pair: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = layout.centre[pair[0]], layout.centre[pair[1]]
    return (
        f"<line class='tw-bottleneck' x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{MARK}' "
        f"stroke-width='2.5' stroke-dasharray='6 3'/>"
    )


def _gpu(matrix: BandwidthMatrix, layout: MachineLayout, gpu: int, chosen: bool, taken: bool, slow: bool) -> str:
    (x, y), size = layout.centre[gpu], layout.size
    state = ", chosen" if chosen else ", not free" if taken else ""
    numa = matrix.parts.numa[gpu] if matrix.parts is not None and matrix.parts.numa else ""
    place = f", NUMA node {numa}" if numa else ""
    nearest = matrix.parts.nearest(gpu) if matrix.parts is not None else {}
    near = f", nearest {', '.join(f'{nic} ({kind})' for nic, kind in nearest.items())}" if nearest else ""
    tip = f"<title>{escape(f'GPU {gpu}, {matrix.labels[gpu]}{state}{place}{near}')}</title>"
    paint = f"fill='{CHOSEN}'" if chosen else "style='fill:var(--jp-layout-color1, Canvas)'"
    faded = " opacity='.35'" if taken else ""
    edge = f"stroke='{MARK}' stroke-width='3'" if slow else "stroke='currentColor' stroke-opacity='.7'"
    if layout.islands:
        shape = (
            f"<rect x='{x - size / 2:.1f}' y='{y - size / 2:.1f}' width='{size:.1f}' height='{size:.1f}' rx='2' "
            f"{paint} {edge}/>"
        )
        font = size * 0.46
    else:
        shape = f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{size / 2:.1f}' {paint} {edge}/>"
        font = 12.0
    ink = " fill='#fff' font-weight='700'" if chosen else ""
    node, raised = "", 0.0
    if not layout.islands and 0 < len(numa) <= _NUMA_SHOWN:
        raised = 3.5
        white = " fill='#fff'" if chosen else ""
        node = (
            f"<text class='tw-numa' x='{x:.1f}' y='{y + 11.0:.1f}' font-size='9' text-anchor='middle'{white}>"
            f"{escape(f'N{numa}')}</text>"
        )
    return (
        f"<g data-gpu='{gpu}'{faded}>{tip}{shape}<text x='{x:.1f}' y='{y + font * 0.36 - raised:.1f}' "
        f"font-size='{font:.1f}' text-anchor='middle'{ink}>{gpu}</text>{node}</g>"
    )


def _marks(layout: MachineLayout, sets: Sequence[tuple[str, Collection[int]]]) -> list[str]:
    """SVG squares beside each GPU, or at its square's lower edge, one for each policy that would choose it."""
    middle = layout.width / 2
    parts = []
    for at, (name, gpus) in enumerate(sets):
        for gpu in sorted(gpus):
            x, y = layout.centre[gpu]
            if layout.islands:
                side = layout.size / 6.0 if layout.size > 20.0 else 2.0
                row, column = divmod(at, 4)
                left = x - layout.size / 2 + 1.0 + column * (layout.size - 2.0) / 4
                # Four in the lower edge, four in the upper one: the number between them stays readable.
                top = y - layout.size / 2 if row else y + layout.size / 2 - side
            else:
                side = 6.0
                away = np.array([x - middle, y - middle])
                length = float(np.hypot(*away)) or 1.0
                along = np.array([-away[1], away[0]]) / length
                # Two rows of four, from the circle outwards.
                row, column = divmod(at, 4)
                spot = (x, y) + away / length * (layout.size / 2 + 6.0 + row * 7.5) + along * (column - 1.5) * 7.5
                left, top = float(spot[0]) - side / 2, float(spot[1]) - side / 2
            parts.append(
                f"<rect class='tw-mark' x='{left:.1f}' y='{top:.1f}' width='{side:.1f}' height='{side:.1f}' "
                f"fill='{SET_COLOURS[at]}' stroke='#fff' stroke-width='.6'>"
                f"<title>{escape(f'{name} takes GPU {gpu}')}</title></rect>"
            )
    return parts


def _words(
    matrix: BandwidthMatrix,
    layout: MachineLayout,
    classes: npt.NDArray[np.int32],
    chosen: Sequence[int],
    pair: tuple[int, int] | None,
) -> list[str]:
    n, floors = len(matrix), matrix.class_floors_gb_s
    lines = []
    if len(layout.islands) > 1:
        between = classes[~np.eye(n, dtype=np.bool_)]
        between = between[between < layout.joined_by]
        speed = f"{floors[between.max()]:.3g}" if between.size else "0"
        lines.append(
            f"{len(layout.islands)} islands joined by links of {floors[layout.joined_by]:.3g} GB/s or more; "
            f"between them from {speed}"
        )
    elif n > 1 and len(floors) == 1:
        lines.append(f"all {n} GPUs reach each other over links of one class, {floors[0]:.3g} GB/s or more")
    elif n > 1 and not layout.islands:
        hidden = " (slowest class not drawn)" if n > _ALL_PAIRS_UP_TO else ""
        lines.append(f"the thicker the faster, {len(floors)} link classes{hidden}")
    if chosen:
        lines.append(f"filled: {len(chosen)} chosen GPUs")
    if pair is not None:
        lines.append(f"dashed: slowest pair {pair[0]} – {pair[1]}")
    return lines


def _part_words(matrix: BandwidthMatrix, layout: MachineLayout, boxes: Sequence[NicBox]) -> list[str]:
    """What is drawn of the machine's NICs and NUMA nodes."""
    if matrix.parts is None:
        return []
    shown = [node for node in dict.fromkeys(matrix.parts.numa) if len(node) <= _NUMA_SHOWN]
    lines = [f"N{shown[0]}: on NUMA node {shown[0]}"] if shown and not layout.islands else []
    if boxes:
        lines.append("boxes: NICs, dotted to the GPUs that they are nearest to")
    return lines


def _legend(lines: Sequence[str], names: Sequence[str], width: float) -> tuple[str, float]:
    parts: list[str] = []
    y, x = 0.0, 0.0
    for line in lines:
        parts.append(f"<text x='0' y='{y + 12:.1f}'>{escape(line)}</text>")
        y += _LINE
    # Columns: names of different lengths would stand ragged.
    span = 26.0 + 6.4 * max(map(len, names), default=0)
    for at, name in enumerate(names):
        if x and x + span > width:
            x, y = 0.0, y + _LINE
        parts.append(
            f"<rect x='{x:.1f}' y='{y + 4:.1f}' width='9' height='9' fill='{SET_COLOURS[at]}'/>"
            f"<text x='{x + 13:.1f}' y='{y + 12:.1f}'>{escape(name)}</text>"
        )
        x += span
    return "".join(parts), y + (_LINE if names else 0.0) + 4.0
