"""`PlacementSearch`: where the pods of one pod set go, with their leader, on the free capacity of a flavor.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go, findTopologyAssignment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from workbench.policies.kueue.assignments import from_leaves
from workbench.policies.kueue.balanced import DividesByZeroError, balanced_domains
from workbench.policies.kueue.descent import descend, fill_each
from workbench.policies.kueue.domain_counts import DomainCounts, count_upwards, fit_counts
from workbench.policies.kueue.leaf_conditions import LeafConditions
from workbench.policies.kueue.leaves import Leaves
from workbench.policies.kueue.level_search import FitDomains, NoFit, find_level
from workbench.policies.kueue.level_tree import Path, is_inside
from workbench.policies.kueue.messages import no_fit_text
from workbench.policies.kueue.orders import Domains
from workbench.policies.kueue.query import Gates, PlacementQuery, read_query
from workbench.policies.kueue.values import Flavor, Outcome, PodSet

__all__ = ["Observer", "PlacementSearch"]

Longs = npt.NDArray[np.int64]

#: Is told the pod set, its request, the domains as counted, and which of them hold it; None: balanced placement found
#: domains.
Observer = Callable[[PodSet, PlacementQuery, Domains, FitDomains | NoFit | None], None]

#: The answer where upstream ends with a runtime error.
_CRASH = (
    "Kueue 0.19.2 crashes on this request (integer divide by zero in balanceThresholdValue): with the feature gate "
    "TASBalancedPlacement a preferred topology needs at least as many pods as one slice has"
)


class PlacementSearch:
    """One placement of a pod set and its leader.

    `bound`: path of the domain that all pods must be in; empty: anywhere.

    `conditions`: None if leaves are no single nodes: nothing is then excluded by them. `columns`: column of each
    resource in `free`. `free`: ndarray of shape (leaves, resources), int64.
    """

    def __init__(
        self,
        leaves: Leaves,
        conditions: LeafConditions | None,
        flavor: Flavor,
        gates: Gates,
        columns: Mapping[str, int],
        free: Longs,
        workers: PodSet,
        leader: PodSet | None,
    ) -> None:
        self.leaves = leaves
        self.conditions = conditions
        self.flavor = flavor
        self.gates = gates
        self.columns = columns
        self.free = free
        self.workers = workers
        self.leader = leader
        self.bound: Path = ()
        self.observer: Observer | None = None
        # Leaves that have room for no pod, and the column of the resource that each leaf lacks first.
        self._full: npt.NDArray[np.bool_] | None = None
        self._limiting: Longs | None = None

    def answers(self) -> dict[str, Outcome]:
        """The answer for the workers and the leader, by name; both have the reason of a failure."""
        names = [self.workers.name, *([self.leader.name] if self.leader else [])]
        query = read_query(self.leaves.levels, self.workers, len(names) - 1, self.gates)
        found = query if isinstance(query, str) else self._find(query)
        if isinstance(found, str):
            return {name: Outcome(None, found, crashed=found is _CRASH) for name in names}
        domains, chosen = found
        lowest = domains.tree.depth - 1
        answers = {self.workers.name: Outcome(from_leaves(self.leaves, chosen, domains.counts.pods[lowest]))}
        if self.leader is not None:
            answers[self.leader.name] = Outcome(from_leaves(self.leaves, chosen, domains.counts.leaders[lowest]))
        return answers

    def _find(self, query: PlacementQuery) -> tuple[Domains, Longs] | str:
        """The domains with what they were given, and the leaves; or the reason why there are none."""
        if self.leaves.count == 0:
            return f"no topology domains at level: {self.leaves.levels[query.level]}"
        counts, excluded = self.count(query)
        domains = Domains(self.leaves.tree, counts, query.least_free, query.by_affinity)
        if self.gates.TASBalancedPlacement and not query.required and not query.unconstrained:
            try:
                balanced = balanced_domains(domains, query)
            except DividesByZeroError:
                return _CRASH
            if balanced is not None:
                spread, fit = balanced
                self._tell(query, domains, None)
                return spread, fill_each(spread, query, fit)
        fit_or_miss = find_level(domains, query)
        self._tell(query, domains, fit_or_miss)
        if isinstance(fit_or_miss, NoFit):
            topology = self.flavor.topology or ""
            self._add_full(excluded)
            return no_fit_text(topology, self.leaves.levels, domains, query, fit_or_miss, excluded)
        return domains, descend(domains, query, fit_or_miss)

    def count(self, query: PlacementQuery) -> tuple[DomainCounts, Counter[str]]:
        """What every domain holds, and how many leaves were excluded by which condition but for want of room."""
        tree, conditions = self.leaves.tree, self.conditions
        if conditions is None:
            usable, excluded = np.ones(self.leaves.count, dtype=np.bool_), Counter[str]()
        else:
            tolerations = (*self.workers.tolerations, *self.flavor.tolerations)
            usable, excluded = conditions.feasible(self.workers, tolerations)
        if self.bound:
            inside = np.array([is_inside(path, self.bound) for path in tree.paths[-1]], dtype=np.bool_)
            excluded["topologyDomain"] += int((usable & ~inside).sum())
            usable = usable & inside
        counts = DomainCounts.zeros(tree)
        wanted = self._amounts(self.workers)
        fits, limiting = fit_counts(self.free, wanted)
        self._full, self._limiting = usable & (fits == 0), limiting
        beside = fits
        if self.leader is not None:
            amounts = self._amounts(self.leader)
            leads = fit_counts(self.free, amounts)[0] > 0
            taken = np.zeros(self.free.shape[1], dtype=np.int64)
            taken[list(amounts)] = list(amounts.values())
            beside = np.where(leads, fit_counts(self.free - taken, wanted)[0], fits)
            counts.leaders[-1][:] = leads & usable
        np.copyto(counts.pods[-1], fits, where=usable)
        np.copyto(counts.pods_with_leader[-1], beside, where=usable)
        if query.by_affinity and conditions is not None:
            counts.affinity[-1][:] = np.where(usable, conditions.affinity_scores(self.workers), 0)
        count_upwards(tree, query, counts)
        return counts, excluded

    def _add_full(self, excluded: Counter[str]) -> None:
        """Count the leaves without room for one pod by the resource that limits them."""
        if self._full is not None and self._limiting is not None:
            columns, counts = np.unique(self._limiting[self._full], return_counts=True)
            for column, count in zip(columns.tolist(), counts.tolist(), strict=True):
                excluded[f'resource "{self._name(column)}"'] += count

    def _tell(self, query: PlacementQuery, domains: Domains, found: FitDomains | NoFit | None) -> None:
        if self.observer is not None:
            self.observer(self.workers, query, domains, found)

    def _amounts(self, pods: PodSet) -> dict[int, int]:
        """Requests of one pod by column, in the order of the resources' names."""
        requests = {**pods.requests, "pods": 1}
        return {self.columns[name]: requests[name] for name in sorted(requests)}

    def _name(self, column: int) -> str:
        return next(name for name, at in self.columns.items() if at == column)
