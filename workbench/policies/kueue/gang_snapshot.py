"""`GangSnapshot`: the cluster of one scheduling request as Kueue's snapshot, and the gang's roles as its pod sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.model.kueue_request import KueueRequest
from workbench.model.labels import NodeFilter, Requirement, Toleration
from workbench.policies.kueue.cluster_levels import ClusterLevels
from workbench.policies.kueue.leaf_conditions import LeafConditions
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.topology_snapshot import TopologySnapshot
from workbench.policies.kueue.values import Assignment, Flavor, PodSet, TopologyRequest
from workbench.policies.request import Request

__all__ = ["GangSnapshot", "selector_and_terms"]

Mask = npt.NDArray[np.bool_]

#: The cluster is one flavor, with one topology of this name.
_FLAVOR = Flavor("cluster", "default")


@dataclass(frozen=True, eq=False)
class _Conditions(LeafConditions):
    """Also leaves out nodes without GPUs for a pod; `gpus`: the suitable leaves, bool, of pod sets that need some."""

    gpus: Mapping[str, Mask] = field(default_factory=dict)

    def feasible(self, pods: PodSet, tolerations: tuple[Toleration, ...]) -> tuple[Mask, Counter[str]]:
        """As `LeafConditions.feasible`, with the GPU policy as last condition."""
        left, excluded = super().feasible(pods, tolerations)
        suitable = self.gpus.get(pods.name)
        if suitable is not None:
            excluded["GPU policy"] += int((left & ~suitable).sum())
            left = left & suitable
        return left, excluded


class GangSnapshot(TopologySnapshot):
    """The nodes of a cluster with what is idle on them; what runs there is usage.

    `request`: the question about a gang.
    """

    def __init__(self, request: Request, levels: ClusterLevels, gates: Gates) -> None:
        self.request = request
        self.levels = levels
        self._gpus: dict[str, Mask] = {}
        columns = {name: column for column, name in enumerate(request.snapshot.resources)}
        super().__init__(levels.leaves, _FLAVOR, gates, columns, request.demand.idle[levels.nodes])

    @property
    def conditions(self) -> LeafConditions:
        """Labels and taints of the nodes, and where the GPU policy finds GPUs."""
        return _Conditions(self._columns_of_nodes.labels, self._columns_of_nodes.taints, self._gpus)

    @cached_property
    def _columns_of_nodes(self) -> LeafConditions:
        snapshot, nodes = self.request.snapshot, self.levels.nodes
        return LeafConditions(snapshot.labels.only(nodes), snapshot.taints.only(nodes))

    def pod_set(self, name: str, role: int, count: int, topology: TopologyRequest) -> PodSet:
        """Pods of a role of the gang as a pod set. `role`: index of the role in the gang."""
        demand, filters = self.request.demand, self.request.gang.roles[role].filter
        requests = {
            resource: int(amount)
            for resource, amount in zip(self.request.snapshot.resources, demand.rows[role], strict=True)
            if amount
        }
        requests.update({missing: self.request.gang.roles[role].requests[missing] for missing in demand.missing[role]})
        suitable = demand.gpus.feasible(self.request.gang.roles[role].n_gpus)
        if suitable is not None:
            self._gpus[name] = suitable[self.levels.nodes]
        selector, terms = selector_and_terms(filters)
        preferred = self.request.gang.extra(KueueRequest).of(self.request.gang.roles[role].name).preferred
        return PodSet(name, count, requests, topology, selector, filters.tolerations, terms, preferred)

    def running(self, role: int) -> Counter[str]:
        """Running pods of a role of the gang by the name of their node."""
        if not self.request.gang.ready:
            return Counter()
        gang, names = self.request.gang, self.request.snapshot.topology.node_names
        mine = (
            pod for pod in self.request.snapshot.running if pod.gang == gang.key and pod.role == gang.roles[role].name
        )
        return Counter(names[pod.node] for pod in mine if pod.node >= 0 and not pod.terminating)

    def assignment(self, pods: Mapping[str, int]) -> Assignment:
        """The assignment that has pods on nodes, given by name."""
        return Assignment(self.leaves.assignment_levels, tuple([((name,), count) for name, count in pods.items()]))


def selector_and_terms(filters: NodeFilter) -> tuple[dict[str, str], tuple[tuple[Requirement, ...], ...]]:
    """A filter of nodes as node selector and terms of a node affinity."""
    selector: dict[str, str] = {}
    rest: list[Requirement] = []
    for each in filters.required:
        if each.operator == "In" and len(each.values) == 1 and each.key not in selector:
            selector[each.key] = each.values[0]
        else:
            rest.append(each)
    if not rest:
        return selector, filters.any_of
    return selector, tuple([(*term, *rest) for term in filters.any_of if term]) if filters.any_of else (tuple(rest),)
