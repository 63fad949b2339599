"""The way down: pods are distributed over the domains found, then over their children, until each leaf has its pods.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go, updateCountsToMinimumGeneric and
findTopologyAssignment.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.policies.kueue.level_search import FitDomains, take_in_order
from workbench.policies.kueue.orders import Domains
from workbench.policies.kueue.query import PlacementQuery

__all__ = ["descend", "fill_each", "fill_jointly"]

Longs = npt.NDArray[np.int64]


def descend(domains: Domains, query: PlacementQuery, fit: FitDomains) -> Longs:
    """Distribute the request over the domains that were found and down to the leaves.

    `domains`: counts are changed. Returns ndarray of shape (k,), int64: leaves that were visited; their counts are the
    pods and leaders that they got. Empty if the pods ran out of domains, as upstream's defect has it.
    """
    level, chosen = fit.level, fill_jointly(domains, query, fit.level, fit.domains)
    while level < min(domains.tree.depth - 1, query.slice_level):
        below = domains.tree.children(level, chosen)
        level += 1
        chosen = fill_jointly(domains, query, level, domains.plain_order(level, below))
    return fill_each(domains, query, FitDomains(level, chosen))


def fill_jointly(domains: Domains, query: PlacementQuery, level: int, ordered: Longs) -> Longs:
    """Distribute the whole request over domains of one level, by slices.

    `domains`: counts are changed. `ordered`: ndarray of shape (m,), int64; domains of that level, in the order in which
    they are filled. Returns ndarray of shape (k,), int64: as `descend`, of this level.
    """
    return _distribute(domains, level, ordered, query.n_slices, query.leaders, query.slice_size, query.least_free, True)


def fill_each(domains: Domains, query: PlacementQuery, fit: FitDomains) -> Longs:
    """Distribute what each domain got over its own children, level by level down to the leaves.

    `domains`: counts are changed. `fit`: domains whose counts are what they got. Returns ndarray of shape (k,), int64:
    as `descend`.
    """
    counts, level, chosen = domains.counts, fit.level, fit.domains
    while level < domains.tree.depth - 1:
        size = query.slice_size if level < query.slice_level else query.inner_size(level + 1)
        parts = []
        for domain in chosen.tolist():
            # Sorted before their slices are counted: by upstream's order, what counts here is the number of pods.
            children = domains.plain_order(level + 1, domains.tree.children(level, [domain]))
            if size > 1:
                counts.slices[level + 1][children] = counts.pods[level + 1][children] // size
                counts.slices_with_leader[level + 1][children] = counts.pods_with_leader[level + 1][children] // size
            need, leaders = int(counts.pods[level][domain]), int(counts.leaders[level][domain])
            parts.append(
                _distribute(
                    domains, level + 1, children, need // size, leaders, size, query.least_free, by_slices=size > 1
                )
            )
        chosen = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        level += 1
    return chosen


def _distribute(
    domains: Domains,
    level: int,
    ordered: Longs,
    need: int,
    leaders: int,
    size: int,
    least_free: bool,
    by_slices: bool,
) -> Longs:
    """Give `need` pods or slices and the leaders to domains of one level in their order; the last one by best fit.

    `ordered`: ndarray of int64; domains; their counts are set to what they get. `size`: pods of a unit of `need`.
    Returns ndarray of int64: the domains that were given something, or nothing, in order; empty if the domains do not
    hold `need`.
    """
    counts = domains.counts
    plain, beside = domains.measures(by_slices)
    if not leaders and len(ordered) == 1:
        if plain[level][ordered[0]] < need:
            return ordered[:0]
        _give(domains, level, int(ordered[0]), need * size, 0)
        return ordered
    ordered = domains.leader_first(level, ordered, need, leaders, by_slices)
    chosen: list[int] = []
    at = 0
    while leaders > 0 and at < len(ordered):
        left = ordered[at:]
        led = beside[level][left]
        pick = 0
        if not least_free and led[0] >= need and counts.leaders[level][left[0]] >= leaders:
            pick = domains.best_fit(level, left, led, need, leaders)
        domain, holds = int(left[pick]), int(led[pick])
        takes = min(holds, need)
        chosen.append(domain)
        lead = min(int(counts.leaders[level][domain]), leaders)
        if holds >= need and lead == leaders:
            _give(domains, level, domain, need * size, lead)
            return np.array(chosen, dtype=np.int64)
        _give(domains, level, domain, takes * size, lead)
        leaders -= lead
        need -= takes
        at += 1
    if leaders > 0:
        return np.zeros(0, dtype=np.int64)
    rest = ordered[at:]
    count = plain[level][rest]
    taken, missing = take_in_order(domains, level, rest, count, need, least_free)
    if missing > 0 or not len(taken):
        return np.zeros(0, dtype=np.int64)
    got = count[taken].copy()
    got[-1] = need - int(got[:-1].sum())
    counts.leaders[level][rest[taken]] = 0
    counts.pods[level][rest[taken]] = got * size
    return np.concatenate((np.array(chosen, dtype=np.int64), rest[taken]))


def _give(domains: Domains, level: int, domain: int, pods: int, leaders: int) -> None:
    domains.counts.pods[level][domain] = pods
    domains.counts.leaders[level][domain] = leaders
