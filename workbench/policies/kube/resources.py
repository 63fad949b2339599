"""NodeResourcesFit and NodeResourcesBalancedAllocation: the filter by free resources, and two scores.

Source: kube-scheduler 1.37.2, pkg/scheduler/framework/plugins/noderesources. All scores are integers from 0 to 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import pods_per_node
from workbench.model.resources import ASSUMED, CPU, MEMORY, PODS
from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import Code, NodeStatuses, Status

__all__ = [
    "NodeAmounts",
    "amounts_of",
    "balanced_scores",
    "balanced_step",
    "broken_line",
    "evenness",
    "filter_fit",
    "fit_scores",
    "pods_that_fit",
    "strategy_scores",
]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: Amounts below this, times 100, are exact as floats, and so are their quotients of at most 100 when rounded down.
_EXACT = 1 << 45

_STORAGE = "ephemeral-storage"
#: Resources that every pod is taken to use; of all others a score reads those only that the pod requests.
_ALWAYS = (CPU, MEMORY, _STORAGE)


def filter_fit(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, statuses: NodeStatuses) -> None:
    """Fail the nodes without room for a pod, each with every resource that is short.

    A request above a node's allocatable amount cannot be helped by evicting pods.

    `statuses`: the nodes to ask about; receives the failures.
    """
    nodes, rows = cluster.nodes, statuses.nodes
    row, _, _ = cluster.rows(shape)
    allocatable, requested = nodes.allocatable, cluster.requested
    pods = nodes.resources.index(PODS)
    bits = np.zeros(len(rows), dtype=np.int64)
    never = np.zeros(len(rows), dtype=np.bool_)
    reasons = ["Too many pods"]
    bits |= requested[rows, pods] + 1 > allocatable[rows, pods]
    for name in _filtered(shape, settings):
        column = nodes.column(name)
        mark = 1 << len(reasons)
        reasons.append(f"Insufficient {name}")
        if column is None:
            bits |= mark
            never[:] = True
            continue
        offered = allocatable[rows, column]
        short = row[column] > offered - requested[rows, column]
        bits |= np.where(short, mark, 0)
        never |= row[column] > offered
    for pattern in np.unique(bits[bits > 0]).tolist():
        told = tuple(reason for i, reason in enumerate(reasons) if pattern >> i & 1)
        same = bits == pattern
        statuses.fail(same & never, Status(Code.UNRESOLVABLE, told))
        statuses.fail(same & ~never, Status(Code.UNSCHEDULABLE, told))


def _filtered(shape: PodShape, settings: KubeSettings) -> list[str]:
    """Requested resources that are filtered by: cpu, memory, ephemeral-storage, then the others in byte order."""
    names = [name for name in _ALWAYS if shape.requests.get(name)]
    for name in sorted(shape.requests):
        if name in _ALWAYS or name == PODS or not shape.requests[name]:
            continue
        group, slash, _ = name.partition("/")
        if name in settings.ignored or (slash and group in settings.ignored_groups):
            continue
        names.append(name)
    return names


def pods_that_fit(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, nodes: Ints, cap: int) -> Longs:
    """Count the pods of a shape that pass `filter_fit` one after another on each of some nodes: int64 of shape (m,).

    `nodes`: ndarray of shape (m,), int32; indices of the nodes. `cap`: larger counts are given as this number.
    """
    columns = cluster.nodes.resources
    filtered = {PODS, *_filtered(shape, settings)}
    if not filtered.issubset(columns):
        return np.zeros(len(nodes), dtype=np.int64)
    row = np.where([name in filtered for name in columns], cluster.rows(shape)[0], 0)
    idle = cluster.nodes.allocatable.take(nodes, axis=0)
    idle -= cluster.requested.take(nodes, axis=0)
    return pods_per_node(idle, row, cap=cap)


@dataclass(frozen=True, eq=False)
class NodeAmounts:
    """Amounts of one resource that a score reads of some nodes.

    `used`, `capacity`: ndarray of shape (m,), int64; what the pods on each node use, and what is allocatable there.
    `row`: what one pod of the shape adds to `used`.
    """

    weight: int
    used: Longs
    capacity: Longs
    row: int

    @cached_property
    def lacking(self) -> Mask | None:
        """Nodes without the resource, bool (m,); None: all have it."""
        lacking = self.capacity <= 0
        return lacking if lacking.any() else None

    @cached_property
    def divisor(self) -> Longs:
        """`capacity`, and 1 instead of 0."""
        return np.maximum(self.capacity, 1)

    @cached_property
    def parts(self) -> tuple[Floats, Floats, Floats] | None:
        """`used`, a hundred times what is idle, and `divisor` as floats; None: an amount is too large for them."""
        if max(self.capacity.max(initial=0), self.used.max(initial=0)) >= _EXACT:
            return None
        idle = 100 * (self.capacity - self.used)
        return self.used.astype(np.float64), idle.astype(np.float64), self.divisor.astype(np.float64)


def amounts_of(
    cluster: KubeCluster,
    shape: PodShape,
    resources: Sequence[tuple[str, int]],
    nodes: Ints,
    *,
    assumed: bool,
) -> list[NodeAmounts]:
    """Amounts of the resources that a score reads on some nodes.

    A resource that no node has is left out, and one that the pod does not request unless it is cpu, memory or
    ephemeral-storage.

    `resources`: sequence of (str, int); resources with their weights. `nodes`: ndarray of shape (m,), int32; indices of
    the nodes. `assumed`: whether to add what scores assume for containers without a request.
    """
    row, assumed_row, _ = cluster.rows(shape)
    found = []
    for name, weight in resources:
        column = cluster.nodes.column(name)
        if column is None or (name not in _ALWAYS and not shape.requests.get(name)):
            continue
        used, each = cluster.requested[nodes, column], int(row[column])
        if assumed and name in ASSUMED:
            place = ASSUMED.index(name)
            used, each = used + cluster.assumed[nodes, place], each + int(assumed_row[place])
        found.append(NodeAmounts(weight, used, cluster.nodes.allocatable[nodes, column], each))
    return found


def fit_scores(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, nodes: Ints) -> Longs:
    """Score of NodeResourcesFit on each of some nodes, int64 of shape (m,), by the configured strategy.

    `shape`, `nodes`: as in `amounts_of`.
    """
    amounts = amounts_of(cluster, shape, settings.resources, nodes, assumed=True)
    return strategy_scores(settings, amounts, len(nodes), 1)


def strategy_scores(settings: KubeSettings, amounts: Sequence[NodeAmounts], n_nodes: int, pods: int) -> Longs:
    """Score of NodeResourcesFit on nodes after so many pods of the shape more: int64 of shape (n_nodes,).

    `amounts`: of these nodes, and perhaps of others behind them. `pods`: the pod that is scored is one of them.
    """
    total: Longs = np.zeros(n_nodes, dtype=np.int64)
    # Sum of the weights: one number for all nodes, or a number for each once a node lacks a resource.
    weights: Longs | int = 0
    for each in amounts:
        lacking = None if each.lacking is None else each.lacking[:n_nodes]
        if settings.strategy == "LeastAllocated":
            total += _weighted(each.weight, _least_allocated(each, n_nodes, pods), lacking)
            weights = weights + _weighted(each.weight, 1, lacking)
            continue
        used, capacity, divisor = each.used[:n_nodes] + pods * each.row, each.capacity[:n_nodes], each.divisor[:n_nodes]
        if settings.strategy == "MostAllocated":
            score = np.minimum(used, capacity) * 100 // divisor
        else:
            utilization = np.where(used > capacity, 100, used * 100 // divisor)
            score = broken_line([(x, y * 10) for x, y in settings.curve], utilization)
            lacking = (score <= 0) if lacking is None else lacking | (score <= 0)
        total += _weighted(each.weight, score, lacking)
        weights = weights + _weighted(each.weight, 1, lacking)
    divisor = np.maximum(weights, 1)
    if settings.strategy == "RequestedToCapacityRatio":
        # Half away from zero; neither number is negative.
        return np.floor(total / divisor + 0.5).astype(np.int64)
    return total // divisor


def _least_allocated(amounts: NodeAmounts, n_nodes: int, pods: int) -> Longs:
    """Hundredths of a resource that are idle on the first nodes after so many pods more; 0 where too much is used."""
    if amounts.parts is None or pods * amounts.row >= _EXACT:
        used = amounts.used[:n_nodes] + pods * amounts.row
        least: Longs = np.maximum((amounts.capacity[:n_nodes] - used) * 100 // amounts.divisor[:n_nodes], 0)
        return least
    _, idle, divisor = amounts.parts
    share: Floats = idle[:n_nodes] - 100.0 * pods * amounts.row
    np.maximum(share, 0.0, out=share)
    share /= divisor[:n_nodes]
    # Conversion rounds down.
    score: Longs = share.astype(np.int64)
    return score


def _weighted(weight: int, score: Longs | int, lacking: Mask | None) -> Longs | int:
    """A score times its weight, 0 for nodes without the resource."""
    weighted = score if weight == 1 else weight * score
    return weighted if lacking is None else np.where(lacking, 0, weighted)


def broken_line(points: list[tuple[int, int]], at: Longs) -> Longs:
    """Values of a line through points with rising x, flat outside of them, in integer arithmetic that truncates.

    `points`: list of (int, int); at least one point (x, y). `at`: ndarray of shape (m,), int64; places x.
    """
    values = np.full(len(at), points[-1][1], dtype=np.int64)
    for (x0, y0), (x1, y1) in reversed(list(pairwise(points))):
        product = (y1 - y0) * (at - x0)
        # Go divides towards zero, numpy towards minus infinity.
        step = np.sign(product) * (np.abs(product) // (x1 - x0))
        values = np.where(at <= x1, y0 + step, values)
    return np.where(at <= points[0][0], points[0][1], values)


def balanced_scores(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, nodes: Ints) -> Longs | None:
    """Score of NodeResourcesBalancedAllocation on each of some nodes: int64 of shape (m,).

    None: the plugin is skipped, because the pod requests none of the resources.

    `shape`, `nodes`: as in `amounts_of`.
    """
    if not any(shape.requests.get(name) for name, _ in settings.balanced):
        return None
    amounts = amounts_of(cluster, shape, settings.balanced, nodes, assumed=False)
    return balanced_step(*(evenness(amounts, len(nodes), pods) for pods in (0, 1)))


def balanced_step(before: Longs, after: Longs) -> Longs:
    """Score of NodeResourcesBalancedAllocation by the `evenness` of nodes without a pod and with it: int64 (m,)."""
    step: Longs = after - before
    step += 50
    step >>= 1
    step += 50
    return step


def evenness(amounts: Sequence[NodeAmounts], n_nodes: int, pods: int) -> Longs:
    """How evenly resources of nodes are used after so many pods of the shape more: int64 of shape (n_nodes,), 0 to 100.

    `amounts`: of these nodes, and perhaps of others behind them.
    """
    shares = [_used_share(each, n_nodes, pods) for each in amounts]
    known = [None if each.lacking is None else ~each.lacking[:n_nodes] for each in amounts]
    even = 1 - _deviation(shares, known, n_nodes)
    even *= 100
    return even.astype(np.int64)


def _used_share(amounts: NodeAmounts, n_nodes: int, pods: int) -> Floats:
    """Share of a resource that is used on the first nodes after so many pods more, at most 1."""
    if amounts.parts is None or pods * amounts.row >= _EXACT:
        used_then = amounts.used[:n_nodes] + pods * amounts.row
        return np.minimum(used_then / amounts.divisor[:n_nodes], 1.0)
    used, _, divisor = amounts.parts
    share: Floats = used[:n_nodes] + float(pods * amounts.row)
    share /= divisor[:n_nodes]
    return np.minimum(share, 1.0, out=share)


def _deviation(shares: list[Floats], known: list[Mask | None], n_nodes: int) -> Floats:
    """Standard deviation of the `known` shares on each node, float64 (m,); 0 of fewer than two."""
    if len(shares) < 2:
        return np.zeros(n_nodes)
    if len(shares) == 2:
        half = shares[0] - shares[1]
        np.abs(half, out=half)
        half /= 2
        for each in known:
            half = half if each is None else np.where(each, half, 0.0)
        return half
    there = [np.ones(n_nodes, dtype=np.bool_) if each is None else each for each in known]
    shares = [np.where(each, share, 0.0) for each, share in zip(there, shares, strict=True)]
    count = np.sum(there, axis=0)
    # In list order, because sums of floats depend on it.
    mean = sum(shares, np.zeros(n_nodes)) / np.maximum(count, 1)
    squares = [np.where(each, (one - mean) * (one - mean), 0.0) for one, each in zip(shares, there, strict=True)]
    spread: Floats = np.sqrt(sum(squares, np.zeros(n_nodes)) / np.maximum(count, 1))
    # Of two, upstream halves the difference, which the general formula would round otherwise.
    pair = (np.where(there, shares, 0.0).max(axis=0) - np.where(there, shares, 1.0).min(axis=0)) / 2
    return np.where(count == 2, pair, np.where(count > 2, spread, 0.0))
