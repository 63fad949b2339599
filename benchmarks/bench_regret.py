"""Benchmark of GPU regret tables: the best choice in every state of a machine at once, beside asking state by state.

Machines: the Koordinator document's first matrix (8 GPUs, every state, k = 2 to 7) and 16 GPUs with noise. The goal of
issue D, 5 ms, is for the table of 8 GPUs; the time that a policy written in Python needs for its own choices has a row
of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench_bottleneck import best_of, by_itertools, by_networkx, by_numpy, machine
from measure import microseconds, row

from workbench.evaluate.regret import regret
from workbench.formats.matrix import load_matrix
from workbench.kernels.bottleneck import BottleneckSolver
from workbench.kernels.gpu_sets import indices_of
from workbench.kernels.states import best_bottlenecks
from workbench.model.bandwidth import BandwidthMatrix
from workbench.policies import get_gpu_policy
from workbench.policies.gpu.base import NodeGpus

MATRIX = Path(__file__).parents[1] / "datasets" / "koordinator-matrices" / "matrix-a.txt"
POLICIES = ("gpu-bottleneck", "gpu-lowest-index", "gpu-static-dgx", "gpu-best-effort", "gpu-mapa")
GOAL_US = 5_000.0


def rows() -> Iterator[dict[str, object]]:
    matrix = load_matrix(MATRIX)
    weights = matrix.pair_weights_gb_s()
    asked = [(indices_of(mask), k) for mask in range(1, 256) for k in range(2, 8) if mask.bit_count() >= k]
    times = microseconds(lambda: best_bottlenecks(weights), 500)
    for name, ask in (("itertools", by_itertools), ("numpy", by_numpy), ("networkx", by_networkx)):
        baseline_us = best_of(lambda: [ask(weights, free, k) for free, k in asked], 1)  # noqa: B023
        note = f"{len(asked)} questions, k=2..7"
        yield row("regret: optimum of every state", "n=8", times, name, baseline_us, GOAL_US, note)
    noisy, _ = machine(16, 8, 16, noise=0.02)
    solver = BottleneckSolver(noisy)
    masks = np.arange(1, 1 << 16, dtype=np.uint64)[:: 1 << 6]
    per_query = best_of(lambda: solver.choose_many(masks, np.full(len(masks), 2, dtype=np.int32)), 3) * (1 << 6) * 14
    yield row(
        "regret: optimum of every state",
        "n=16",
        microseconds(lambda: best_bottlenecks(noisy), 20),
        "choose_many, k=2, times 14 sizes",
        per_query,
        None,
        "every state and size; the baseline from one state in 64",
    )
    for policy in POLICIES:
        goal = GOAL_US if policy == "gpu-bottleneck" else None
        regret(matrix, [policy])  # imports and caches of the first call
        # A new matrix each time: a solver that is kept would hide its making.
        times = microseconds(lambda: regret(BandwidthMatrix(matrix.gb_s), [policy]), 100 if goal else 3)  # noqa: B023
        note = f"{len(asked)} answers of the policy included" + (", from the kernel in bulk" if goal else "")
        yield row(f"regret table: {policy}", "n=8", times, "none", None, goal, note)
    yield from policy_rows()


def policy_rows() -> Iterator[dict[str, object]]:
    """Rows for GPU policies that weigh every set of GPUs, asked for all states of a machine at once."""
    for n, k in ((8, 4), (16, 4), (16, 6)):
        weights, _ = machine(n, 8, 16, noise=0.0)
        gpus = NodeGpus((1 << n) - 1, BandwidthMatrix(weights))
        for name in ("gpu-best-effort", "gpu-mapa"):
            policy = get_gpu_policy(name)
            policy.choose(gpus, (k,))
            times = microseconds(lambda: policy.choose(gpus, (k,)), 15)  # noqa: B023
            yield row(f"one answer: {name}", f"{k} of {n}", times, "none", None, None, "")


if __name__ == "__main__":
    for one in rows():
        print(
            f"{one['benchmark']:34} {one['size']:5} p50 {one['ours_us_p50']:11.1f} p99 {one['ours_us_p99']:11.1f} us"
            f"  goal {one['goal_us']}  {one['baseline']} {one['baseline_us']}  ({one['note']})"
        )
