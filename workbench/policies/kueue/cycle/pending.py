"""`PendingQueues`: the pending workloads of all ClusterQueues, cycle after cycle.

Source: Kueue 0.19, pkg/cache/queue.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from workbench.model.kueue_queues import QueuedWorkload
from workbench.model.value import Working
from workbench.policies.kueue.cycle.cluster import CycleCluster
from workbench.policies.kueue.cycle.nomination import Tried
from workbench.policies.kueue.cycle.turns import Fate, Hopeless, Turn, needs_second_pass, run_cycle
from workbench.policies.kueue.cycle.victims import queue_time

__all__ = ["PendingQueues"]

Place = tuple[int, float, bytes]


class PendingQueues(Working):
    """Workloads that wait, each in its ClusterQueue; `run` does one scheduling cycle.

    A queue hands out one workload per cycle: the highest priority first, then the oldest, then by name. A workload for
    which nothing can be done is parked: it waits until something changes in the cluster.

    Parameters
    ----------
    cluster : CycleCluster
        With what the workloads hold that have an admission.
    workloads : iterable of QueuedWorkload
        Those without an admission wait; those that need a second pass are tried in every cycle.

    Attributes
    ----------
    active, parked : dict of str to QueuedWorkload
        By key.
    """

    def __init__(self, cluster: CycleCluster, workloads: Iterable[QueuedWorkload]) -> None:
        self._cluster = cluster
        self.active: dict[str, QueuedWorkload] = {}
        self.parked: dict[str, QueuedWorkload] = {}
        self._again: dict[str, QueuedWorkload] = {}
        self._hopeless = Hopeless()
        self._tried: dict[str, Tried] = {}
        self._heaps: dict[str, list[tuple[Place, str]]] = {}
        for each in workloads:
            if each.admission is None:
                self._push(each)
            elif needs_second_pass(each):
                self._again[each.key] = each

    def _push(self, workload: QueuedWorkload) -> None:
        self.active[workload.key] = workload
        place = -workload.priority, queue_time(workload), workload.key.encode()
        heapq.heappush(self._heaps.setdefault(workload.cluster_queue, []), (place, workload.key))

    def run(self) -> list[Turn]:
        """One cycle: the heads of the queues, and the workloads that need a second pass."""
        heads = [*self._again.values()]
        for name in sorted(self._heaps):
            if self._heaps[name]:
                heads.append(self.active[heapq.heappop(self._heaps[name])[1]])
        turns = run_cycle(self._cluster, heads, self._tried, self._hopeless)
        for turn in turns:
            self._enter(turn)
        return turns

    def run_all(self, most: int) -> list[Turn]:
        """The last turn of each workload after cycles that bring something, at most a number of them.

        Ends when no workload is active, when a workload has to wait for others to be evicted, or when the cycles
        begin to repeat: Kueue would go on for ever.

        Parameters
        ----------
        most : int
            Cycles at most.
        """
        last: dict[str, Turn] = {}
        seen: set[object] = set()
        for _ in range(most):
            state = tuple(sorted((key, str(self._tried.get(key))) for key in self.active)), len(self._again)
            if not (self.active or self._again) or state in seen:
                break
            seen.add(state)
            turns = self.run()
            last |= {turn.workload.key: turn for turn in turns}
            if any(turn.admission is not None for turn in turns):
                seen.clear()
            if any(turn.victims for turn in turns):
                break
        return list(last.values())

    def _enter(self, turn: Turn) -> None:
        workload = turn.workload
        self._tried[workload.key] = turn.tried
        if turn.fate is Fate.REQUEUED:
            self._push(workload)
            return
        self.active.pop(workload.key, None)
        if turn.fate is not Fate.RETRIED:
            self._again.pop(workload.key, None)
        if turn.fate is Fate.PARKED:
            self.parked[workload.key] = workload
