"""SVG markup of the squares of a topology picture, each of which stands for one or several nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from workbench.model.counted import counted
from workbench.report.colours import JobColour, ink_on
from workbench.report.legend import hatching, job_fill
from workbench.report.occupancy import Held, Occupancy
from workbench.report.svg_text import LABEL_PX, fit_text, short

__all__ = ["Look", "looks_of", "squares"]

#: Squares at least this wide show their GPUs one by one.
_GPU_CELL = 40.0
_GPUS_SHOWN = 16
#: Narrower squares have no room for a readable name.
_NAMED_CELL = 36.0

#: The fields of `Occupancy` for one node, in their order; None where unknown.
_State = tuple[
    tuple[Held, ...] | None, int | None, int | None, tuple[int, ...] | None, tuple[int, ...] | None, str | None
]


@dataclass(frozen=True, slots=True)
class _JobPaint:
    """A job in a picture: its name, its paint (a colour or pattern), and the colour as which the pattern appears."""

    name: str
    fill: str
    colour: str


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """The appearance of a square apart from its position; equal appearances share one object.

    Attributes
    ----------
    facts : str
        Text after the node's name, escaped.
    jobs : str
        Numbers of the jobs on the square's nodes, as text.
    parts : tuple of (float, str)
        Rectangles of the square: distance from its left edge in pixels, and markup without a position.
    slots : tuple of str
        SVG paint of each GPU, if the GPUs of the square are drawn one by one; otherwise empty.
    ground : str, optional
        Background colour of the square's name; None: the page's background.
    folded : bool
        Whether the square stands for several nodes.
    closed : bool
        Whether no job can place a pod on any node of the square; it is hatched.
    """

    facts: str
    jobs: str
    parts: tuple[tuple[float, str], ...]
    slots: tuple[str, ...]
    ground: str | None
    folded: bool
    closed: bool


def looks_of(
    who: Occupancy, n_nodes: int, size: float, colours: Sequence[JobColour], key: str
) -> Callable[[tuple[int, ...]], Look]:
    """A function that returns the appearance of a square, given the nodes that it stands for.

    `n_nodes`: nodes of the topology. `size`: side of a square, in pixels. `key`: prefix of the SVG ids of the hatching
    patterns.
    """
    nodes = range(n_nodes)
    held = {node: tuple(entries) for node, entries in who.held.items()}
    fields = (held, who.n_gpus, who.n_busy, who.gpus, who.busy, who.closed)
    states = list(zip(*(map(of.get, nodes) for of in fields), strict=True))

    def look(several: tuple[_State, ...]) -> Look:
        numbers = sorted({entry.job for state in several for entry in state[0] or ()})
        jobs = tuple((i, _JobPaint(who.jobs[i], job_fill(i, colours, key), colours[i].colour)) for i in numbers)
        return _look(several, jobs, size)

    # Most nodes of a cluster are in the same few states.
    known = {state: look((state,)) for state in set(states)}
    single = [known[state] for state in states]
    return lambda of: single[of[0]] if len(of) == 1 else look(tuple([states[node] for node in of]))


def squares(
    labels: Sequence[str], size: float, looks: Sequence[Look], tips: bool = True
) -> tuple[tuple[str, str], ...]:
    """The squares of one box as pairs of label and SVG markup, in order; the markup of each is at the origin.

    `size`: side of a square, in pixels. `tips`: whether each square has a tool tip.
    """
    begin = _common_start(labels)
    return tuple([(label, _square(label, size, look, tips, begin)) for label, look in zip(labels, looks)])


@lru_cache(maxsize=4096)
def _common_start(labels: Sequence[str]) -> str:
    """The text with which all labels begin, without the digits at its end; empty if a label is nothing else."""
    first, last = min(labels), max(labels)
    n = next((i for i, (one, other) in enumerate(zip(first, last)) if one != other), min(len(first), len(last)))
    start = first[:n].rstrip("0123456789")
    return "" if start in labels else start


def _square(label: str, size: float, look: Look, tips: bool, begin: str) -> str:
    parts = "".join([f"<rect x='{short(offset)}' {rest}" if offset else f"<rect {rest}" for offset, rest in look.parts])
    name = _name(label, size, look.ground, begin) if size >= _NAMED_CELL and not look.folded else ""
    slots = _slots(size, look.slots) if look.slots else ""
    hatch = hatching(size) if look.closed else ""
    text = escape(label)
    # The names are those by which a page links the same place in several pictures.
    tip = f"<title>{text}{look.facts}</title>" if tips else ""
    return f"<g data-cell='{text}' data-jobs='{look.jobs}'>{tip}{parts}{name}{slots}{hatch}</g>"


def _name(label: str, size: float, ground: str | None, begin: str) -> str:
    font = min(LABEL_PX, size / 4.2)
    text = fit_text(label, size - 3.0, font)
    if text != label:
        # Where names are cut, what all of them begin with goes first.
        text = fit_text(label.removeprefix(begin), size - 3.0, font)
    ink = f" fill='{ink_on(ground)}'" if ground else ""
    return (
        f"<text x='{short(size / 2)}' y='{short(font + 2)}' font-size='{short(font)}' "
        f"text-anchor='middle' stroke='none'{ink}>{escape(text)}</text>"
    )


@lru_cache(maxsize=4096)
def _slots(size: float, paints: Sequence[str]) -> str:
    """The GPUs of a node as small squares below its name."""
    columns = 4 if len(paints) > 2 else len(paints)
    rows = math.ceil(len(paints) / columns)
    top = min(LABEL_PX, size / 4.2) + 6.0
    wide, tall = (size - 4.0) / columns, (size - 2.0 - top) / rows
    parts = []
    for i, paint in enumerate(paints):
        x, y = 2.0 + (i % columns) * wide + 0.75, top + (i // columns) * tall + 0.75
        parts.append(
            f"<rect class='tw-gpu' x='{short(x)}' y='{short(y)}' width='{short(wide - 1.5)}' "
            f"height='{short(tall - 1.5)}' {paint}/>"
        )
    return "".join(parts)


@lru_cache(maxsize=4096)
def _look(states: tuple[_State, ...], jobs: tuple[tuple[int, _JobPaint], ...], size: float) -> Look:
    shown = dict(jobs)
    facts = escape("; ".join(_facts(states, shown)))
    facts = f": {facts}" if facts else ""
    numbers = " ".join(map(str, shown))
    closed = all(state[5] for state in states)
    slots = _slot_paints(states[0], shown) if len(states) == 1 and size >= _GPU_CELL else ()
    if slots:
        return Look(facts, numbers, ((0.0, _part(size, 1.0, None)),), slots, None, False, closed)
    shares = _shares(states)
    used = sum(share for _, share in shares)
    parts = [(0.0, _part(size, 1.0, None))] if used < 0.999 else []
    at = 0.0
    for job, share in shares:
        parts.append((at * size, _part(size, share, "running" if job < 0 else shown[job].fill)))
        at += share
    whole = len(shares) == 1 and shares[0][0] >= 0 and used > 0.9
    ground = shown[shares[0][0]].colour if whole else None
    return Look(facts, numbers, tuple(parts), (), ground, len(states) > 1, closed)


def _part(size: float, share: float, fill: str | None) -> str:
    """SVG markup of a part of a square; without `fill` it is free, and `running` stands for pods that ran before."""
    paint = f"fill='{fill}'"
    if fill is None:
        paint = "fill-opacity='.06'"
    elif fill == "running":
        paint = "fill-opacity='.4'"
    return f"width='{short(max(share * size, 1.5))}' height='{short(size)}' {paint}/>"


def _slot_paints(state: _State, shown: dict[int, _JobPaint]) -> tuple[str, ...]:
    """The paint of each GPU of a node, that of the job that holds it; empty if the GPUs are too many or unknown."""
    held, _, _, gpus, busy, _ = state
    if not gpus or len(gpus) > _GPUS_SHOWN:
        return ()
    owner = {gpu: entry.job for entry in held or () for gpu in entry.gpus}
    return tuple(
        f"fill='{shown[owner[gpu]].fill}'"
        if gpu in owner
        else "fill-opacity='.4'"
        if gpu in (busy or ())
        else "fill-opacity='.06'"
        for gpu in gpus
    )


def _shares(states: Sequence[_State]) -> list[tuple[int, float]]:
    """Pairs (job, share of the square) in the order of the jobs; -1 stands for pods that ran before.

    Shares are computed from GPUs if these are known, else from pods.
    """
    amounts: dict[int, float] = {}
    for held, total, busy, *_ in states:
        held = held or ()
        with_gpus = total and any(entry.n_gpus for entry in held)
        for entry in held:
            part = entry.n_gpus / total if total and with_gpus else 1.0 / len(held)
            amounts[entry.job] = amounts.get(entry.job, 0.0) + part
        if busy and total and (with_gpus or not held):
            amounts[-1] = amounts.get(-1, 0.0) + busy / total
    whole = float(len(states))
    return [
        (job, min(amounts[job] / whole, 1.0)) for job in sorted(amounts, key=lambda j: (j < 0, j)) if amounts[job] > 0
    ]


def _facts(states: Sequence[_State], shown: dict[int, _JobPaint]) -> list[str]:
    pods: dict[int, tuple[int, int]] = {}
    for held, *_ in states:
        for entry in held or ():
            n, gpus = pods.get(entry.job, (0, 0))
            pods[entry.job] = (n + entry.pods, gpus + entry.n_gpus)
    single = {entry.job: entry for entry in states[0][0] or ()} if len(states) == 1 else {}
    facts = [_held_text(shown[job].name, n, gpus, single.get(job)) for job, (n, gpus) in sorted(pods.items())]
    total = sum(n_gpus or 0 for _, n_gpus, *_ in states)
    if total:
        taken = sum(gpus for _, gpus in pods.values()) + sum(n_busy or 0 for _, _, n_busy, *_ in states)
        facts.append(f"{total - taken} of {counted(total, 'GPU')} free")
    closed = [state[5] for state in states if state[5]]
    for word in dict.fromkeys(closed):
        facts.append(word if len(states) == 1 else f"{counted(closed.count(word), 'node')} {word}")
    return facts


def _held_text(job: str, pods: int, gpus: int, single: Held | None) -> str:
    text = f"{job} {counted(pods, 'pod')}"
    if single is not None and single.gpus:
        return f"{text} on GPU {', '.join(map(str, single.gpus))}"
    return f"{text} on {counted(gpus, 'GPU')}" if gpus else text
