"""Admissions by Kueue: the nodes that Workloads in a cluster assign to gangs, and the gangs as if not admitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from workbench.model.gang import Gang
from workbench.model.kueue_names import POD_SET_LABEL, WORKLOAD
from workbench.model.labels import HOSTNAME_LABEL
from workbench.objects.kinds import ClusterObjects
from workbench.objects.kueue.workload import KueueWorkload
from workbench.objects.pod import Pod

__all__ = ["admissions_of", "assigned_nodes", "unselected", "without_admission"]


def admissions_of(objects: ClusterObjects, keys: Iterable[str], pods: Iterable[Pod] = ()) -> list[KueueWorkload]:
    """The Workloads with an admission that are about gangs, by namespace and name.

    `keys`: keys of the gangs, or of the objects that own their pods. `pods`: their pods, which may name their Workload.
    """
    wanted = set(keys)
    named = {f"Workload {pod.metadata.namespace}/{pod.metadata.annotations.get(WORKLOAD, '')}" for pod in pods}
    found = [
        one
        for name, one in objects.requests.items()
        if isinstance(one, KueueWorkload) and one.queued.admission is not None
        if name in named or one.gang in wanted
    ]
    return sorted(found, key=lambda one: one.metadata.key.encode())


def without_admission(workload: KueueWorkload) -> KueueWorkload:
    """A Workload as it was before Kueue gave it quota and domains."""
    queued = replace(workload.queued, cluster_queue="", reserved_at=None, admission=None, admitted=False, evicted=False)
    return replace(workload, queued=queued)


def unselected(pod: Pod, workloads: Sequence[KueueWorkload]) -> Pod:
    """A pod with the node filter of its pod set's template: Kueue makes it select the nodes of flavor and domain."""
    for workload in workloads:
        for pod_set, template in zip(workload.pod_sets, workload.templates, strict=True):
            if pod.metadata.labels.get(POD_SET_LABEL) == pod_set.name:
                return replace(pod, spec=replace(pod.spec, filter=template.spec.filter))
    return pod


def assigned_nodes(gang: Gang, workloads: Iterable[KueueWorkload], objects: ClusterObjects) -> dict[str, str | None]:
    """Node of each pending pod of a gang by the assignments of its Workloads; empty if they name no nodes.

    `gang`: its roles have the names of the pod sets. `objects`: the Nodes, which are named by their label of the host.
    Returns dict of str to str or None: by the pod's name. Pods of a role get the hosts in the order of the assignment,
    which is that of their ranks; None: the assignment has fewer.
    """
    by_host = {node.metadata.labels.get(HOSTNAME_LABEL, name): name for name, node in objects.nodes.items()}
    hosts = {role: iter(list(names)) for role, names in _hosts(workloads)}
    if not hosts:
        return {}
    found: dict[str, str | None] = {}
    for pod in gang.pods():
        host = next(hosts.get(pod.role.name, iter(())), None)
        found[pod.name] = None if host is None else by_host.get(host, host)
    return found


def _hosts(workloads: Iterable[KueueWorkload]) -> Iterator[tuple[str, list[str]]]:
    """Hosts of each pod set whose assignment goes down to hosts, one for each pod."""
    for workload in workloads:
        for admitted in workload.queued.admission.pod_sets if workload.queued.admission else ():
            assignment = admitted.assignment
            if assignment is not None and assignment.levels[-1:] == (HOSTNAME_LABEL,):
                yield admitted.name, [values[-1] for values, count in assignment.domains for _ in range(count)]
