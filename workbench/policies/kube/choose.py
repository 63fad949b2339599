"""Which nodes are looked at, in which order, and which of those with the highest score is taken.

Source: kube-scheduler 1.37.2, pkg/scheduler/schedule_one.go, framework/sorted_nodes.go and backend/cache/node_tree.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.policies.kube.cluster import KubeNodes

__all__ = ["choose", "heap_order", "nodes_to_find", "nominated_node", "walk"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_ZONE = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_REGION = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")

#: With fewer candidates than this all are looked at, and at least so many feasible nodes are sought.
_AT_LEAST = 100


def walk(nodes: KubeNodes, arrived: Ints) -> Ints:
    """Order in which nodes are looked at: one of each zone in turn, zones and the nodes in them by arrival.

    `arrived`: ndarray of shape (n,), int32; indices of the nodes in the order in which the scheduler heard of them.
    """
    if nodes.labels.columns.keys().isdisjoint((*_REGION, *_ZONE)):
        return arrived
    columns = [_first_label(nodes, keys)[arrived] for keys in (_REGION, _ZONE)]
    _, first, zone = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    came = np.argsort(np.argsort(first))[zone.reshape(-1)]
    by_zone = np.argsort(came, kind="stable")
    starts = np.searchsorted(came[by_zone], np.arange(len(first)))
    turn = np.empty(len(arrived), dtype=np.int64)
    turn[by_zone] = np.arange(len(arrived)) - starts[came[by_zone]]
    return arrived[np.lexsort((came, turn))]


def _first_label(nodes: KubeNodes, keys: Sequence[str]) -> Ints:
    """Number of each node's value of the first of some label keys that it has, int32 (n,); -1 without any."""
    found = np.full(nodes.n, -1, dtype=np.int32)
    values: dict[str, int] = {}
    for key in keys:
        codes, _ = nodes.codes(key)
        texts = nodes.labels.columns[key][1] if key in nodes.labels.columns else ()
        numbers = np.array([*(values.setdefault(text, len(values)) for text in texts), -1], dtype=np.int32)
        found = np.where(found < 0, numbers[codes], found)
    # An empty value is as good as none.
    return np.where(found == values.get("", -1), -1, found)


def nominated_node(nodes: KubeNodes, candidates: Ints, name: str) -> int | None:
    """Index of a pod's nominated node; None if it is none of the candidates, or unknown.

    `candidates`: ndarray of shape (k,), int32; indices of the nodes.
    """
    return next((i for i in candidates.tolist() if nodes.names[i] == name), None)


def nodes_to_find(candidates: int, percentage: int) -> int:
    """Number of feasible nodes after which no more are sought.

    `candidates`: nodes that may be looked at. `percentage`: share of them to look for; 0: a share that falls with their
    number, from 50 to 5 percent.
    """
    if candidates < _AT_LEAST:
        return candidates
    share = percentage or max(50 - candidates // 125, 5)
    return max(candidates * share // 100, _AT_LEAST) if share < 100 else candidates


def choose(feasible: Ints, total: Longs, rank: Ints, ties: str) -> tuple[int, tuple[int, ...]]:
    """The node that is taken, and all nodes with its score.

    Parameters
    ----------
    feasible : ndarray of shape (m,), int32
        Feasible nodes in the order in which they were found; m > 0.
    total : ndarray of shape (m,), int64
        Score of each.
    rank : ndarray of shape (n,), int32
        Place of every node in the order of names.
    ties : {"name", "heap"}
        Of several nodes with the highest score the one with the smallest name, or the one that upstream's heap answers
        first.
    """
    best = feasible[total == total.max()]
    tied = tuple(best[np.argsort(rank[best])].tolist())
    if ties == "heap" and len(tied) > 1:
        return int(feasible[heap_order(total.tolist(), first=True)[0]]), tied
    return tied[0], tied


def heap_order(keys: Sequence[int | tuple[int, ...]], *, first: bool = False) -> list[int]:
    """Positions of keys in the order in which upstream's binary heap gives them, the largest first.

    Equal keys come as the heap happens to hold them: of keys that are all equal, the first one first. `first` asks for
    the first position alone.
    """
    heap = list(range(len(keys)))

    def sift(i: int, end: int) -> None:
        while (left := 2 * i + 1) < end:
            child = left
            if left + 1 < end and keys[heap[left + 1]] > keys[heap[left]]:  # type: ignore[operator]
                child = left + 1
            if not keys[heap[child]] > keys[heap[i]]:  # type: ignore[operator]
                return
            heap[i], heap[child] = heap[child], heap[i]
            i = child

    for i in range(len(heap) // 2 - 1, -1, -1):
        sift(i, len(heap))
    if first:
        return heap[:1]
    order = []
    for end in range(len(heap) - 1, -1, -1):
        heap[0], heap[end] = heap[end], heap[0]
        sift(0, end)
        order.append(heap.pop())
    return order
