"""HyperNodes that running Jobs of HyperJobs hold alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from workbench.jobs.membership import job_of_group
from workbench.model.running_pod import RunningPod
from workbench.model.topology import Topology
from workbench.objects.hyper_job import HYPER_JOB_LABEL
from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod_group import ALLOCATED_HYPERNODE_ANNOTATION

__all__ = ["exclusive_hypernodes", "held_alone"]


def exclusive_hypernodes(cluster: ClusterObjects, running: Iterable[RunningPod], topology: Topology) -> dict[str, str]:
    """HyperNode that each running Job of a HyperJob holds alone, by ``namespace/hyperjob/job``.

    Returns dict of str to str: as `held_alone`; recorded is the annotation volcano.sh/job-allocated-hypernode of the
    PodGroup, or of the Job.
    """
    if not cluster.hyper_jobs:
        return {}
    owners = {}
    for key, job in cluster.jobs.items():
        name = job.metadata.labels.get(HYPER_JOB_LABEL, "")
        if f"{job.metadata.namespace}/{name}" in cluster.hyper_jobs:
            owners[key] = f"{job.metadata.namespace}/{name}/{job.metadata.name}"
    records = {}
    for key in owners:
        records[key] = cluster.jobs[key].metadata.annotations.get(ALLOCATED_HYPERNODE_ANNOTATION, "")
    for group in cluster.pod_groups.values() if owners else ():
        if group.record and (key := job_of_group(group, cluster)) in records:
            records[key] = group.record
    return held_alone(owners, records, running, topology)


def held_alone(
    owners: Mapping[str, str], records: Mapping[str, str], running: Iterable[RunningPod], topology: Topology
) -> dict[str, str]:
    """HyperNode that each running Job of a HyperJob holds alone.

    The result is by ``namespace/hyperjob/job``: the recorded HyperNode if it holds all pods of the Job, else the
    smallest that does; a Job whose pods no HyperNode holds together is left out.

    `owners`: ``namespace/hyperjob/job`` of each gang that is such a Job, by the gang's key as in `RunningPod.gang`.
    `records`: HyperNode recorded for each of these gangs; empty: none.
    """
    nodes: dict[str, set[int]] = {}
    for pod in running if owners else ():
        if pod.gang in owners and pod.node >= 0:
            nodes.setdefault(pod.gang, set()).add(pod.node)
    held = {}
    for key in sorted(nodes):
        mine = np.array(sorted(nodes[key]), dtype=np.int32)
        record = records[key]
        if record and topology.has_domain(record) and np.isin(mine, topology.nodes_of(topology.domain(record))).all():
            held[owners[key]] = record
        elif (domain := topology.smallest_around(mine)) >= 0:
            held[owners[key]] = topology.domain_name(domain)
    return held
