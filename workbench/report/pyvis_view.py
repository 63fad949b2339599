"""`network_html`: a small topology as an interactive pyvis network whose nodes can be dragged.

It works offline: the script is inside the document, and the two tags with which pyvis loads bootstrap from the internet
are removed. Physics are off, because every position is given. Larger clusters are drawn as SVG.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from workbench.errors import CapacityError
from workbench.model.counted import counted
from workbench.model.topology import Topology
from workbench.report.blocks import natural_key
from workbench.report.colours import LINK, NODE, ink_on, job_colours, tier_colour
from workbench.report.occupancy import Occupancy

__all__ = ["MAX_NODES", "network_html", "network_page"]

#: pyvis puts half a megabyte of script into each picture and moves slowly above this many nodes.
MAX_NODES = 300

_OUTSIDE = re.compile(
    r"<(?:link|script)\b[^>]*\b(?:href|src)\s*=\s*[\"'](?:https?:)?//[^>]*>(?:\s*</script>)?", re.IGNORECASE
)


def network_html(topology: Topology, who: Occupancy | None = None, height_px: int = 520) -> str:
    """Draw a small topology as an interactive network with pyvis.

    `topology`: at most `MAX_NODES` nodes. `who`: colours the nodes; a node of several jobs has the first one's colour
    and names all in its tool tip. Returns: an ``<iframe srcdoc=…>`` that holds the page of `network_page`. Raises
    CapacityError: more nodes than `MAX_NODES`.
    """
    page = network_page(topology, who, height_px)
    return (
        f"<iframe srcdoc=\"{escape(page, quote=True)}\" title='Topology' width='100%' height='{height_px}' "
        "style='border:0;background:#fff'></iframe>"
    )


def network_page(topology: Topology, who: Occupancy | None = None, height_px: int = 520) -> str:
    """The interactive network of a small topology as an HTML page of its own.

    `topology`, `who`, `height_px`: as for `network_html`, which raises the same error.
    """
    if topology.n_nodes > MAX_NODES:
        raise CapacityError(
            f"pyvis draws at most {MAX_NODES} nodes, this topology has {topology.n_nodes}; use kind='svg'"
        )
    from pyvis.network import Network

    who = who or Occupancy()
    network = Network(height=f"{height_px - 40}px", width="100%", cdn_resources="in_line", directed=False)
    network.toggle_physics(False)
    colours = job_colours(len(who.jobs))
    order, level = _rows(topology)
    spacing = 90
    for name, x, domain in order:
        if domain is None:
            held = who.held.get(topology.node(name), ())
            colour = colours[held[0].job].colour if held else NODE
            tip = "; ".join(f"{who.jobs[h.job]} {counted(h.pods, 'pod')}" for h in held) or "free"
            network.add_node(
                f"node/{name}",
                label=name,
                title=f"{name}: {tip}",
                x=x * spacing,
                y=0,
                shape="square",
                size=14,
                color=colour,
                physics=False,
            )
        else:
            colour = tier_colour(topology.domain_tier(domain))
            network.add_node(
                f"domain/{domain}",
                label=name,
                title=f"{name}: tier {topology.domain_tier(domain)}, {counted(len(topology.nodes_of(domain)), 'node')}",
                x=x * spacing,
                y=-110 * level[domain],
                shape="box",
                color=colour,
                font={"color": ink_on(colour)},
                physics=False,
            )
    for a, b in _edges(topology):
        network.add_edge(a, b, color=LINK)
    return _OUTSIDE.sub("", network.generate_html(notebook=False))


def _rows(topology: Topology) -> tuple[list[tuple[str, float, int | None]], dict[int, int]]:
    """Name, horizontal position and HyperNode index (None: a node) of each item, and the height of each HyperNode."""
    places: list[tuple[str, float, int | None]] = []
    level: dict[int, int] = {}
    home = _parent_of_node(topology)
    at = 0

    def walk(domain: int) -> tuple[float, int]:
        nonlocal at
        xs, height = [], 0
        for node in sorted(
            (i for i, d in enumerate(home) if d == domain), key=lambda i: natural_key(topology.node_names[i])
        ):
            places.append((topology.node_names[node], float(at), None))
            xs.append(float(at))
            at += 1
        for child in sorted(topology.children[domain], key=lambda j: natural_key(topology.domain_names[j])):
            x, below = walk(int(child))
            xs.append(x)
            height = max(height, below)
        if not xs:
            xs = [float(at)]
            at += 1
        middle = (xs[0] + xs[-1]) / 2
        if domain >= 0:
            level[domain] = height + 1
            places.append((topology.domain_names[domain], middle, domain))
        return middle, height + 1

    walk(-1)
    return places, level


def _parent_of_node(topology: Topology) -> Sequence[int]:
    start, domains = topology.node_domains
    parents = []
    for node in range(topology.n_nodes):
        holding = domains[start[node] : start[node + 1]]
        parents.append(min((len(topology.nodes_of(int(d))), int(d)) for d in holding)[1] if len(holding) else -1)
    return parents


def _edges(topology: Topology) -> list[tuple[str, str]]:
    up = [(f"domain/{j}", f"domain/{int(p)}") for j, p in enumerate(topology.parent) if p >= 0]
    home = _parent_of_node(topology)
    return up + [(f"node/{topology.node_names[i]}", f"domain/{d}") for i, d in enumerate(home) if d >= 0]
