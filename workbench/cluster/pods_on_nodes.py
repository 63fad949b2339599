"""`PodsOnNodes`: a cluster's running pods and the GPUs they leave free, updated node by node as objects change."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from workbench.cluster.node_table import NodeTable
from workbench.cluster.workload import Held
from workbench.jobs.job_labels import JobLabels
from workbench.jobs.running import Doubts, deal_gpus
from workbench.model.arrays import Longs, Words
from workbench.model.resources import request_rows
from workbench.model.running_index import RunningIndex
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import gpu_words
from workbench.objects.pod import Pod

__all__ = ["PodsOnNodes"]


# Pods are in byte order of namespace, then name.
_Place = tuple[bytes, bytes]


@dataclass
class _OnNode:
    """The pods on one node and the values derived from them; the node itself may be missing from the cluster."""

    pods: dict[_Place, tuple[Pod, str]] = field(default_factory=dict)
    free: int = 0
    doubts: Doubts = field(default_factory=Doubts)


class PodsOnNodes:
    """The running pods of a cluster and what they leave free, recomputed only for nodes whose pods or GPUs changed.

    The values equal the result of `workbench.jobs.running.running_pods`.

    Attributes
    ----------
    used : ndarray of shape (n, r), int64
    gpu_free : ndarray of shape (n, w), uint64
    running : tuple of RunningPod
        As in `ClusterSnapshot`; a change replaces the object and never modifies it.
    holding : tuple of (Pod, str)
        As in `Workload`; a change replaces the tuple.
    index : RunningIndex
        `running` by gang and by queue; a change replaces the object.
    doubts : Doubts
        Number of assumptions about running pods, summed over all nodes.
    """

    def __init__(self) -> None:
        self.used: Longs = np.zeros((0, 0), dtype=np.int64)
        self.gpu_free: Words = np.zeros((0, 1), dtype=np.uint64)
        self.running: tuple[RunningPod, ...] = ()
        self.holding: tuple[tuple[Pod, str], ...] = ()
        self.index = RunningIndex.read(())
        self.doubts = Doubts()
        self._nodes: dict[str, _OnNode] = {}
        # Four lists with one entry per pod, in the order of the first; the last holds the node's index.
        self._places: list[_Place] = []
        self._holding: list[tuple[Pod, str]] = []
        self._running: list[RunningPod] = []
        self._at = array("q")
        # Places of the pods that an update brings or changes, during this update.
        self._moved: set[_Place] = set()
        # Pods of `index` that are no longer as they were, and their successors, during an update.
        self._gone: list[RunningPod] = []
        self._new: list[RunningPod] = []
        self._table: NodeTable | None = None

    def update(
        self,
        before: Held,
        after: Held,
        table: NodeTable,
        queues: Mapping[str, str],
        labels: Mapping[str, JobLabels],
    ) -> None:
        """Update all values after pods or nodes of the cluster have changed.

        `before`, `after`: as `LiveWorkload.update` returns them. `queues`, `labels`: as in `Workload`.
        """
        touched = self._move(before, after)
        old, self._table = self._table, table
        if old is not None and old.total is table.total:
            # The nodes have the indices and the GPUs that they had.
            if not touched:
                return
            self.used, self.gpu_free = self.used.copy(), self.gpu_free.copy()
        else:
            used, gpu_free = np.zeros(table.allocatable.shape, dtype=np.int64), gpu_words(table.total)
            touched |= self._renumber(old, table, used, gpu_free)
            self.used, self.gpu_free = used, gpu_free
        for name in touched:
            self._ask(name, table, queues, labels)
        self._write(touched, table)
        self.running, self.holding = tuple(self._running), tuple(self._holding)
        self.index = self.index.changed(self._gone, self._new)
        self._gone, self._new, self._moved = [], [], set()

    def _write(self, names: Iterable[str], table: NodeTable) -> None:
        """Write the rows of the given nodes, as far as the cluster has them, into `used` and `gpu_free`."""
        rows = [(index, self._nodes.get(name)) for name in names if (index := table.index.get(name, -1)) >= 0]
        if not rows:
            return
        # All at once: calls of numpy for each node would be most of the time.
        where = [index for index, _ in rows]
        held = [(index, pod.spec.requests) for index, node in rows if node for pod, _ in node.pods.values()]
        self.used[where] = 0
        requests, _ = request_rows(table.columns, [requests for _, requests in held])
        np.add.at(self.used, [index for index, _ in held], requests)
        words = gpu_words([table.total[index] if node is None else node.free for index, node in rows])
        self.gpu_free[where] = 0
        self.gpu_free[where, : words.shape[1]] = words

    def _move(self, before: Held, after: Held) -> set[str]:
        """Assign changed pods to their present nodes; returns the names of the nodes they left or came to."""
        touched = set()
        for key, held in before.items():
            pod = held[0]
            place = _place(pod)
            touched.add(pod.spec.node_name)
            del self._nodes[pod.spec.node_name].pods[place]
            if key not in after:
                i = bisect_left(self._places, place)
                self._gone.append(self._running[i])
                del self._places[i], self._holding[i], self._running[i], self._at[i]
        # In order, so that a first filling appends.
        for place, held in sorted((_place(held[0]), held) for held in after.values()):
            pod = held[0]
            touched.add(pod.spec.node_name)
            self._nodes.setdefault(pod.spec.node_name, _OnNode()).pods[place] = held
            self._moved.add(place)
            i = bisect_left(self._places, place)
            if i == len(self._places) or self._places[i] != place:
                self._places.insert(i, place)
                self._running.insert(i, _NOT_ASKED)
                self._at.insert(i, _NOT_ASKED.node)
                self._holding.insert(i, held)
            else:
                self._holding[i] = held
        return touched

    def _renumber(self, old: NodeTable | None, new: NodeTable, used: Longs, gpu_free: Words) -> set[str]:
        """Give running pods the new index of their node after nodes were renumbered, and copy the rows of their nodes.

        `used` and `gpu_free` receive the rows. Return the names of the nodes that must be recomputed because more than
        their index changed.
        """
        if old is None or old.columns != new.columns:
            return set(self._nodes)
        index = np.array([new.index.get(name, -1) for name in old.index], dtype=np.int64)
        if not np.array_equal(index, np.arange(len(index))):
            self._follow(index)
        # In the order of the rows, as `index` is.
        kept = [target >= 0 and old.total[i] == new.total[target] for i, target in enumerate(index.tolist())]
        changed = {name for name, same in zip(old.index, kept, strict=True) if not same and name in self._nodes}
        changed |= {name for name in new.index.keys() - old.index.keys() if name in self._nodes}
        sources = np.flatnonzero(kept)
        targets = index[sources]
        used[targets] = self.used[sources]
        # As wide as the largest machine of each cluster; what is beyond the narrower one is empty in these rows.
        width = min(gpu_free.shape[1], self.gpu_free.shape[1])
        gpu_free[targets, :width] = self.gpu_free[sources, :width]
        return changed

    def _follow(self, index: Longs) -> None:
        """Give running pods the new index of their node, int64 by the index that it had."""
        running = self._running
        at = np.array(self._at, dtype=np.int64)
        # A pod that this update brings has no node yet.
        target = np.where(at >= 0, index[at], at)
        which = np.flatnonzero(target != at).tolist()
        before = [running[i] for i in which]
        after = list(map(RunningPod.on, before, target[which].tolist()))
        for i, pod in zip(which, after, strict=True):
            running[i] = pod
        self._at = array("q", target.tobytes())
        self.index = self.index.moved(dict(zip(map(id, before), after, strict=True)))

    def _ask(self, name: str, table: NodeTable, queues: Mapping[str, str], labels: Mapping[str, JobLabels]) -> None:
        node = self._nodes.get(name)
        if node is None:
            return
        self.doubts -= node.doubts
        if not node.pods:
            del self._nodes[name]
            return
        places = sorted(node.pods)
        held = [node.pods[place] for place in places]
        index = table.index.get(name, -1)
        known = {name: index} if index >= 0 else {}
        masks = {index: table.total[index]} if index >= 0 else {}
        at = [bisect_left(self._places, place) for place in places]
        asked = [None if place in self._moved else self._running[i] for place, i in zip(places, at, strict=True)]
        running, free, node.doubts = deal_gpus(held, known, masks, queues, labels, asked)
        self.doubts += node.doubts
        node.free = free.get(index, 0)
        for i, pod in zip(at, running, strict=True):
            before = self._running[i]
            if before is not pod and before != pod:
                self._running[i], self._at[i] = pod, pod.node
                self._new.append(pod)
                if before is not _NOT_ASKED:
                    self._gone.append(before)


# Stands for a pod until its node is asked, in the same update.
_NOT_ASKED = RunningPod("", "", -1, {})


def _place(pod: Pod) -> _Place:
    return pod.metadata.namespace.encode(), pod.metadata.name.encode()
