"""The one rule by which switches become HyperNodes, for sources that list cables and for those that list containment.

A fabric with several rails or spines is no tree of switches. What a scheduler needs of it is: which nodes are one hop
apart, which two, … So switches that share what is below them are one HyperNode::

    cables     n1 n2 n3 on L1, L2 (two rails)   n4 n5 n6 on L3, L4   S1, S2 on every leaf
    tier 2                 S1-group
    tier 1        L1-group          L3-group
    nodes         n1 n2 n3          n4 n5 n6

`group_switches` applies the rule to cables, `group_tree` to lists of what is below each switch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from workbench.formats.fabric.base import switch_heights, switch_tree
from workbench.formats.fabric.hosts import some
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.hypernode import HyperNode, make_hypernode

__all__ = ["SWITCHES", "apart_notices", "group_switches", "group_tree", "switch_ranks", "weak_joins"]

#: Annotation of a HyperNode that stands for several switches: their names, in byte order, with commas.
SWITCHES = "workbench/switches"

_MOST_WAYS = 32


def switch_ranks(attached: Mapping[str, Collection[str]], links: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Rank of each switch: its distance to the nearest node, 1 for a leaf.

    Switches that no node can reach are left out.

    `attached`: nodes cabled to each switch. `links`: switches cabled to each switch; every cable must appear in both
    directions.
    """
    ranks = {switch: 1 for switch, nodes in attached.items() if nodes}
    frontier = list(ranks)
    while frontier:
        beyond = []
        for switch in frontier:
            for other in links.get(switch, ()):
                if other not in ranks:
                    ranks[other] = ranks[switch] + 1
                    beyond.append(other)
        frontier = beyond
    return ranks


def group_switches(
    attached: Mapping[str, Collection[str]],
    links: Mapping[str, Iterable[str]],
    ranks: Mapping[str, int],
    notes: list[Notice] | None = None,
) -> tuple[HyperNode, ...]:
    """Make HyperNodes from the cables of a switched fabric; a switch's rank becomes its HyperNode's tier.

    `attached`, `links`: as for `switch_ranks`; the HyperNodes are named after these switches. `ranks`: rank of each
    switch to be grouped; others are left out. `notes`: receives a notice for each HyperNode that stands for cables
    between switches of one rank.

    Returns
    -------
    tuple of HyperNode
        Tier by tier, in byte order of the names; they always form a forest. Leaves that share a node, directly or
        through other leaves, become one HyperNode, and so do switches of a higher rank that share a HyperNode below
        them. A HyperNode of one switch has its name; one of several switches has the smallest of their names with
        ``-group``, and the annotation `SWITCHES` lists the switches.

        A cable between two switches of one rank joins nothing that a higher switch joins already. Where no higher
        switch does, as between cascaded leaves, a HyperNode above all parts that such cables connect, one tier above
        the highest of the parts, stands for the cables: its name is the smallest of the parts' names with
        ``-cascade``.

    Notes
    -----
    Source of the rule for leaves: Volcano's UFM discovery (docs/reference/volcano-topology.md, section 9.2), which
    joins leaves that share a node transitively. Volcano puts one spine over all groups; here the real ranks count.
    """
    found: list[HyperNode] = []
    place: dict[str, str] = {}
    below: dict[str, set[str]] = {switch: set(attached[switch]) for switch, rank in ranks.items() if rank == 1}
    taken = set(ranks)
    for rank in range(1, max(ranks.values(), default=0) + 1):
        groups = _connected(below)
        name_of: dict[str, str] = {}
        for switches, members in groups:
            name = switches[0] if len(switches) == 1 else _free(f"{switches[0]}-group", taken)
            name_of.update(dict.fromkeys(switches, name))
            ordered = sorted(members, key=str.encode)
            made = make_hypernode(name, 1, nodes=ordered) if rank == 1 else make_hypernode(name, rank, children=ordered)
            found.append(_annotated(made, switches))
        place |= name_of
        below = {
            switch: {name_of[other] for other in links.get(switch, ()) if other in name_of}
            for switch, of in ranks.items()
            if of == rank + 1
        }
    found += _cascades(found, place, links, taken, notes)
    return tuple(sorted(found, key=lambda h: (h.tier, h.name.encode())))


