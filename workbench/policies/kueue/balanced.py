"""Balanced placement: as few domains as possible, each with about as many slices (gate TASBalancedPlacement).

Source: Kueue 0.19, pkg/cache/scheduler/tas_balanced_placement.go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.policies.kueue.domain_counts import recount
from workbench.policies.kueue.domain_sets import entropy_order, greedy, smallest_set
from workbench.policies.kueue.level_search import FitDomains
from workbench.policies.kueue.orders import Domains
from workbench.policies.kueue.query import PlacementQuery

__all__ = ["Balance", "DividesByZeroError", "balanced_domains", "best_balance", "prune", "spread"]

Longs = npt.NDArray[np.int64]


class DividesByZeroError(Exception):
    """Upstream divides by zero here and stops: the request is for fewer pods than one slice."""


@dataclass(frozen=True, eq=False)
class Balance:
    """Siblings that hold a request evenly.

    `threshold`: fewest slices that each domain used gets. `used`: number of siblings that hold the request when those
    with most room are taken first. `domains`: with counts of their own: domains with fewer slices than the threshold
    hold none. `first`, `end`: the siblings on the requested level.
    """

    threshold: int
    used: int
    domains: Domains
    first: int
    end: int


def balanced_domains(domains: Domains, query: PlacementQuery) -> tuple[Domains, FitDomains] | None:
    """Spread a request evenly; None if no siblings allow it.

    Raises DividesByZeroError: as upstream.

    Returns
    -------
    domains : Domains
        A copy, in which the chosen domains have the counts that they get.
    fit : FitDomains
        The chosen domains, each to be filled by itself.
    """
    best = best_balance(domains, query)
    if best is None:
        return None
    level, chosen = query.level, np.arange(best.first, best.end)
    if level < query.slice_level:
        ordered = entropy_order(best.domains, level, chosen)
        members = smallest_set(best.domains, level, ordered, query.n_slices, query.leaders, query.slice_size)
        if members is None:
            return None
        chosen = best.domains.tree.children(level, members)
        level += 1
    placed = spread(best.domains, query, level, chosen, best.threshold)
    return None if placed is None else (best.domains, FitDomains(level, placed))


def best_balance(domains: Domains, query: PlacementQuery) -> Balance | None:
    """Siblings of the requested level with the largest threshold, then fewest domains, then the smallest path."""
    tree = domains.tree
    if query.level == 0:
        sets = [(0, tree.size(0))]
    else:
        above = query.level - 1
        start = tree.first_child[above]
        sets = [(int(start[d]), int(start[d + 1])) for d in np.argsort(tree.rank[above]).tolist()]
    best: Balance | None = None
    for first, end in sets:
        best = _better(domains, query, first, end, best)
    return best


def _better(domains: Domains, query: PlacementQuery, first: int, end: int, best: Balance | None) -> Balance | None:
    """The balance of some siblings if it is better than the best so far, else that one."""
    found = _thresholds(domains, query, first, end)
    if found is None:
        return best
    for threshold in sorted(set(found), reverse=True):
        # The smaller threshold needs to be positive; upstream tries the larger one, even 0, in any case.
        if threshold < (best.threshold if best else 0) or (threshold == 0 and threshold != found[0]):
            continue
        pruned = Domains(domains.tree, domains.counts.copy(), False, domains.by_affinity)
        prune(pruned, query, query.level, first, end, threshold)
        fit = greedy(pruned, query.level, np.arange(first, end), query.n_slices, query.leaders)
        if fit is None:
            continue
        if threshold and (best is None or (-threshold, fit.count) < (-best.threshold, best.used)):
            return Balance(threshold, fit.count, pruned, first, end)
        break
    return best


def _thresholds(domains: Domains, query: PlacementQuery, first: int, end: int) -> tuple[int, int] | None:
    """Slices per domain if siblings share a request, and per domain that could also take the leader; None: no fit."""
    level, over = query.level, np.arange(first, end)
    if level < query.slice_level:
        over = domains.tree.children(level, over)
        level += 1
    spacious = Domains(domains.tree, domains.counts, False, domains.by_affinity)
    fit = greedy(spacious, level, over, query.n_slices, query.leaders)
    if fit is None:
        return None
    if fit.count == 0:
        raise DividesByZeroError
    counts = domains.counts
    threshold = query.n_slices // fit.count
    if fit.last_leader >= 0:
        threshold = min(threshold, int(counts.slices_with_leader[level][fit.last_leader]))
    if fit.last_plain < 0:
        return threshold, threshold
    threshold = min(threshold, int(counts.slices[level][fit.last_plain]))
    if not query.leaders:
        return threshold, threshold
    return threshold, min(threshold, int(counts.slices_with_leader[level][fit.last_plain]))


def prune(domains: Domains, query: PlacementQuery, level: int, first: int, end: int, threshold: int) -> None:
    """Empty those of some siblings and of their children that hold fewer slices than a threshold.

    Those that hold fewer beside a leader can then take no leader.

    `domains`: counts are changed. `first`, `end`: the siblings. `threshold`: in slices.
    """
    if level < domains.tree.depth - 1:
        start = domains.tree.first_child[level]
        _drop(domains, query, level + 1, np.arange(start[first], start[end]), threshold)
    recount(domains.tree, domains.tree.spans(level, first, end), level, domains.counts, query)
    _drop(domains, query, level, np.arange(first, end), threshold)


def _drop(domains: Domains, query: PlacementQuery, level: int, chosen: Longs, threshold: int) -> None:
    counts, tree = domains.counts, domains.tree
    few = counts.slices[level][chosen] < threshold
    no_leader = np.zeros_like(few)
    if query.leaders:
        crowded = counts.slices_with_leader[level][chosen] < threshold
        no_leader = ~few & (counts.leaders[level][chosen] > 0) & crowded
    for each, clear in ((chosen[few], counts.clear), (chosen[no_leader], counts.clear_leaders)):
        at = level
        while True:
            clear(at, each)
            if at == tree.depth - 1:
                break
            each = tree.children(at, each)
            at += 1


def spread(domains: Domains, query: PlacementQuery, level: int, chosen: Longs, threshold: int) -> Longs | None:
    """Give each of as few domains as possible the threshold, and the rest to the first of them.

    `domains`: counts of the domains that get something are set to that. `chosen`: ndarray of shape (m,), int64; domains
    of that level to choose from. `threshold`: in slices. Returns ndarray of shape (k,), int64: the domains that got
    something; None: the request cannot be spread so.
    """
    counts = domains.counts
    by_path = chosen[np.argsort(domains.tree.rank[level][chosen])]
    members = smallest_set(domains, level, by_path, query.n_slices, query.leaders, query.slice_size)
    if members is None or query.n_slices < threshold * len(members):
        return None
    extra, leaders = query.n_slices - threshold * len(members), query.leaders
    ordered = domains.with_leader_order(level, np.array(members, dtype=np.int64))
    for domain in ordered.tolist():
        leads = leaders > 0 and counts.leaders[level][domain] > 0
        holds = (counts.slices_with_leader if leads else counts.slices)[level][domain]
        more = min(int(holds) - threshold, extra)
        counts.leaders[level][domain] = int(leads)
        counts.slices[level][domain] = threshold + more
        counts.pods[level][domain] = (threshold + more) * query.slice_size
        extra -= more
        leaders -= int(leads)
    return ordered if extra == 0 and leaders == 0 else None
