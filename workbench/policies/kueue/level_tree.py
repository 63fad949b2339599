"""`LevelTree`: the domains of a topology, level by level, in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.model.value import Value

__all__ = ["LevelTree", "Path", "is_inside"]

Longs = npt.NDArray[np.int64]

#: The label values of a domain, from the top level down to its own. Paths are compared value by value, by code points:
#: the order of their UTF-8 bytes.
Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LevelTree(Value):
    """Domains of each level, widest level first; the children of a domain stand next to each other.

    Attributes
    ----------
    paths : tuple of tuple of Path
        Per level the path of each domain.
    parent : tuple of ndarray of int64
        Per level the index of each domain's parent in the level above, ascending; zeros at the top.
    rank : tuple of ndarray of int64
        Per level the position of each domain when the level is sorted by path.
    first_child : tuple of ndarray of int64
        Per level but the last, the index of each domain's first child in the level below; one entry more at the end.
    """

    paths: tuple[tuple[Path, ...], ...]
    parent: tuple[Longs, ...]
    rank: tuple[Longs, ...]
    first_child: tuple[Longs, ...] = field(init=False)

    @classmethod
    def of(cls, paths: tuple[tuple[Path, ...], ...], parent: tuple[Longs, ...]) -> LevelTree:
        """The tree of some domains, ranked by path."""
        ranks = []
        for level in paths:
            rank = np.empty(len(level), dtype=np.int64)
            rank[sorted(range(len(level)), key=level.__getitem__)] = np.arange(len(level))
            ranks.append(rank)
        return cls(paths, parent, tuple(ranks))

    def __post_init__(self) -> None:
        children = [
            np.searchsorted(below, np.arange(len(paths) + 1)).astype(np.int64)
            for paths, below in zip(self.paths[:-1], self.parent[1:], strict=True)
        ]
        object.__setattr__(self, "first_child", tuple(children))

    @property
    def depth(self) -> int:
        """Number of levels."""
        return len(self.paths)

    def size(self, level: int) -> int:
        """Number of domains of a level."""
        return len(self.paths[level])

    def children(self, level: int, domains: Sequence[int] | Longs) -> Longs:
        """Indices of all children of some domains of a level, in the order of the domains."""
        start = self.first_child[level]
        parts = [np.arange(start[d], start[d + 1]) for d in domains]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def spans(self, level: int, first: int, end: int) -> list[tuple[int, int]]:
        """Per level from `level` down, first index and end of the domains inside some neighbours of that level."""
        found = [(first, end)]
        for each in range(level, self.depth - 1):
            start = self.first_child[each]
            first, end = int(start[first]), int(start[end])
            found.append((first, end))
        return found

    def below(self, level: int, domain: int, lower: int) -> slice:
        """Indices of all domains of a lower level that are inside a domain.

        `lower`: the lower level, or `level` itself.
        """
        first, end = self.spans(level, domain, domain + 1)[lower - level]
        return slice(first, end)


def is_inside(path: Path, domain: Path) -> bool:
    """Whether the domain of `path` is `domain` or inside it; everything is inside the empty path."""
    return path[: len(domain)] == domain
