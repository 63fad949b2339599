"""The topology as one SVG: packed blocks, coloured by job.

Theme-safe without a style sheet: lines and text are `currentColor`, which the page sets, so that the same picture is
right in a dark JupyterLab, in a light report and as a file of its own. Element ids are derived from the content,
because several pictures share a page.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape

from workbench.model.topology import Topology
from workbench.report.blocks import Block, Cell, Layout, pack
from workbench.report.colours import JobColour, ink_on, job_colours
from workbench.report.occupancy import Held, Occupancy

__all__ = ["SHRINK", "Drawing", "Plan", "draw_parts", "draw_topology", "drawing_width", "fit_text"]

_LABEL_PX = 11.0
_LEGEND_LINE = 19.0
#: Width of an average character as a part of the font size; on the generous side, so that labels fit.
_CHARACTER = 0.6
#: Jobs that get a legend entry of their own; the rest is counted.
_LEGEND_JOBS = 24
#: Squares at least this wide show their GPUs one by one.
_GPU_CELL = 40.0
_GPUS_SHOWN = 16
#: Narrower squares have room for no name that one could read.
_NAMED_CELL = 36.0
_MIN_WIDTH = 260.0
#: Wider pictures have the class ``tw-wide``: a page that shows them small leaves their labels out.
_WIDE = 800.0
#: In a narrow place a picture shrinks to this part of its size, where labels are still readable, and scrolls below it.
SHRINK = 0.7


@dataclass(frozen=True)
class Drawing:
    """A drawn topology in parts, so that whoever has drawn it before need not read again what has stayed.

    Attributes
    ----------
    frame : tuple of str
        What stands before, between and after the groups: one text more than there are groups.
    groups : tuple of tuple of (str, str)
        Elements of each group, in order: what it is of, and its markup. Names are those of HyperNodes, or of the nodes
        of a square; two elements of a group may share one.
    """

    frame: tuple[str, ...]
    groups: tuple[tuple[tuple[str, str], ...], ...]

    def parts(self, shown: Drawing | None = None) -> dict[str, object]:
        """JSON-ready; elements that `shown` has too as runs: where they begin there, and how many they are."""
        before = shown.groups if shown is not None else ((),) * len(self.groups)
        return {"frame": self.frame, "groups": [_since(old, new) for old, new in zip(before, self.groups)]}

    def __str__(self) -> str:
        """One ``<svg>`` element."""
        parts = [self.frame[0]]
        for group, after in zip(self.groups, self.frame[1:]):
            parts.extend(markup for _, markup in group)
            parts.append(after)
        return "".join(parts)


def _since(before: tuple[tuple[str, str], ...], now: tuple[tuple[str, str], ...]) -> list[list[int] | tuple[str, str]]:
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


class Plan:
    """A topology laid out, with what all pictures of it have in common.

    Parameters
    ----------
    topology : Topology

    Attributes
    ----------
    topology : Topology
    layout : Layout
    boxes, labels : tuple of (str, str)
        Groups of a `Drawing`.
    places : list of (Cell, str, str, str)
        Each square with its label escaped and its corner's coordinates as texts.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.layout = pack(topology)
        blocks = [(topology.domain_name(b.domain), b) for b in self.layout.blocks()]
        self.boxes = tuple((name, _frame(b, topology)) for name, b in blocks if b.domain >= 0)
        self.labels = tuple((name, _block_label(b, topology)) for name, b in blocks if b.header)
        self.places = [(cell, _escaped(cell.label), _n(cell.x), _n(cell.y)) for cell in self.layout.cells()]


def draw_topology(topology: Topology, who: Occupancy | None = None, title: str = "", plan: Plan | None = None) -> str:
    """`draw_parts` as one ``<svg>`` element."""
    return str(draw_parts(topology, who, title, plan))