def _cascades(
    found: Sequence[HyperNode],
    place: Mapping[str, str],
    links: Mapping[str, Iterable[str]],
    taken: set[str],
    notes: list[Notice] | None,
) -> list[HyperNode]:
    """HyperNodes above parts of the fabric that are connected by cables between switches of one rank alone.

    `found` are the HyperNodes so far, lower tiers first, `place` the HyperNode of each switch; names are added to
    `taken`, notices to `notes`.
    """
    top = {h.name: h.name for h in found}
    tier = {h.name: h.tier for h in found}
    for hypernode in reversed(found):
        top.update((child, top[hypernode.name]) for child in hypernode.children)
    # Two parts that one cable joins hold that cable in common.
    cables: dict[str, set[str]] = {top[h.name]: set() for h in found}
    for switch, here in place.items():
        for other in links.get(switch, ()):
            if other in place and top[place[other]] != top[here]:
                cables[top[here]].add("\0".join(sorted((switch, other), key=str.encode)))
    made = []
    for parts, joints in _connected(cables):
        if len(parts) > 1:
            name = _free(f"{parts[0]}-cascade", taken, "-cascade")
            made.append(make_hypernode(name, 1 + max(tier[part] for part in parts), children=parts))
            if notes is not None:
                cables_text = counted(len(joints), "cable")
                text = (
                    f"{some(parts)}: joined by {cables_text} between switches of one rank, no switch is above them; "
                    f"HyperNode {name} of tier {made[-1].tier} holds them"
                )
                notes.append(Notice("switches-cascaded", text, numbers={"count": len(parts)}))
    return made


def group_tree(
    children: Mapping[str, Sequence[str]],
    nodes: Mapping[str, Sequence[str]],
    notes: list[Notice],
    tier_names: Mapping[str, str] = {},
) -> tuple[HyperNode, ...]:
    """Make HyperNodes of switches that list what is below them; redundant switches become one HyperNode.

    `children`, `nodes`, `tier_names`: as for `workbench.formats.fabric.base.switch_tree`, which makes the HyperNodes.
    `notes`: receives a notice for each HyperNode that stands for several switches. Returns: HyperNodes as `switch_tree`
    makes them, but switches of one height that share a switch below them, directly or by way of others, are one
    HyperNode with the name and the annotation of `group_switches`. Leaves are one HyperNode if they list the same
    nodes; nodes that are only in part the same are left as an overlap for the linter, because such a list is written by
    hand, and not measured.
    """
    heights = switch_heights(children, nodes)
    taken = set(heights)
    place = {name: name for name in heights}
    groups: dict[str, list[str]] = {}
    for height in sorted(set(heights.values())):
        below = {
            name: {"\0".join(sorted(set(nodes.get(name, ())), key=str.encode))}
            if height == 1
            else {place.get(child, child) for child in children.get(name, ()) if child != name}
            for name, of in heights.items()
            if of == height
        }
        for switches, _ in _connected({name: held - {""} for name, held in below.items()}):
            if len(switches) > 1:
                name = _free(f"{switches[0]}-group", taken)
                place.update(dict.fromkeys(switches, name))
                groups[name] = switches
                what = "nodes" if height == 1 else "switches"
                text = f"the switches {some(switches)} lead to the same {what}: one HyperNode {name}"
                notes.append(Notice("switches-merged", text, numbers={"count": len(switches)}))
    if not groups:
        return switch_tree(children, nodes, tier_names)
    merged: tuple[dict[str, dict[str, None]], dict[str, dict[str, None]]] = ({}, {})
    for name in heights:
        for into, listed, names in ((merged[0], children, place), (merged[1], nodes, {})):
            if name in listed:
                into.setdefault(place[name], {}).update((names.get(each, each), None) for each in listed[name])
    made = switch_tree(
        {name: list(below) for name, below in merged[0].items()},
        {name: list(held) for name, held in merged[1].items()},
        {place[name]: tier for name, tier in tier_names.items() if name in place},
    )
    return tuple(_annotated(h, groups.get(h.name, [h.name])) for h in made)


