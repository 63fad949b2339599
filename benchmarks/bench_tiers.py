"""Benchmark of computing LCA scores of many node pairs by the ``tiers`` kernel, compared with numpy and networkx.

Goals: issue A, "10^6 LCA scores <= 3 ms at 10,000 domains, <= 4 ms at 150,000".
"""

from __future__ import annotations

from collections.abc import Iterator

import networkx
import numpy as np
from measure import microseconds, row
from numpy.typing import NDArray

from workbench.kernels.tiers import Forest, tier_scores

PAIRS = 1_000_000
NETWORKX_PAIRS = 200

# Domains per level, widest tier first.
FORESTS = {
    "1,001 domains, depth 3": ([1, 40, 960], None),
    "10,002 domains, depth 6": ([2, 5, 45, 750, 3_000, 6_200], 3_000.0),
    "151,510 domains, depth 3": ([10, 1_500, 150_000], 4_000.0),
    "159,941 domains, depth 6": ([1, 40, 600, 9_300, 50_000, 100_000], 4_000.0),
}


def forest(levels: list[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Parents and tiers of a forest whose levels have the given sizes.

    Children are spread evenly over their parents.
    """
    parent: list[int] = []
    tier: list[int] = []
    above = [-1]
    for level, size in enumerate(levels):
        here = range(len(parent), len(parent) + size)
        parent += [above[i * len(above) // size] for i in range(size)]
        tier += [len(levels) - level] * size
        above = list(here)
    return np.array(parent, dtype=np.int32), np.array(tier, dtype=np.int32)


def climb(parent: NDArray[np.int32], depth: NDArray[np.int32], a: NDArray[np.int32], b: NDArray[np.int32]) -> object:
    """Baseline in numpy: lowest common ancestors of all pairs (a, b) at once.

    The deeper one climbs until both agree.
    """
    a, b = a.copy(), b.copy()
    apart = np.flatnonzero(a != b)
    while apart.size:
        x, y = a[apart], b[apart]
        up = depth[x] >= depth[y]
        a[apart[up]] = parent[x[up]]
        b[apart[~up]] = parent[y[~up]]
        apart = apart[(a[apart] != b[apart]) & (a[apart] >= 0) & (b[apart] >= 0)]
    return a


def rows() -> Iterator[dict[str, object]]:
    rng = np.random.default_rng(0)
    for size, (levels, goal_us) in FORESTS.items():
        parent, tier = forest(levels)
        kernel = Forest(parent, tier)
        value = tier_scores(tier, int(tier.min()), int(tier.max()), flat=0.0)
        skipped = value + np.where(np.arange(len(tier)) % 7 == 0, 0.01, 0.0)
        a, b = rng.integers(0, len(parent), (2, PAIRS)).astype(np.int32)
        scores = np.empty(PAIRS)
        common = np.empty(PAIRS, dtype=np.int32)
        numpy_us = float(microseconds(lambda: climb(parent, kernel.depth, a, b), 3).min())  # noqa: B023
        for _ in range(5):
            kernel.scores(a, b, value, out=scores)
        ours = microseconds(lambda: kernel.scores(a, b, value, out=scores), 200)  # noqa: B023
        yield row("tiers.scores", size, ours, "numpy climb", numpy_us, goal_us, "10^6 random pairs")
        ours = microseconds(lambda: kernel.scores(a, b, skipped, out=scores), 40)  # noqa: B023
        yield row("tiers.scores", size, ours, "numpy climb", numpy_us, None, "10^6 pairs, values mixed within levels")
        ours = microseconds(lambda: kernel.lca(a, b, out=common), 40)  # noqa: B023
        yield row("tiers.lca", size, ours, "numpy climb", numpy_us, None, "10^6 random pairs")
    parent, tier = forest(FORESTS["1,001 domains, depth 3"][0])
    kernel = Forest(parent, tier)
    graph = networkx.DiGraph([(int(up), child) for child, up in enumerate(parent)])
    a, b = rng.integers(0, len(parent), (2, NETWORKX_PAIRS)).astype(np.int32)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    networkx_us = microseconds(lambda: dict(networkx.tree_all_pairs_lowest_common_ancestor(graph, -1, pairs)), 3).min()
    ours = microseconds(lambda: kernel.lca(a, b), 500)
    note = f"{NETWORKX_PAIRS} pairs"
    yield row("tiers.lca", "1,001 domains, depth 3", ours, "networkx", float(networkx_us), None, note)


if __name__ == "__main__":
    for line in rows():
        print(line)