def draw_parts(topology: Topology, who: Occupancy | None = None, title: str = "", plan: Plan | None = None) -> Drawing:
    """Draw a topology.

    Parameters
    ----------
    topology : Topology
    who : Occupancy, optional
        Colours the nodes by the jobs on them; without it the squares are empty.
    title : str
        Heading; also the accessible name.
    plan : Plan, optional
        Of this topology, where several pictures share it.

    Returns
    -------
    Drawing
        Groups: the boxes, their labels, the squares. All text escaped. Same input, same bytes.
    """
    who = who or Occupancy()
    plan = plan or Plan(topology)
    layout = plan.layout
    colours = job_colours(len(who.jobs))
    key = (
        "tw" + hashlib.sha256(repr((title, topology.node_names, topology.domain_names, who)).encode()).hexdigest()[:10]
    )
    head = 24.0 if title else 2.0
    width = drawing_width(layout)
    legend, legend_height = _legend(topology, layout, who, colours, key, width)
    height = head + layout.height + 6.0 + legend_height
    classes = "tw-topology tw-wide" if width > _WIDE else "tw-topology"
    before = [
        f"<svg xmlns='http://www.w3.org/2000/svg' class='{classes}' role='img' aria-labelledby='{key}t {key}d' "
        f"width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {_n(width)} {_n(height)}' "
        f"style='max-width:100%;height:auto;min-width:{width * SHRINK:.0f}px' "
        f"font-family='system-ui, sans-serif' font-size='{_n(_LABEL_PX)}' fill='currentColor'>",
        f"<title id='{key}t'>{escape(title or 'Topology')}</title>",
        f"<desc id='{key}d'>{escape(_describe(topology, who))}</desc>",
        _patterns(colours, key),
    ]
    if title:
        before.append(
            f"<text x='1' y='15' font-size='13' font-weight='600'>{escape(fit_text(title, width, 13.0))}</text>"
        )
    before.append(f"<g transform='translate(1 {_n(head)})'>")
    before.append("<g class='tw-blocks' stroke='currentColor' stroke-opacity='.45' fill-opacity='.035'>")
    look = _looks(who, layout.cell, colours, key)
    return Drawing(
        (
            "".join(before),
            "</g><g class='tw-labels'>",
            "</g><g class='tw-nodes' stroke='currentColor' stroke-width='.6' stroke-opacity='.5'>",
            f"</g></g><g class='tw-legend' transform='translate(1 {_n(head + layout.height + 6.0)})'>{legend}</g>"
            "</svg>",
        ),
        (
            plan.boxes,
            plan.labels,
            tuple([(place[0].label, _cell(place, look(place[0].nodes), who, colours, key)) for place in plan.places]),
        ),
    )


def drawing_width(layout: Layout) -> float:
    """Width of a picture in pixels at full size."""
    return max(layout.width + 2.0, _MIN_WIDTH)


def fit_text(text: str, width: float, font_px: float) -> str:
    """A text that fits a width: whole, or its end after an ellipsis (names differ at their ends), or nothing."""
    room = int(width / (font_px * _CHARACTER))
    if len(text) <= room:
        return text
    return f"…{text[1 - room :]}" if room >= 3 else ""


@lru_cache(maxsize=4096)
def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


#: Labels of squares are those of the picture before.
_escaped = lru_cache(maxsize=8192)(escape)


def _describe(topology: Topology, who: Occupancy) -> str:
    counts = [(t, int((topology.tier == t).sum())) for t in topology.tiers]
    tiers = ", ".join(f"{n} HyperNode{'s' if n != 1 else ''} of tier {t}" for t, n in counts)
    jobs = f"; {len(who.jobs)} jobs, {len(who.held)} nodes in use by them" if who.jobs else ""
    return f"{topology.n_nodes} nodes{', ' if tiers else ''}{tiers}{jobs}"


