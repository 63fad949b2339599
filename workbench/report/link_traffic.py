"""Traffic per link on the topology: a bar for every HyperNode and node, coloured by the use of its links."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from workbench.model.topology import TOP, Topology
from workbench.report.colours import NODE, heat, ink_on
from workbench.report.svg_text import fit_text, short
from workbench.simulate.result import LinkUse, SimulationResult

__all__ = ["draw_link_traffic"]

_WIDTH, _NAMES, _ROW, _TOP = 800.0, 70.0, 26.0, 44.0
_SHADES, _BAR = 40, 160.0


def draw_link_traffic(result: SimulationResult, topology: Topology) -> str:
    """Mean use of the links above each HyperNode and node, as one ``<svg>`` element.

    A row per tier, the highest on top and the nodes below; a bar spans the nodes of its HyperNode. Its colour and
    number are the mean use of its busiest cable and direction; tips tell all. A HyperNode at the top has no links above
    it: its bar is grey, without a number. Empty if HyperNodes overlap.

    Parameters
    ----------
    result : SimulationResult
        Of a simulation on a network.
    topology : Topology
    """
    spans = topology.spans
    if spans is None or not result.links:
        return ""
    by_place: dict[tuple[int, str], list[LinkUse]] = {}
    for link in result.links:
        by_place.setdefault((link.tier, link.below), []).append(link)
    scale = (_WIDTH - _NAMES) / max(topology.n_nodes, 1)
    tiers = [*reversed(topology.tiers), 0]
    height = _TOP + _ROW * len(tiers) + 6
    title = f"{result.policy}: mean use of the links"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {short(_WIDTH)} {short(height)}' role='img' "
        f"aria-label='{escape(title, quote=True)}' style='max-width:100%;width:{short(_WIDTH)}px' "
        "font-family='system-ui, sans-serif' font-size='10' fill='currentColor'>"
        f"<text x='0' y='12' font-size='13' font-weight='600'>{escape(title)}</text>",
        *_key(),
    ]
    for row, tier in enumerate(tiers):
        y = _TOP + _ROW * row
        parts.append(f"<text x='0' y='{short(y + 15)}'>{f'tier {tier}' if tier else 'nodes'}</text>")
        if tier:
            places = [
                (topology.domain_names[int(d)], int(spans[d, 0]), int(spans[d, 1]), int(topology.parent[d]) != TOP)
                for d in topology.domains_at(tier)
            ]
        else:
            places = [(name, node, node + 1, True) for node, name in enumerate(topology.node_names)]
        for name, begin, end, linked in places:
            x, width = _NAMES + begin * scale, max((end - begin) * scale - 1, 0.5)
            links = by_place.get((tier, name), ())
            parts.append(_bar(name, links, result.ended_s, x, y, width) if linked else _no_links(name, x, y, width))
    return "".join([*parts, "</svg>"])


def _no_links(name: str, x: float, y: float, width: float) -> str:
    return _box(f"{name}: no links above it", fit_text(name, width - 6, 10), NODE, x, y, width)


def _bar(name: str, links: Sequence[LinkUse], seconds: float, x: float, y: float, width: float) -> str:
    uses = [(link.gb / (link.gb_s * seconds) if link.gb_s * seconds else 0.0, link) for link in links]
    use, busiest = max(uses, key=lambda each: each[0], default=(0.0, None))
    tip = f"{name}: no traffic"
    if busiest is not None:
        carried = {way: sum(link.gb for link in links if link.direction == way) for way in ("up", "down")}
        which = f"rail {busiest.rail}, cable {busiest.cable}, {busiest.direction}"
        tip = f"{name}: {carried['up']:,.0f} GB up, {carried['down']:,.0f} GB down; busiest: {which}, {use:.1%}"
    label = fit_text(f"{name} {use:.0%}", width - 6, 10) if width > 40 else f"{use:.0%}" if width > 24 else ""
    return _box(tip, label, heat(use), x, y, width)


def _box(tip: str, label: str, colour: str, x: float, y: float, width: float) -> str:
    return (
        f"<g><title>{escape(tip)}</title><rect x='{short(x)}' y='{short(y)}' width='{short(width)}' "
        f"height='{short(_ROW - 4)}' fill='{colour}'/><text x='{short(x + width / 2)}' y='{short(y + 15)}' "
        f"text-anchor='middle' fill='{ink_on(colour)}'>{escape(label)}</text></g>"
    )


def _key() -> list[str]:
    """The scale of colours, from 0 to 100 %."""
    y, step = 20.0, _BAR / _SHADES
    shades = [
        f"<rect x='{short(_NAMES + i * step)}' y='{short(y)}' width='{short(step + 0.5)}' height='10' "
        f"fill='{heat(float(place))}'/>"
        for i, place in enumerate(np.linspace(0, 1, _SHADES))
    ]
    return [
        *shades,
        f"<text x='{short(_NAMES - 6)}' y='{short(y + 9)}' text-anchor='end'>0 %</text>",
        f"<text x='{short(_NAMES + _BAR + 6)}' y='{short(y + 9)}'>100 % of what the busiest cable can carry</text>",
        f"<rect x='{short(_NAMES + _BAR + 260)}' y='{short(y)}' width='10' height='10' fill='{NODE}'/>",
        f"<text x='{short(_NAMES + _BAR + 275)}' y='{short(y + 9)}'>no links above</text>",
    ]
