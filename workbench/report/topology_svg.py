"""`draw_topology`: a topology as SVG: nested boxes with nodes as squares, coloured by job.

Theme-safe without a style sheet: text and the lines of squares are `currentColor`, which the page sets, so that the
same picture is right in a dark JupyterLab, in a light report and as a file of its own. Boxes have the colour of their
tier, which stands out from both grounds. Element ids are derived from the content,
because several pictures share a page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from workbench.model.counted import counted
from workbench.model.topology import Topology
from workbench.report.blocks import Layout, pack, square_corners
from workbench.report.colours import OTHER_JOBS, JobColour, job_colours, tier_colour
from workbench.report.fill_levels import fill_levels
from workbench.report.legend import BOX_FILL, legend_keys, legend_svg, patterns
from workbench.report.occupancy import OTHERS, Occupancy
from workbench.report.squares import Look, looks_of, squares
from workbench.report.svg_text import LABEL_PX, fit_text, short

__all__ = ["SHRINK", "Drawing", "DrawingPlan", "draw_parts", "draw_topology", "drawing_width"]

_MIN_WIDTH = 260.0
#: Wider pictures have the class ``tw-wide``: a page that shows them small leaves their labels out.
_WIDE = 800.0
#: In a narrow place a picture shrinks to this part of its size, where labels are still readable, and scrolls below it.
SHRINK = 0.7


#: Elements of a group in order: what each is of, and its markup.
Elements = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Drawing:
    """A drawn topology in parts, so that a page that shows an earlier drawing receives only what changed.

    Attributes
    ----------
    frame : tuple of str
        SVG markup before, between and after the groups: one text more than there are groups.
    groups : tuple of tuple of (str, str)
        SVG elements by group, each as a name (of a HyperNode, or label of a square) and its markup. Two elements of a
        group may have the same name.
    places : tuple of str
        Position of each element of the last group, ``x y`` in pixels. The elements' markup contains no position, so
        that a change that only moves them changes only `places`.
    width, height : float
        Size of the drawing in pixels at full size.
    """

    frame: tuple[str, ...]
    groups: tuple[Elements, ...]
    places: tuple[str, ...] = ()
    width: float = 0.0
    height: float = 0.0

    def parts(self, shown: Drawing | None = None) -> dict[str, object]:
        """The drawing as a JSON-ready dict with ``frame``, ``groups`` and ``places``, relative to an earlier drawing.

        `shown`: the drawing that the page shows. In ``groups`` an element is given as (name, markup), but consecutive
        elements of `shown` as one pair: position of the first in the group of `shown`, and number of elements.
        ``places`` is None if `shown` has equal places. None: everything is given in full.
        """
        before = shown.groups if shown is not None else ((),) * len(self.groups)
        same = shown is not None and shown.places == self.places
        return {
            "frame": self.frame,
            "groups": [_since(old, new) for old, new in zip(before, self.groups)],
            "places": None if same else self.places,
        }

    def __str__(self) -> str:
        """One ``<svg>`` element."""
        *fixed, moved = [[markup for _, markup in group] for group in self.groups]
        moved = [_at(place, markup) for place, markup in zip(self.places, moved, strict=True)]
        parts = [self.frame[0]]
        for group, after in zip([*fixed, moved], self.frame[1:], strict=True):
            parts.extend(group)
            parts.append(after)
        return "".join(parts)


def _at(place: str, markup: str) -> str:
    """The markup of a ``<g>`` at a place."""
    return f"<g transform='translate({place})'{markup.removeprefix('<g')}"


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
    """The layout of a topology with everything that all its pictures have in common.

    `before`: plan of earlier pictures with equal `tips`, from which unchanged squares are copied. `tips`: whether each
    element has a tool tip; False if the page shows tool tips of its own. `tiers` (tuple of int): tiers of the
    HyperNodes that have a box, smallest first. `boxes`, `labels` (tuple of (str, str)): the groups of a `Drawing` that
    all pictures share: the boxes, and their labels. `places` (tuple of str): positions of the squares, as in `Drawing`.
    """

    def __init__(self, topology: Topology, before: DrawingPlan | None = None, tips: bool = True) -> None:
        self.topology = topology
        self._tips = tips
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
        self.tiers = tuple(sorted({tier for _, tier, _ in framed}))
        self.boxes = tuple(
            [
                (name, _frame(name if tips else "", tier, b.n_nodes, b.x, b.y, b.width, b.height))
                for name, tier, b in framed
            ]
        )
        self.labels = tuple(
            [(name, _block_label(name, tier, b.n_nodes, b.x, b.y, b.width)) for name, tier, b in framed if b.header]
        )
        self.places = tuple(
            [
                f"{short(x)} {short(y)}"
                for b in self._blocks
                for x, y in square_corners(len(b.labels), b.left, b.top, b.cell)
            ]
        )
        self._headed = [(name, block) for name, _, block in framed if block.header]

    @property
    def note(self) -> str:
        """Text for the line below the pictures: problems of the topology, and what a square stands for."""
        return _note(self.topology, self.layout)

    def nodes_of(self, label: str) -> tuple[int, ...]:
        """Indices of the nodes of a square, given its label; empty if there is no such square."""
        pairs = ((name, nodes) for block in self._blocks for name, nodes in zip(block.labels, block.nodes))
        return next((tuple(nodes) for name, nodes in pairs if name == label), ())

    def levels(self, who: Occupancy) -> Elements:
        """SVG elements of the bars that show how full each HyperNode is; `who` says which GPUs are in use."""
        return fill_levels(self.topology, who, self._headed, self._tips)

    def squares(self, look: Callable[[tuple[int, ...]], Look]) -> Elements:
        """SVG elements of all squares.

        `look` returns the appearance of a square, given the nodes that it stands for.
        """
        found: list[tuple[str, str]] = []
        for block in self._blocks:
            if not block.labels:
                continue
            looks = tuple([look(nodes) for nodes in block.nodes])
            key = (block.labels, block.cell, looks)
            written = self._written.get(key) or self._written_before.get(key)
            if written is None:
                written = squares(block.labels, block.cell, looks, self._tips)
            self._written[key] = written
            found += written
        return tuple(found)


def draw_topology(
    topology: Topology, who: Occupancy | None = None, title: str = "", plan: DrawingPlan | None = None
) -> str:
    """Draw a topology as one ``<svg>`` element; `who`, `title` and `plan` are those of `draw_parts`."""
    return str(draw_parts(topology, who, title, plan))


def draw_parts(
    topology: Topology,
    who: Occupancy | None = None,
    title: str = "",
    plan: DrawingPlan | None = None,
    legend: bool = True,
) -> Drawing:
    """Draw a topology as a `Drawing`, whose parts can be updated separately.

    Returns: groups of boxes, of their labels, of their bars and of squares. All text escaped. Same input, same bytes.

    Parameters
    ----------
    who : Occupancy, optional
        Colours the nodes by the jobs on them; without it the squares are empty.
    title : str
        Heading; also the accessible name.
    plan : DrawingPlan, optional
        Layout of this topology, if several pictures share it.
    legend : bool
        Whether the legend stands below the picture; False where one legend serves several pictures, whose page decides
        how small they may be.
    """
    who = who or Occupancy()
    plan = plan or DrawingPlan(topology)
    layout = plan.layout
    colours = [
        JobColour(OTHER_JOBS, False) if name == OTHERS else look
        for name, look in zip(who.jobs, job_colours(len(who.jobs)))
    ]
    description = _describe(topology, who)
    # What the ids stand for: where it is the same in two pictures, so may the ids be.
    key = "tw" + hashlib.sha256(repr((title, description)).encode()).hexdigest()[:10]
    head = 24.0 if title else 2.0
    width = drawing_width(layout)
    below, below_height, least = "", 0.0, ""
    if legend:
        least = f";min-width:{width * SHRINK:.0f}px"
        drawn, below_height = legend_svg(legend_keys(who, colours, plan.tiers, key), plan.note, width)
        below = f"<g class='tw-legend' transform='translate(1 {short(head + layout.height + 6.0)})'>{drawn}</g>"
    height = head + layout.height + 6.0 + below_height
    classes = "tw-topology tw-wide" if width > _WIDE else "tw-topology"
    before = [
        f"<svg xmlns='http://www.w3.org/2000/svg' class='{classes}' role='img' aria-labelledby='{key}t {key}d' "
        f"width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {short(width)} {short(height)}' "
        f"style='max-width:100%;height:auto{least}' "
        f"font-family='system-ui, sans-serif' font-size='{short(LABEL_PX)}' fill='currentColor'>",
        f"<title id='{key}t'>{escape(title or 'Topology')}</title>",
        f"<desc id='{key}d'>{escape(description)}</desc>",
        patterns(colours, key),
    ]
    if title:
        before.append(
            f"<text x='1' y='15' font-size='13' font-weight='600'>{escape(fit_text(title, width, 13.0))}</text>"
        )
    before.append(f"<g transform='translate(1 {short(head)})'>")
    before.append(f"<g class='tw-blocks' stroke-opacity='.8' fill-opacity='{BOX_FILL}'>")
    look = looks_of(who, topology.n_nodes, layout.cell, colours, key)
    return Drawing(
        (
            "".join(before),
            "</g><g class='tw-labels'>",
            "</g><g class='tw-levels'>",
            "</g><g class='tw-nodes' stroke='currentColor' stroke-width='.6' stroke-opacity='.5'>",
            f"</g></g>{below}</svg>",
        ),
        (plan.boxes, plan.labels, plan.levels(who), plan.squares(look)),
        plan.places,
        width,
        height,
    )


def drawing_width(layout: Layout) -> float:
    """Width of a topology's picture in pixels at full size."""
    return max(layout.width + 2.0, _MIN_WIDTH)