def _patterns(colours: Sequence[JobColour], key: str) -> str:
    stripes = "".join(
        f"<pattern id='{key}p{i}' width='5' height='5' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
        f"<rect width='5' height='5' fill='{look.colour}'/>"
        f"<rect width='2' height='5' fill='{ink_on(look.colour)}' fill-opacity='.55'/></pattern>"
        for i, look in enumerate(colours)
        if look.hatched
    )
    return f"<defs>{stripes}</defs>" if stripes else ""


def _fill(job: int, colours: Sequence[JobColour], key: str) -> str:
    return f"url(#{key}p{job})" if colours[job].hatched else colours[job].colour


def _frame(block: Block, topology: Topology) -> str:
    name, tier = topology.domain_name(block.domain), topology.domain_tier(block.domain)
    return (
        f"<rect x='{_n(block.x)}' y='{_n(block.y)}' width='{_n(block.width)}' height='{_n(block.height)}' rx='3'>"
        f"<title>{escape(name)}: tier {tier}, {block.n_nodes:,} nodes</title></rect>"
    )


def _block_label(block: Block, topology: Topology) -> str:
    name, tier = topology.domain_name(block.domain), topology.domain_tier(block.domain)
    room = block.width - 8.0
    texts = (f"{name} · tier {tier} · {block.n_nodes:,} nodes", f"{name} · tier {tier}", name)
    text = next((t for t in texts if fit_text(t, room, _LABEL_PX) == t), fit_text(name, room, _LABEL_PX))
    return f"<text x='{_n(block.x + 5)}' y='{_n(block.y + 12)}'>{escape(text)}</text>"


@dataclass(frozen=True, slots=True)
class _Look:
    """What a square shows of its nodes, wherever it stands.

    Attributes
    ----------
    facts : str
        After its name.
    jobs : str
        Numbers of the jobs there.
    parts : tuple of (float, str)
        Its rectangles: pixels from its left edge, and all but where it stands.
    ground : str, optional
        The colour behind its name; None where that is the page's own.
    """

    facts: str
    jobs: str
    parts: tuple[tuple[float, str], ...]
    ground: str | None


def _looks(who: Occupancy, size: float, colours: Sequence[JobColour], key: str) -> Callable[[tuple[int, ...]], _Look]:
    """The look of a square with these nodes. Most nodes of a cluster are in the same few states."""
    known: dict[object, _Look] = {}
    held, n_gpus, n_busy = who.held, who.n_gpus, who.n_busy

    def look(nodes: tuple[int, ...]) -> _Look:
        state: object = nodes
        if len(nodes) == 1:
            node = nodes[0]
            here = held.get(node)
            state = (tuple(here) if here else None, n_gpus.get(node), n_busy.get(node))
        found = known.get(state)
        if found is None:
            found = known[state] = _look(nodes, who, size, colours, key)
        return found

    return look


def _look(nodes: tuple[int, ...], who: Occupancy, size: float, colours: Sequence[JobColour], key: str) -> _Look:
    jobs = sorted({entry.job for node in nodes for entry in who.held.get(node, ())})
    facts = escape("; ".join(_facts(nodes, who)))
    shares = _shares(nodes, who)
    used = sum(share for _, share in shares)
    parts = [(0.0, _part(size, 1.0, None))] if used < 0.999 else []
    at = 0.0
    for job, share in shares:
        parts.append((at * size, _part(size, share, "running" if job < 0 else _fill(job, colours, key))))
        at += share
    whole = len(shares) == 1 and shares[0][0] >= 0 and used > 0.9
    ground = colours[shares[0][0]].colour if whole else None
    return _Look(f": {facts}" if facts else "", " ".join(map(str, jobs)), tuple(parts), ground)


