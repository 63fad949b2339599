"""Benchmark of the ``switches`` and ``ledger`` kernels beside numpy, and of the switch-affinity rules beside plain
Python.

The cluster is busy: 25 nodes under each leaf switch, half of the nodes in use by jobs on neighbouring nodes; a job of a
fifth of the nodes is placed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from measure import microseconds, row

from tests.reference.switch_affinity import Row, place
from workbench.kernels import ledger
from workbench.kernels.switch_rules import COMMON, place_new
from workbench.kernels.switches import HOLDS, SUMS, UNHEALTHY, add_jobs, first_free, free_under_switches

SIZES = (1_000, 10_000, 100_000)
PER_SWITCH = 25
REQUEST = np.array([0, 0, 1, 8], dtype=np.int64)
REPEATS = 200


def rows() -> Iterator[dict[str, object]]:
    """One row of the result table per part of the kernels and size."""
    for n in SIZES:
        for part, (ours, numpy) in _parts(n).items():
            ours()
            size = f"{n:,} nodes under {n // PER_SWITCH:,} switches"
            baseline = float(np.percentile(microseconds(numpy, REPEATS), 50))
            yield row(f"switches, {part}", size, microseconds(ours, REPEATS), "numpy", baseline, None, "")
        ours, plain = _rules(n // PER_SWITCH)
        ours()
        baseline = float(np.percentile(microseconds(plain, 10), 50))
        yield row("switches, rules of a new job", size, microseconds(ours, REPEATS), "plain Python", baseline, None, "")


def _rules(s: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Two calls that apply the switch rules to s switches: the kernel, and its plain Python version.

    A common job fills every idle switch and ends under two shared ones.
    """
    generator = np.random.default_rng(2)
    state = np.zeros(s, dtype=np.int64)
    state[: s // 4], state[s // 4 : s // 2], state[: s // 20] = 2, 1, 1
    generator.shuffle(state)
    free = generator.integers(1, PER_SWITCH + 1, s)
    sums = np.zeros((SUMS, s), dtype=np.int64)
    sums[state, np.arange(s)] = 1
    # Of many shared switches the twin would weigh every pair for minutes.
    sums[UNHEALTHY, np.flatnonzero(state == 1)[20:]] = 1
    names = np.array(["idle", "shared/healthy", "exclusive"])[state].tolist()
    sick = (sums[UNHEALTHY] > 0).tolist()
    rows = [
        Row("shared/unhealthy" if ill else name, n) for name, ill, n in zip(names, sick, free.tolist(), strict=True)
    ]
    n_pods = int(free[state == 0].sum()) + PER_SWITCH
    return (
        lambda: place_new(sums, free, COMMON, n_pods, PER_SWITCH, 2),
        lambda: place(rows, "common", n_pods, PER_SWITCH, 2),
    )


def _parts(n: int) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """For each part of the kernels two calls on the same arrays of n nodes: the kernel's and numpy's."""
    s = n // PER_SWITCH
    holders = (np.random.default_rng(0).random(n // 10).repeat(10) < 0.5).astype(np.int32)
    idle = np.tile(np.array([64_000, 1 << 40, 110, 8], dtype=np.int64), (n, 1))
    feasible = np.ones(n, dtype=np.uint8)
    gpu_free = np.full((n, 1), 255, dtype=np.uint64)
    start, nodes = np.arange(0, n + 1, PER_SWITCH), np.arange(n, dtype=np.int32)
    by_position = np.arange(n)
    node_switch = (nodes // PER_SWITCH).astype(np.int32)
    free, counts = free_under_switches(holders, idle, REQUEST, feasible, gpu_free, 8, node_switch, s)
    chosen = np.argsort(-counts, kind="stable")
    wanted = np.diff(np.minimum(np.cumsum(counts[chosen]), n // 5), prepend=0)
    marks = np.full(len(chosen), 2, dtype=np.int8)
    taken, _, _ = first_free(chosen, wanted, marks, free, start, nodes, by_position)
    vote = np.full(len(taken), 2 + HOLDS, dtype=np.int8)
    sums, held = np.zeros((SUMS, s), dtype=np.int64), np.zeros(n, dtype=np.int32)
    job, counts_for = np.array([0, len(taken)]), np.ones((1, 4), dtype=np.bool_)
    used, words = np.zeros_like(idle), np.full((len(taken), 1), 255, dtype=np.uint64)
    each = np.broadcast_to(REQUEST, (len(taken), 4))

    def free_by_numpy() -> object:
        fits = (
            (holders == 0)
            & feasible.view(np.bool_)
            & (idle >= REQUEST).all(axis=1)
            & (np.bitwise_count(gpu_free)[:, 0] >= 8)
        )
        return np.add.reduceat(fits[nodes].astype(np.int64), start[:-1])

    def first_by_numpy() -> object:
        found = np.flatnonzero(free[nodes])
        place = np.arange(len(found)) - np.searchsorted(found, start)[node_switch[found]]
        limit = np.zeros(s, dtype=np.int64)
        limit[chosen] = wanted
        found = found[place < limit[node_switch[found]]]
        order = np.empty(s, dtype=np.int64)
        order[chosen] = np.arange(s)
        return found[np.argsort(order[node_switch[found]], kind="stable")]

    def add_by_numpy() -> object:
        held[taken] += 1
        pods = np.bincount(node_switch[taken], minlength=s)
        sums[2] += pods
        sums[4:] += pods > 0
        return pods

    def take_by_numpy() -> None:
        used[taken] = used.take(taken, axis=0) + each
        idle[taken] = idle.take(taken, axis=0) - each
        gpu_free[taken] ^= words

    def take() -> None:
        ledger.add_pods(1, taken, REQUEST[None], words, used, idle, gpu_free)

    return {
        "free nodes of each": (
            lambda: free_under_switches(holders, idle, REQUEST, feasible, gpu_free, 8, node_switch, s),
            free_by_numpy,
        ),
        "nodes for a job": (
            lambda: first_free(chosen, wanted, marks, free, start, nodes, by_position),
            first_by_numpy,
        ),
        "sums over its pods": (
            lambda: add_jobs(1, job, counts_for, taken, vote, node_switch, held, sums),
            add_by_numpy,
        ),
        "taking its nodes": (take, take_by_numpy),
    }
