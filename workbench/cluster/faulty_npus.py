"""`take_out_faulty_npus`: nodes without the NPUs that Ascend's device plugin reports as faulty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.device_info import faulty_npus
from workbench.objects.kinds import ClusterObjects
from workbench.objects.node import Node

__all__ = ["take_out_faulty_npus"]


def take_out_faulty_npus(
    nodes: Sequence[Node],
    cluster: ClusterObjects,
    masks: list[int],
    rows: list[int],
    allocatable: npt.NDArray[np.int64],
    gpu_columns: Sequence[int],
    gaps: list[Notice],
) -> None:
    """Remove faulty NPUs from the GPU masks and, where they are still counted, from the allocatable resources.

    MindCluster lets a job with a single pod use an NPU whose network is faulty. Here no job gets it, because a snapshot
    has one set of GPUs for all jobs.

    Parameters
    ----------
    cluster : ClusterObjects
        Its `device_infos` say which NPUs are faulty, beside the nodes' annotations, and overrule them.
    masks : list of int
        Mask of the GPUs of each node; changed in place. A node with faulty NPUs and without a Device has as many GPUs
        as its capacity says: the kubelet's allocatable resources leave out those that are unhealthy.
    rows : list of int
        Number of GPUs of each node, faulty ones included; changed in place.
    allocatable : ndarray of shape (n, r), int64
        Changed in place: a node offers at most the GPUs that are left.
    gpu_columns : sequence of int
        Columns of GPU resources.
    gaps : list of Notice
        Notices about the faulty NPUs are appended.
    """
    found: Counter[str] = Counter()
    infos = cluster.device_infos
    for i, node in enumerate(nodes):
        if not node.npu_names and (not infos or node.name not in infos):
            continue
        info = infos.get(node.name)
        if node.name not in cluster.devices:
            rows[i] = max(rows[i], node.n_gpus_built_in)
        faulty = faulty_npus(node.npu_names, info.names if info else {}, rows[i])
        found["unknown"] += faulty.unknown
        out = faulty.unhealthy | faulty.network_unhealthy
        if not out:
            continue
        found["unhealthy"] += len(faulty.unhealthy)
        found["network"] += len(faulty.network_unhealthy)
        found["nodes"] += 1
        if node.name not in cluster.devices:
            masks[i] = (1 << rows[i]) - 1
        for number in out:
            masks[i] &= ~(1 << number)
        excess = int(allocatable[i, gpu_columns].sum()) - masks[i].bit_count()
        for column in gpu_columns:
            taken = min(max(excess, 0), int(allocatable[i, column]))
            allocatable[i, column] -= taken
            excess -= taken
    _tell(found, gaps)


def _tell(found: Counter[str], gaps: list[Notice]) -> None:
    if number := found["unhealthy"] + found["network"]:
        network = f", {found['network']} of them because of the network alone" if found["network"] else ""
        text = f"faulty NPUs are not used: {number} on {counted(found['nodes'], 'node')}{network}"
        numbers = {"count": number, "nodes": found["nodes"], "network": found["network"]}
        gaps.append(Notice("faulty-npus", text, numbers=numbers))
    if number := found["unknown"]:
        names = counted(number, "name of a faulty NPU fits", "names of faulty NPUs fit")
        text = f"{names} no NPU of the node: left out"
        gaps.append(Notice("unknown-npus", text, numbers={"count": number}))
