"""A gang as it enters a session of `volcano-1.15`: its limits, sub-jobs and HyperNodes so far, read once.

The HyperNodes in which a job and its sub-jobs are allocated are its records. Upstream keeps them in the scheduler's
cache. Here the answer returns them (`Placement.records`) and the next snapshot contains them
(`ClusterSnapshot.records`). Without them, as after a restart of the scheduler, records are recovered from the running
pods, which can give a closer HyperNode than the remembered one. Source: docs/reference/volcano-topology.md, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD
from workbench.model.arrays import Ints, Longs, distinct
from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import TOP, Topology, within_tiers
from workbench.policies.reasons import topology_not_ready
from workbench.policies.request import Declined, Request
from workbench.policies.volcano.parts.gradients import Gradients, large_enough
from workbench.policies.volcano.parts.texts import NODES_IN_TURN, lacking
from workbench.policies.volcano.session.policy import min_resources
from workbench.policies.volcano.v1_15.constraints import Limits, limits_of
from workbench.policies.volcano.v1_15.splitting import SubJobs, split

__all__ = ["SearchQuery", "common_hypernode", "enter", "join", "records_at_open", "records_to_keep", "recover"]


#: In `TriedDomains.stuck`: the HyperNode was not tried, because too few of the pods fit that the search may place.
_NOT_TRIED = -2


@dataclass(eq=False)
class SearchQuery:
    """A gang as it enters: its limits, its sub-jobs and their HyperNodes so far, before anything is placed.

    Made once for a gang (`enter`); the rounds, the search, the stream and the texts of a refusal all read it.

    Attributes
    ----------
    request : Request
        The gang and the present state of the nodes.
    limits : Limits
        Highest tiers that the job and its sub-jobs may use.
    subs : SubJobs
        The job's sub-jobs with their pods.
    records : list of int
        For each sub-job the HyperNode in which it is allocated already, as an index of the topology, or `NO_RECORD`.
    record : int
        HyperNode in which the whole job is allocated already, or `NO_RECORD`.
    """

    request: Request
    limits: Limits
    subs: SubJobs
    records: list[int]
    record: int
    _large: dict[bytes, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.topology = self.request.snapshot.topology

    @property
    def searched(self) -> bool:
        """Whether HyperNodes are searched for the job; otherwise its pods may use any node."""
        return self.limits.job is not None or self.request.gang.sub_grouped

    @property
    def recorded(self) -> bool:
        """Whether the next session must remember a HyperNode for the gang: it has a constraint or sub-groups."""
        return self.request.gang.sub_grouped or _has_topology(self.request.gang)

    def on(self, request: Request) -> SearchQuery:
        """The query on another state of the nodes."""
        return replace(self, request=request)

    def unready(self) -> Declined | None:
        """The refusal of a gang with a topology constraint while the HyperNodes form no tree; else None."""
        if self.topology.ready or not _has_topology(self.request.gang):
            return None
        return Declined((topology_not_ready(self.topology),))

    @cached_property
    def gradients(self) -> Gradients:
        """The HyperNodes to try, tier by tier."""
        return Gradients(self.topology)

    @property
    def idle_at_open(self) -> Longs:
        """Idle resources of each HyperNode when the session began, when upstream computes these sums once."""
        return self.request.snapshot.domain_idle

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


def _has_topology(gang: Gang) -> bool:
    """Whether the gang or one of its sub-groups has a topology constraint, even an empty one."""
    return gang.constraint is not None or any(group.constraint is not None for group in gang.sub_groups)


def enter(request: Request, *, gradients: bool) -> SearchQuery:
    """Let a gang enter: read its limits, split it into sub-jobs, and find the HyperNodes in which these are allocated.

    `gradients`: as for `limits_of`.
    """
    gang, snapshot = request.gang, request.snapshot
    limits = limits_of(gang, snapshot.topology, gradients=gradients)
    subs = split(gang, snapshot, request.demand, limits)
    return SearchQuery(request, limits, subs, *records_at_open(gang, subs, snapshot))


def records_at_open(gang: Gang, subs: SubJobs, snapshot: ClusterSnapshot) -> tuple[list[int], int]:
    """HyperNodes in which the sub-jobs and the job are allocated when a session opens (their records).

    Returns
    -------
    records : list of int
        HyperNode in which each sub-job is allocated: the remembered one while its pods run, else recovered from its
        running pods.
    job : int
        HyperNode in which the job is allocated: the remembered one, or the LCA of its sub-jobs' HyperNodes if one of
        those was recovered.
    """
    topology = snapshot.topology
    if not any(map(len, subs.running_nodes)):
        return [NO_RECORD] * len(subs.names), NO_RECORD
    key = gang.key
    before = [_remembered(snapshot, f"{key}/{name}") if snapshot.records else NO_RECORD for name in subs.names]
    records = [
        recover(nodes, topology, known) if scored and len(nodes) else NO_RECORD
        for nodes, scored, known in zip(subs.running_nodes, subs.topology.tolist(), before, strict=True)
    ]
    job = _remembered(snapshot, key)
    recovered = any(b == NO_RECORD != r for b, r in zip(before, records, strict=True))
    return records, job if job != NO_RECORD and not recovered else common_hypernode(records, topology)


def records_to_keep(
    key: str, names: Sequence[str], records: Sequence[int], job: int, topology: Topology
) -> dict[str, str]:
    """Names of the HyperNodes in which a job and its sub-jobs are allocated, as the next session will read them.

    `key`: ``namespace/name`` of the gang. `records`: HyperNode of each sub-job; `NO_RECORD`: none, the sub-job is left
    out. `job`: HyperNode of the job, or `NO_RECORD`. Returns dict of str to str: name of the HyperNode by
    ``namespace/name`` and ``namespace/name/sub-group``.
    """
    hypernodes = topology.domain_names
    top = "" if job >= 0 and min(records) >= 0 else topology.domain_name(-1)
    kept = {
        f"{key}/{name}": hypernodes[record] if record >= 0 else top
        for name, record in zip(names, records, strict=True)
        if record != NO_RECORD
    }
    return kept if job == NO_RECORD else {key: hypernodes[job] if job >= 0 else top, **kept}


def _remembered(snapshot: ClusterSnapshot, key: str) -> int:
    """HyperNode remembered for a job or sub-job (`key`); `NO_RECORD`: none, or it no longer exists."""
    name, topology = snapshot.records.get(key, ""), snapshot.topology
    if name and name == topology.domain_name(-1):
        return -1
    return topology.domain(name) if name and topology.has_domain(name) else NO_RECORD


def join(a: int, b: int, topology: Topology) -> int:
    """Lowest common ancestor of two HyperNodes; if one of them is `NO_RECORD`, the other.

    `a`, `b`: HyperNodes, or `NO_RECORD` for an empty record.
    """
    if a == NO_RECORD:
        return b
    return a if b == NO_RECORD else topology.lca(a, b)


def common_hypernode(records: Iterable[int], topology: Topology) -> int:
    """Lowest common ancestor of the given HyperNodes, leaving out `NO_RECORD`; `NO_RECORD` if no other is given."""
    found = NO_RECORD
    for record in records:
        found = join(found, record, topology)
    return found


def recover(running_nodes: Ints, topology: Topology, before: int = NO_RECORD) -> int:
    """HyperNode in which a sub-job is allocated when a session opens (its record), found from its running pods.

    `running_nodes`: ndarray of int32; node of each running pod of the sub-job; -1: a node that the snapshot lacks.
    `before`: the sub-job's record after the last session; kept while the sub-job has running pods. Returns `NO_RECORD`
    if no pod runs; otherwise `before`, if it is not `NO_RECORD`. Otherwise the HyperNode of the lowest tier that holds
    all these nodes, or else the virtual top; ties: the smallest name. `NO_RECORD` if a pod runs on a node that the
    snapshot lacks, because no HyperNode holds that node.
    """
    if len(running_nodes) == 0:
        return NO_RECORD
    if before != NO_RECORD:
        return before
    nodes = distinct(running_nodes)
    if nodes[0] < 0:
        return NO_RECORD
    start, domains = topology.node_domains
    common = domains[start[nodes[0]] : start[nodes[0] + 1]]
    for node in nodes[1:]:
        common = np.intersect1d(common, domains[start[node] : start[node + 1]], assume_unique=True)
    if len(common) == 0:
        return TOP
    return int(common[np.lexsort((common, topology.tier[common]))[0]])
