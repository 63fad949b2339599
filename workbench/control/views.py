"""The Jobs and pods of a cluster as rows for tables and data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from workbench.control.kubelets import containers_environment
from workbench.control.store import Object, ReadStore, job_phase, phase_of
from workbench.jobs.before_submission import unmet_dependency_of_job
from workbench.jobs.membership import JOB_LABEL
from workbench.model.gpu_annotation import GPU_ANNOTATION, recorded_gpus
from workbench.model.topology import Topology
from workbench.objects.job import read_job
from workbench.objects.pod import read_pod
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION

__all__ = ["JobRow", "PodRow", "job_rows", "jobs_of_groups", "pod_rows", "row_of"]


class JobRow(NamedTuple):
    """One Job, or one PodGroup of pods without a Job.

    Attributes
    ----------
    phase : str
        Phase of the Job, or of the PodGroup.
    pending, running, succeeded, failed : int
        Pods by phase.
    hypernode : str
        Lowest HyperNode that holds all of its pods that have a node; empty if there is none.
    tier : int, optional
        Tier of that HyperNode; None without one.
    waits_for : str
        The scheduler's reason why pods wait for a node; before it a dependency (dependsOn) that can never be met.
        Empty if no pod waits.
    never_starts : bool
        The dependency in `waits_for` keeps the Job from ever starting.
    """

    namespace: str
    name: str
    kind: str
    phase: str
    pending: int
    running: int
    succeeded: int
    failed: int
    hypernode: str
    tier: int | None
    waits_for: str
    never_starts: bool = False


class PodRow(NamedTuple):
    """One pod.

    Attributes
    ----------
    job : str
        Name of its Job; empty without one.
    group : str
        Name of its PodGroup; empty without one.
    node : str
        Name of the pod's node; empty if it has none yet.
    gpus : tuple of int
        Numbers of the pod's GPUs on its host, ascending; empty if it has none or they were not chosen.
    environment : dict of str to dict of str to str
        Environment variables that the processes of each container see, by the container's name.
    """

    namespace: str
    name: str
    job: str
    group: str
    phase: str
    node: str
    gpus: tuple[int, ...]
    environment: dict[str, dict[str, str]]


def pod_rows(store: ReadStore) -> list[PodRow]:
    """One row for each pod of a cluster, sorted by namespace and name."""
    return [
        PodRow(
            namespace=pod["metadata"]["namespace"],
            name=pod["metadata"]["name"],
            job=(pod["metadata"].get("labels") or {}).get(JOB_LABEL, ""),
            group=(pod["metadata"].get("annotations") or {}).get(GROUP_NAME_ANNOTATION, ""),
            phase=phase_of(pod),
            node=pod["spec"].get("nodeName") or "",
            gpus=_gpus(pod),
            environment=containers_environment(store, pod),
        )
        for pod in store.list("Pod")
    ]


def jobs_of_groups(store: ReadStore) -> dict[str, str]:
    """The ``namespace/name`` of each Job by that of the PodGroup which the Job controller makes for it."""
    found = (one["metadata"] for one in store.list("Job"))
    return {f"{one['namespace']}/{one['name']}-{one['uid']}": f"{one['namespace']}/{one['name']}" for one in found}


def job_rows(store: ReadStore, topology: Topology) -> list[JobRow]:
    """One row for each Job of a cluster and each PodGroup without a Job, sorted by namespace and name.

    `topology`: HyperNodes of the cluster, from which a row's `hypernode` and `tier` are taken.
    """
    pods: dict[tuple[str, str], list[Object]] = {}
    for pod in store.list("Pod"):
        group = (pod["metadata"].get("annotations") or {}).get(GROUP_NAME_ANNOTATION)
        if group:
            pods.setdefault((pod["metadata"]["namespace"], group), []).append(pod)
    found = []
    groups = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in store.list("PodGroup")}
    for job in store.list("Job"):
        metadata = job["metadata"]
        key = metadata["namespace"], f"{metadata['name']}-{metadata['uid']}"
        phase = job_phase(job) or "Pending"
        row = row_of(metadata, "Job", phase, pods.get(key, []), topology, _reason(groups.pop(key, None)))
        found.append(_with_dependency(row, job, pods.get(key, [])))
    for key, group in groups.items():
        phase = phase_of(group)
        found.append(row_of(group["metadata"], "PodGroup", phase, pods.get(key, []), topology, _reason(group)))
    return sorted(found, key=lambda row: (row.namespace.encode(), row.name.encode(), row.kind))


def row_of(metadata: Object, kind: str, phase: str, pods: Sequence[Object], topology: Topology, reason: str) -> JobRow:
    """The row of a job.

    `metadata`: metadata of the job's object. `pods`: the job's pods. `reason`: why it waits, if one of its pods has no
    node or there is none yet.
    """
    counts = Counter(phase_of(pod) for pod in pods)
    names = {pod["spec"].get("nodeName") or "" for pod in pods}
    homes = [int(topology.home_of_node[topology.node(name)]) for name in names if topology.has_node(name)]
    # Without a HyperNode there is nothing to be inside of.
    domain = reduce(topology.lca, homes) if homes and topology.n_domains else None
    waits = [pod for pod in pods if not pod["spec"].get("nodeName")]
    return JobRow(
        namespace=metadata["namespace"],
        name=metadata["name"],
        kind=kind,
        phase=phase,
        pending=counts["Pending"],
        running=counts["Running"],
        succeeded=counts["Succeeded"],
        failed=counts["Failed"],
        hypernode="" if domain is None else topology.domain_name(domain),
        tier=None if domain is None else topology.domain_tier(domain),
        waits_for=reason if waits or not pods else "",
    )


def _with_dependency(row: JobRow, job: Object, pods: list[Object]) -> JobRow:
    """The row of a Job with what only the Job controller knows of why it waits: which pods it creates later."""
    if not row.waits_for:
        return row
    why = unmet_dependency_of_job(read_job(job), [read_pod(pod) for pod in pods])
    if why is None:
        return row
    return row._replace(waits_for=f"{why.message} (Volcano: {row.waits_for})", never_starts=True)


def _reason(group: Object | None) -> str:
    conditions = ((group or {}).get("status") or {}).get("conditions") or ()
    found = (one for one in conditions if one.get("type") == "Unschedulable" and one.get("status") == "True")
    condition: Object = next(found, {})
    return str(condition.get("message") or "")


def _gpus(pod: Object) -> tuple[int, ...]:
    mask = recorded_gpus((pod["metadata"].get("annotations") or {}).get(GPU_ANNOTATION)) or 0
    return tuple(gpu for gpu in range(mask.bit_length()) if mask >> gpu & 1)
