"""`WaitingLine`: the pending workloads of one ClusterQueue, the next one first, those of one shape together."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["QueuePlace", "WaitingLine"]


class QueuePlace(NamedTuple):
    """Where a workload stands in its ClusterQueue: higher priority first, then the oldest, then by uid and name."""

    behind: int
    time: float
    uid: bytes
    name: bytes
    key: str


class WaitingLine:
    """Pending workloads of a ClusterQueue by their shapes (`Shapes`); a shape is active or parked as a whole.

    So thousands of workloads that ask for the same are parked, and taken up again, at once. A workload may also be
    parked by itself. Finding the next workload takes time in the number of shapes, not of workloads.
    """

    def __init__(self) -> None:
        # A heap of each shape. `_heads`: a heap with the first of each active shape; entries that no longer are that
        # are dropped when they come up. `_shown`: the last entry of each shape that is in it.
        self._shapes: dict[int, list[QueuePlace]] = {}
        self._heads: list[tuple[QueuePlace, int]] = []
        self._shown: dict[int, QueuePlace] = {}
        self._parked: set[int] = set()
        self._for_nodes: set[int] = set()
        self._alone: dict[str, tuple[QueuePlace, int]] = {}

    def add(self, place: QueuePlace, shape: int) -> None:
        """Let a workload wait; with its shape if that is parked."""
        heap = self._shapes.setdefault(shape, [])
        heapq.heappush(heap, place)
        if heap[0] is place:
            self._show(shape)

    def pop(self) -> str | None:
        """Take the next workload out; None: no active one waits."""
        while self._heads:
            place, shape = heapq.heappop(self._heads)
            if self._shown.get(shape) is place:
                del self._shown[shape]
            heap = self._shapes.get(shape)
            if not heap or heap[0] is not place or shape in self._parked:
                continue
            heapq.heappop(heap)
            self._show(shape)
            return place.key
        return None

    def park(self, place: QueuePlace, shape: int, *, alike: bool, for_nodes: bool) -> None:
        """Let a workload wait until `activate`.

        `place`, `shape`: of the workload. `alike`: with all others of its shape. `for_nodes`: room on nodes is all that
        they lack.
        """
        if not alike:
            self._alone[place.key] = place, shape
            return
        self._parked.add(shape)
        if for_nodes:
            self._for_nodes.add(shape)
        self.add(place, shape)

    def activate(self, *, for_nodes: bool = False) -> None:
        """Make all parked workloads active; `for_nodes`: those that may lack room on nodes alone."""
        parked = self._for_nodes if for_nodes else self._parked
        if not parked and not self._alone:
            return
        self._for_nodes = set()
        self._parked = self._parked - parked
        for shape in sorted(parked):
            self._show(shape)
        alone, self._alone = self._alone, {}
        for place, shape in alone.values():
            self.add(place, shape)

    def remove(self, key: str, shape: int) -> None:
        """Take a workload out that waits somewhere in the line."""
        if self._alone.pop(key, None) is None:
            heap = [place for place in self._shapes[shape] if place.key != key]
            heapq.heapify(heap)
            self._shapes[shape] = heap
            self._show(shape)

    def is_parked(self, key: str, shape: int) -> bool:
        """Whether a workload of the line is parked with its shape."""
        return key not in self._alone and shape in self._parked

    def waiting(self, *, parked: bool) -> Iterator[str]:
        """Yield the keys of the workloads that are parked, or of those that are active, in no order."""
        for shape, heap in self._shapes.items():
            if (shape in self._parked) is parked:
                yield from (place.key for place in heap)
        if parked:
            yield from self._alone

    def _show(self, shape: int) -> None:
        """Enter the first workload of an active shape among the heads."""
        heap = self._shapes.get(shape)
        if heap is not None and not heap:
            del self._shapes[shape]
        if heap and shape not in self._parked and self._shown.get(shape) is not heap[0]:
            self._shown[shape] = heap[0]
            heapq.heappush(self._heads, (heap[0], shape))
