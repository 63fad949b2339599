"""The search for a level with domains that hold all pods of a request.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go, findLevelWithFitDomains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.policies.kueue.orders import Domains
from workbench.policies.kueue.query import PlacementQuery

__all__ = ["FitDomains", "NoFit", "find_level"]

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FitDomains:
    """Domains of one level that hold the request together, in the order in which they are filled."""

    level: int
    domains: Longs


@dataclass(frozen=True)
class NoFit:
    """No domains hold the request: the level where the search ended, and how many slices do fit."""

    level: int
    fitting: int


def find_level(domains: Domains, query: PlacementQuery) -> FitDomains | NoFit:
    """Find the level and the domains for a request, from the requested level upwards if it is only preferred.

    Raises nothing; a topology without domains is answered before.
    """
    for level in range(query.level, -1, -1):
        found = _on_level(domains, query, level)
        if found is not None:
            return found
    raise AssertionError("the top level always answers")


def _on_level(domains: Domains, query: PlacementQuery, level: int) -> FitDomains | NoFit | None:
    """The answer of one level; None: the next wider level is asked."""
    counts, need, leaders = domains.counts, query.n_slices, query.leaders
    every = domains.with_leader_order(level, np.arange(domains.tree.size(level)))
    led = counts.slices_with_leader[level][every]
    can_lead = counts.leaders[level][every] >= leaders
    fits = (led >= need) & can_lead
    if fits[0]:
        first = 0 if query.least_free else domains.best_fit(level, every, led, need, leaders)
        return FitDomains(level, every[first : first + 1])
    if query.least_free:
        enough = (led if leaders else counts.slices[level][every]) >= need
        enough &= can_lead
        if enough.any():
            first = int(enough.argmax())
            return FitDomains(level, every[first : first + 1])
    if query.required:
        later = np.flatnonzero(fits)
        if query.by_affinity and len(later):
            at = int(later[0])
            at += 0 if query.least_free else domains.best_fit(level, every[at:], led[at:], need, leaders)
            return FitDomains(level, every[at : at + 1])
        if query.least_free:
            return NoFit(level, int(counts.pods[level][every[-1]]))
        return NoFit(level, int(counts.slices[level][every[0]]))
    if level > 0 and not query.unconstrained:
        return None
    return _several(domains, query, level, every)


def _several(domains: Domains, query: PlacementQuery, level: int, every: Longs) -> FitDomains | NoFit:
    """Several domains of a level: first those for the leader, then the others by their plain counts."""
    counts, rest, missing = domains.counts, query.n_slices, query.leaders
    ordered = domains.leader_first(level, every, rest, missing, by_slices=True)
    chosen: list[int] = []
    at = 0
    while missing > 0 and at < len(ordered) and counts.leaders[level][ordered[at]] > 0:
        left = ordered[at:]
        led = counts.slices_with_leader[level][left]
        pick = 0
        if not query.least_free and led[0] >= rest:
            pick = domains.best_fit(level, left, led, rest, missing)
        domain = int(left[pick])
        chosen.append(domain)
        missing -= int(counts.leaders[level][domain])
        rest -= int(led[pick])
        at += 1
    if missing > 0:
        return NoFit(level, query.leaders - missing)
    if rest > 0:
        plain = domains.plain_order(level, ordered[at:])
        taken, left_over = take_in_order(domains, level, plain, counts.slices[level][plain], rest, query.least_free)
        if left_over > 0:
            return NoFit(level, query.n_slices - left_over)
        chosen += plain[taken].tolist()
    return FitDomains(level, np.array(chosen, dtype=np.int64))


def take_in_order(
    domains: Domains, level: int, ordered: Longs, count: Longs, need: int, least_free: bool
) -> tuple[Longs, int]:
    """Positions of domains taken one after another until they hold `need`, and how much they do not hold.

    The last one, which could hold all of the rest, is exchanged for the best fit among those left.

    `ordered`: ndarray of shape (m,), int64; domains of that level. `count`: ndarray of shape (m,), int64; what each of
    them holds. `least_free`: take the last one as it comes, without a best fit.
    """
    upto = np.cumsum(count)
    last = int(np.searchsorted(upto, need))
    if last == len(ordered):
        return np.arange(last), need - (int(upto[-1]) if last else 0)
    rest = need - (int(upto[last - 1]) if last else 0)
    pick = last if least_free else last + domains.best_fit(level, ordered[last:], count[last:], rest, 0)
    return np.append(np.arange(last), pick), 0
