"""The differences between two topologies as terminal tables and as HTML."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from workbench.model.counted import name_list
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.report.html import render
from workbench.report.occupancy import Occupancy
from workbench.report.svg_text import Inserted
from workbench.report.tables import listed
from workbench.report.topology_svg import draw_topology
from workbench.topology.diff import TopologyDiff

__all__ = ["difference_html", "difference_page", "difference_tables"]

#: Most lines for one kind of change; -o json has everything.
_ROWS = 40
#: Most names in one line.
_NAMES = 4

_TOP = "(none)"

#: One kind of change: heading, names of the columns, rows.
Section = tuple[str, tuple[str, ...], list[tuple[object, ...]]]


def difference_tables(found: TopologyDiff) -> list[Any]:
    """Terminal tables of the differences between two topologies: one per kind of change, then a line with
    the counts.
    """
    parts: list[Any] = []
    for title, headers, rows in _sections(found):
        numbers = [i for i, value in enumerate(rows[0]) if isinstance(value, int)]
        parts += listed(headers, rows, title=title, right=numbers, most=_ROWS)
    return [*parts, Text(_summary(found))]


def difference_html(found: TopologyDiff, drawn: Sequence[tuple[str, Topology]] = ()) -> str:
    """The differences between two topologies as an HTML fragment for a notebook.

    `drawn`: topologies to draw above the tables, with their titles.
    """
    pictures = [Inserted(draw_topology(topology, Occupancy(), title)) for title, topology in drawn]
    return render("difference.html.j2", summary=_summary(found), sections=_cut(found), pictures=pictures)


def difference_page(
    found: TopologyDiff, before: ClusterSnapshot, after: ClusterSnapshot, old_name: str, new_name: str
) -> str:
    """An HTML page, complete in itself, with the differences and both topologies side by side.

    `old_name`, `new_name`: titles of the two pictures, before and after.
    """
    pictures = [
        Inserted(draw_topology(snapshot.topology, Occupancy(), title))
        for snapshot, title in ((before, f"before: {old_name}"), (after, f"after: {new_name}"))
    ]
    return render("difference_page.html.j2", summary=_summary(found), sections=_cut(found), pictures=pictures)


def _cut(found: TopologyDiff) -> list[dict[str, Any]]:
    return [
        {"title": title, "headers": headers, "rows": rows[:_ROWS], "more": max(0, len(rows) - _ROWS)}
        for title, headers, rows in _sections(found)
    ]


def _summary(found: TopologyDiff) -> str:
    if found.same:
        return "The topologies are the same."
    counts = []
    for title, values in _counted(found).items():
        what, _, happened = title.partition(" ")
        what = what if what.startswith("Hyper") else what.lower()
        counts += [f"{len(values):,} {what if len(values) > 1 else what[:-1]} {happened}"] if values else []
    return f"{', '.join(counts)}."


def _counted(found: TopologyDiff) -> Mapping[str, Sequence[object]]:
    return {
        "Nodes moved": found.nodes_moved,
        "Nodes appeared": found.nodes_appeared,
        "Nodes vanished": found.nodes_vanished,
        "HyperNodes moved": found.domains_moved,
        "HyperNodes appeared": found.domains_appeared,
        "HyperNodes vanished": found.domains_vanished,
        "HyperNodes renamed": found.domains_renamed,
        "Tiers changed": found.tiers_changed,
        "HyperNodes with other nodes": found.members_changed,
        "Problems appeared": found.problems_appeared,
        "Problems vanished": found.problems_vanished,
        "Resources changed": found.resources_changed,
    }


def _sections(found: TopologyDiff) -> Iterator[Section]:
    titles = list(_counted(found))
    moved: dict[tuple[str, str], list[str]] = defaultdict(list)
    for move in found.nodes_moved:
        moved[move.before or _TOP, move.after or _TOP].append(move.node)
    sized = ("HyperNode", "tier", "nodes")
    change = ("HyperNode", "before", "after")
    contents: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
        (("from", "to", "nodes", "names"), [(a, b, len(nodes), _names(nodes)) for (a, b), nodes in moved.items()]),
        (("node",), [(node,) for node in found.nodes_appeared]),
        (("node",), [(node,) for node in found.nodes_vanished]),
        (change, [(c.name, c.before or _TOP, c.after or _TOP) for c in found.domains_moved]),
        (sized, [(d.name, d.tier, d.n_nodes) for d in found.domains_appeared]),
        (sized, [(d.name, d.tier, d.n_nodes) for d in found.domains_vanished]),
        (("before", "after"), [(c.before, c.after) for c in found.domains_renamed]),
        (change, [(c.name, c.before, c.after) for c in found.tiers_changed]),
        (
            ("HyperNode", "gained", "lost", "names"),
            [(m.name, len(m.gained), len(m.lost), _signed(m.gained, m.lost)) for m in found.members_changed],
        ),
        (("problem", "what"), [(p.code, p.message) for p in found.problems_appeared]),
        (("problem", "what"), [(p.code, p.message) for p in found.problems_vanished]),
        (
            ("resource", "before", "after", "nodes", "names"),
            [(c.resource, c.before, c.after, len(c.nodes), _names(c.nodes)) for c in found.resources_changed],
        ),
    ]
    for title, (headers, rows) in zip(titles, contents, strict=True):
        if rows:
            yield title, headers, rows


def _names(names: Sequence[str]) -> str:
    return name_list(names, _NAMES)


def _signed(gained: Sequence[str], lost: Sequence[str]) -> str:
    return _names([f"+{name}" for name in gained] + [f"−{name}" for name in lost])
