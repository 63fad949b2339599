"""Classes of nodes that are interchangeable for a group of pods: equal in everything that the group requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul

import numpy as np

from workbench.kernels.rows import unique_rows
from workbench.kernels.subsets import masks_of_words
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
    number = _covering(
        request, int(request.snapshot.node_matrix[node]), words_to_mask(request.snapshot.gpu_total[node])
    )
    return request.snapshot.matrices[number] if number >= 0 else None


def _covering(request: Request, number: int, gpus: int) -> int:
    """The number of a node's matrix; -1 if it has none, or none that covers all its GPUs (mask ``gpus``)."""
    return number if number >= 0 and gpus.bit_length() <= len(request.snapshot.matrices[number]) else -1


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

    The result is in the order of their first nodes' names; empty if no node holds a pod.

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
    first = np.unique(kind_of, return_index=True)[1]
    keys: list[tuple[tuple[Pods, ...], int, int, int]] = []
    columns = (inverse[first].tolist(), n_free[first].tolist(), snapshot.node_matrix[first].tolist())
    for at, count, number, mask, gpus_there in zip(
        *columns, masks_of_words(free[first]), masks_of_words(total[first]), strict=True
    ):
        number = _covering(request, number, gpus_there) if known and len(rooms[at]) > 1 else -1
        keys.append((rooms[at], count, number, mask if number >= 0 else 0))
    # A number for each class, and the class of each node, by name; -1 for nodes that hold no pod.
    numbers: dict[tuple[tuple[Pods, ...], int, int, int, int], int] = {}

    def number_of(kind: int, held: int) -> int:
        key = keys[kind]
        return numbers.setdefault((*key, held), len(numbers)) if len(key[0]) > 1 else -1

    rank = snapshot.topology.node_rank
    order = np.argsort(rank)
    number_of_kind = np.array([number_of(kind, 0) for kind in range(len(keys))], dtype=np.int64)
    in_class = number_of_kind[kind_of[order]]
    for node, held in members.items():
        in_class[rank[node]] = number_of(int(kind_of[node]), held)
    by_class = np.argsort(in_class, kind="stable")
    nodes, ranks = order[by_class].tolist(), rank[order[by_class]].tolist()
    bounds = np.searchsorted(in_class[by_class], np.arange(len(numbers) + 1)).tolist()
    value_of = _Values(gpus, choice, snapshot.matrices) if known else None
    classes = []
    for (room, count, number, mask, held), begin, end in zip(numbers, bounds[:-1], bounds[1:], strict=True):
        if begin < end:
            values = value_of(room, count, number, mask, held) if value_of is not None else (math.inf,) * (count + 1)
            classes.append(NodeClass(tuple(nodes[begin:end]), tuple(ranks[begin:end]), count, room, values))
    return sorted(classes, key=lambda some: some.ranks[0])


class _Values:
    """Finds the best bottleneck on a node for each number of GPUs, over the pods of a group that fit there.

    `gpus`: ndarray of shape (roles,), int64; GPUs of a pod of each role. `choice`: rule that gives the best bottleneck
    of a number of GPUs. `matrices`: the matrices of the cluster.
    """

    def __init__(self, gpus: Longs, choice: GpuChoice, matrices: Sequence[BandwidthMatrix]) -> None:
        self._gpus = gpus.tolist()
        self._choice = choice
        self._matrices = matrices
        self._taken: dict[tuple[Pods, ...], list[int]] = {}

    def __call__(self, room: tuple[Pods, ...], count: int, number: int, mask: int, held: int) -> tuple[float, ...]:
        """Best bottleneck (GB/s) of 0, 1, ... `count` GPUs.

        A number that no mixture of pods takes gets the next lower number's bottleneck.

        `room`: the mixtures that fit: pods of each role. `number`: number of the node's matrix; -1: unknown. `mask`:
        the free GPUs. `held`: GPUs that the group holds on the node already.
        """
        taken = self._taken.get(room)
        if taken is None:
            taken = self._taken[room] = sorted({sum(map(mul, pods, self._gpus)) for pods in room})
        matrix = self._matrices[number] if number >= 0 else None
        found = dict(zip(taken, self._choice.values(matrix, mask, taken, held), strict=True))
        values: list[float] = []
        for k in range(count + 1):
            values.append(found[k] if k in found else values[-1])
        return tuple(values)


def _room(row: Longs, rows: Longs, gpus: Longs, counts: Pods) -> tuple[Pods, ...]:
    """Every combination of pods (number per role, up to `counts`) that fits into the idle amounts `row` of a node."""
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
