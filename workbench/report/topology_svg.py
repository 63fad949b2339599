"""The topology as one SVG: packed blocks, coloured by job.

Theme-safe without a style sheet: lines and text are `currentColor`, which the page sets, so that the same picture is
right in a dark JupyterLab, in a light report and as a file of its own. Element ids are derived from the content,
because several pictures share a page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from workbench.model.counted import counted
from workbench.model.topology import Topology
from workbench.report.blocks import Layout, pack
from workbench.report.colours import JobColour, ink_on, job_colours
from workbench.report.occupancy import Occupancy
from workbench.report.squares import Look, fill_of, looks_of, squares
from workbench.report.svg_text import CHARACTER, LABEL_PX, fit_text, short

__all__ = ["SHRINK", "Drawing", "DrawingPlan", "draw_parts", "draw_topology", "drawing_width"]

_LEGEND_LINE = 19.0
#: Jobs that get a legend entry of their own; the rest is counted.
_LEGEND_JOBS = 24
_MIN_WIDTH = 260.0
#: Wider pictures have the class ``tw-wide``: a page that shows them small leaves their labels out.
_WIDE = 800.0
#: In a narrow place a picture shrinks to this part of its size, where labels are still readable, and scrolls below it.
SHRINK = 0.7


#: Elements of a group in order: what each is of, and its markup.
Elements = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Drawing:
    """A drawn topology in parts, so that a page that shows an earlier drawing receives only the changed parts.

    Attributes
    ----------
    frame : tuple of str
        Markup before, between and after the groups: one text more than there are groups.
    groups : tuple of tuple of (str, str)
        Elements of each group, in order: what it is of, and its markup. Names are those of HyperNodes, or of the nodes
        of a square; two elements of a group may share one.
    width, height : float
        In pixels at full size.
    """

    frame: tuple[str, ...]
    groups: tuple[Elements, ...]
    width: float = 0.0
    height: float = 0.0

    def parts(self, shown: Drawing | None = None) -> dict[str, object]:
        """JSON-ready parts; elements that `shown` has too are given as runs: first position there, and number."""
        before = shown.groups if shown is not None else ((),) * len(self.groups)
        return {"frame": self.frame, "groups": [_since(old, new) for old, new in zip(before, self.groups)]}

    def __str__(self) -> str:
        """One ``<svg>`` element."""
        parts = [self.frame[0]]
        for group, after in zip(self.groups, self.frame[1:]):
            parts.extend(markup for _, markup in group)
            parts.append(after)
        return "".join(parts)


def _since(before: Elements, now: Elements) -> list[list[int] | tuple[str, str]]:
    where = {element: i for i, element in enumerate(before)}
    parts: list[list[int] | tuple[str, str]] = []
    run: list[int] = [-1, 0]
    for element in now:
        # Each old element is used once, also where two are alike.
        at = where.pop(element, None)
        if at is None:
            parts.append(element)
            run = [-1, 0]
        elif at == sum(run):
            run[1] += 1
        else:
            run = [at, 1]
            parts.append(run)
    return parts


class DrawingPlan:
    """The layout of a topology, with the parts that all its pictures share.

    Parameters
    ----------
    topology : Topology
    before : DrawingPlan, optional
        Plan of earlier pictures, from which unchanged squares are copied.

    Attributes
    ----------
    topology : Topology
    layout : Layout
    boxes, labels : tuple of (str, str)
        Groups of a `Drawing`.
    """

    def __init__(self, topology: Topology, before: DrawingPlan | None = None) -> None:
        self.topology = topology
        self.layout = pack(topology)
        self._blocks = self.layout.blocks()
        self._written: dict[object, Elements] = {}
        # Not `before` itself, which would keep the whole chain of earlier plans alive.
        self._written_before = before._written if before is not None else {}
        framed = [
            (topology.domain_name(block.domain), topology.domain_tier(block.domain), block)
            for block in self._blocks
            if block.domain >= 0
        ]
        self.boxes = tuple(
            [(name, _frame(name, tier, b.n_nodes, b.x, b.y, b.width, b.height)) for name, tier, b in framed]
        )
        self.labels = tuple(
            [(name, _block_label(name, tier, b.n_nodes, b.x, b.y, b.width)) for name, tier, b in framed if b.header]
        )

    def squares(self, look: Callable[[tuple[int, ...]], Look]) -> Elements:
        """The group of the squares, each with the look of the nodes that it stands for."""
        found: list[tuple[str, str]] = []
        for block in self._blocks:
            if not block.labels:
                continue
            looks = tuple([look(nodes) for nodes in block.nodes])
            key = (block.labels, block.left, block.top, block.cell, looks)
            written = self._written.get(key) or self._written_before.get(key)
            if written is None:
                written = squares(block.labels, block.left, block.top, block.cell, looks)
            self._written[key] = written
            found += written
        return tuple(found)


def draw_topology(
    topology: Topology, who: Occupancy | None = None, title: str = "", plan: DrawingPlan | None = None
) -> str:
    """Draw a topology as one ``<svg>`` element; parameters as for `draw_parts`.

    Parameters
    ----------
    topology : Topology
    who : Occupancy, optional
    title : str
    plan : DrawingPlan, optional
    """
    return str(draw_parts(topology, who, title, plan))


def draw_parts(
    topology: Topology, who: Occupancy | None = None, title: str = "", plan: DrawingPlan | None = None
) -> Drawing:
    """Draw a topology as a `Drawing`, whose parts can be updated separately.

    Parameters
    ----------
    topology : Topology
    who : Occupancy, optional
        Colours the nodes by the jobs on them; without it the squares are empty.
    title : str
        Heading; also the accessible name.
    plan : DrawingPlan, optional
        Layout of this topology, if several pictures share it.

    Returns
    -------
    Drawing
        Groups: the boxes, their labels, the squares. All text escaped. Same input, same bytes.
    """
    who = who or Occupancy()
    plan = plan or DrawingPlan(topology)
    layout = plan.layout
    colours = job_colours(len(who.jobs))
    description = _describe(topology, who)
    # What the ids stand for: where it is the same in two pictures, so may the ids be.
    key = "tw" + hashlib.sha256(repr((title, description)).encode()).hexdigest()[:10]
    head = 24.0 if title else 2.0
    width = drawing_width(layout)
    legend, legend_height = _legend(topology, layout, who, colours, key, width)
    height = head + layout.height + 6.0 + legend_height
    classes = "tw-topology tw-wide" if width > _WIDE else "tw-topology"
    before = [
        f"<svg xmlns='http://www.w3.org/2000/svg' class='{classes}' role='img' aria-labelledby='{key}t {key}d' "
        f"width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {short(width)} {short(height)}' "
        f"style='max-width:100%;height:auto;min-width:{width * SHRINK:.0f}px' "
        f"font-family='system-ui, sans-serif' font-size='{short(LABEL_PX)}' fill='currentColor'>",
        f"<title id='{key}t'>{escape(title or 'Topology')}</title>",
        f"<desc id='{key}d'>{escape(description)}</desc>",
        _patterns(colours, key),
    ]
    if title:
        before.append(
            f"<text x='1' y='15' font-size='13' font-weight='600'>{escape(fit_text(title, width, 13.0))}</text>"
        )
    before.append(f"<g transform='translate(1 {short(head)})'>")
    before.append("<g class='tw-blocks' stroke='currentColor' stroke-opacity='.45' fill-opacity='.035'>")
    look = looks_of(who, topology.n_nodes, layout.cell, colours, key)
    return Drawing(
        (
            "".join(before),
            "</g><g class='tw-labels'>",
            "</g><g class='tw-nodes' stroke='currentColor' stroke-width='.6' stroke-opacity='.5'>",
            f"</g></g><g class='tw-legend' transform='translate(1 {short(head + layout.height + 6.0)})'>{legend}</g>"
            "</svg>",
        ),
        (plan.boxes, plan.labels, plan.squares(look)),
        width,
        height,
    )


def drawing_width(layout: Layout) -> float:
    """Width of a picture in pixels at full size."""
    return max(layout.width + 2.0, _MIN_WIDTH)


def _describe(topology: Topology, who: Occupancy) -> str:
    counts = [(t, int((topology.tier == t).sum())) for t in topology.tiers]
    tiers = ", ".join(f"{counted(n, 'HyperNode')} of tier {t}" for t, n in counts)
    jobs = f"; {counted(len(who.jobs), 'job')}, {counted(len(who.held), 'node')} in use by them" if who.jobs else ""
    return f"{counted(topology.n_nodes, 'node')}{', ' if tiers else ''}{tiers}{jobs}"


def _patterns(colours: Sequence[JobColour], key: str) -> str:
    stripes = "".join(
        f"<pattern id='{key}p{i}' width='5' height='5' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
        f"<rect width='5' height='5' fill='{look.colour}'/>"
        f"<rect width='2' height='5' fill='{ink_on(look.colour)}' fill-opacity='.55'/></pattern>"
        for i, look in enumerate(colours)
        if look.hatched
    )
    return f"<defs>{stripes}</defs>" if stripes else ""


# Most boxes of a picture are unchanged since the previous picture.
@lru_cache(maxsize=4096)
def _frame(name: str, tier: int, n_nodes: int, x: float, y: float, width: float, height: float) -> str:
    return (
        f"<rect x='{short(x)}' y='{short(y)}' width='{short(width)}' height='{short(height)}' rx='3'>"
        f"<title>{escape(name)}: tier {tier}, {counted(n_nodes, 'node', form=',')}</title></rect>"
    )


@lru_cache(maxsize=4096)
def _block_label(name: str, tier: int, n_nodes: int, x: float, y: float, width: float) -> str:
    room = width - 8.0
    texts = (f"{name} · tier {tier} · {counted(n_nodes, 'node', form=',')}", f"{name} · tier {tier}", name)
    text = next((t for t in texts if fit_text(t, room, LABEL_PX) == t), fit_text(name, room, LABEL_PX))
    return f"<text x='{short(x + 5)}' y='{short(y + 12)}'>{escape(text)}</text>"


def _legend(
    topology: Topology, layout: Layout, who: Occupancy, colours: Sequence[JobColour], key: str, width: float
) -> tuple[str, float]:
    entries = [(f"fill='{fill_of(i, colours, key)}'", name) for i, name in enumerate(who.jobs[:_LEGEND_JOBS])]
    if len(who.jobs) > _LEGEND_JOBS:
        entries.append(("fill='#8a8a8a'", f"and {counted(len(who.jobs) - _LEGEND_JOBS, 'more job')} (hover)"))
    if any(who.n_busy.values()):
        entries.append(("fill-opacity='.4'", "in use before"))
    if who.jobs or who.n_gpus:
        entries.append(("fill-opacity='.06'", "free"))
    parts, x, y = [], 0.0, 0.0
    for paint, name in entries:
        text = fit_text(name, min(width - 20.0, 240.0), LABEL_PX)
        span = 17.0 + len(text) * LABEL_PX * CHARACTER + 12.0
        if x and x + span > width:
            x, y = 0.0, y + _LEGEND_LINE
        parts.append(
            f"<rect x='{short(x + 0.5)}' y='{short(y + 3)}' width='12' height='12' stroke='currentColor' "
            f"stroke-opacity='.5' {paint}/>"
            f"<text x='{short(x + 17)}' y='{short(y + 13)}'>{escape(text)}</text>"
        )
        x += span
    y += _LEGEND_LINE if entries else 0.0
    for line in _wrapped(_note(topology, layout), width):
        parts.append(f"<text x='0' y='{short(y + 13)}' fill-opacity='.75'>{escape(line)}</text>")
        y += 15.0
    return "".join(parts), y + 4.0


def _note(topology: Topology, layout: Layout) -> str:
    sentences = []
    if topology.problems:
        n = len(topology.problems)
        sentences.append(f"{counted(n, 'problem')}: {topology.problems[0].message}{' …' if n > 1 else ''}.")
    if layout.nodes_per_cell > 1:
        sentences.append(_folded(topology, layout))
    return " ".join(sentences)


def _folded(topology: Topology, layout: Layout) -> str:
    return (
        f"{counted(topology.n_nodes, 'node', form=',')} folded into "
        f"{counted(layout.n_cells, 'square', form=',')} of up to {counted(layout.nodes_per_cell, 'node')}; "
        "a square is filled by the part of its GPUs that a job holds"
    )


def _wrapped(text: str, width: float) -> list[str]:
    room, lines = int(width / (LABEL_PX * CHARACTER)), [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [line for line in lines if line]
