"""`QueueSession`: gangs that wait in ClusterQueues and hold quota there, decided in scheduling cycles of Kueue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.model.gang import Gang
from workbench.model.kueue_queues import PodSetAdmission, WorkloadAdmission
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.kueue.cycle.pending import PendingQueues
from workbench.policies.kueue.cycle.turns import Turn
from workbench.policies.kueue.messages import cut
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.queued.pod_nodes import PodNodes
from workbench.policies.kueue.queued.reading import (
    QueuedCluster,
    local_queue,
    read_cluster,
    weights_without_effect,
    workload_of,
)
from workbench.policies.request import Assignment, Declined, Request

__all__ = ["QueueSession"]

#: Cycles per gang at most; a search over flavors needs one for each of them.
_CYCLES_PER_GANG = 16


class QueueSession:
    """The ClusterQueues of a snapshot: gangs `wait`, cycles decide on them (`run`), and they `end`.

    A session of the policy lets all gangs wait and runs once; a `QueueStream` keeps one and goes on.

    `snapshot`: with ClusterQueues.
    """

    def __init__(self, snapshot: ClusterSnapshot, gates: Gates) -> None:
        self._read: QueuedCluster = read_cluster(snapshot, gates)
        self._queues = PendingQueues(self._read.cluster, ())
        # Pods of a workload that holds quota need no more of it; their selectors say where they go.
        self._held = frozenset(workload.key for workload in self._read.objects.workloads)
        self._told = weights_without_effect(self._read.objects)
        self._turns: dict[str, Turn] = {}
        self._n_waiting = 0

    def wait(self, gang: Gang, number: int) -> bool:
        """Let a gang wait for quota; whether it needs any and has a queue.

        `number`: its place in the order of arrival, which counts for gangs without a creation time.
        """
        self._turns.pop(gang.key, None)
        if not gang.n_pods or self.is_admitted_before(gang) or not self._read.queue_of(gang):
            return False
        self._queues.add(self._read.workload(gang, number))
        self._n_waiting += 1
        return True

    def leave(self, gang: Gang) -> None:
        """Take out a gang that waits for quota."""
        self._queues.remove(gang.key)
        self._n_waiting -= 1

    def is_admitted_before(self, gang: Gang) -> bool:
        """Whether a Workload of the snapshot holds the quota of a gang."""
        return bool(self._held) and workload_of(gang) in self._held

    def run(self, now_s: float | None = None) -> Iterator[list[Turn]]:
        """Yield the turns of each cycle, until the cycles bring nothing more.

        `now_s`: when quota is reserved; None: unknown.
        """
        self._read.cluster.now_s = now_s
        for turns in self._queues.cycles(_CYCLES_PER_GANG * self._n_waiting):
            for turn in turns:
                key = turn.workload.key
                # Anew at the end: those decided on last come last.
                self._turns.pop(key, None)
                self._turns[key] = turn
                if turn.admission is not None:
                    self._n_waiting -= 1
            yield turns

    def end(self, key: str) -> None:
        """Give back the quota and the domains of a gang, and try those again that wait for them."""
        holding = self._read.cluster.holding_of(key)
        self._turns.pop(key, None)
        if holding is not None:
            self._read.cluster.release(holding)
            self._queues.ended(holding)

    def park(self, key: str) -> None:
        """Take back the quota of an admitted gang whose pods find no nodes; it waits until a workload ends."""
        holding = self._read.cluster.holding_of(key)
        assert holding is not None
        self._read.cluster.release(holding)
        self._queues.park(replace(holding.workload, admission=None, reserved_at=None))
        self._n_waiting += 1

    def turn(self, key: str) -> Turn | None:
        """The last turn of a gang, or, if it waits untried, of the one with which it was parked; None: none."""
        return self._queues.verdict(key) or self._turns.get(key)

    def shape(self, key: str) -> tuple[str, int] | None:
        """ClusterQueue and shape of a gang that waits for quota, equal for gangs that ask for the same; else None."""
        return self._queues.shape(key)

    def order(self) -> dict[str, int]:
        """Places of the gangs in the order in which the cycles decided on them for the last time, by key."""
        return {key: number for number, key in enumerate(self._turns)}

    def refusal(self, gang: Gang) -> Notice | None:
        """Why a gang is not admitted, in Kueue's words; None: it is."""
        if self.is_admitted_before(gang):
            return None
        turn = self.turn(gang.key)
        if turn is None:
            name = f"{gang.namespace}/{local_queue(gang)}"
            known = bool(self._read.queue_of(gang))
            text = "no pod waits" if known else f"LocalQueue {name} doesn't exist"
            return Notice("kueue-pending", text, f"LocalQueue {name}")
        if turn.admission is not None:
            return None
        numbers = {"victims": len(turn.victims)} if turn.victims else {}
        victims = f" ({', '.join(turn.victims)})" if turn.victims else ""
        text = turn.message or "another workload of the queue is tried first in every cycle"
        queue = self._read.cluster.queues.get(turn.workload.cluster_queue)
        text += f": {queue.inactive}" if queue is not None and queue.inactive else ""
        return Notice("kueue-pending", f"{cut(text)}{victims}", f"ClusterQueue {turn.workload.cluster_queue}", numbers)

    def assign(self, request: Request) -> Assignment | Declined:
        """Nodes for the pods of a gang: those of its domains, rank by rank; others by name where Kueue gives none."""
        found = self._assigned(request)
        found.warnings = (*found.warnings, *self._told)
        return found

    def _assigned(self, request: Request) -> Assignment | Declined:
        gang = request.gang
        refused = self.refusal(gang)
        if refused is not None:
            return Declined((refused,))
        if self.is_admitted_before(gang):
            counts = {role.name: role.count for role in gang.roles}
            sets = tuple(PodSetAdmission(name, {}, {}, count) for name, count in counts.items())
            return PodNodes(request, self._read, WorkloadAdmission("", sets)).run()
        admission = self._turns[gang.key].admission
        assert admission is not None
        return PodNodes(request, self._read, admission).run()
