"""NodeResourcesFit and NodeResourcesBalancedAllocation: the filter by free resources, and two scores.

Source: kube-scheduler 1.37.2, pkg/scheduler/framework/plugins/noderesources. All scores are integers from 0 to 100.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from workbench.model.resources import ASSUMED, CPU, MEMORY, PODS
from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import Code, NodeStatuses, Status

__all__ = ["balanced_scores", "broken_line", "filter_fit", "fit_scores"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_STORAGE = "ephemeral-storage"
#: Resources that every pod is taken to use; of all others a score reads those only that the pod requests.
_ALWAYS = (CPU, MEMORY, _STORAGE)


def filter_fit(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, statuses: NodeStatuses) -> None:
    """Fail the nodes without room for a pod, each with every resource that is short.

    A request above a node's allocatable amount cannot be helped by evicting pods.

    Parameters
    ----------
    cluster : KubeCluster
    shape : PodShape
        The pod.
    settings : KubeSettings
    statuses : NodeStatuses
        The nodes to ask about; receives the failures.
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


def fit_scores(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, nodes: Ints) -> Longs:
    """Score of NodeResourcesFit on each of some nodes, int64 of shape (m,), by the configured strategy.

    Parameters
    ----------
    cluster : KubeCluster
    shape : PodShape
        The pod.
    settings : KubeSettings
    nodes : ndarray of shape (m,), int32
        Indices of the nodes.
    """
    total, weights = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    for name, weight in settings.resources:
        amounts = _amounts(cluster, shape, name, nodes, assumed=True)
        if amounts is None:
            continue
        used, capacity = amounts
        there = capacity > 0
        divisor = np.where(there, capacity, 1)
        if settings.strategy == "LeastAllocated":
            score = np.where(used > capacity, 0, (capacity - used) * 100 // divisor)
        elif settings.strategy == "MostAllocated":
            score = np.minimum(used, capacity) * 100 // divisor
        else:
            utilization = np.where(used > capacity, 100, used * 100 // divisor)
            score = broken_line([(x, y * 10) for x, y in settings.curve], utilization)
            there = there & (score > 0)
        total += np.where(there, score * weight, 0)
        weights += np.where(there, weight, 0)
    divisor = np.where(weights > 0, weights, 1)
    if settings.strategy == "RequestedToCapacityRatio":
        # Half away from zero; neither number is negative.
        return np.floor(total / divisor + 0.5).astype(np.int64)
    return total // divisor


def broken_line(points: list[tuple[int, int]], at: Longs) -> Longs:
    """Values of a line through points with rising x, flat outside of them, in integer arithmetic that truncates.

    Parameters
    ----------
    points : list of (int, int)
        At least one point (x, y).
    at : ndarray of shape (m,), int64
        Places x.
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

    Parameters
    ----------
    cluster : KubeCluster
    shape : PodShape
        The pod.
    settings : KubeSettings
    nodes : ndarray of shape (m,), int32
        Indices of the nodes.
    """
    if not any(shape.requests.get(name) for name, _ in settings.balanced):
        return None
    after, before = (_balance(cluster, shape, settings, nodes, placed=placed) for placed in (True, False))
    return 50 + (50 + after - before) // 2


def _balance(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, nodes: Ints, *, placed: bool) -> Longs:
    """How evenly resources are used on each node, 0 to 100, with the pod or without: int64 of shape (m,)."""
    fractions, known = [], []
    for name, _ in settings.balanced:
        amounts = _amounts(cluster, shape, name, nodes, assumed=False)
        if amounts is None:
            continue
        used, capacity = amounts
        there = capacity > 0
        share = (used if placed else used - shape.requests.get(name, 0)) / np.where(there, capacity, 1)
        fractions.append(np.where(there, np.minimum(share, 1.0), 0.0))
        known.append(there)
    return ((1 - _deviation(fractions, known, len(nodes))) * 100).astype(np.int64)


def _deviation(fractions: list[Floats], known: list[Mask], n_nodes: int) -> Floats:
    """Standard deviation of the known fractions on each node, float64 of shape (m,); 0 of fewer than two."""
    if len(fractions) < 2:
        return np.zeros(n_nodes)
    if len(fractions) == 2:
        (first, second), (one, other) = fractions, known
        return np.where(one & other, np.abs(first - second) / 2, 0.0)
    count = np.sum(known, axis=0)
    # In list order, because sums of floats depend on it.
    mean = sum(fractions, np.zeros(n_nodes)) / np.maximum(count, 1)
    squares = [np.where(there, (one - mean) * (one - mean), 0.0) for one, there in zip(fractions, known, strict=True)]
    spread: Floats = np.sqrt(sum(squares, np.zeros(n_nodes)) / np.maximum(count, 1))
    # Of two, upstream halves the difference, which the general formula would round otherwise.
    pair = (np.where(known, fractions, 0.0).max(axis=0) - np.where(known, fractions, 1.0).min(axis=0)) / 2
    return np.where(count == 2, pair, np.where(count > 2, spread, 0.0))


def _amounts(
    cluster: KubeCluster, shape: PodShape, name: str, nodes: Ints, *, assumed: bool
) -> tuple[Longs, Longs] | None:
    """What pods use of a resource on each node with this pod among them, and the allocatable amounts.

    None: the resource is left out, because no node has it, or the pod does not request it and it is neither cpu, memory
    nor ephemeral-storage. `assumed` adds what scores assume for containers without a request.
    """
    column = cluster.nodes.column(name)
    if column is None or (name not in _ALWAYS and not shape.requests.get(name)):
        return None
    row, more, _ = cluster.rows(shape)
    used = cluster.requested[nodes, column] + row[column]
    if assumed and name in ASSUMED:
        place = ASSUMED.index(name)
        used = used + cluster.assumed[nodes, place] + more[place]
    return used, cluster.nodes.allocatable[nodes, column]