def _cell(
    place: tuple[Cell, str, str, str], look: _Look, who: Occupancy, colours: Sequence[JobColour], key: str
) -> str:
    cell, label, x, y = place
    gpus = who.gpus.get(cell.nodes[0], ()) if who.gpus and len(cell.nodes) == 1 else ()
    slots = ""
    if gpus and cell.size >= _GPU_CELL and len(gpus) <= _GPUS_SHOWN:
        slots = _slots(cell, gpus, who, colours, key)
        look = replace(look, parts=((0.0, _part(cell.size, 1.0, None)),), ground=None)
    first, *others = look.parts
    parts = f"<rect x='{x}' y='{y}' {first[1]}"
    for offset, rest in others:
        parts += f"<rect x='{_n(cell.x + offset)}' y='{y}' {rest}"
    name = _name(cell, look.ground) if cell.size >= _NAMED_CELL else ""
    # The names are those by which a page links the same place in several pictures.
    return f"<g data-cell='{label}' data-jobs='{look.jobs}'><title>{label}{look.facts}</title>{parts}{name}{slots}</g>"


def _part(size: float, share: float, fill: str | None) -> str:
    """A part of a square, all but its place; without a fill it is free, `running` is what ran before."""
    paint = f"fill='{fill}'"
    if fill is None:
        paint = "fill-opacity='.06'"
    elif fill == "running":
        paint = "fill-opacity='.4'"
    return f"width='{_n(max(share * size, 1.5))}' height='{_n(size)}' {paint}/>"


def _name(cell: Cell, ground: str | None) -> str:
    if len(cell.nodes) > 1:
        return ""
    font = min(_LABEL_PX, cell.size / 4.2)
    text = fit_text(cell.label, cell.size - 3.0, font)
    ink = f" fill='{ink_on(ground)}'" if ground else ""
    return (
        f"<text x='{_n(cell.x + cell.size / 2)}' y='{_n(cell.y + font + 2)}' font-size='{_n(font)}' "
        f"text-anchor='middle' stroke='none'{ink}>{escape(text)}</text>"
    )


