"""Refusals of `volcano-1.15`: what fits in each tier, and what stood in the way of the search.

The search itself is the kernel's (`workbench.kernels.two_level`); nothing here decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.two_level import TriedDomains, TwoLevel
from workbench.model.notice import Notice
from workbench.model.placement import NearestMiss, best_of
from workbench.model.topology import VIRTUAL_TOP as VIRTUAL_TOP_NAME
from workbench.model.topology import within_tiers
from workbench.policies.nearest import nearest_misses
from workbench.policies.reasons import fit_reason, gang_text, gang_untried
from workbench.policies.request import Declined
from workbench.policies.volcano.parts.texts import pods_text
from workbench.policies.volcano.v1_15.compiled_search import last_fit
from workbench.policies.volcano.v1_15.search_query import SearchQuery

__all__ = ["Missed", "declined_by_search", "missed"]


@dataclass(frozen=True, eq=False)
class Missed:
    """For each tier, the HyperNode that came nearest to holding the job (nearest miss), and what refused the best one.

    `misses`: one for each tier that the job may use, also where the search left HyperNodes out beforehand. `obstacle`:
    why the best of them is refused although it has room for enough pods; empty if it has not. `last_tried`: the
    HyperNode that was tried last; None: none was tried.
    """

    misses: tuple[NearestMiss, ...]
    obstacle: str
    last_tried: int | None


def missed(asked: SearchQuery, tried: TriedDomains) -> Missed:
    """Find the nearest miss of each tier, and the obstacle of the best, after a search that found no HyperNode."""
    topology, limit = asked.topology, asked.limits.job
    allowed = None
    if limit is not None:
        allowed = np.zeros(topology.n_domains + 1, dtype=np.bool_)
        for _, domains in asked.gradients.of(-1, asked.record, limit):
            allowed[domains] = True
    misses = nearest_misses(asked.request, allowed)
    last = None
    if len(tried.domains):
        tiers = np.append(topology.tier, topology.top_tier)[tried.domains]
        last = int(tried.domains[tiers == tiers[-1]].max())
    best = best_of(misses) if misses else None
    if best is None or best.holds < best.needs:
        return Missed(misses, "", last)
    domain = topology.domain(best.domain) if topology.has_domain(best.domain) else -1
    at = np.flatnonzero(tried.domains == domain)
    if len(at):
        return Missed(misses, asked.obstacle(int(tried.stuck[at[0]]), domain), last)
    return Missed(misses, ", but less than minResources was idle there when the session began", last)


def declined_by_search(asked: SearchQuery, search: TwoLevel) -> Declined:
    """Make the refusal of a gang for which the search found no HyperNode, with the texts that Volcano would write."""
    request, topology = asked.request, asked.topology
    demand = request.demand
    found = missed(asked, search.tried())
    takes_one = search.takes_one().tolist()
    reasons = [_no_domain(asked, found)]
    reasons += [
        fit_reason(request, r, demand.idle) for r, fits in zip(demand.order, takes_one, strict=True) if not fits
    ]
    last = found.last_tried
    if last is None:
        reasons.append(gang_untried(request, asked.needs))
    else:
        role, idle, nodes = last_fit(request, search, last)
        name = "" if last < 0 else topology.domain_name(last)
        reasons.append(gang_text(request, asked.needs, role, idle, nodes, name))
    return Declined(tuple(reasons), found.misses, asked.limits.warnings)


def _no_domain(asked: SearchQuery, found: Missed) -> Notice:
    """Notice about the HyperNode with room for most of the gang's pods, and why it does not hold the gang."""
    within = within_tiers(asked.topology, asked.limits.job)
    if not found.misses:
        text = f"there is no HyperNode{within}"
        if asked.record != NO_RECORD:
            text = f"no HyperNode{within} near the running pods is allowed"
        return Notice("no-domain", text, numbers={"count": 0})
    best, pods = best_of(found.misses), pods_text(asked.needs)
    if best.holds < best.needs:
        text = f"no HyperNode{within} holds {pods}: best {best.place} holds {best.holds} of {best.needs}"
        if best.domain == VIRTUAL_TOP_NAME:
            text = f"not even the whole cluster holds {pods}: it holds {best.holds}"
    else:
        text = f"no HyperNode{within} takes the job: {best.place} has room for the {pods} needed"
        text += found.obstacle
    return Notice("no-domain", text, numbers={"count": len(found.misses)})
