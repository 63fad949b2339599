"""HyperNodes in which a job and its sub-jobs are allocated (records), kept from one session to the next.

Upstream keeps the records in the scheduler's cache. Here the answer returns them (`Placement.records`) and the next
snapshot contains them (`ClusterSnapshot.records`). Without them, as after a restart of the scheduler, records are
recovered from the running pods, which can give a closer HyperNode than the remembered one. Source:
docs/reference/volcano-topology.md, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from workbench.kernels.domains import NO_RECORD
from workbench.model.arrays import Ints, distinct
from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import TOP, Topology
from workbench.policies.volcano.v1_15.splitting import SubJobs

__all__ = ["common_hypernode", "join", "records_at_open", "records_to_keep", "recover"]


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

    Parameters
    ----------
    key : str
        ``namespace/name`` of the gang.
    names : sequence of str
        Names of the sub-jobs.
    records : sequence of int
        HyperNode of each sub-job; `NO_RECORD`: none, the sub-job is left out.
    job : int
        HyperNode of the job, or `NO_RECORD`.

    Returns
    -------
    dict of str to str
        Name of the HyperNode by ``namespace/name`` and ``namespace/name/sub-group``.
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
    """HyperNode that was remembered for a job or sub-job (``key``) in an earlier session.

    `NO_RECORD` if there is none or the HyperNode no longer exists.
    """
    name, topology = snapshot.records.get(key, ""), snapshot.topology
    if name and name == topology.domain_name(-1):
        return -1
    return topology.domain(name) if name and topology.has_domain(name) else NO_RECORD


def join(a: int, b: int, topology: Topology) -> int:
    """Lowest common ancestor of two HyperNodes; if one of them is `NO_RECORD`, the other.

    Parameters
    ----------
    a, b : int
        HyperNodes, or `NO_RECORD` for an empty record.
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

    Parameters
    ----------
    running_nodes : ndarray of int32
        Node of each running pod of the sub-job; -1: a node that the snapshot lacks.
    before : int
        The sub-job's record after the last session; kept while the sub-job has running pods.

    Returns
    -------
    int
        `NO_RECORD` if no pod runs; otherwise `before`, if it is not `NO_RECORD`. Otherwise the HyperNode of the lowest
        tier that holds all these nodes, or else the virtual top; ties: the smallest name. `NO_RECORD` if a pod runs on
        a node that the snapshot lacks, because no HyperNode holds that node.
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
