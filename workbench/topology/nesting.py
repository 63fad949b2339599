"""`Nesting`: whether one HyperNode is inside another, answered in constant time at any depth."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Nesting"]


class Nesting:
    """The containment of HyperNodes in a forest, stored so that the names inside a name have consecutive numbers.

    `children_first`: every name before its parent (`workbench.topology.build.cut_cycles`). `parent`: without cycles; a
    name without a parent is a root.
    """

    def __init__(self, children_first: Sequence[str], parent: Mapping[str, str]) -> None:
        size = dict.fromkeys(children_first, 1)
        for name in children_first:
            if name in parent:
                size[parent[name]] += size[name]
        free: dict[str, int] = {}
        roots = 0
        #: Number of each name, below the numbers of all names inside it; and the first number after those.
        self.first: dict[str, int] = {}
        self.end: dict[str, int] = {}
        #: Number of names that contain each name.
        self.depth: dict[str, int] = {}
        for name in reversed(children_first):
            if name in parent:
                number = free[parent[name]]
                free[parent[name]] = number + size[name]
                self.depth[name] = self.depth[parent[name]] + 1
            else:
                number, roots = roots, roots + size[name]
                self.depth[name] = 0
            self.first[name], self.end[name] = number, number + size[name]
            free[name] = number + 1

    def related(self, one: str, other: str) -> bool:
        """Whether two HyperNodes are the same, or one is inside the other."""
        a, b = self.first[one], self.first[other]
        return a <= b < self.end[one] or b <= a < self.end[other]

    def strangers(self, names: Iterable[str]) -> dict[str, set[str]]:
        """For each of the given HyperNodes, those among them that are neither inside nor around it.

        HyperNodes for which there are none are left out. The time grows with the size of the result, not with the
        number of nested pairs.
        """
        ordered = sorted(set(names), key=self.first.__getitem__)
        found: dict[str, set[str]] = {}
        # Of the names that begin later, exactly those that begin after this name's end are strangers to it.
        starts = [self.first[name] for name in ordered]
        for i, name in enumerate(ordered):
            later = bisect_left(starts, self.end[name], lo=i + 1)
            if later < len(ordered):
                rest = ordered[later:]
                found.setdefault(name, set()).update(rest)
                for other in rest:
                    found.setdefault(other, set()).add(name)
        return found
