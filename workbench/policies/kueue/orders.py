"""The orders in which Kueue takes domains, and the choice of the one that fits best.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go, sortedDomains, sortedDomainsWithLeader,
findBestFitDomainBy and prioritizeLeaderDomain. Every order ends in the path, so each is total.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.policies.kueue.domain_counts import DomainCounts
from workbench.policies.kueue.level_tree import LevelTree

__all__ = ["Domains"]

Longs = npt.NDArray[np.int64]


class Domains:
    """The domains of a tree with their counts, and how they are ordered.

    `least_free`: least free capacity first; False: most free first, and then the best fit. `by_affinity`: largest
    preferred node affinity first.
    """

    def __init__(self, tree: LevelTree, counts: DomainCounts, least_free: bool, by_affinity: bool) -> None:
        self.tree = tree
        self.counts = counts
        self.least_free = least_free
        self.by_affinity = by_affinity

    def with_leader_order(self, level: int, domains: Longs) -> Longs:
        """Domains of a level in the order for pods that have a leader: those that hold the leader first."""
        counts = self.counts
        slices = counts.slices_with_leader[level][domains]
        keys = [
            self.tree.rank[level][domains],
            counts.pods_with_leader[level][domains],
            slices if self.least_free else -slices,
        ]
        if self.by_affinity:
            keys.append(-counts.affinity[level][domains])
        keys.append(-counts.leaders[level][domains])
        return domains[np.lexsort(keys)]

    def plain_order(self, level: int, domains: Longs) -> Longs:
        """Domains of a level in the order for pods without a leader."""
        counts = self.counts
        slices = counts.slices[level][domains]
        keys = [
            self.tree.rank[level][domains],
            counts.pods[level][domains],
            slices if self.least_free else -slices,
        ]
        if self.by_affinity:
            keys.append(-counts.affinity[level][domains])
        return domains[np.lexsort(keys)]

    def best_fit(self, level: int, domains: Longs, count: Longs, need: int, leaders: int) -> int:
        """Position of the first domain with the smallest sufficient count; 0 if there is none.

        `domains`: ndarray of int64; not empty, in one of the orders. With preferred node affinity only the first ones,
        with equal scores, are looked at. `count`: ndarray of int64; what each of the domains holds. `need`, `leaders`:
        what it must hold.
        """
        enough = count >= need
        if leaders:
            enough &= self.counts.leaders[level][domains] >= leaders
        if self.by_affinity:
            scores = self.counts.affinity[level][domains]
            other = np.flatnonzero(scores != scores[0])
            if len(other):
                enough[other[0] :] = False
        found = np.flatnonzero(enough)
        return int(found[np.argmin(count[found])]) if len(found) else 0

    def leader_first(self, level: int, domains: Longs, need: int, leaders: int, by_slices: bool) -> Longs:
        """Domains with the first one in front that can take the leader and still leave room for all workers.

        `domains`: ndarray of shape (m,), int64; domains of that level. `need`, `leaders`: the request; without leaders
        the order stays. `by_slices`: `need` is in slices; False: in pods.
        """
        if not leaders or len(domains) < 2:
            return domains
        plain, led = self.measures(by_slices)
        without, beside = plain[level][domains], led[level][domains]
        fits = (self.counts.leaders[level][domains] >= leaders) & (without.sum() - (without - beside) >= need)
        if not fits.any():
            return domains
        first = int(fits.argmax())
        return np.concatenate((domains[first : first + 1], domains[:first], domains[first + 1 :]))

    def measures(self, by_slices: bool) -> tuple[list[Longs], list[Longs]]:
        """Counts per level without and with a leader, in slices or in pods."""
        counts = self.counts
        return (counts.slices, counts.slices_with_leader) if by_slices else (counts.pods, counts.pods_with_leader)