def _describe(topology: Topology, who: Occupancy) -> str:
    counts = [(t, int((topology.tier == t).sum())) for t in topology.tiers]
    tiers = ", ".join(f"{counted(n, 'HyperNode')} of tier {t}" for t, n in counts)
    jobs = f"; {counted(len(who.jobs), 'job')}, {counted(len(who.held), 'node')} in use by them" if who.jobs else ""
    return f"{counted(topology.n_nodes, 'node')}{', ' if tiers else ''}{tiers}{jobs}"


# Most boxes of a picture are unchanged since the previous picture.
@lru_cache(maxsize=4096)
def _frame(name: str, tier: int, n_nodes: int, x: float, y: float, width: float, height: float) -> str:
    """The box of a HyperNode, with a tool tip if a name is given."""
    colour = tier_colour(tier)
    tip = f"<title>{escape(name)}: tier {tier}, {counted(n_nodes, 'node', form=',')}</title>" if name else ""
    return (
        f"<rect x='{short(x)}' y='{short(y)}' width='{short(width)}' height='{short(height)}' rx='3' "
        f"fill='{colour}' stroke='{colour}'>{tip}</rect>"
    )


@lru_cache(maxsize=4096)
def _block_label(name: str, tier: int, n_nodes: int, x: float, y: float, width: float) -> str:
    room = width - 8.0
    texts = (f"{name} · tier {tier} · {counted(n_nodes, 'node', form=',')}", f"{name} · tier {tier}", name)
    text = next((t for t in texts if fit_text(t, room, LABEL_PX) == t), fit_text(name, room, LABEL_PX))
    return f"<text x='{short(x + 5)}' y='{short(y + 12)}'>{escape(text)}</text>"


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
