"""Reasons why Volcano 1.15's search found no HyperNode: what fits in each tier, and what stood in the way.

The search itself is the kernel's (`workbench.kernels.two_level`); nothing here decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.two_level import TriedDomains
from workbench.model.placement import NearestMiss, best_of
from workbench.model.topology import within_tiers
from workbench.policies.nearest import nearest_misses
from workbench.policies.request import Request
from workbench.policies.volcano.explain.nodes import NODES_IN_TURN, lacking
from workbench.policies.volcano.gradients import Gradients, large_enough
from workbench.policies.volcano.session.enqueue import min_resources
from workbench.policies.volcano.v1_15.constraints import Limits
from workbench.policies.volcano.v1_15.splitting import SubJobs

__all__ = ["Missed", "SearchQuery", "missed"]

Longs = npt.NDArray[np.int64]

#: In `TriedDomains.stuck`: the HyperNode was not tried, because too few of the pods fit that the search may place.
_NOT_TRIED = -2


@dataclass(eq=False)
class SearchQuery:
    """The job that a search looked for HyperNodes for, with its limits, as it stood before anything was placed.

    Used to explain why HyperNodes were refused.

    Attributes
    ----------
    request : Request
    subs : SubJobs
        The job's sub-jobs with their pods.
    limits : Limits
        Highest tiers that the job and its sub-jobs may use.
    records : sequence of int
        For each sub-job the HyperNode in which it is allocated already, as an index of the topology, or `NO_RECORD`.
    record : int
        HyperNode in which the whole job is allocated already, or `NO_RECORD`.
    """

    request: Request
    subs: SubJobs
    limits: Limits
    records: Sequence[int]
    record: int
    _large: dict[bytes, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.topology = self.request.snapshot.topology
        self.gradients = Gradients(self.topology)
        # Of the moment when the session began: upstream computes these sums once.
        self.idle_at_open = self.request.snapshot.domain_idle

    @cached_property
    def needs(self) -> int:
        """Number of pods that the job needs to start, at least 1."""
        return max(self.request.progress().missing, 1)

    @property
    def minimum(self) -> Longs | None:
        """minResources of the job's PodGroup, int64 (r,); None if absent, so that no HyperNode counts as too small."""
        return min_resources(self.request.gang, self.request.snapshot.resources)

    def large(self, amount: Longs) -> npt.NDArray[np.bool_]:
        """Whether each HyperNode had ``amount`` (r,) idle at the session's start: bool (d + 1,), virtual top last."""
        key = amount.tobytes()
        if key not in self._large:
            self._large[key] = large_enough(self.idle_at_open, amount)
        return self._large[key]

    def short_of(self, amount: Longs, domain: int) -> str:
        """Text with the resources of ``amount`` (r,) that were not idle in a HyperNode when the session began."""
        return lacking(self.request.snapshot.resources, amount, self.idle_at_open[domain])

    def obstacle(self, stuck: int, domain: int) -> str:
        """Reason why a HyperNode with room for enough pods cannot hold the job; ``stuck`` is as in `TriedDomains`."""
        if stuck == _NOT_TRIED:
            return ", but not for as many pods as the search may place"
        if stuck < 0:
            return ", but too few of the sub-groups that must be ready"
        sub, record = self.subs[stuck], self.records[stuck]
        who = f"sub-group {sub.name}" if sub.name else "the job"
        within = within_tiers(self.topology, sub.limit)
        if not self.gradients.of(domain, record, sub.limit):
            near = "" if record == NO_RECORD else f" near {self.topology.place_name(record)}"
            return f", but no HyperNode{within}{near} inside is allowed for {who}"
        if record == NO_RECORD and not self.gradients.of(domain, record, sub.limit, self.large(sub.pending)):
            room = f"no HyperNode{within} had room for all {sub.n_pods} pending pods of {who}"
            return f", but {room} when the session began"
        inside = np.concatenate([domains for _, domains in self.gradients.of(domain, record, sub.limit)])
        if not sub.name and domain in inside:
            return NODES_IN_TURN
        return f", but no HyperNode{within} inside has room for {who}"


@dataclass(frozen=True, eq=False)
class Missed:
    """For each tier, the HyperNode that came nearest to holding the job (nearest miss), and what refused the best one.

    Attributes
    ----------
    misses : tuple of NearestMiss
        One for each tier that the job may use, also where the search left HyperNodes out beforehand.
    obstacle : str
        Why the best of them is refused although it has room for enough pods; empty if it has not.
    last_tried : int, optional
        The HyperNode that was tried last; None: none was tried.
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
