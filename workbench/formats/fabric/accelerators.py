"""Find the tier at which NVLink domains fit among tiers of switches: below, between or above them, or nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["insert_level", "stays_inside"]

#: Domain by node.
Level = Mapping[str, str]


def stays_inside(inner: Level, outer: Level) -> bool:
    """Whether each domain of `inner` lies in one domain of `outer`; only nodes that are in both levels are considered.

    A level maps each node to its domain.
    """
    found: dict[str, str] = {}
    return all(found.setdefault(d, outer[node]) == outer[node] for node, d in inner.items() if node in outer)


def insert_level(levels: Sequence[Level], level: Level) -> int | str:
    """Position at which a level of domains (such as NVLink domains) fits among nested levels of switches.

    Parameters
    ----------
    levels : sequence of mapping of str to str
        The existing levels, closest first, each a mapping from node to domain; each level is nested in the next.
    level : mapping of str to str
        The level to insert, as a mapping from node to domain.

    Returns
    -------
    int or str
        The lowest index at which the levels stay nested. If there is none, the reason as the end of a sentence: ``draw
        the lines of another tier`` if the level equals an existing one, or ``cross the tiers``.
    """
    for other in levels:
        if set(other) == set(level) and stays_inside(level, other) and stays_inside(other, level):
            return "draw the lines of another tier"
    for position in range(len(levels) + 1):
        below, above = levels[:position], levels[position:]
        if all(stays_inside(other, level) for other in below) and all(stays_inside(level, o) for o in above):
            return position
    return "cross the tiers"
