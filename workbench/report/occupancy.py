"""`Occupancy`: which jobs are on each node of a cluster, for colouring pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.model.gang import Gang, Role
from workbench.model.placement import Decision, Placement
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["OTHERS", "Held", "Occupancy", "closed_nodes", "occupancy", "occupancy_of_running", "placements_in"]

#: Name for all jobs but the one that was asked about; they are drawn in grey.
OTHERS = "other jobs"
#: GPU numbers are looked up only for clusters that are drawn GPU by GPU.
GPUS_SHOWN_UP_TO_NODES = 64


class Held(NamedTuple):
    """The pods and GPUs of one job on one node, for a picture.

    `job`: position in `Occupancy.jobs`. `pods`, `n_gpus`: number of the job's pods on the node, and of the GPUs that
    they hold. `gpus` (tuple of int): GPU numbers; empty if unknown, or if the cluster is too large to show them.
    """

    job: int
    pods: int
    n_gpus: int = 0
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class Occupancy:
    """The jobs on each node of a cluster, for colouring a picture.

    Attributes
    ----------
    jobs : tuple of str
        Names in the order of their colours.
    held : mapping of int to list of Held
        Pods and GPUs of the jobs on each node, in the order of `jobs`.
    n_gpus, n_busy : mapping of int to int
        Number of GPUs of each node, and of those in use by pods that ran before; empty if no snapshot is known.
    gpus, busy : mapping of int to tuple of int
        Numbers of the node's GPUs, and of those in use; empty if the cluster is too large to show them.
    closed : mapping of int to str
        Nodes on which no job can place a pod, each with the reason (`closed_nodes`).
    """

    jobs: tuple[str, ...] = ()
    held: Mapping[int, Sequence[Held]] = field(default_factory=dict)
    n_gpus: Mapping[int, int] = field(default_factory=dict)
    n_busy: Mapping[int, int] = field(default_factory=dict)
    gpus: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    busy: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    closed: Mapping[int, str] = field(default_factory=dict)


def placements_in(given: object) -> list[Placement]:
    """All placements in a placement, a decision, or a sequence of them; refusals are left out."""
    if isinstance(given, Placement):
        return [given]
    if isinstance(given, Decision):
        return placements_in(given.result)
    if isinstance(given, Iterable) and not isinstance(given, str):
        return [placement for item in given for placement in placements_in(item)]
    return []


def occupancy(
    placements: Sequence[Placement],
    snapshot: ClusterSnapshot | None = None,
    jobs: Sequence[str] = (),
    gangs: Sequence[Gang] = (),
) -> Occupancy:
    """Count the pods and GPUs of placements on each node, for colouring a picture.

    Parameters
    ----------
    snapshot : ClusterSnapshot, optional
        Gives the GPUs of each node and those in use before; by default taken from the placements, if they are of one
        session.
    jobs : sequence of str
        ``namespace/name`` in the order of the colours, so that several pictures agree; jobs that are placed and not
        named here follow.
    gangs : sequence of Gang
        All jobs that are to be placed: nodes that none of them can use are hatched; empty: those of the placements.
    """
    names = list(dict.fromkeys([*jobs, *(p.gang.key for p in placements)]))
    number = {name: i for i, name in enumerate(names)}
    held: dict[int, list[Held]] = {}
    for placement in sorted(placements, key=lambda p: number[p.gang.key]):
        for node, entry in _held_by(placement, number[placement.gang.key]):
            held.setdefault(node, []).append(entry)
    known = _known_by(placements) if snapshot is None else _counted(snapshot.gpu_total, snapshot.gpu_free)
    closed = {} if snapshot is None else closed_nodes(snapshot, gangs or [placement.gang for placement in placements])
    return Occupancy(tuple(names), held, *known, closed)


def occupancy_of_running(snapshot: ClusterSnapshot) -> Occupancy:
    """The running gangs of a snapshot, for colouring a picture; pods without a gang count as used GPUs only."""
    names = sorted({pod.gang for pod in snapshot.running if pod.gang}, key=str.encode)
    number = {name: i for i, name in enumerate(names)}
    pods: dict[tuple[int, int], tuple[int, int]] = {}
    for pod in snapshot.running:
        if pod.gang and pod.node >= 0:
            key = (pod.node, number[pod.gang])
            n, mask = pods.get(key, (0, 0))
            pods[key] = (n + 1, mask | pod.gpu_mask)
    held: dict[int, list[Held]] = {}
    for (node, job), (n, mask) in sorted(pods.items()):
        shown = _bits(mask) if snapshot.n_nodes <= GPUS_SHOWN_UP_TO_NODES else ()
        held.setdefault(node, []).append(Held(job, n, mask.bit_count(), shown))
    n_gpus, n_busy, gpus, busy = _counted(snapshot.gpu_total, snapshot.gpu_free)
    for node, entries in held.items():
        own = {g for entry in entries for g in entry.gpus}
        n_busy[node] = n_busy.get(node, 0) - sum(entry.n_gpus for entry in entries)
        busy[node] = tuple(g for g in busy.get(node, ()) if g not in own)
    return Occupancy(tuple(names), held, n_gpus, n_busy, gpus, busy, closed_nodes(snapshot, ()))


def _held_by(placement: Placement, job: int) -> list[tuple[int, Held]]:
    placed = np.flatnonzero(placement.node >= 0)
    nodes, node_of_pod, pods = np.unique(placement.node[placed], return_inverse=True, return_counts=True)
    if placement.gpu_words is None:
        return [(node, Held(job, n)) for node, n in zip(nodes.tolist(), pods.tolist())]
    of_pod = np.bitwise_count(placement.gpu_words[placed]).sum(axis=1)
    counts = np.bincount(node_of_pod, weights=of_pod, minlength=len(nodes)).astype(np.int64)
    numbers: dict[int, list[int]] = {}
    if placement.topology.n_nodes <= GPUS_SHOWN_UP_TO_NODES:
        for position in placed:
            numbers.setdefault(int(placement.node[position]), []).extend(_bits(placement.gpu_mask(int(position))))
    return [
        (node, Held(job, n, gpus, tuple(sorted(numbers.get(node, ())))))
        for node, n, gpus in zip(nodes.tolist(), pods.tolist(), counts.tolist())
    ]


#: GPUs of nodes and those in use: how many, then which.
_Gpus = tuple[dict[int, int], dict[int, int], dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]


def _known_by(placements: Sequence[Placement]) -> _Gpus:
    """GPUs of the nodes as recorded in the placements; empty if the placements were made at different moments."""
    if not placements:
        return {}, {}, {}, {}
    total, free = placements[0].gpu_total, placements[0].gpu_free
    if total is None or free is None or any(p.gpu_total is not total or p.gpu_free is not free for p in placements):
        return {}, {}, {}, {}
    return _counted(total, free)


def _counted(total: npt.NDArray[np.uint64], free: npt.NDArray[np.uint64]) -> _Gpus:
    n_total = np.bitwise_count(total).sum(axis=1)
    busy = total & ~free
    n_busy = np.bitwise_count(busy).sum(axis=1)
    totals = {i: n for i, n in enumerate(n_total.tolist()) if n}
    in_use = {i: n for i, n in enumerate(n_busy.tolist()) if n}
    if len(total) > GPUS_SHOWN_UP_TO_NODES:
        return totals, in_use, {}, {}
    return (totals, in_use, {i: _bits(_mask(total[i])) for i in totals}, {i: _bits(_mask(busy[i])) for i in in_use})


def _mask(words: np.ndarray) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _bits(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def closed_nodes(snapshot: ClusterSnapshot, gangs: Iterable[Gang]) -> dict[int, str]:
    """Nodes on which none of the jobs can place a pod, each with the reason.

    `gangs`: taints count if there is a job, and none tolerates them. Returns: ``not ready``, ``cordoned`` or
    ``tainted`` by the index of the node.
    """
    states = [("not ready", np.asarray(snapshot.not_ready)), ("cordoned", np.asarray(snapshot.unschedulable))]
    tolerations = {role.filter.tolerations for gang in gangs for role in _roles(gang)}
    if tolerations:
        states.append(("tainted", ~np.logical_or.reduce([snapshot.taints.mask(each) for each in tolerations])))
    found: dict[int, str] = {}
    for word, nodes in states:
        for node in np.flatnonzero(nodes).tolist():
            found.setdefault(node, word)
    return dict(sorted(found.items()))


def _roles(gang: Gang) -> Iterable[Role]:
    yield from gang.roles
    for part in gang.jobs:
        if part.gang is not None:
            yield from _roles(part.gang)
