"""`assemble`: make a snapshot and gangs from a cluster's Kubernetes objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from workbench.cluster.exclusive import exclusive_hypernodes
from workbench.cluster.node_table import Matrices, NodeTable, read_nodes
from workbench.jobs.gangs import Workload, read_workload
from workbench.jobs.running import running_pods
from workbench.jobs.schedulers import TakenSchedulers
from workbench.model.arrays import Longs
from workbench.model.counted import counted
from workbench.model.extras import Extra
from workbench.model.gang import Gang
from workbench.model.kueue_request import KueueRequest
from workbench.model.notice import Notice
from workbench.model.resources import request_vector
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot, Queue, gpu_words
from workbench.objects.device_info import DEVICE_INFO_PREFIX
from workbench.objects.hypernode import ignored_members, selector_text
from workbench.objects.kinds import ClusterObjects
from workbench.objects.node import Node

__all__ = ["assemble", "join", "member_gaps", "other_gaps"]

#: Members of one HyperNode that a notice names.
_MOST_MEMBERS = 3


def assemble(
    cluster: ClusterObjects,
    matrices: Matrices = (),
    source: str = "",
    taken_at: str = "",
    *,
    any_scheduler: TakenSchedulers = False,
    gpus_per_node: int = 0,
) -> tuple[ClusterSnapshot, Workload]:
    """Make the snapshot and the gangs of a cluster from its Kubernetes objects.

    Raises InputError: a matrix whose size is not the node's number of GPUs, a pattern that RE2 refuses.

    Parameters
    ----------
    matrices : sequence of (pattern, BandwidthMatrix)
        For nodes whose names match (RE2, unanchored); the last match wins, also over the Device's matrix.
    source, taken_at : str
        As in `ClusterSnapshot`.
    any_scheduler : bool or collection of str
        As in `workbench.jobs.gangs.read_workload`.
    gpus_per_node : int
        GPUs of every node that reports no resources at all; 0: such nodes offer nothing.

    Returns
    -------
    ClusterSnapshot
        Nodes in the topology's order. GPUs of a node: the healthy ones of its Device, else as many as its GPU
        resources count; without NPUs that Ascend's device plugin reports as faulty.
    Workload
        Gangs, pods that hold resources, and refused objects.
    """
    table = read_nodes(cluster, matrices, gpus_per_node)
    workload = read_workload(cluster, any_scheduler=any_scheduler)
    running, free, assumed = running_pods(workload.holding, table.index, table.total, workload.queues, workload.labels)
    snapshot = join(
        table,
        workload,
        running=running,
        used=_used(running, table.columns, len(table.ordered)),
        gpu_free=gpu_words([*table.total, *free])[len(free) :].copy(),
        queues={"default": Queue("default"), **cluster.queues},
        running_gaps=assumed,
        last_gaps=other_gaps(cluster, table.nodes, workload.gangs, member_gaps(cluster)),
        exclusive=exclusive_hypernodes(cluster, running, table.topology),
        extras=cluster.extras,
        source=source,
        taken_at=taken_at,
    )
    return snapshot, workload


def join(
    table: NodeTable,
    workload: Workload,
    *,
    running: tuple[RunningPod, ...],
    used: Longs,
    gpu_free: npt.NDArray[np.uint64],
    queues: Mapping[str, Queue],
    running_gaps: Sequence[Notice],
    last_gaps: Sequence[Notice],
    exclusive: Mapping[str, str],
    extras: Mapping[type[Extra], Extra],
    source: str,
    taken_at: str,
) -> ClusterSnapshot:
    """Combine the node table, the running pods and further parts of a cluster into a snapshot.

    `running`, `queues`, `exclusive`, `extras`, `source`, `taken_at`: as in `ClusterSnapshot`. `used`: ndarray of shape
    (n, r), int64; resources of the pods on each node, in base units. `gpu_free`: ndarray of shape (n, w), uint64; free
    GPUs of each node, as bits. `running_gaps`, `last_gaps`: gaps about the running pods, and those of `other_gaps`.
    """
    gated = []
    if workload.gated:
        text = f"scheduling gates hold back {counted(workload.gated, 'pod')}: not tried"
        gated.append(Notice("scheduling-gates", text, numbers={"count": workload.gated}))
    return ClusterSnapshot(
        topology=table.topology,
        resources=table.columns,
        allocatable=table.allocatable,
        used=used,
        labels=table.labels,
        taints=table.taints,
        unschedulable=table.unschedulable,
        not_ready=table.not_ready,
        gpu_total=table.gpu_total,
        gpu_free=gpu_free,
        matrices=table.matrices,
        node_matrix=table.node_matrix,
        queues=queues,
        running=running,
        gaps=(*table.gaps, *running_gaps, *table.matrix_gaps, *gated, *workload.notes, *last_gaps),
        exclusive=exclusive,
        extras=extras,
        source=source,
        taken_at=taken_at,
        addresses=table.addresses,
        node_uids=table.uids,
        node_resource_versions=table.resource_versions,
    )


def _used(running: Sequence[RunningPod], columns: tuple[str, ...], n_nodes: int) -> Longs:
    used = np.zeros((n_nodes, len(columns)), dtype=np.int64)
    for pod in running:
        if pod.node >= 0:
            used[pod.node] += request_vector(columns, pod.requests)[0]
    return used


def other_gaps(
    cluster: ClusterObjects, nodes: Mapping[str, Node], gangs: Sequence[Gang], of_members: Sequence[Notice]
) -> list[Notice]:
    """Notices about gaps of the input that concern Devices, queues and HyperNodes.

    Gaps about nodes, matrices and running pods are found elsewhere.

    `nodes`: nodes of the cluster by name. `gangs`: gangs whose queues and tiers are checked. `of_members`: the notices
    of `member_gaps`.
    """
    gaps: list[Notice] = []
    homeless = sum(name not in nodes for name in cluster.devices)
    if homeless:
        text = f"{homeless} Devices belong to nodes that are not in the input"
        gaps.append(Notice("device-without-node", text, numbers={"count": homeless}))
    unfound = sum(name not in nodes for name in cluster.device_infos)
    if unfound:
        text = f"{counted(unfound, 'ConfigMap')} {DEVICE_INFO_PREFIX}… of nodes that are not in the input"
        gaps.append(Notice("device-without-node", text, numbers={"count": unfound}))
    named = {gang.queue for gang in gangs if gang.queue != gang.extra(KueueRequest).queue}
    unknown = sorted(named - set(cluster.queues) - {"default"})
    if unknown:
        text = f"queues not in the input: {', '.join(unknown)}"
        gaps.append(Notice("unknown-queue", text, numbers={"count": len(unknown)}))
    gaps += of_members
    if not cluster.hypernodes and any(gang.constraint for gang in gangs):
        gaps.append(Notice("no-hypernodes", "no HyperNode in the input"))
    return gaps


def member_gaps(cluster: ClusterObjects) -> list[Notice]:
    """Notices about members of HyperNodes that Volcano ignores, which depend on the HyperNodes alone."""
    gaps: list[Notice] = []
    for name, hypernode in sorted(cluster.hypernodes.items(), key=lambda item: item[0].encode()):
        if ignored := ignored_members(hypernode):
            listed = ", ".join(
                f"spec.members[{i}] (HyperNodes by {selector_text(hypernode.members[i].selector)})"
                for i in ignored[:_MOST_MEMBERS]
            )
            more = f" and {len(ignored) - _MOST_MEMBERS} more" if len(ignored) > _MOST_MEMBERS else ""
            text = f"HyperNode {name}: Volcano ignores {listed}{more}; list them by name, only such members count"
            gaps.append(Notice("ignored-member", text, f"HyperNode {name}", {"count": len(ignored)}))
    return gaps
