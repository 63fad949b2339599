"""Search for the HyperNodes of a HyperJob's Jobs.

Total order of the choice:

1. the lowest tier at which enough Jobs find a HyperNode, the constraint across the Jobs kept;
2. the HyperNode around all of them: most Jobs, then the lowest tier, then the fewest free HyperNodes of the Jobs' tier
   inside it, then the smallest name; the virtual top last;
3. the HyperNodes inside it, in the order of fewest accelerators, fewest nodes, the walk of the tree by names: earlier
   Jobs first, each the first HyperNode possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.model.arrays import Ints
from workbench.model.gang import Gang, TopologyConstraint
from workbench.model.ledger import Ledger
from workbench.model.topology import TOP, Topology
from workbench.policies.hyper_job.matching import match_jobs
from workbench.policies.hyper_job.trials import JobTrials

__all__ = ["Choice", "Search", "TierTried", "highest_tier"]


def highest_tier(constraint: TopologyConstraint | None, topology: Topology) -> int | None:
    """The highest tier that a hard constraint allows; None if it restricts nothing.

    A constraint without a number takes the tier of its tier name, if a HyperNode has that name.
    """
    if constraint is None or constraint.mode != "hard":
        return None
    if constraint.highest_tier is not None or not constraint.highest_tier_name:
        return constraint.highest_tier
    tiers = [int(topology.tier[j]) for j, n in enumerate(topology.tier_names) if n == constraint.highest_tier_name]
    return min(tiers, default=None)


@dataclass(frozen=True)
class Choice:
    """The HyperNodes that the search chose for the Jobs of a HyperJob.

    `tier`: tier of the Jobs' HyperNodes. `around`: HyperNode that holds all the chosen ones, inside which they were
    searched; `TOP` for the whole cluster. `domains`: HyperNode of each Job with pending pods, -1 for none.
    """

    tier: int
    around: int
    domains: tuple[int, ...]

    @property
    def n_jobs(self) -> int:
        """Number of Jobs for which the search found a HyperNode."""
        return sum(domain >= 0 for domain in self.domains)


@dataclass
class TierTried:
    """The result of the search at one tier.

    `total`, `free`: number of HyperNodes of the tier, and of those in which no accelerator is in use and no node is
    held exclusively. `best`: the best choice at the tier; None if no Job fits in any HyperNode of the tier.
    """

    tier: int
    total: int
    free: int
    best: Choice | None = field(default=None)


class Search:
    """Finds the HyperNodes of one HyperJob on a ledger, which is only read.

    `gang`: a HyperJob in which at least one Job has pending pods. `jobs`: the Jobs with pending pods. `held`: HyperNode
    of each Job of the HyperJob that has running pods, by name.

    `needed`: number of Jobs that must find a HyperNode, at least 1. `allowed`: highest tier of the HyperNode around all
    Jobs; None: no limit. `tried`: tiers tried so far. `occupied`: ndarray of shape (d + 1,), int64; number of nodes in
    each HyperNode that are not free, the virtual top last.
    """

    # `run` walks over the tiers and asks `_at` for each; `_matched` gives the Jobs HyperNodes of that tier, `_around`
    # the HyperNode around them. `free_at`, `bound_of`, `may_use`, `is_inside` are the questions that both ask.

    def __init__(
        self, gang: Gang, jobs: Sequence[Gang], ledger: Ledger, trials: JobTrials, held: dict[str, int]
    ) -> None:
        topology = ledger.topology
        self.needed = max(sum(gang.min_subgroups.values()), 1)
        self.allowed = highest_tier(gang.constraint, topology)
        self.tried: list[TierTried] = []
        self.topology = topology
        self._trials = trials
        self._held = held
        # A Job that runs in part stays where it is: it is a kind of its own, which fits one HyperNode only.
        self._bound = {kind: held[job.name] for kind, job in zip(trials.kinds, jobs, strict=True) if job.name in held}
        self._limits = {
            kind: highest_tier(job.constraint, topology) for kind, job in zip(trials.kinds, jobs, strict=True)
        }
        self.occupied = _occupied(ledger)
        columns = list(ledger.snapshot.gpu_columns)
        self._accelerators = ledger.snapshot.domain_allocatable[:, columns].sum(axis=1)
        self._sizes = np.diff(topology.member_start)

    def run(self) -> Choice | None:
        """The best choice at the lowest tier where enough Jobs find a HyperNode; None if there is no such tier."""
        tiers = sorted({int(self.topology.tier[domain]) for domain in self._held.values()})
        for tier in tiers[-1:] or self.topology.tiers:
            check()
            if not any(self.may_use(kind, tier) for kind in self._trials.kinds):
                continue
            found = self._at(tier)
            self.tried.append(found)
            if found.best is not None and found.best.n_jobs >= self.needed:
                return found.best
        return None

    def free_at(self, tier: int) -> list[int]:
        """HyperNodes of a tier in which no accelerator is in use and no node is held exclusively."""
        every = self.topology.domains_at(tier)
        free: list[int] = every[(self._sizes[every] > 0) & (self.occupied[every] == 0)].tolist()
        return free

    def bound_of(self, kind: int) -> int | None:
        """HyperNode that Jobs of a kind must go to because they run there in part; None: they are free to choose."""
        return self._bound.get(kind)

    def may_use(self, kind: int, tier: int) -> bool:
        """Whether the constraints allow Jobs of a kind a HyperNode of a tier; one that runs in part has its own."""
        if self.allowed is not None and tier > self.allowed:
            return False
        limit = self._limits[kind]
        return kind in self._bound or limit is None or tier <= limit

    def is_inside(self, domain: int, around: int) -> bool:
        """Whether a HyperNode lies inside another one, or is it; every one lies inside the virtual top."""
        if around == TOP:
            return True
        place, end = self.topology.preorder
        return bool(place[around] <= place[domain] < end[around])

    def _at(self, tier: int) -> TierTried:
        """The best choice with HyperNodes of one tier."""
        topology, trials = self.topology, self._trials
        every = topology.domains_at(tier)
        every = every[self._sizes[every] > 0]
        free = every[self.occupied[every] == 0]
        mine = sorted({*free.tolist(), *self._bound.values()}, key=self._preference)
        kinds = [kind for kind in dict.fromkeys(trials.kinds) if self.may_use(kind, tier)]
        roomy = [domain for domain in mine if any(self._has_room(kind, domain) for kind in kinds)]
        found = TierTried(tier, len(every), len(free))
        best_key: tuple[int, ...] | None = None
        for key, around in self._around(tier, roomy, free):
            if best_key is not None and key >= best_key:
                break
            inside = [domain for domain in roomy if self.is_inside(domain, around)]
            choice = Choice(tier, around, self._matched(inside, kinds))
            exact = (-choice.n_jobs, *key[1:])
            if choice.n_jobs and (best_key is None or exact < best_key):
                best_key, found.best = exact, choice
        return found

    def _matched(self, inside: Sequence[int], kinds: Sequence[int]) -> tuple[int, ...]:
        """HyperNode of each Job among some, -1 for none."""
        usable = set(kinds)

        def fits(kind: int, place: int) -> bool:
            domain = inside[place]
            return kind in usable and self._has_room(kind, domain) and self._trials.fits(kind, domain)

        places = match_jobs(self._trials.kinds, len(inside), fits)
        return tuple(inside[place] if place >= 0 else -1 for place in places)

    def _has_room(self, kind: int, domain: int) -> bool:
        bound = self._bound.get(kind)
        if bound is None and self.occupied[domain]:
            return False
        return (bound is None or bound == domain) and self._trials.has_room(kind, domain)

    def _preference(self, domain: int) -> tuple[int, int, int]:
        return int(self._accelerators[domain]), int(self._sizes[domain]), int(self.topology.preorder[0][domain])

    def _around(self, tier: int, roomy: Sequence[int], free: Ints) -> list[tuple[tuple[int, ...], int]]:
        """HyperNodes that may be around all Jobs, best first, each with its key; the number of Jobs is an upper bound.

        `tier`: that of the Jobs' HyperNodes. `roomy`: HyperNodes with room for some Job. `free`: free ones of the tier.
        """
        topology = self.topology
        place, end = topology.preorder
        above = np.flatnonzero(topology.tier >= tier)
        if self.allowed is not None:
            above = above[topology.tier[above] <= self.allowed]
        for domain in self._held.values():
            above = above[(place[above] <= place[domain]) & (place[domain] < end[above])]
        counts = [
            _count_inside(place[np.array(some, dtype=np.intp)], place[above], end[above]) for some in (roomy, free)
        ]
        n_jobs = len(self._trials.kinds)
        rows = [
            ((-min(int(most), n_jobs), int(topology.tier[j]), int(spare), int(j)), int(j))
            for j, most, spare in zip(above, *counts, strict=True)
            if most
        ]
        if self.allowed is None or self.allowed >= topology.top_tier:
            rows.append(((-min(len(roomy), n_jobs), topology.top_tier, len(free), topology.n_domains), TOP))
        return sorted(rows)


def _count_inside(places: Ints, first: Ints, end: Ints) -> npt.NDArray[np.int64]:
    """Number of places in each interval [first, end)."""
    ordered = np.sort(places)
    return ordered.searchsorted(end) - ordered.searchsorted(first)


def _occupied(ledger: Ledger) -> npt.NDArray[np.int64]:
    """Number of nodes with an accelerator pod, or held exclusively, in each domain: int64 (d + 1,)."""
    snapshot = ledger.snapshot
    busy = (ledger.used[:, list(snapshot.gpu_columns)] > 0).any(axis=1)
    busy |= (ledger.gpu_free != snapshot.gpu_total).any(axis=1)
    if ledger.gpu_shares is not None:
        busy |= ledger.gpu_shares.any(axis=1)
    for name in ledger.exclusive.values():
        if snapshot.topology.has_domain(name):
            busy[snapshot.topology.nodes_of(snapshot.topology.domain(name))] = True
    return snapshot.topology.domain_sums(busy[:, np.newaxis].astype(np.int64))[:, 0]
