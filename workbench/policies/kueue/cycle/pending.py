"""`PendingQueues`: the pending workloads of all ClusterQueues, cycle after cycle.

Source: Kueue 0.19, pkg/cache/queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.model.kueue_queues import QueuedWorkload
from workbench.policies.kueue.cycle.cluster import CycleCluster, Holding
from workbench.policies.kueue.cycle.hopeless import Hopeless
from workbench.policies.kueue.cycle.line import QueuePlace, WaitingLine
from workbench.policies.kueue.cycle.nomination import Tried
from workbench.policies.kueue.cycle.turns import Fate, Turn, needs_second_pass, run_cycle
from workbench.policies.kueue.cycle.victims import queue_time

__all__ = ["PendingQueues"]


class PendingQueues:
    """Workloads that wait, each in its ClusterQueue; `run` does one scheduling cycle.

    A queue hands out one workload per cycle: the highest priority first, then the oldest, then by uid. A workload for
    which nothing can be done is parked, and with it those of its queue that ask for the same (Kueue's
    SchedulingEquivalenceHashing). They are taken up again when a workload gives back what it holds (`ended`);
    workloads that arrive meanwhile are parked with their like.

    `cluster`: with what the workloads hold that have an admission. `workloads`: those without an admission wait; those
    that need a second pass are tried in every cycle.
    """

    def __init__(self, cluster: CycleCluster, workloads: Iterable[QueuedWorkload]) -> None:
        self._cluster = cluster
        self._waiting: dict[str, QueuedWorkload] = {}
        self._lines: dict[str, WaitingLine] = {}
        self._again: dict[str, QueuedWorkload] = {}
        self._hopeless = Hopeless()
        self._tried: dict[str, Tried] = {}
        # The last turn of a workload of each shape, by ClusterQueue and shape, that was parked with its like.
        self._verdicts: dict[tuple[str, int], Turn] = {}
        # Trees of queues in which workloads ended since lines were last looked at; and whether any had pods on nodes.
        self._freed: set[tuple[str, ...]] = set()
        self._freed_nodes = False
        for each in workloads:
            if each.admission is None:
                self.add(each)
            elif needs_second_pass(each):
                self._again[each.key] = each

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.active)} active, {len(self.parked)} parked)"

    @property
    def active(self) -> dict[str, QueuedWorkload]:
        """Workloads that the next cycles try, by key."""
        return self._of(parked=False)

    @property
    def parked(self) -> dict[str, QueuedWorkload]:
        """Workloads that wait for a change in the cluster, by key."""
        return self._of(parked=True)

    def _of(self, *, parked: bool) -> dict[str, QueuedWorkload]:
        self._take_up()
        keys = (key for name in sorted(self._lines) for key in self._lines[name].waiting(parked=parked))
        return {key: self._waiting[key] for key in keys}

    def add(self, workload: QueuedWorkload) -> None:
        """Let a workload wait in its queue."""
        self._waiting[workload.key] = workload
        self._line(workload).add(_place(workload), self._hopeless.shapes.number(workload))

    def _line(self, workload: QueuedWorkload) -> WaitingLine:
        name = workload.cluster_queue
        if name not in self._lines:
            self._lines[name] = WaitingLine()
            # In the order of their names, in which their heads are taken.
            self._lines = dict(sorted(self._lines.items()))
        return self._lines[name]

    def remove(self, key: str) -> None:
        """Take a workload out that waits."""
        workload = self._waiting.pop(key)
        self._line(workload).remove(key, self._hopeless.shapes.number(workload))
        self._forget(key)

    def park(self, workload: QueuedWorkload) -> None:
        """Let a workload that was admitted in vain, and does not wait, wait for a change in the cluster."""
        self._take_up()
        self._waiting[workload.key] = workload
        shape = self._hopeless.shapes.number(workload)
        self._line(workload).park(_place(workload), shape, alike=False, for_nodes=True)

    def ended(self, holding: Holding) -> None:
        """Take up parked workloads again, after a workload gave back what it held.

        Those of all queues in its queue's tree of cohorts are; of others those that room on nodes may help.
        """
        self._freed.add(self._cluster.tree_of(holding.queue))
        self._freed_nodes |= bool(holding.taken.pods)

    def _take_up(self) -> None:
        """Do what `ended` announces, once for all workloads that end together."""
        if not self._freed:
            return
        freed, self._freed = {name for tree in self._freed for name in tree}, set()
        for name, line in self._lines.items():
            if name in freed:
                line.activate()
            elif self._freed_nodes:
                line.activate(for_nodes=True)
        self._freed_nodes = False

    def verdict(self, key: str) -> Turn | None:
        """The turn by which a waiting workload, or another of its shape, was parked; None: it was not."""
        workload = self._waiting.get(key)
        if workload is None:
            return None
        self._take_up()
        shape = self._hopeless.shapes.number(workload)
        alike = self._line(workload).is_parked(key, shape)
        return self._verdicts[workload.cluster_queue, shape] if alike else None

    def shape(self, key: str) -> tuple[str, int] | None:
        """ClusterQueue of a waiting workload, and the number of its shape; None: it does not wait."""
        workload = self._waiting.get(key)
        if workload is None:
            return None
        return workload.cluster_queue, self._hopeless.shapes.number(workload)

    def run(self) -> list[Turn]:
        """One cycle: the heads of the queues, and the workloads that need a second pass.

        If it is cancelled or fails, everything is as before.
        """
        self._take_up()
        popped = [key for line in self._lines.values() if (key := line.pop()) is not None]
        heads = [*self._again.values(), *(self._waiting[key] for key in popped)]
        try:
            turns = run_cycle(self._cluster, heads, self._tried, self._hopeless)
        except BaseException:
            self._cluster.count_again()
            for key in popped:
                self.add(self._waiting[key])
            raise
        for turn in turns:
            self._enter(turn)
        return turns

    def cycles(self, most: int) -> Iterator[list[Turn]]:
        """Yield the turns of cycles as long as they bring something, at most a number of them.

        Ends when no workload is active, when a workload has to wait for others to be evicted, or when the cycles
        begin to repeat: Kueue would go on for ever.
        """
        seen: set[object] = set()
        for _ in range(most):
            turns = self.run()
            if not turns:
                return
            yield turns
            if any(turn.victims for turn in turns):
                return
            if any(turn.fate not in (Fate.REQUEUED, Fate.RETRIED) for turn in turns):
                seen.clear()
                continue
            # The heads stay the same: all that goes on is their search over the flavors.
            state = tuple((turn.workload.key, str(turn.tried)) for turn in turns)
            if state in seen:
                return
            seen.add(state)

    def _enter(self, turn: Turn) -> None:
        workload = turn.workload
        key, shape = workload.key, self._hopeless.shapes.number(workload)
        self._tried[key] = turn.tried
        if turn.fate is Fate.REQUEUED:
            self._line(workload).add(_place(workload), shape)
            return
        if turn.fate is not Fate.RETRIED:
            self._again.pop(key, None)
        if turn.fate is Fate.PARKED:
            self._waiting[key] = workload
            self._line(workload).park(_place(workload), shape, alike=turn.alike, for_nodes=turn.for_nodes)
            if turn.alike:
                self._verdicts[workload.cluster_queue, shape] = turn
        elif self._waiting.pop(key, None) is not None:
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._hopeless.shapes.forget(key)
        self._tried.pop(key, None)


def _place(workload: QueuedWorkload) -> QueuePlace:
    names = workload.uid.encode(), workload.key.encode()
    return QueuePlace(-workload.priority, queue_time(workload), *names, workload.key)
