"""Benchmark of counting and placing pods in HyperNodes: the ``domains`` and ``dry_runs`` kernels beside numpy and
heapq.

Goals: issue A, "plain placement at 5,000 nodes: kernel 5 M pods/s for one pod shape, 0.5 M for 16 shapes".
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from measure import microseconds, row
from numpy.typing import NDArray

from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domains import (
    ScoreWeights,
    TopologyScores,
    domain_counts,
    pods_per_node,
)
from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.tiers import Forest, tier_scores

SIZES = (1_000, 5_000, 100_000)
GI = 2**30
LEAF = 8
SHAPES = 16
POD = np.array([4_000, 16 * GI, 1], dtype=np.int64)

BINPACK = ScoreWeights(binpack=1.0, binpack_resources=np.ones(3))
LEAST = ScoreWeights(
    least_requested=1.0,
    request_resources=np.array([1, 1, 0]),
    balanced=1.0,
    balanced_resources=np.array([1, 1, 0], dtype=np.uint8),
)


def machines(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Allocatable and used resources of n nodes with 64 cores, 512 Gi and 8 GPUs, of which up to two are in use."""
    total = np.tile(np.array([64_000, 512 * GI, 8], dtype=np.int64), (n, 1))
    used = np.random.default_rng(0).integers(0, 3, (n, 1)) * np.array([8_000, 32 * GI, 1], dtype=np.int64)
    return total, used


