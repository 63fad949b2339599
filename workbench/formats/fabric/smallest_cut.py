"""`smallest_cut`: the fewest cables between switches that hold two parts of a fabric together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from workbench.formats.fabric.hosts import some
from workbench.model.counted import counted
from workbench.model.notice import Notice

__all__ = ["Wiring", "smallest_cut"]

#: Groups of nodes up to which the cut is looked for: a maximum flow for each takes seconds beyond.
_MOST_GROUPS = 64


@dataclass(frozen=True)
class Wiring:
    """The cables of a fabric as a printout lists them.

    `attached`: nodes on each switch. `cables`: number of cables between two switches, the smaller name first.
    """

    attached: Mapping[str, Collection[str]] = field(default_factory=dict)
    cables: Mapping[tuple[str, str], int] = field(default_factory=dict)


def smallest_cut(wiring: Wiring) -> Notice | None:
    """The fewest cables between switches that separate nodes from each other.

    Cables from a node to its switches are never cut, so nodes on the same switches stay together.

    Returns: the cut; of several smallest cuts the one that separates the nodes on the smallest names of switches from
    those on the next. None where fewer than two, or more than 64, groups of nodes have switches of their own.
    """
    switches_of: dict[str, set[str]] = defaultdict(set)
    for switch, nodes in wiring.attached.items():
        for node in nodes:
            switches_of[node].add(switch)
    groups: dict[tuple[str, ...], int] = defaultdict(int)
    for switches in switches_of.values():
        groups[tuple(sorted(switches, key=str.encode))] += 1
    ordered = sorted(groups, key=lambda group: tuple(name.encode() for name in group))
    if not 2 <= len(ordered) <= _MOST_GROUPS or not wiring.cables:
        return None
    cables, side = _cut(ordered, wiring.cables)
    inside = sum(groups[group] for group in ordered if group in side)
    if 2 * inside > sum(groups.values()):
        side = set(ordered) - side
        inside = sum(groups.values()) - inside
    names = sorted({switch for group in side for switch in group}, key=str.encode)
    outside = sum(groups.values()) - inside
    text = (
        f"smallest cut of the fabric: {counted(cables, 'cable')} between {counted(inside, 'node')} on "
        f"{some(names)} and the other {counted(outside, 'node')}"
    )
    return Notice("smallest-cut", text, numbers={"cables": cables, "nodes": inside, "others": outside})


def _cut(groups: list[tuple[str, ...]], cables: Mapping[tuple[str, str], int]) -> tuple[int, set[tuple[str, ...]]]:
    """Cables of the smallest cut between the first group and another, and the groups on the first one's side."""
    import networkx

    graph = networkx.Graph()
    for (a, b), number in sorted(cables.items()):
        graph.add_edge(a, b, capacity=number)
    for group in groups:
        # Without a capacity an edge is never cut.
        graph.add_edges_from((group, switch) for switch in group)
    found: tuple[int, set[tuple[str, ...]]] | None = None
    for other in groups[1:]:
        number, (near, _) = networkx.minimum_cut(graph, groups[0], other)
        if found is None or number < found[0]:
            found = int(number), {group for group in groups if group in near}
    assert found is not None
    return found
