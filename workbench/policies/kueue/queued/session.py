"""`QueueSession`: scheduling cycles of Kueue over all gangs, and the nodes that the admitted ones get."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.cancel import check
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.kueue_queues import PodSetAdmission, WorkloadAdmission
from workbench.model.kueue_request import KueueRequest
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.kueue.cycle.pending import PendingQueues
from workbench.policies.kueue.cycle.turns import Turn
from workbench.policies.kueue.cycle.words import cut
from workbench.policies.kueue.gates import Gates
from workbench.policies.kueue.messages import broken_slices
from workbench.policies.kueue.queued.reading import QueuedCluster, local_queue, read_cluster, workload_of
from workbench.policies.request import Assignment, Declined, Request

__all__ = ["QueueSession"]

#: Cycles per gang at most; a search over flavors needs one for each of them.
_CYCLES_PER_GANG = 16


class QueueSession:
    """One session: cycles until nothing more is admitted, on a snapshot with ClusterQueues.

    Parameters
    ----------
    gangs : sequence of Gang
    snapshot : ClusterSnapshot
    gates : Gates

    Attributes
    ----------
    gangs : sequence of Gang
    gates : Gates
    """

    def __init__(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, gates: Gates) -> None:
        self.gangs = gangs
        self.gates = gates
        self._read = read_cluster(snapshot, gates)
        self._turns: dict[str, Turn] = {}
        # Pods of a workload that holds quota need no more of it; their selectors say where they go.
        held = {workload.key for workload in self._read.objects.workloads}
        self._admitted_before = {gang.key for gang in gangs if workload_of(gang) in held}
        waiting = [
            self._read.workload(gang, i)
            for i, gang in enumerate(gangs)
            if gang.n_pods and gang.key not in self._admitted_before and self._read.queue_of(gang)
        ]
        if waiting:
            queues = PendingQueues(self._read.cluster, waiting)
            for turn in queues.run_all(_CYCLES_PER_GANG * len(waiting)):
                self._turns[turn.workload.key] = turn

    def order(self) -> list[int]:
        """Positions of the gangs in the order in which the cycles decided on them for the last time."""
        place = {key: number for number, key in enumerate(self._turns)}
        return sorted(range(len(self.gangs)), key=lambda i: (place.get(self.gangs[i].key, len(place)), i))

    def refusal(self, gang: Gang) -> Notice | None:
        """Why a gang is not admitted, in Kueue's words; None: it is."""
        if gang.key in self._admitted_before:
            return None
        turn = self._turns.get(gang.key)
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
        gang = request.gang
        refused = self.refusal(gang)
        if refused is not None:
            return Declined((refused,))
        if gang.key in self._admitted_before:
            counts = {role.name: role.count for role in gang.roles}
            sets = tuple(PodSetAdmission(name, {}, {}, count) for name, count in counts.items())
            return _PodNodes(request, self._read, WorkloadAdmission("", sets)).run()
        admission = self._turns[gang.key].admission
        assert admission is not None
        return _PodNodes(request, self._read, admission).run()


class _PodNodes:
    """Gives the admitted pods of one gang their nodes."""

    def __init__(self, request: Request, read: QueuedCluster, admission: WorkloadAdmission) -> None:
        self._request = request
        self._labels = read.labels
        self._flavors = read.cluster.flavors
        self._admitted = {each.name: each for each in admission.pod_sets}
        self._idle = request.demand.idle.copy()
        self._by_name = np.argsort(request.ledger.topology.node_rank).tolist()

    def run(self) -> Assignment | Declined:
        gang, demand = self._request.gang, self._request.demand
        node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
        left = False
        for role in demand.order:
            check()
            admitted = self._admitted.get(gang.roles[role].name)
            count = 0 if admitted is None else admitted.count
            nodes = [] if admitted is None else self._nodes(role, admitted)
            if len(nodes) < count:
                name = gang.roles[role].name
                text = f"Kueue admits the workload, but nodes take {len(nodes)} of {counted(count, 'pod')} of {name}"
                asked = gang.extra(KueueRequest).of(name).topology
                broken = broken_slices(name, count, asked.slices) if asked is not None else ""
                text += f": {broken}" if broken else ""
                return Declined((Notice("pods-without-place", text, numbers={"count": count - len(nodes)}),))
            first = int(gang.role_start[role])
            node[first : first + count] = nodes[:count]
            left |= count < gang.roles[role].count
        found = Assignment(node)
        if left:
            placed = int((node != UNPLACED).sum())
            text = f"admitted with {placed} of {counted(gang.n_pods, 'pod')} (partial admission)"
            found.warnings = (Notice("partial-admission", text, numbers={"count": placed}),)
            found.reasons = dict.fromkeys(demand.order, (Notice("kueue-pending", "not part of the admitted count"),))
        if any(each.assignment is not None for each in self._admitted.values()):
            found.record = self._request.ledger.topology.smallest_around(node[node != UNPLACED])
            found.has_record = True
        return found

    def _nodes(self, role: int, admitted: PodSetAdmission) -> list[int]:
        """Nodes of the admitted pods of a role, in the order of their ranks."""
        selected = [self._flavors[name].node_labels.items() for name in sorted(set(admitted.flavors.values()))]
        mine = [i for i in self._by_name if all(each <= self._labels[i].items() for each in selected)]
        if admitted.assignment is None:
            return self._fill(role, mine, admitted.count)
        levels, nodes = admitted.assignment.levels, []
        of_domain: dict[tuple[str, ...], list[int]] = {}
        for i in mine:
            of_domain.setdefault(tuple(self._labels[i].get(level, "") for level in levels), []).append(i)
        for values, count in admitted.assignment.domains:
            nodes += self._fill(role, of_domain.get(values, []), count)
        return nodes

    def _fill(self, role: int, nodes: Sequence[int], count: int) -> list[int]:
        """As many pods of a role as fit on nodes, one node after the other."""
        demand, found = self._request.demand, list[int]()
        if nodes:
            room = demand.capacity_of(np.array(nodes, dtype=np.int32), role, self._idle, count).tolist()
            for node, most in zip(nodes, room, strict=True):
                taken = min(most, count - len(found))
                found += [node] * taken
                self._idle[node] -= taken * demand.rows[role]
        return found