def tree(n: int) -> tuple[Forest, NDArray[np.int32], NDArray[np.int32]]:
    """A forest over n nodes: leaves of eight nodes, blocks of sixteen leaves, one root.

    Also returns the leaf of each node (int32 of shape (n,)) and the first and last node of each HyperNode.
    """
    leaves = -(-n // LEAF)
    blocks = -(-leaves // 16)
    parent = [leaves + i // 16 for i in range(leaves)] + [leaves + blocks] * blocks + [-1]
    tier = [1] * leaves + [2] * blocks + [3]
    spans = [(i * LEAF, min(n, (i + 1) * LEAF)) for i in range(leaves)]
    spans += [(i * 16 * LEAF, min(n, (i + 1) * 16 * LEAF)) for i in range(blocks)] + [(0, n)]
    forest = Forest(np.array(parent, dtype=np.int32), np.array(tier, dtype=np.int32))
    return forest, (np.arange(n) // LEAF).astype(np.int32), np.array(spans, dtype=np.int32)


def counting(n: int) -> Iterator[dict[str, object]]:
    total, used = machines(n)
    idle = total - used
    forest, _, spans = tree(n)
    size = f"{n:,} nodes, {len(forest):,} domains"
    numpy_us = float(microseconds(lambda: (np.maximum(idle, 0) // POD).min(axis=1), 9).min())
    yield row(
        "domains.pods_per_node", size, microseconds(lambda: pods_per_node(idle, POD), 200), "numpy", numpy_us, None, ""
    )
    per_node = pods_per_node(idle, POD)
    lengths = (spans[:, 1] - spans[:, 0]).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(lengths)])
    members = np.concatenate([np.arange(low, high, dtype=np.int32) for low, high in spans])
    numpy_us = float(microseconds(lambda: np.add.reduceat(per_node[members], start[:-1]), 9).min())
    ours = microseconds(lambda: domain_counts(per_node, start, members), 200)
    yield row("domains.domain_counts", size, ours, "numpy reduceat", numpy_us, None, "CSR")


def numpy_argmax(n: int, pods: int) -> object:
    """Baseline: place `pods` equal pods on n nodes by binpack with cached scores, one argmax and one
    rescoring per pod.
    """
    total, used = machines(n)
    score = np.where((used + POD <= total).all(axis=1), ((used + POD) / total).sum(axis=1), -np.inf)
    for _ in range(pods):
        best = int(score.argmax())
        used[best] += POD
        after = used[best] + POD
        score[best] = (after / total[best]).sum() if (after <= total[best]).all() else -np.inf
    return score


def heap(n: int, pods: int) -> object:
    """Baseline: place `pods` equal pods on n nodes by binpack with heapq.

    Only the chosen node's score changes, so that a plain heap gives the exact result for one pod shape.
    """
    total, used = machines(n)
    rows = [(u, t) for u, t in zip(used.tolist(), total.tolist(), strict=True)]
    pod = POD.tolist()

    def score(i: int) -> float:
        taken, whole = rows[i]
        value = 0.0
        for k in range(3):
            after = taken[k] + pod[k]
            if after > whole[k]:
                return 1.0
            value += after / whole[k]
        return -value

    queue = [(score(i), i) for i in range(n)]
    heapq.heapify(queue)
    for _ in range(pods):
        key, i = queue[0]
        if key > 0:
            break
        for k in range(3):
            rows[i][0][k] += pod[k]
        heapq.heapreplace(queue, (score(i), i))
    return queue


def dry_runs(
    n: int, weights: ScoreWeights, shapes: Sequence[NDArray[np.int64]], scores: TopologyScores | None = None
) -> DryRuns:
    total, used = machines(n)
    _, leaf, spans = tree(n)
    start = np.concatenate([[0], np.cumsum(spans[:, 1] - spans[:, 0], dtype=np.int64)])
    members = np.concatenate([np.arange(low, high, dtype=np.int32) for low, high in spans])
    rank = np.arange(n, dtype=np.int32)
    runs = DryRuns(total - used, used, total, DomainNodes(rank, leaf, start, members), weights=weights, scores=scores)
    for request in shapes:
        runs.add_shape(request)
    return runs


def filled(runs: DryRuns, counts: Counts, domain: int = -1, **asked: Any) -> NDArray[np.float64]:
    """Microseconds of one trial placement by `DryRuns` in a HyperNode, for each repeat.

    Trials leave the nodes unchanged. `domain` -1 means the whole cluster; `asked` are further arguments of the trial.
    """
    runs.ask(counts, **asked)
    one = np.array([domain], dtype=np.int32)
    if int(runs.try_each(one).placed[0]) != int(counts.left.sum()):
        raise AssertionError("the machines of this benchmark hold three more pods each")
    return microseconds(lambda: runs.try_each(one), 100 if counts.left.sum() <= 15_000 else 5)


def counts_of(pods: int, shapes: int) -> Counts:
    """A job's number of pods of each shape, as the kernel takes it: `pods` pods in all, of several shapes in turn."""
    left = np.full(shapes, pods // shapes, dtype=np.int64)
    turns = np.arange(shapes, dtype=np.int32)
    upto = np.repeat(np.arange(1, pods // shapes + 1, dtype=np.int64), shapes)
    runs = None if shapes == 1 else (np.tile(turns, pods // shapes), upto)
    return Counts(shapes=turns, left=left, min_available=int(left.sum()), after_failure="go-on", runs=runs)


def filling(n: int) -> Iterator[dict[str, object]]:
    pods = 3 * n
    size = f"{n:,} nodes, {pods:,} pods"
    goal_one = pods / 5.0 if n == 5_000 else None
    goal_many = pods / 0.5 if n == 5_000 else None
    some = min(pods, 3_000)
    argmax_us = float(microseconds(lambda: numpy_argmax(n, some), 1).min()) * pods / some
    heap_us = float(microseconds(lambda: heap(n, pods), 1 if n > 5_000 else 3).min())
    argmax_name = "numpy argmax" if some == pods else f"numpy argmax, from {some:,} pods"
    one = counts_of(pods, 1)
    for name, weights in (("binpack", BINPACK), ("least requested and balanced", LEAST)):
        ours = filled(dry_runs(n, weights, [POD]), one)
        yield row("dry_runs.DryRuns", size, ours, "heapq", heap_us, goal_one, f"{name}, one shape, a trial")
    forest, _, _ = tree(n)
    scores = TopologyScores(forest, tier_scores(forest.tier, 1, 3, flat=0.0))
    ours = filled(dry_runs(n, LEAST, [POD], scores=scores), one, update_record=True, total_tasks=pods)
    yield row("dry_runs.DryRuns", size, ours, "heapq", heap_us, None, "one soft job, record widening, a trial")
    requests = [POD + np.array([100 * i, i * GI, 0]) for i in range(SHAPES)]
    for name, weights in (("binpack", BINPACK), ("least requested and balanced", LEAST)):
        turns = counts_of(2 * n // SHAPES * SHAPES, SHAPES)
        ours = filled(dry_runs(n, weights, requests), turns) * pods / int(turns.left.sum())
        note = f"{name}, {SHAPES} shapes in turns, a trial; baseline: one shape"
        yield row("dry_runs.DryRuns", size, ours, argmax_name, argmax_us, goal_many, note)
    ours = filled(dry_runs(n, BINPACK, [POD]), counts_of(16, 1), domain=0)
    size = f"{LEAF} of {n:,} nodes, 16 pods"
    yield row("dry_runs.DryRuns", size, ours, "heapq", heap_us * 16 / pods, None, "a trial")


def rows() -> Iterator[dict[str, object]]:
    for n in SIZES:
        yield from counting(n)
    for n in SIZES:
        yield from filling(n)


if __name__ == "__main__":
    for line in rows():
        print(line)
