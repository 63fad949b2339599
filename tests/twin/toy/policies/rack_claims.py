"""`rack-claims`: pods go to the first nodes by name that have room, in the rack that their gang claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED
from workbench.model.rack_wish import RackWish
from workbench.policies.contract import SchedulerTraits
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import NoParameters
from workbench.policies.request import Assignment, Declined, Request

__all__ = ["RackClaims"]


class RackClaims(NodePolicy):
    """Places a gang with all its pods, or not at all, in the HyperNode that its RackClaim names."""

    name = "rack-claims"
    traits = SchedulerTraits(reads_topology=True)

    def __init__(self, _: NoParameters) -> None:
        pass

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {}

    def assign(self, request: Request) -> Assignment | Declined:
        gang, topology = request.gang, request.snapshot.topology
        rack = gang.extra(RackWish).rack
        if rack and not topology.has_domain(rack):
            return Declined((Notice("no-domain", f"there is no HyperNode {rack}", rack),))
        nodes = topology.nodes_of(topology.domain(rack)) if rack else np.arange(topology.n_nodes)
        nodes = nodes[np.argsort(topology.node_rank[nodes])]
        idle, node = request.demand.idle.copy(), np.full(gang.n_pods, UNPLACED, dtype=np.int32)
        for role, start in enumerate(gang.role_start[:-1].tolist()):
            for pod in range(start, start + gang.roles[role].count):
                room = request.demand.capacity(role, idle, 1)[nodes]
                if not room.any():
                    text = f"{rack or 'the cluster'} has no room for pod {pod + 1} of {gang.n_pods}"
                    return Declined((Notice("no-domain", text, rack),))
                node[pod] = nodes[int(np.argmax(room > 0))]
                idle[node[pod]] -= request.demand.rows[role]
        return Assignment(node)
