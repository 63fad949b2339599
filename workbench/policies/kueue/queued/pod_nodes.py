"""`PodNodes`: the nodes of the pods of a gang that Kueue has admitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.cancel import check
from workbench.model.counted import counted
from workbench.model.kueue_queues import PodSetAdmission, WorkloadAdmission
from workbench.model.kueue_request import KueueRequest
from workbench.model.labels import Toleration
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED
from workbench.policies.kueue.messages import broken_slices
from workbench.policies.kueue.queued.reading import QueuedCluster
from workbench.policies.request import Assignment, Declined, Request

__all__ = ["PodNodes"]


class PodNodes:
    """Gives the admitted pods of one gang their nodes."""

    def __init__(self, request: Request, read: QueuedCluster, admission: WorkloadAdmission) -> None:
        self._request = request
        self._read = read
        self._admitted = {each.name: each for each in admission.pod_sets}
        self._idle = request.demand.idle.copy()

    def run(self) -> Assignment | Declined:
        """Give the admitted pods nodes, in the order of their ranks; pods that are not admitted get none."""
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
        # Kueue gives the pods the tolerations of their flavors when it admits them.
        known = self._read.cluster.flavors
        tolerations = tuple(each for name in sorted(set(admitted.flavors.values())) for each in known[name].tolerations)
        if admitted.assignment is None:
            every = self._read.nodes_by_domain(admitted.flavors.values(), ())[()]
            return self._fill(role, every, admitted.count, tolerations)
        of_domain = self._read.nodes_by_domain(admitted.flavors.values(), admitted.assignment.levels)
        nodes = list[int]()
        for values, count in admitted.assignment.domains:
            nodes += self._fill(role, of_domain.get(values, ()), count, tolerations)
        return nodes

    def _fill(self, role: int, nodes: Sequence[int], count: int, tolerations: tuple[Toleration, ...]) -> list[int]:
        """As many pods of a role as fit on nodes, one node after the other."""
        demand, found = self._request.demand, list[int]()
        if nodes:
            room = demand.capacity_of(np.array(nodes, dtype=np.int32), role, self._idle, count, tolerations).tolist()
            for node, most in zip(nodes, room, strict=True):
                taken = min(most, count - len(found))
                found += [node] * taken
                self._idle[node] -= taken * demand.rows[role]
        return found
