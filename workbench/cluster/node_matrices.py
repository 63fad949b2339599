"""The bandwidth matrix of each node of a table: that of its Device, of its label, or one that was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.snapshot import NO_MATRIX, ClusterSnapshot
from workbench.objects.device import Device
from workbench.objects.node import Node
from workbench.objects.selectors import compile_pattern

__all__ = ["assign_matrices", "matrices_of"]


def matrices_of(
    nodes: Sequence[Node],
    gpu_masks: Sequence[int],
    rows: Sequence[int],
    devices: Mapping[str, Device],
    given: Sequence[tuple[str, BandwidthMatrix]],
    gaps: list[Notice],
) -> tuple[tuple[BandwidthMatrix, ...], list[int]]:
    """The distinct matrices of nodes, and for each node the number of its matrix, or `NO_MATRIX`.

    Parameters
    ----------
    gpu_masks, rows : sequence of int
        Healthy GPUs of each node as a mask, and its number of GPUs.
    devices : mapping of str to Device
        Devices by node; their matrices count unless another is given.
    given : sequence of (str, BandwidthMatrix)
        Patterns of node names with their matrices; of several that match a node the last counts.
    gaps : list of Notice
        Gets a notice for each pattern that matches no node with GPUs.
    """
    known: list[BandwidthMatrix] = []
    numbers: dict[BandwidthMatrix, int] = {}
    node_matrix = [NO_MATRIX] * len(nodes)
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
            gaps.append(
                Notice(
                    "pattern-matches-nothing",
                    f"the pattern {pattern} of {matrix.source} matches no node with GPUs",
                    f"pattern {pattern}",
                )
            )
        for i in matched:
            device = devices.get(nodes[i].name)
            gpus = max(device.all_gpus, default=-1) + 1 if device else rows[i]
            _check_size(matrix, nodes[i].name, gpus)
            node_matrix[i] = len(known)
        known.append(matrix)
    used = sorted(set(node_matrix) - {NO_MATRIX})
    renumbered = {old: new for new, old in enumerate(used)} | {NO_MATRIX: NO_MATRIX}
    return tuple(known[i] for i in used), [renumbered[number] for number in node_matrix]


def _check_size(matrix: BandwidthMatrix, node: str, gpus: int) -> None:
    if len(matrix) != gpus:
        raise InputError(
            f"the matrix has another number of GPUs than node {node}",
            source=matrix.source,
            got=f"{len(matrix)} rows",
            expected=counted(gpus, "GPU"),
        )


def assign_matrices(snapshot: ClusterSnapshot, given: Sequence[tuple[str, BandwidthMatrix]]) -> ClusterSnapshot:
    """A snapshot in which the nodes whose names match a pattern get its bandwidth matrix; the last match wins.

    `given` holds the pairs (pattern, matrix); patterns are RE2 and match anywhere in the name.

    Raises InputError: a matrix whose size is not the node's number of GPUs, a pattern that RE2 refuses.
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
