"""Classes of nodes that are interchangeable for a group of pods: equal in everything that the group requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul

import numpy as np

from workbench.kernels.rows import unique_rows
from workbench.model.arrays import Longs, Words
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.placement import words_to_mask
from workbench.policies.koordinator.gpu_choice import GpuChoice
from workbench.policies.koordinator.node_set import NodeClass, Pods
from workbench.policies.request import Request

__all__ = ["matrix_for", "node_classes"]


# Vectors of pods listed per class; a node with more mixtures is offered fewer pods than it could take.
_MOST_ROOM = 4096


def matrix_for(request: Request, node: int) -> BandwidthMatrix | None:
    """The bandwidth matrix of a node; None if there is none that covers all the node's GPUs."""
    matrix = request.snapshot.matrix_of(node)
    gpus = words_to_mask(request.snapshot.gpu_total[node])
    return matrix if matrix is not None and gpus.bit_length() <= len(matrix) else None


def node_classes(
    request: Request,
    roles: Sequence[int],
    counts: Pods,
    idle: Longs,
    free: Words,
    choice: GpuChoice,
    members: Mapping[int, int],
) -> list[NodeClass]:
    """Divide the nodes that hold at least one pod of a group into classes with equal room, free GPUs and bandwidths.

    Parameters
    ----------
    roles : sequence of int
        Roles to place, as indices in the gang.
    counts : tuple of int
        Pods of each role.
    idle : ndarray of shape (n, r), int64
        Idle amounts of the nodes.
    free : ndarray of shape (n, w), uint64
        Bits of the GPUs that are free for this gang.
    choice : GpuChoice
        Rule that gives the best bottleneck for each number of GPUs.
    members : mapping of int to int
        Mask of the GPUs that the group holds already, by node; nodes without such GPUs are missing.

    Returns
    -------
    list of NodeClass
        In the order of their first nodes' names; empty if no node holds a pod.
    """
    demand, snapshot = request.demand, request.snapshot
    rows = demand.rows[list(roles)]
    gpus = np.array([request.gang.roles[role].n_gpus for role in roles], dtype=np.int64)
    asked = (rows > 0).any(axis=0)
    accepts = np.column_stack([demand.feasible(role) for role in roles]).astype(np.int64)
    n_free = np.bitwise_count(free).sum(axis=1, dtype=np.int64)
    # More than every pod together asks for is as good as that.
    most = (rows * np.array(counts)[:, None]).sum(axis=0)[asked]
    state = np.column_stack([accepts, n_free, np.minimum(idle[:, asked], most)])
    distinct, inverse = unique_rows(state)
    rooms = [_room(row, rows[:, asked], gpus, counts) for row in distinct]
    known = bool(snapshot.matrices) and int(gpus.max(initial=0)) > 0
    # Nodes with equal rows here share all but what the group holds already: each kind is looked at once.
    total = snapshot.gpu_total
    table = np.column_stack([inverse, snapshot.node_matrix, free.view(np.int64), total.view(np.int64)])
    _, kind_of = unique_rows(table)
    first = np.unique(kind_of, return_index=True)[1].tolist()
    keys: list[tuple[tuple[Pods, ...], int, int, int]] = []
    for node in first:
        room = rooms[int(inverse[node])]
        matrix = matrix_for(request, node) if known and len(room) > 1 else None
        number = -1 if matrix is None else int(snapshot.node_matrix[node])
        keys.append((room, int(n_free[node]), number, words_to_mask(free[node]) if number >= 0 else 0))
    found: dict[tuple[tuple[Pods, ...], int, int, int, int], list[int]] = {}
    rank = snapshot.topology.node_rank
    order = np.argsort(rank)
    for node, kind in zip(order.tolist(), kind_of[order].tolist(), strict=True):
        if len(keys[kind][0]) > 1:
            found.setdefault((*keys[kind], members.get(node, 0)), []).append(node)
    classes = []
    for (room, count, number, mask, held), nodes in found.items():
        matrix = snapshot.matrices[number] if number >= 0 else None
        values = _values(room, gpus, count, choice, matrix, mask, held) if known else (math.inf,) * (count + 1)
        classes.append(NodeClass(tuple(nodes), tuple(int(rank[node]) for node in nodes), count, room, values))
    return classes


def _values(
    room: tuple[Pods, ...],
    gpus: Longs,
    count: int,
    choice: GpuChoice,
    matrix: BandwidthMatrix | None,
    mask: int,
    held: int,
) -> tuple[float, ...]:
    """Best bottleneck (GB/s) on a node for each number of GPUs from 0 on, over the pods that fit there.

    ``room`` lists the pods per role that fit together, ``gpus`` their GPUs; ``mask`` are the free GPUs, ``held``
    those that the group holds already. A number that no mixture of pods takes gets the next lower number's
    bottleneck.
    """
    asked = gpus.tolist()
    taken = {sum(map(mul, pods, asked)) for pods in room}
    values: list[float] = []
    for k in range(count + 1):
        values.append(choice.value(matrix, mask, k, held) if k in taken else values[-1])
    return tuple(values)


def _room(row: Longs, rows: Longs, gpus: Longs, counts: Pods) -> tuple[Pods, ...]:
    """Every combination of pods (number per role, up to ``counts``) that fits on a node, the empty one included.

    ``row`` has the node's idle amounts, ``rows`` the request of each role.
    """
    n = len(counts)
    accepts, free, idle = row[:n], int(row[n]), row[n + 1 :]
    most = []
    for i in range(n):
        cap = counts[i] if accepts[i] else 0
        asked = rows[i] > 0
        if asked.any():
            cap = min(cap, int((idle[asked] // rows[i][asked]).min()))
        if gpus[i]:
            cap = min(cap, free // int(gpus[i]))
        most.append(max(cap, 0))
    while math.prod(m + 1 for m in most) > _MOST_ROOM:
        most[most.index(max(most))] //= 2
    grid = np.indices([m + 1 for m in most]).reshape(n, -1).T
    fits = (grid @ rows <= np.maximum(idle, 0)).all(axis=1) & (grid @ gpus <= free)
    return tuple(map(tuple, grid[fits].tolist()))
