"""`waiting_session`: the jobs that wait in an embedded cluster, as a scheduling session that can be asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workbench.control.cluster import EmbeddedCluster
from workbench.control.views import jobs_of_groups
from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["WaitingSession", "waiting_session"]


@dataclass(frozen=True, eq=False)
class WaitingSession:
    """The jobs that a scheduler left pending in its last session, and the cluster as it is now.

    Attributes
    ----------
    gangs : tuple of Gang
        Named after their Jobs, not after the PodGroups that the controller made for these.
    snapshot : ClusterSnapshot
        Running pods belong to gangs of the same names.
    jobs : mapping of str to str
        Key of the gang of each waiting Job, by the Job's ``namespace/name``: its own, or that of its HyperJob.
    """

    gangs: tuple[Gang, ...]
    snapshot: ClusterSnapshot
    jobs: Mapping[str, str]


def waiting_session(cluster: EmbeddedCluster) -> WaitingSession:
    """The jobs that wait in a cluster at the present time, to be placed again by a policy."""
    names = jobs_of_groups(cluster.store)
    gangs: dict[str, Gang] = {}
    jobs: dict[str, str] = {}
    for row, refusal in cluster.refusals().items():
        gang = refusal.gang
        key = names.get(gang.key, gang.key)
        jobs[row] = key
        if key not in gangs:
            # Pods that exist have names of their own, so the gang's name is free to change. What helps is a change of
            # the Job: the controller writes the PodGroup.
            kind = "Job" if gang.kind == "PodGroup" and gang.key in names else gang.kind
            gangs[key] = replace(gang, name=key.partition("/")[2], kind=kind)
    snapshot = cluster.snapshot
    running = tuple(replace(pod, gang=names[pod.gang]) if pod.gang in names else pod for pod in snapshot.running)
    records = {names.get(key, key): at for key, at in snapshot.records.items()}
    return WaitingSession(tuple(gangs.values()), replace(snapshot, running=running, records=records), jobs)
