"""Reader of a table of cables between servers and leaf switches, as rail-optimised fabrics are documented."""

from __future__ import annotations

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, make_node, switch_tree
from workbench.formats.fabric.cable_speeds import CableSpeed, slow_cables
from workbench.formats.fabric.hosts import hosts_aside, some
from workbench.formats.tables import read_table
from workbench.model.notice import Notice

__all__ = ["RAIL_CABLES", "read_rail_cables"]

_COLUMNS = ("server", "leaf")
#: Column that may tell the speed of each cable.
_SPEED = "speed_gb_s"
_BITS = 8
#: The HyperNode above all rail groups; the table does not tell what is above the leaves.
_ABOVE = "spines"
#: Longest name.
_MOST = 1 << 12


def read_rail_cables(text: str, source: str) -> FabricRecords:
    """Read HyperNodes and nodes from a table with the columns server and leaf, a line per cable.

    Raises InputError: no such columns, an empty field, a speed that is no number, or a leaf that serves servers of two
    groups; the line is named.

    Returns
    -------
    FabricRecords
        A HyperNode of tier 1 for each rail group: leaves that serve the same servers, one rail each. It is named after
        its first leaf, by length and byte order, as ``rails-<leaf>``. Of several groups a HyperNode ``spines`` of tier
        2 is above all. Servers that are no compute nodes by name (`hosts_aside`) are left aside, with a notice;
        another one names cables that are slower than most, if the table has the column speed_gb_s.

    Notes
    -----
    Source: links.csv made of the fabric that Zhejiang Lab published in 2024 (CC-BY-4.0).
    """
    leaves: dict[str, dict[str, None]] = {}
    line_of: dict[str, int] = {}
    cables: list[CableSpeed] = []
    for line, row in enumerate(read_table(text.encode(), source, _COLUMNS), 2):
        server, leaf = (row.text(column) for column in _COLUMNS)
        for column, name in zip(_COLUMNS, (server, leaf), strict=True):
            if not name or len(name) > _MOST:
                raise row.wrong(column, name or "nothing", "a name")
        leaves.setdefault(server, {})[leaf] = None
        if row.text(_SPEED):
            speed = row.amount(_SPEED, "GB/s")
            cables.append(
                CableSpeed(f"{leaf} - {server}", "", "from leaves to servers", f"{speed:g} GB/s", _BITS * speed)
            )
        line_of.setdefault(server, line)
    if not leaves:
        raise InputError(
            "no cable in the table", source=source, where="line 1", expected="server and leaf, then cables"
        )
    notes = slow_cables(cables)
    if aside := sorted(hosts_aside(leaves), key=str.encode):
        leaves = {server: own for server, own in leaves.items() if server not in aside}
        text = f"storage and management, not nodes: {some(aside)}"
        notes.append(Notice("left-aside", text, numbers={"count": len(aside)}))
    groups: dict[str, list[str]] = {}
    group_of_leaf: dict[str, str] = {}
    for server, own in leaves.items():
        name = "rails-" + min(own, key=lambda leaf: (len(leaf), leaf.encode()))
        groups.setdefault(name, []).append(server)
        for leaf in own:
            other = group_of_leaf.setdefault(leaf, name)
            if other != name:
                raise InputError(
                    "a leaf of two rail groups",
                    source=source,
                    where=f"server {server}, line {line_of[server]}",
                    got=f"{leaf}, also of {other}",
                    expected="servers of a group on the same leaves",
                )
    if clash := sorted({_ABOVE, *groups} & set(leaves)):
        raise InputError("a server called like a HyperNode", source=source, got=clash[0], expected="another name")
    children = {_ABOVE: sorted(groups, key=str.encode)} if len(groups) > 1 else {}
    names = dict.fromkeys(groups, "rail group") | {_ABOVE: _ABOVE}
    hypernodes = switch_tree(children, groups, names)
    nodes = tuple(make_node(server) for server in sorted(leaves, key=str.encode))
    return FabricRecords(hypernodes, nodes, notes=tuple(notes))


def _detect(sample: Sample) -> bool:
    first = sample.text.lstrip().split("\n", 1)[0].lower()
    return set(_COLUMNS) <= {field.strip().strip('"') for field in first.split(",")}


RAIL_CABLES = FabricFormat(
    "rail-cables", "table of cables with server and leaf (CSV)", detect=_detect, read=read_rail_cables
)
