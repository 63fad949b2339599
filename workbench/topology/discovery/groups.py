"""`linked_groups`: group switches that have attached nodes or switches in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["linked_groups"]


def linked_groups(members: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Group switches that share an attached node or switch, directly or through other switches.

    Parameters
    ----------
    members : mapping of str to collection of str
        Names of the nodes or switches attached to each switch.

    Returns
    -------
    list of list of str
        Each switch in one group; groups by their smallest switch, switches in byte order.
    """
    switches_of: dict[str, list[str]] = {}
    for switch, below in members.items():
        for member in below:
            switches_of.setdefault(member, []).append(switch)
    groups = []
    seen: set[str] = set()
    asked: set[str] = set()
    for first in sorted(members, key=str.encode):
        if first in seen:
            continue
        seen.add(first)
        group = [first]
        for switch in group:  # grows while it is walked
            for member in members[switch]:
                if member in asked:
                    continue
                asked.add(member)
                new = [other for other in switches_of[member] if other not in seen]
                seen.update(new)
                group += new
        groups.append(sorted(group, key=str.encode))
    return groups
