"""Objects of a cluster to a snapshot and gangs: the one place where they are joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.jobs.gangs import Workload, read_workload
from workbench.jobs.running import running_pods
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.gang import Gang
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.resources import PODS, UNLIMITED, amount_text, is_gpu_resource, request_vector, resource_columns
from workbench.model.snapshot import ClusterSnapshot, Queue, RunningPod, gpu_words
from workbench.objects.device import Device
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.selectors import compile_pattern
from workbench.topology.build import build_topology
from workbench.topology.generate import NodeShape

__all__ = ["assemble", "assign_matrices"]

Longs = npt.NDArray[np.int64]


def assemble(
    cluster: ClusterObjects,
    matrices: Sequence[tuple[str, BandwidthMatrix]] = (),
    source: str = "",
    taken_at: str = "",
    *,
    any_scheduler: bool = False,
    gpus_per_node: int = 0,
) -> tuple[ClusterSnapshot, Workload]:
    """Join the objects of one cluster.

    Parameters
    ----------
    cluster : ClusterObjects
    matrices : sequence of (pattern, BandwidthMatrix)
        For nodes whose names match (RE2, unanchored); the last match wins, also over the Device's matrix.
    source, taken_at : str
        As in `ClusterSnapshot`.
    any_scheduler : bool
        As in `workbench.jobs.gangs.read_workload`.
    gpus_per_node : int
        GPUs of every node that reports no resources at all; 0: such nodes offer nothing.

    Returns
    -------
    ClusterSnapshot
        Nodes in the topology's order. GPUs of a node: the healthy ones of its Device, else as many as its GPU
        resources count.
    Workload
        Gangs, refused objects.

    Raises
    ------
    InputError
        A matrix whose size is not the node's number of GPUs, a pattern that RE2 refuses.
    """
    gaps: list[str] = []
    nodes = cluster.nodes or _nodes_of_members(cluster, gaps)
    if gpus_per_node:
        nodes = _with_assumed_gpus(nodes, gpus_per_node, gaps)
    topology = build_topology(
        cluster.hypernodes.values(), list(nodes), [node.metadata.labels for node in nodes.values()]
    )
    ordered = [nodes[name] for name in topology.node_names]
    workload = read_workload(cluster, any_scheduler=any_scheduler)
    columns = resource_columns(set().union(*(node.allocatable for node in ordered)))
    allocatable = _allocatable(ordered, columns, gaps)
    gpu_columns = [i for i, name in enumerate(columns) if is_gpu_resource(name)]
    total = _gpu_masks(ordered, allocatable[:, gpu_columns].sum(axis=1).tolist(), cluster.devices, gaps)
    index = {name: i for i, name in enumerate(topology.node_names)}
    running, free, assumed = running_pods(workload.holding, index, total, workload.queues, workload.labels)
    gaps += assumed
    known, node_matrix = _matrices(ordered, total, cluster.devices, matrices, gaps)
    without = sum(1 for mask, number in zip(total, node_matrix, strict=True) if mask.bit_count() > 1 and number < 0)
    if without:
        gaps.append(f"no bandwidth matrix for {without} nodes with several GPUs")
    if workload.gated:
        gaps.append(f"scheduling gates hold back {workload.gated} pods: not tried")
    gaps += workload.notes
    gaps += _other_gaps(cluster, nodes, workload.gangs)
    words = gpu_words([*total, *free])
    snapshot = ClusterSnapshot(
        topology=topology,
        resources=columns,
        allocatable=allocatable,
        used=_used(running, columns, len(ordered)),
        labels=NodeLabels.from_rows(topology.node_names, [node.metadata.labels for node in ordered]),
        taints=NodeTaints.from_rows([node.taints for node in ordered]),
        unschedulable=np.array([node.unschedulable for node in ordered], dtype=np.bool_),
        gpu_total=words[: len(ordered)].copy(),
        gpu_free=words[len(ordered) :].copy(),
        matrices=known,
        node_matrix=np.array(node_matrix, dtype=np.int32),
        queues={"default": Queue("default"), **cluster.queues},
        running=running,
        gaps=tuple(gaps),
        source=source,
        taken_at=taken_at,
        addresses=tuple(node.internal_ip for node in ordered) if any(node.internal_ip for node in ordered) else (),
    )
    return snapshot, workload


def _nodes_of_members(cluster: ClusterObjects, gaps: list[str]) -> dict[str, Node]:
    """Without any Node object the exact members of HyperNodes still tell which nodes there are."""
    names = {
        member.selector.exact
        for hypernode in cluster.hypernodes.values()
        for member in hypernode.members
        if member.type == "Node" and member.selector.exact
    }
    if names:
        gaps.append(f"no Node in the input: the {len(names)} nodes that HyperNodes name have no resources")
    else:
        gaps.append("no Node in the input")
    selecting = sum(
        any(member.type == "Node" and member.selector.exact is None for member in hypernode.members)
        for hypernode in cluster.hypernodes.values()
    )
    if selecting:
        gaps.append(f"{selecting} HyperNodes select nodes by pattern or label: without a Node they hold none")
    return {name: Node(Metadata(name), {}) for name in sorted(names, key=str.encode)}


def _with_assumed_gpus(nodes: Mapping[str, Node], gpus: int, gaps: list[str]) -> dict[str, Node]:
    """Nodes without resources as drawn ones are: with GPUs, and the cores and memory of a usual machine."""
    silent = [name for name, node in nodes.items() if not node.allocatable]
    offered = NodeShape(devices={"nvidia.com/gpu": gpus}).resources
    if silent:
        amounts = ", ".join(f"{amount_text(name, amount)} {name}" for name, amount in offered.items())
        gaps.append(f"assumed for {len(silent)} nodes that report no resources: {amounts} each")
    else:
        gaps.append("every node reports its resources: no GPUs were assumed")
    return {**nodes, **{name: replace(nodes[name], allocatable=offered) for name in silent}}


def _allocatable(nodes: Sequence[Node], columns: tuple[str, ...], gaps: list[str]) -> Longs:
    offered = [node.allocatable for node in nodes]
    allocatable = np.empty((len(nodes), len(columns)), dtype=np.int64)
    for i, name in enumerate(columns):
        allocatable[:, i] = [amounts.get(name, 0) for amounts in offered]
    without_pods = np.array([PODS not in amounts for amounts in offered], dtype=np.bool_)
    allocatable[without_pods, columns.index(PODS)] = UNLIMITED
    if without_pods.any():
        gaps.append(f"{int(without_pods.sum())} nodes do not say how many pods they take: no limit")
    empty = sum(not amounts for amounts in offered)
    if empty:
        gaps.append(f"{empty} nodes report neither allocatable nor capacity: they offer nothing")
    return allocatable


def _gpu_masks(
    nodes: Sequence[Node], counted: Sequence[int], devices: Mapping[str, Device], gaps: list[str]
) -> list[int]:
    masks = [(1 << count) - 1 for count in counted]
    differing = 0
    for i, node in enumerate(nodes if devices else ()):
        device = devices.get(node.name)
        if device is None:
            continue
        masks[i] = sum(1 << minor for minor in set(device.healthy_gpus))
        differing += masks[i].bit_count() != counted[i]
    if differing:
        gaps.append(f"on {differing} nodes the Device lists another number of healthy GPUs than the Node offers")
    return masks


def _matrices(
    nodes: Sequence[Node],
    gpu_masks: Sequence[int],
    devices: Mapping[str, Device],
    given: Sequence[tuple[str, BandwidthMatrix]],
    gaps: list[str],
) -> tuple[tuple[BandwidthMatrix, ...], list[int]]:
    known: list[BandwidthMatrix] = []
    numbers: dict[BandwidthMatrix, int] = {}
    node_matrix = [-1] * len(nodes)
    for i, node in enumerate(nodes if devices else ()):
        device = devices.get(node.name)
        if device is not None and device.bandwidth is not None:
            node_matrix[i] = numbers.setdefault(device.bandwidth, len(known))
            if node_matrix[i] == len(known):
                known.append(device.bandwidth)
    for pattern, matrix in given:
        search = compile_pattern(pattern).search
        matched = [i for i, node in enumerate(nodes) if gpu_masks[i] and search(node.name) is not None]
        if not matched:
            gaps.append(f"the pattern {pattern} of {matrix.source} matches no node with GPUs")
        for i in matched:
            device = devices.get(nodes[i].name)
            gpus = max(device.all_gpus, default=-1) + 1 if device else gpu_masks[i].bit_length()
            _check_size(matrix, nodes[i].name, gpus)
            node_matrix[i] = len(known)
        known.append(matrix)
    used = sorted(set(node_matrix) - {-1})
    renumbered = {old: new for new, old in enumerate(used)} | {-1: -1}
    return tuple(known[i] for i in used), [renumbered[number] for number in node_matrix]


def _check_size(matrix: BandwidthMatrix, node: str, gpus: int) -> None:
    if len(matrix) != gpus:
        raise InputError(
            f"the matrix has another number of GPUs than node {node}",
            source=matrix.source,
            got=f"{len(matrix)} rows",
            expected=f"{gpus} GPUs",
        )


def assign_matrices(snapshot: ClusterSnapshot, given: Sequence[tuple[str, BandwidthMatrix]]) -> ClusterSnapshot:
    """A snapshot with matrices for the nodes whose names match (RE2, unanchored); the last match wins.

    Raises
    ------
    InputError
        A matrix whose size is not the node's number of GPUs, a pattern that RE2 refuses.
    """
    for pattern, matrix in given:
        search = compile_pattern(pattern).search
        masks = [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in snapshot.gpu_total]
        names = snapshot.topology.node_names
        matched = np.array(
            [bool(masks[i]) and search(name) is not None for i, name in enumerate(names)], dtype=np.bool_
        )
        for i in np.flatnonzero(matched):
            _check_size(matrix, names[i], masks[i].bit_length())
        if matched.any():
            snapshot = snapshot.with_matrix(matrix, matched)
    return snapshot


def _used(running: Sequence[RunningPod], columns: tuple[str, ...], n_nodes: int) -> Longs:
    used = np.zeros((n_nodes, len(columns)), dtype=np.int64)
    for pod in running:
        if pod.node >= 0:
            used[pod.node] += request_vector(columns, pod.requests)[0]
    return used


def _other_gaps(cluster: ClusterObjects, nodes: Mapping[str, Node], gangs: Sequence[Gang]) -> list[str]:
    gaps = []
    homeless = sum(name not in nodes for name in cluster.devices)
    if homeless:
        gaps.append(f"{homeless} Devices belong to nodes that are not in the input")
    unknown = sorted({gang.queue for gang in gangs} - set(cluster.queues) - {"default"})
    if unknown:
        gaps.append(f"queues not in the input: {', '.join(unknown)}")
    if not cluster.hypernodes and any(gang.constraint for gang in gangs):
        gaps.append("no HyperNode in the input")
    return gaps
