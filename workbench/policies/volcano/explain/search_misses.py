"""Reasons why the newest Volcano's search found no HyperNode: what fits in each tier, and what stood in the way.

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
from workbench.model.placement import NearestMiss
from workbench.policies.base import Request
from workbench.policies.volcano.explain.nodes import lacking
from workbench.policies.volcano.gradients import Gradients, large_enough
from workbench.policies.volcano.newest.constraints import Limits
from workbench.policies.volcano.newest.splitting import SubJobs
from workbench.policies.volcano.session.enqueue import min_resources

__all__ = ["Missed", "SearchQuery", "missed"]

Longs = npt.NDArray[np.int64]


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
        """Reason why a HyperNode with room for enough pods cannot hold the job; ``stuck`` is as in `TriedDomains`.

        Room is counted role by role: pods of different roles can be in each other's way.
        """
        if stuck < 0:
            return ", but too few of the sub-groups that must be ready"
        sub, record = self.subs[stuck], self.records[stuck]
        who = f"sub-group {sub.name}" if sub.name else "the job"
        within = "" if sub.limit is None else f" of tier <= {sub.limit}"
        if not self.gradients.of(domain, record, sub.limit):
            near = "" if record == NO_RECORD else f" near {self.topology.domain_name(record)}"
            return f", but no HyperNode{within}{near} inside is allowed for {who}"
        if record == NO_RECORD and not self.gradients.of(domain, record, sub.limit, self.large(sub.pending)):
            room = f"no HyperNode{within} had room for all {sub.n_pods} pending pods of {who}"
            return f", but {room} when the session began"
        inside = np.concatenate([domains for _, domains in self.gradients.of(domain, record, sub.limit)])
        if not sub.name and domain in inside:
            return ", but not for all of them together"
        return f", but no HyperNode{within} inside has room for {who}"


@dataclass(frozen=True, eq=False)
class Missed:
    """For each tier, the HyperNode that came nearest to holding the job (nearest miss), and why it was refused.

    Attributes
    ----------
    misses : dict of int to NearestMiss
        For each tier that was tried, the HyperNode that holds most of the needed pods; ties: the smallest name.
    obstacles : dict of int to str
        For each tier, why that HyperNode is refused although it holds enough pods; empty if it does not hold enough.
    last_tried : int, optional
        The HyperNode that was tried last; None: none was tried.
    """

    misses: dict[int, NearestMiss]
    obstacles: dict[int, str]
    last_tried: int | None


def missed(asked: SearchQuery, tried: TriedDomains) -> Missed:
    """Find the nearest miss of each tier, and its obstacle, after a search that found no HyperNode."""
    misses: dict[int, NearestMiss] = {}
    obstacles: dict[int, str] = {}
    if len(tried.domains) == 0:
        return Missed(misses, obstacles, None)
    topology, needs = asked.topology, asked.needs
    tiers = np.append(topology.tier, topology.top_tier)[tried.domains]
    first = last = 0
    for end in (np.flatnonzero(np.diff(tiers, append=tiers[-1] + 1)) + 1).tolist():
        domains, held = tried.domains[first:end], np.minimum(tried.holds[first:end], needs)
        most = np.flatnonzero(held == held.max())
        i = first + int(most[np.argmin(domains[most])])
        tier, domain, holds = int(tiers[i]), int(tried.domains[i]), int(held[i - first])
        misses[tier] = NearestMiss(tier, topology.domain_name(domain), holds, needs)
        obstacles[tier] = asked.obstacle(int(tried.stuck[i]), domain) if holds >= needs else ""
        last = int(domains.max())
        first = end
    return Missed(misses, obstacles, last)
