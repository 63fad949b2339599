"""The order of a topology's nodes in which each HyperNode is an interval, and the ranks of names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.model.arrays import Ints, Longs

__all__ = ["Ints", "Longs", "depth_first", "name_ranks"]


def _byte_order(names: Sequence[str]) -> list[int]:
    """Indices that sort the names by their UTF-8 bytes (Python's order by code points is the same)."""
    return sorted(range(len(names)), key=names.__getitem__)


def name_ranks(names: Sequence[str]) -> Ints:
    """Rank of each name when sorted by UTF-8 bytes, int32 of shape (n,).

    Ranks break ties (docs/decisions.md, decision 5).
    """
    order = _byte_order(names)
    ranks = np.empty(len(names), dtype=np.int32)
    ranks[order] = np.arange(len(names), dtype=np.int32)
    ranks.flags.writeable = False
    return ranks


def depth_first(node_names: Sequence[str], domain: Longs, node: Longs, sizes: Longs) -> tuple[list[int], bool]:
    """Order the nodes so that each HyperNode is an interval, if HyperNodes are nested or disjoint.

    Each node gets the path of HyperNodes that hold it, largest first (equal sets by name); nodes are sorted by path,
    then name.

    Returns the node order, and whether any two HyperNodes are nested or disjoint; if not, the order is that of the
    names.

    `node_names`: names of the n nodes, in any order. `domain`, `node`: ndarray of shape (m,), int64; pairs of a
    HyperNode and a node that it holds, sorted. `sizes`: ndarray of shape (d,), int64; number of nodes of each
    HyperNode.
    """
    n, d = len(node_names), len(sizes)
    by_name = _byte_order(node_names)
    rank = np.empty(n, dtype=np.int64)
    rank[by_name] = np.arange(n)
    if not d:
        return by_name, True
    largest_first = np.lexsort((np.arange(d), -sizes))
    seniority = np.empty(d, dtype=np.int64)
    seniority[largest_first] = np.arange(d)
    owners = seniority[domain]
    pairs = np.lexsort((owners, node))
    nodes, owners = node[pairs], owners[pairs]
    depth = np.bincount(nodes, minlength=n)
    first = np.concatenate([[0], np.cumsum(depth)])[:-1]
    column = np.arange(len(nodes)) - first[nodes]
    path = np.full((n, int(depth.max(initial=0)) + 1), d, dtype=np.int64)
    path[nodes, column] = owners
    order = np.lexsort((rank, *path.T[::-1]))
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    return (order.tolist(), True) if _nested_or_disjoint(position[node], sizes) else (by_name, False)


def _nested_or_disjoint(position: Longs, sizes: Longs) -> bool:
    """Whether each HyperNode (`sizes` members, at `position`) is an interval, and any two are nested or disjoint."""
    full = sizes > 0
    if not full.any():
        return True
    start = (np.cumsum(sizes) - sizes)[full]
    low, high = np.minimum.reduceat(position, start), np.maximum.reduceat(position, start) + 1
    if (high - low != sizes[full]).any():
        return False
    open_ends: list[int] = []
    for begin, negative_end in sorted(zip(low.tolist(), (-high).tolist())):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and -negative_end > open_ends[-1]:
            return False
        open_ends.append(-negative_end)
    return True
