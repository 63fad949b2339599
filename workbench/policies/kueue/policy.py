"""`kueue-0.19`: places a gang as Kueue's Topology Aware Scheduling places a workload with the same requests.

Source: Kueue 0.19.2, pkg/cache/scheduler (tas_*.go); docs/kueue.md says how a gang reads as a workload.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.model.counted import counted
from workbench.model.kueue_request import KueueRequest
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED, NearestMiss
from workbench.policies.contract import SchedulerTraits
from workbench.policies.kueue.cluster_levels import ClusterLevels, cluster_levels
from workbench.policies.kueue.gang_request import GangReading, read_gang
from workbench.policies.kueue.gang_snapshot import GangSnapshot
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.story import Story
from workbench.policies.kueue.workload_turn import Misfit, WorkloadTurn
from workbench.policies.nearest import nearest_misses
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import parameter
from workbench.policies.reasons import fit_reason
from workbench.policies.request import Assignment, Declined, Request

__all__ = ["Kueue019", "KueueParameters"]

_GATES = "Kueue 0.19, pkg/features/kube_features.go"


@dataclass(frozen=True)
class KueueParameters:
    """Parameters of `kueue-0.19`: feature gates, and how a hard constraint is read."""

    balanced: bool = parameter(False, "TASBalancedPlacement: as few domains as possible, evenly filled", source=_GATES)
    profile_mixed: bool = parameter(
        True, "TASProfileMixed: unconstrained pods take the fullest nodes first", source=_GATES
    )
    affinity_preferred: bool = parameter(
        False, "TASRespectNodeAffinityPreferred: domains by preferred node affinity first", source=_GATES
    )
    recompute: bool = parameter(
        True,
        "TASRecomputeAssignmentWithinSchedulingCycle: look for other nodes where the cycle has given them away",
        source=_GATES,
    )
    ladder: bool = parameter(True, "hard up to tier N: require tier 1, then 2, ... N; off: require tier N alone")


class Kueue019(NodePolicy):
    """Places all pods of a gang in one domain of a level, in few of them, or anywhere, by counts per domain.

    The tiers of the HyperNodes are the levels of the topology, nodes are its lowest level. A hard constraint is
    *required* at the closest tier, then at wider ones up to the highest allowed; a soft one *preferred* at the closest.
    Of several
    domains that hold the gang, the one with the least sufficient room is taken (ties: the smallest path); a gang that
    needs several takes those with most room first. Without a constraint the nodes with least room that hold any pod are
    filled first. Pods get nodes in the order of their ranks, which follow the order of the domains.
    """

    name = "kueue-0.19"
    traits = SchedulerTraits(
        reads_topology=True,
        sub_groups=True,
        reads=frozenset({KueueRequest}),
        best_effort_last=False,
        words="kueue",
    )

    def __init__(self, parameters: KueueParameters) -> None:
        self._parameters = parameters
        self.gates = Gates(
            TASBalancedPlacement=parameters.balanced,
            TASProfileMixed=parameters.profile_mixed,
            TASRespectNodeAffinityPreferred=parameters.affinity_preferred,
            TASRecomputeAssignmentWithinSchedulingCycle=parameters.recompute,
        )

    def assign(self, request: Request) -> Assignment | Declined:
        topology, snapshot = request.ledger.topology, request.snapshot
        levels = cluster_levels(topology, snapshot.closed)
        story = Story(request, levels)
        unlike = _no_levels(request, levels)
        if unlike is not None:
            return Declined((unlike,))
        reading = read_gang(
            request.gang, sorted(request.demand.order), topology, levels, ladder=self._parameters.ladder
        )
        if reading.impossible is not None:
            return Declined((reading.impossible,), warnings=reading.warnings)
        story.reading(reading)
        cluster = GangSnapshot(request, levels, self.gates)
        cluster.observer = story.observer
        turn = WorkloadTurn(request, cluster, reading)
        found = turn.place()
        story.end(found.node if isinstance(found, Assignment) else None)
        if isinstance(found, Misfit):
            # Nodes are blamed beside Kueue's sentence for roles of which none takes one more pod.
            idle = request.demand.idle
            nowhere = [role for role in request.demand.order if not request.demand.capacity(role, idle, 1).any()]
            reasons = (found.reason, *(fit_reason(request, role, idle, words="kueue") for role in nowhere))
            return Declined(reasons, _misses(request, levels, reading), (*reading.warnings, *found.warnings))
        found.warnings = (*reading.warnings, *found.warnings)
        if reading.restricts:
            running = [topology.node(name) for role in request.demand.order for name in cluster.running(role)]
            every = np.append(found.node[found.node != UNPLACED], np.array(running, dtype=np.int32))
            found.record = topology.smallest_around(every)
            found.has_record = True
        return found


def _no_levels(request: Request, levels: ClusterLevels) -> Notice | None:
    """Why the HyperNodes of the cluster are no levels for this gang; None: they are."""
    topology, demand = request.snapshot.topology, request.demand
    why = levels.problem
    if not why and len(levels.outside):
        room = np.zeros(request.snapshot.n_nodes, dtype=np.bool_)
        for role in demand.order:
            room |= demand.capacity(role, request.snapshot.allocatable, 1) > 0
        usable = levels.outside[room[levels.outside]]
        if len(usable):
            first = topology.node_names[int(usable[np.argmin(topology.node_rank[usable])])]
            others = f" and {counted(len(usable) - 1, 'other node')}" if len(usable) > 1 else ""
            verb = "are" if others else "is"
            why = f"{first}{others} {verb} not in a HyperNode of every tier"
    if not why:
        return None
    return Notice("topology-not-ready", f"the HyperNodes are no levels of a Kueue topology: {why}")


def _misses(request: Request, levels: ClusterLevels, reading: GangReading) -> tuple[NearestMiss, ...]:
    """For each tier that the gang requires, the HyperNode with room for most of it."""
    topology = request.snapshot.topology
    named = {request.required for group in reading.groups for request in group.attempts}
    tiers = [tier for tier in levels.tiers if levels.level_of(tier) in named]
    allowed = np.append(np.isin(topology.tier, tiers), not tiers)
    usable = np.zeros(request.snapshot.n_nodes, dtype=np.bool_)
    usable[levels.nodes] = True
    return nearest_misses(request, allowed, usable=usable)
