"""`Story`: tells a recorder which domains Kueue looked at for a gang, level by level, and which nodes it used."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.model.explanation import Recorder
from workbench.policies.demand import node_text
from workbench.policies.kueue.cluster_levels import ClusterLevels
from workbench.policies.kueue.gang_request import GangReading
from workbench.policies.kueue.level_search import FitDomains, NoFit
from workbench.policies.kueue.orders import Domains
from workbench.policies.kueue.query import PlacementQuery
from workbench.policies.kueue.search import Observer
from workbench.policies.kueue.values import PodSet, TopologyRequest
from workbench.policies.reasons import holds_text
from workbench.policies.request import Request

__all__ = ["Story"]

Ints = npt.NDArray[np.int32]


class Story:
    """What is told about one gang; nothing without a recorder."""

    def __init__(self, request: Request, levels: ClusterLevels) -> None:
        self.request = request
        self.levels = levels
        self._several = False

    @property
    def observer(self) -> Observer | None:
        """What the search tells its steps to; None: nobody wants to know."""
        return None if self.request.recorder is None else self._searched

    def reading(self, reading: GangReading) -> None:
        """Tell how the gang reads as a workload."""
        recorder = self.request.recorder
        if recorder is None:
            return
        self._several = len(reading.groups) > 1
        for group in reading.groups:
            names = " and ".join(f"{run.name} ({len(run.pods)})" for run in group.runs)
            asks = "; else ".join(_request_text(request) for request in group.attempts)
            recorder.note(f"Kueue is asked to place {names}: {asks}")

    def end(self, node: Ints | None) -> None:
        """Tell of every node whether it is used, given the node of each pod; None: the gang is not placed."""
        recorder = self.request.recorder
        if recorder is None or recorder.ties_only:
            return
        topology, demand = self.request.snapshot.topology, self.request.demand
        used = set() if node is None else set(node.tolist())
        for each in np.argsort(topology.node_rank).tolist():
            why = "used" if each in used else node_text(demand, demand.order[0], demand.idle, each)
            recorder.node(topology.node_names[each], each in used, why or "not needed")

    def _searched(
        self, pods: PodSet, query: PlacementQuery, domains: Domains, found: FitDomains | NoFit | None
    ) -> None:
        """Tell of every domain of the levels looked at what it holds."""
        recorder = self.request.recorder
        assert recorder is not None, "the observer of a request with a recorder"
        last = query.level if found is None else found.level
        chosen = set(found.domains.tolist()) if isinstance(found, FitDomains) else set()
        for level in range(query.level, last - 1, -1):
            if level < len(self.levels.tiers):
                self._level(recorder, pods, query, domains, level, chosen if level == last else set())

    def _level(
        self,
        recorder: Recorder,
        pods: PodSet,
        query: PlacementQuery,
        domains: Domains,
        level: int,
        chosen: set[int],
    ) -> None:
        topology, counts = self.request.snapshot.topology, domains.counts
        unit = "slice" if query.slice_size > 1 else "pod"
        holds = (counts.slices_with_leader if query.leaders else counts.slices)[level].tolist()
        for domain, of in enumerate(self.levels.domains[level].tolist()):
            leads = not query.leaders or bool(counts.leaders[level][domain])
            why = holds_text(holds[domain], query.n_slices, unit)
            if not leads:
                why += ", not the leader"
            if domain in chosen:
                why += ", chosen"
            if self._several:
                why = f"{pods.name}: {why}"
            kept = domain in chosen or (holds[domain] >= query.n_slices and leads)
            recorder.domain(topology.domain_name(of), self.levels.tiers[level], kept, why)


def _request_text(request: TopologyRequest) -> str:
    """A topology request in words."""
    if request.required is not None:
        text = f"required {request.required}"
    elif request.preferred is not None:
        text = f"preferred {request.preferred}"
    else:
        text = "" if request.slices else "unconstrained"
    if request.group is not None:
        text += ", as leader and workers"
    for layer in request.slices:
        text += f"{', ' if text else ''}slices of {layer.size} in one {layer.level}"
    return text