def apart_notices(nodes: Collection[str] = (), switches: Collection[str] = ()) -> list[Notice]:
    """Notices about nodes that are on no switch, and about switches from which no cables lead to a node."""
    found = []
    if nodes:
        text = f"{counted(len(nodes), 'node is', 'nodes are')} on no switch: {some(sorted(nodes, key=str.encode))}"
        found.append(Notice("nodes-without-switch", text, numbers={"count": len(nodes)}))
    if switches:
        text = f"switches without a way to any node: {some(sorted(switches, key=str.encode))}"
        found.append(Notice("switches-without-nodes", text, numbers={"count": len(switches)}))
    return found


def weak_joins(attached: Mapping[str, Collection[str]]) -> list[Notice]:
    """Notices about leaf switches that are joined to one HyperNode by few nodes only, which a single wrong cable can
    cause.

    A set of nodes on the same leaves is such a weak join if it has at most a quarter of the group's nodes and the group
    falls apart without it. Groups whose nodes are cabled in more than 32 ways are skipped. `attached` holds the nodes
    cabled to each switch.
    """
    on: dict[str, list[str]] = {}
    for switch in sorted(attached, key=str.encode):
        for node in attached[switch]:
            on.setdefault(node, []).append(switch)
    notes = []
    for switches, members in _connected({switch: set(nodes) for switch, nodes in attached.items() if nodes}):
        if len(switches) == 1:
            continue
        ways: dict[tuple[str, ...], list[str]] = {}
        for node in sorted(members, key=str.encode):
            ways.setdefault(tuple(on[node]), []).append(node)
        for way, nodes in ways.items() if 1 < len(ways) <= _MOST_WAYS else ():
            if len(way) > 1 and 4 * len(nodes) <= len(members):
                rest = {switch: set(attached[switch]).difference(nodes) for switch in switches}
                parts = _connected({switch: left for switch, left in rest.items() if left})
                if len(parts) > 1:
                    leaves = " and ".join("/".join(part) for part, _ in parts)
                    notes.append(
                        Notice(
                            "wrong-cable",
                            f"only {some(nodes)} joins {leaves} to one HyperNode: a wrong cable?",
                            numbers={"count": len(nodes)},
                        )
                    )
    return notes


def _connected(below: Mapping[str, set[str]]) -> list[tuple[list[str], set[str]]]:
    """Groups of switches connected by what they share below them, each with the set of everything below it."""
    owner: dict[str, str] = {}
    leader = {switch: switch for switch in below}

    def find(switch: str) -> str:
        while leader[switch] != switch:
            leader[switch] = switch = leader[leader[switch]]
        return switch

    for switch in sorted(below, key=str.encode):
        for member in below[switch]:
            before = owner.setdefault(member, switch)
            if before == switch:
                continue
            a, b = find(before), find(switch)
            first, second = sorted((a, b), key=str.encode)
            leader[second] = first
    groups: dict[str, tuple[list[str], set[str]]] = {}
    for switch in sorted(below, key=str.encode):
        switches, members = groups.setdefault(find(switch), ([], set()))
        switches.append(switch)
        members |= below[switch]
    return list(groups.values())


def _free(name: str, taken: set[str], ending: str = "-group") -> str:
    """The name, with `ending` appended until it differs from all in `taken`, to which it is added."""
    while name in taken:
        name += ending
    taken.add(name)
    return name


def _annotated(hypernode: HyperNode, switches: list[str]) -> HyperNode:
    if len(switches) == 1:
        return hypernode
    annotations = {SWITCHES: ",".join(switches)}
    return replace(hypernode, metadata=replace(hypernode.metadata, annotations=annotations))
