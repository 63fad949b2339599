"""Traffic per link on the topology: a bar for every HyperNode and node, coloured by the use of its links."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from workbench.model.topology import TOP, Topology
from workbench.report.chart import bar, chart, colour_bar, keys, label
from workbench.report.colours import NODE, heat, ink_on
from workbench.report.svg_text import fit_text
from workbench.simulate.result import LinkUse, SimulationResult

__all__ = ["draw_link_traffic"]

_WIDTH, _NAMES, _ROW, _TOP = 800.0, 70.0, 26.0, 44.0
_SHADES, _BAR = 40, 160.0


def draw_link_traffic(result: SimulationResult, topology: Topology) -> str:
    """Mean use of the links above each HyperNode and node, as one ``<svg>`` element.

    A row per tier, the highest on top and the nodes below; a bar spans the nodes of its HyperNode. Its colour and
    number are the mean use of its busiest cable and direction; tips tell all. A HyperNode at the top has no links above
    it: its bar is grey, without a number. Empty if HyperNodes overlap.

    `result`: result of a simulation on a network.
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
    parts = _key()
    for row, tier in enumerate(tiers):
        y = _TOP + _ROW * row
        parts.append(label(0, y + 15, f"tier {tier}" if tier else "nodes"))
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
    return chart("tw-links", title, (_WIDTH, height), parts, px=10)


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


def _box(tip: str, text: str, colour: str, x: float, y: float, width: float) -> str:
    box = bar(x, y, (width, _ROW - 4), f"fill='{colour}'")
    inside = label(x + width / 2, y + 15, text, "middle", f" fill='{ink_on(colour)}'")
    return f"<g><title>{escape(tip)}</title>{box}{inside}</g>"


def _key() -> list[str]:
    """The scale of colours, from 0 to 100 %."""
    y = 20.0
    return [
        *colour_bar(_NAMES, y, _BAR, np.linspace(0, 1, _SHADES).tolist()),
        label(_NAMES - 6, y + 9, "0 %", "end"),
        label(_NAMES + _BAR + 6, y + 9, "100 % of what the busiest cable can carry"),
        *keys([(f"fill='{NODE}'", "no links above")], _NAMES + _BAR + 260, y, _WIDTH, 10)[0],
    ]
