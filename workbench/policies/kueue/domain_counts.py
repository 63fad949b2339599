"""`DomainCounts`: how many pods, slices and leaders each domain holds, counted from the leaves upwards.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go, fillInCounts and fillInCountsHelper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.policies.kueue.level_tree import LevelTree
from workbench.policies.kueue.query import PlacementQuery

__all__ = ["DomainCounts", "count_upwards", "fit_counts", "recount"]

Longs = npt.NDArray[np.int64]

#: More pods than any domain holds.
_ENDLESS = np.iinfo(np.int64).max


@dataclass(eq=False)
class DomainCounts:
    """Counts of every domain, an int64 array per level; a search changes them.

    Attributes
    ----------
    pods, slices : list of ndarray
        Workers, and whole slices of workers, that the domain holds; after a placement, those that it was given.
    pods_with_leader, slices_with_leader : list of ndarray
        The same beside a leader.
    leaders : list of ndarray
        1 where a leader fits.
    affinity : list of ndarray
        Sum of the preferred node affinity scores of the leaves.
    """

    pods: list[Longs] = field(default_factory=list)
    pods_with_leader: list[Longs] = field(default_factory=list)
    slices: list[Longs] = field(default_factory=list)
    slices_with_leader: list[Longs] = field(default_factory=list)
    leaders: list[Longs] = field(default_factory=list)
    affinity: list[Longs] = field(default_factory=list)

    @classmethod
    def zeros(cls, tree: LevelTree) -> DomainCounts:
        """Counts of a tree whose domains hold nothing."""
        rows = [list(np.zeros((6, tree.size(level)), dtype=np.int64)) for level in range(tree.depth)]
        return cls(*(list(column) for column in zip(*rows, strict=True)))

    def copy(self) -> DomainCounts:
        """Counts that can be changed without changing these."""
        return DomainCounts(*([array.copy() for array in column] for column in self._columns()))

    def _columns(self) -> tuple[list[Longs], ...]:
        return (
            self.pods,
            self.pods_with_leader,
            self.slices,
            self.slices_with_leader,
            self.leaders,
            self.affinity,
        )

    def clear(self, level: int, domains: Longs) -> None:
        """Set the counts of some domains of a level to 0; their scores of affinity stay.

        `level`: of the tree, 0 the widest; `domains`: their indices there.
        """
        for column in self._columns()[:-1]:
            column[level][domains] = 0

    def clear_leaders(self, level: int, domains: Longs) -> None:
        """Set the counts that have to do with leaders to 0, as `clear` does."""
        for column in (self.pods_with_leader, self.slices_with_leader, self.leaders):
            column[level][domains] = 0


def fit_counts(free: Longs, requests: Mapping[int, int]) -> tuple[Longs, Longs]:
    """How many pods fit into each row of free resources.

    `free`: ndarray of shape (n, r), int64; negative amounts count as none. `requests`: requested amount by column, in
    the order of the resources' names; amounts of 0 do not limit.

    Returns
    -------
    count : ndarray of shape (n,), int64
    limiting : ndarray of shape (n,), int64
        Column of the resource that limits each row; the first in the order of `requests` on ties.
    """
    count = np.full(len(free), _ENDLESS)
    limiting = np.full(len(free), -1, dtype=np.int64)
    for column, amount in requests.items():
        if amount > 0:
            fits = np.maximum(free[:, column], 0) // amount
            less = fits < count
            count[less], limiting[less] = fits[less], column
    return count, limiting


def count_upwards(tree: LevelTree, query: PlacementQuery, counts: DomainCounts) -> None:
    """Fill in the counts of all levels from those of the leaves.

    `query`: slices and leaders. `counts`: those of the leaves are read, all others set.
    """
    everything = tree.spans(0, 0, tree.size(0))
    inner = [query.inner_size(level) for level in range(tree.depth)]
    recount(tree, everything, 0, counts, query, inner)


def recount(
    tree: LevelTree,
    spans: Sequence[tuple[int, int]],
    top: int,
    counts: DomainCounts,
    query: PlacementQuery,
    inner: Sequence[int] = (),
) -> None:
    """Fill in the counts of domains from those of the leaves below them.

    Parameters
    ----------
    spans : sequence of (int, int)
        Per level from `top` on, first index and end of the domains; each level's domains are the children of the
        level above.
    top : int
        Widest level to fill in.
    counts : DomainCounts
        Those of the leaves are read, all others set; those of leaders and affinity only where the request has any.
    query : PlacementQuery
        Slices and leaders.
    inner : sequence of int
        Inner slice size of each level of the tree; empty: none.
    """
    for level in range(tree.depth - 1, top - 1, -1):
        first, end = spans[level - top]
        if level < tree.depth - 1:
            size = inner[level + 1] if inner else 1
            _sum_children(tree, level, first, end, counts, query, size)
            above = level < query.slice_level
        else:
            above = False
        if not above:
            here = slice(first, end)
            at_slices = level == query.slice_level
            for pods, slices in (
                (counts.pods, counts.slices),
                (counts.pods_with_leader, counts.slices_with_leader),
            ):
                slices[level][here] = pods[level][here] // query.slice_size if at_slices else 0


def _sum_children(
    tree: LevelTree, level: int, first: int, end: int, counts: DomainCounts, query: PlacementQuery, inner: int
) -> None:
    """Set the counts of the domains `first` to `end` of a level from those of their children."""
    if first == end:
        return
    starts = tree.first_child[level][first : end + 1]
    below, at = slice(starts[0], starts[-1]), starts[:-1] - starts[0]
    here, low = slice(first, end), level + 1
    if query.by_affinity:
        counts.affinity[level][here] = np.add.reduceat(counts.affinity[low][below], at)
    if query.leaders:
        can_lead = counts.leaders[low][below] > 0
        counts.leaders[level][here] = np.maximum.reduceat(counts.leaders[low][below], at)
    for plain, led, size in (
        (counts.pods, counts.pods_with_leader, inner),
        (counts.slices, counts.slices_with_leader, 1),
    ):
        without = plain[low][below]
        if size > 1:
            without = without // size * size
        total = np.add.reduceat(without, at)
        plain[level][here] = total
        if not query.leaders:
            # Then both counts of the leaves are equal.
            led[level][here] = total
            continue
        beside = led[low][below]
        if size > 1:
            beside = beside // size * size
        lost = np.where(can_lead, without - beside, _ENDLESS)
        least = np.minimum.reduceat(lost, at)
        led[level][here] = np.where(least == _ENDLESS, 0, total - least)
