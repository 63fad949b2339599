"""Benchmark of choosing the best k GPUs of a machine, compared with itertools, numpy, networkx and NVIDIA's best-effort
policy.

Machines: 200 GB/s inside a node, 50 inside a rack, 12 across racks, with 2 % noise and the link class of each tier
(``classes``), or without noise (``exact tiers``: every weight is its own class). Queries: random sets of free GPUs and
random k. Best-effort is this project's port of NVIDIA's policy; it divides the whole machine, which the others do not.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence

import networkx as nx
import numpy as np
from measure import row
from numpy.typing import NDArray

from workbench.kernels.bottleneck import BottleneckSolver
from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import best_gpus
from workbench.policies.gpu.best_effort import MAX_DEVICES, best_effort_sets
from workbench.policies.gpu.link_scores import pair_scores

# devices, devices per node, devices per rack, goal in us, queries
SIZES = (
    (8, 4, 8, 0.2, 200),
    (16, 8, 16, 20.0, 500),
    (32, 8, 32, None, 300),
    (72, 4, 36, 200.0, 500),
    (384, 8, 64, 6_000.0, 200),
    (1024, 8, 256, 60_000.0, 100),
)


def machine(
    n: int, node: int, rack: int, *, noise: float, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    i = np.arange(n)
    weight = np.full((n, n), 12.0)
    weight[i[:, None] // rack == i // rack] = 50.0
    weight[i[:, None] // node == i // node] = 200.0
    link_class = np.searchsorted([12.0, 50.0, 200.0], weight).astype(np.int32)
    weight = weight * (1 + noise * np.random.default_rng(seed).standard_normal((n, n)))
    return np.minimum(weight, weight.T), link_class


def queries(n: int, count: int, seed: int = 1) -> list[tuple[int, int]]:
    """`count` random queries (bit mask of free GPUs, k) for a machine of n GPUs, drawn with `seed`.

    40 to 100 % of the GPUs are free; k is uniform, or one of the sizes that jobs request.
    """
    rng = np.random.default_rng(seed)
    found: list[tuple[int, int]] = []
    while len(found) < count:
        free = np.flatnonzero(rng.random(n) < rng.choice([0.4, 0.7, 1.0]))
        if len(free) < 2:
            continue
        k = int(rng.integers(2, len(free) + 1)) if rng.integers(2) else int(rng.choice([2, 4, 8, 16, 32, 64]))
        found.append((mask_of(free.tolist()), min(k, len(free))))
    return found


def by_itertools(weight: NDArray[np.float64], free: tuple[int, ...], k: int) -> float:
    return max(min(weight[i, j] for i, j in itertools.combinations(s, 2)) for s in itertools.combinations(free, k))


def by_numpy(weight: NDArray[np.float64], free: tuple[int, ...], k: int) -> float:
    sets = np.array(list(itertools.combinations(free, k)))
    lowest = np.full(len(sets), np.inf)
    for a, b in itertools.combinations(range(k), 2):
        np.minimum(lowest, weight[sets[:, a], sets[:, b]], out=lowest)
    return float(lowest.max())


def by_networkx(weight: NDArray[np.float64], free: tuple[int, ...], k: int) -> float:
    """Best bottleneck of k of the free GPUs, found by networkx.

    A binary search over thresholds, each answered by maximal cliques inside the (k-1)-core of the graph of faster
    links.
    """
    levels = np.unique(weight[np.ix_(free, free)][np.triu_indices(len(free), 1)])
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high + 1) // 2
        graph = nx.Graph()
        rows, columns = np.nonzero(np.triu(weight[np.ix_(free, free)] >= levels[middle], 1))
        graph.add_edges_from(zip(rows.tolist(), columns.tolist()))
        if any(len(clique) >= k for clique in nx.find_cliques(nx.k_core(graph, k - 1))):
            low = middle
        else:
            high = middle - 1
    return float(levels[low])


def best_of(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def single_calls(solver: BottleneckSolver, asked: list[tuple[int, int]]) -> list[float]:
    choose = solver.choose
    times = []
    for free, k in asked:
        choose(free, k)
        start = time.perf_counter()
        choose(free, k)
        times.append((time.perf_counter() - start) * 1e6)
    return times


def batch_means(solver: BottleneckSolver, asked: list[tuple[int, int]], batches: int = 200) -> list[float]:
    """Mean time of one query in microseconds, for each of `batches` batches that run all queries in `asked`.

    Batches are timed because reading the clock takes as long as a query.
    """
    choose = solver.choose
    times = []
    for _ in range(batches):
        start = time.perf_counter()
        for free, k in asked:
            choose(free, k)
        times.append((time.perf_counter() - start) * 1e6 / len(asked))
    return times


def bulk_means(solver: BottleneckSolver, asked: list[tuple[int, int]], batches: int = 100) -> list[float]:
    free = np.array([mask for mask, _ in asked] * 50, dtype=np.uint64)
    k = np.array([size for _, size in asked] * 50, dtype=np.int32)
    times = []
    for _ in range(batches):
        start = time.perf_counter()
        solver.choose_many(free, k)
        times.append((time.perf_counter() - start) * 1e6 / len(free))
    return times


def baselines(weight: NDArray[np.float64], n: int) -> Sequence[tuple[str, float | None]]:
    """Name and microseconds of each baseline for one query on an idle machine of n GPUs, if it takes about a second at
    most.

    The query asks for half of the GPUs, or for 4 on machines of more than 16.
    """
    everything = tuple(range(n))
    k = min(4, n // 2)
    found = []
    if n <= 32:
        found.append((f"itertools, k={k}", best_of(lambda: by_itertools(weight, everything, k), 2)))
        found.append((f"numpy, k={k}", best_of(lambda: by_numpy(weight, everything, k), 2)))
    if n <= MAX_DEVICES:
        points, everyone = pair_scores(BandwidthMatrix(weight)), np.array([(1 << n) - 1])
        found.append((f"best-effort, k={k}", best_of(lambda: best_effort_sets(points, everyone, 0, k), 2)))
    if n <= 384:
        found.append((f"networkx, k={k}", best_of(lambda: by_networkx(weight, everything, k), 2 if n < 100 else 1)))
    return found


def rows() -> Iterator[dict[str, object]]:
    """Rows of the result table: for each machine size the query with classes and on exact tiers, then the baselines."""
    for n, node, rack, goal, count in SIZES:
        asked = queries(n, count)
        noisy, link_class = machine(n, node, rack, noise=0.02)
        exact_tiers, _ = machine(n, node, rack, noise=0.0)
        found = baselines(exact_tiers, n) or [("none finishes in a second", None)]
        for kind, solver in (
            ("classes, 2 % noise", BottleneckSolver(noisy, link_class)),
            ("exact tiers", BottleneckSolver(exact_tiers)),
            ("all links equal", BottleneckSolver(np.full((n, n), 25.0))),
        ):
            name = f"best subset: {kind}"
            if n == 8:
                times, note = batch_means(solver, asked), f"batch means of {count} Python calls"
            else:
                times, note = (
                    single_calls(solver, asked),
                    "single Python calls (p99 of single ones is the stricter number), tables built",
                )
            proven = sum(solver.solve(free, k, max_ties=1).tie_break_complete for free, k in asked[:50])
            note += f"; tie-break proven within the default budget in {proven} of {min(50, count)}"
            for baseline, baseline_us in found:
                yield row(name, f"n={n}", times, baseline, baseline_us, goal, note)
            if n == 8:
                yield row(
                    f"{name}, in bulk",
                    f"n={n}",
                    bulk_means(solver, asked),
                    *found[0],
                    0.05,
                    "means over batches of 10,000",
                )
    yield from tie_rows()
    yield from raw_rows()
    yield from build_rows()


def tie_rows() -> Iterator[dict[str, object]]:
    """Rows for `best_gpus` on a machine where all sets are equally good: the first hundred ties are listed, all are
    counted.
    """
    matrix, k = BandwidthMatrix(np.full((16, 16), 25.0)), 8
    ties = best_gpus(matrix, k).optimal_sets
    times = [best_of(lambda: best_gpus(matrix, k), 1) for _ in range(500)]
    note = f"k={k}, {ties:,} ties, tables built"
    yield row("best_gpus: many ties", "n=16", times, "none", None, 100.0, note, goal_of="p50")


def raw_rows() -> Iterator[dict[str, object]]:
    """Rows for queries without link classes on an idle machine with noise.

    A note says if the tie-break budget ran out.
    """
    for n, node, rack, counts in ((32, 8, 32, (4, 8, 12, 16)), (72, 4, 36, (4, 8, 64)), (72, 8, 72, (8, 16))):
        noisy, _ = machine(n, node, rack, noise=0.02)
        solver = BottleneckSolver(noisy)
        for k in counts:
            yield raw_row(noisy, solver, node, k)


def raw_row(noisy: NDArray[np.float64], solver: BottleneckSolver, node: int, k: int) -> dict[str, object]:
    everything = (1 << solver.n) - 1
    once = best_of(lambda: solver.choose(everything, k), 1)
    times = [best_of(lambda: solver.choose(everything, k), 1) for _ in range(max(3, min(100, int(5e5 / once))))]
    found = solver.solve(everything, k, max_ties=1)
    tie_break = "proven" if found.tie_break_complete else f"ended by the budget of {solver.default_budget:,} units"
    more = "" if found.optimal_sets_complete else "more than "
    note = f"k={k}, nodes of {node}; value exact; {more}{found.optimal_sets:,} best sets, tie-break {tie_break}"
    slow = solver.n > 32 or k > 12
    networkx_us = None if slow else best_of(lambda: by_networkx(noisy, indices_of(everything), k), 1)
    baseline = "none finishes in a second" if slow else "networkx"
    return row("best subset: raw, 2 % noise", f"n={solver.n}", times, baseline, networkx_us, None, note)


def build_rows() -> Iterator[dict[str, object]]:
    """Rows for building the solver object, which happens once per bandwidth matrix."""
    for n, node, rack, _, _ in SIZES:
        noisy, link_class = machine(n, node, rack, noise=0.02)
        times = [best_of(lambda: BottleneckSolver(noisy, link_class), 1) for _ in range(10)]  # noqa: B023
        yield row("build the solver", f"n={n}", times, "none", None, None, "classes, 2 % noise; checks included")


if __name__ == "__main__":
    for one in rows():
        print(
            f"{one['benchmark']:38} {one['size']:7} p50 {one['ours_us_p50']:11.3f} p99 {one['ours_us_p99']:11.3f} us"
            f"  goal {one['goal_us']}  {one['baseline']} {one['baseline_us']}  ({one['note']})"
        )