def _slots(cell: Cell, gpus: Sequence[int], who: Occupancy, colours: Sequence[JobColour], key: str) -> str:
    """The GPUs of a node as small squares below its name, each in the colour of the job that has it."""
    node = cell.nodes[0]
    owner = {gpu: held.job for held in who.held.get(node, ()) for gpu in held.gpus}
    busy = set(who.busy.get(node, ()))
    columns = 4 if len(gpus) > 2 else len(gpus)
    rows = math.ceil(len(gpus) / columns)
    top = cell.y + min(_LABEL_PX, cell.size / 4.2) + 6.0
    wide, tall = (cell.size - 4.0) / columns, (cell.y + cell.size - 2.0 - top) / rows
    parts = []
    for i, gpu in enumerate(gpus):
        x, y = cell.x + 2.0 + (i % columns) * wide + 0.75, top + (i // columns) * tall + 0.75
        paint = "fill-opacity='.06'"
        if gpu in owner:
            paint = f"fill='{_fill(owner[gpu], colours, key)}'"
        elif gpu in busy:
            paint = "fill-opacity='.4'"
        parts.append(
            f"<rect class='tw-gpu' x='{_n(x)}' y='{_n(y)}' width='{_n(wide - 1.5)}' height='{_n(tall - 1.5)}' {paint}/>"
        )
    return "".join(parts)


def _shares(nodes: Sequence[int], who: Occupancy) -> list[tuple[int, float]]:
    """(job, part of the square), in the order of the jobs, -1 for what ran before; by GPUs where they are known."""
    amounts: dict[int, float] = {}
    for node in nodes:
        held = who.held.get(node, ())
        total = who.n_gpus.get(node, 0)
        with_gpus = total and any(h.n_gpus for h in held)
        for entry in held:
            part = entry.n_gpus / total if with_gpus else 1.0 / len(held)
            amounts[entry.job] = amounts.get(entry.job, 0.0) + part
        busy = who.n_busy.get(node, 0)
        if busy and total and (with_gpus or not held):
            amounts[-1] = amounts.get(-1, 0.0) + busy / total
    whole = float(len(nodes))
    return [
        (job, min(amounts[job] / whole, 1.0)) for job in sorted(amounts, key=lambda j: (j < 0, j)) if amounts[job] > 0
    ]


def _facts(nodes: Sequence[int], who: Occupancy) -> list[str]:
    pods: dict[int, tuple[int, int]] = {}
    for node in nodes:
        for entry in who.held.get(node, ()):
            n, gpus = pods.get(entry.job, (0, 0))
            pods[entry.job] = (n + entry.pods, gpus + entry.n_gpus)
    single = {h.job: h for h in who.held.get(nodes[0], ())} if len(nodes) == 1 else {}
    facts = [_held_text(who.jobs[job], n, gpus, single.get(job)) for job, (n, gpus) in sorted(pods.items())]
    total = sum(who.n_gpus.get(node, 0) for node in nodes)
    if total:
        taken = sum(gpus for _, gpus in pods.values()) + sum(who.n_busy.get(node, 0) for node in nodes)
        facts.append(f"{total - taken} of {total} GPUs free")
    return facts


def _held_text(job: str, pods: int, gpus: int, single: Held | None) -> str:
    text = f"{job} {pods} pod{'s' if pods != 1 else ''}"
    if single is not None and single.gpus:
        return f"{text} on GPU {', '.join(map(str, single.gpus))}"
    return f"{text} on {gpus} GPUs" if gpus else text


def _legend(
    topology: Topology, layout: Layout, who: Occupancy, colours: Sequence[JobColour], key: str, width: float
) -> tuple[str, float]:
    entries = [(f"fill='{_fill(i, colours, key)}'", name) for i, name in enumerate(who.jobs[:_LEGEND_JOBS])]
    if len(who.jobs) > _LEGEND_JOBS:
        entries.append(("fill='#8a8a8a'", f"and {len(who.jobs) - _LEGEND_JOBS} more jobs (hover)"))
    if any(who.n_busy.values()):
        entries.append(("fill-opacity='.4'", "in use before"))
    if who.jobs or who.n_gpus:
        entries.append(("fill-opacity='.06'", "free"))
    parts, x, y = [], 0.0, 0.0
    for paint, name in entries:
        text = fit_text(name, min(width - 20.0, 240.0), _LABEL_PX)
        span = 17.0 + len(text) * _LABEL_PX * _CHARACTER + 12.0
        if x and x + span > width:
            x, y = 0.0, y + _LEGEND_LINE
        parts.append(
            f"<rect x='{_n(x + 0.5)}' y='{_n(y + 3)}' width='12' height='12' stroke='currentColor' "
            f"stroke-opacity='.5' {paint}/>"
            f"<text x='{_n(x + 17)}' y='{_n(y + 13)}'>{escape(text)}</text>"
        )
        x += span
    y += _LEGEND_LINE if entries else 0.0
    for line in _wrapped(_note(topology, layout), width):
        parts.append(f"<text x='0' y='{_n(y + 13)}' fill-opacity='.75'>{escape(line)}</text>")
        y += 15.0
    return "".join(parts), y + 4.0


def _note(topology: Topology, layout: Layout) -> str:
    sentences = []
    if topology.problems:
        n = len(topology.problems)
        sentences.append(f"{n} problem{'s' if n != 1 else ''}: {topology.problems[0].message}{' …' if n > 1 else ''}.")
    if layout.nodes_per_cell > 1:
        sentences.append(_folded(topology, layout))
    return " ".join(sentences)


def _folded(topology: Topology, layout: Layout) -> str:
    return (
        f"{topology.n_nodes:,} nodes folded into {layout.n_cells:,} squares of up to {layout.nodes_per_cell} nodes; "
        "a square is filled by the part of its GPUs that a job holds"
    )


def _wrapped(text: str, width: float) -> list[str]:
    room, lines = int(width / (_LABEL_PX * _CHARACTER)), [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [line for line in lines if line]
