"""Splits a gang into the sub-jobs of Volcano 1.15: one per sub-group, and one for the remaining pods.

Source: docs/reference/volcano-topology.md, section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import MAX_SUM
from workbench.kernels.sub_jobs import Runs, deal_pods
from workbench.model.arrays import Ints, Longs
from workbench.model.gang import Gang
from workbench.model.resources import request_vector
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.demand import Demand
from workbench.policies.volcano.parts.task_order import runs_of
from workbench.policies.volcano.v1_15.constraints import Limits

__all__ = ["SubJob", "SubJobs", "split"]


@dataclass(frozen=True, eq=False)
class SubJob:
    """One sub-job (sub-group) of a gang: the fields that do not change in a session.

    Attributes
    ----------
    name : str
        Name of the sub-group; empty for the default sub-job, which has the pods of no sub-group.
    policy : str
        Name of the sub-group policy; empty for the default sub-job.
    topology : bool
        Whether the sub-job has a topology constraint, even an empty one; its pods are then scored by closeness to the
        HyperNode in which the sub-job is allocated so far.
    limit : int, optional
        Highest tier of the sub-job's HyperNode; None: no limit.
    min_available : int
        Tasks that the sub-job needs to be ready.
    total : int
        Number of all tasks, in any state.
    counted : int
        Tasks that count before anything is placed: running ones and best-effort ones.
    pods : mapping of int to ndarray of int64
        For each role with a request the positions of its pending pods in the gang; roles in the order in which they are
        tried.
    pending : ndarray of shape (r,), int64
        Summed requests of the pending pods, including those behind a scheduling gate.
    request : ndarray of shape (r,), int64
        Summed requests of all pods, which the packing of HyperNodes counts.
    running_nodes : ndarray of int32
        Node of each running pod; -1: not in the snapshot.
    priority, match_index : int
        Order among sub-jobs; the priority is the highest of its tasks, running ones included, and at least 0.
    """

    name: str
    policy: str
    topology: bool
    limit: int | None
    min_available: int
    total: int
    counted: int
    pods: Mapping[int, Longs]
    pending: Longs
    request: Longs
    running_nodes: Ints
    priority: int
    match_index: int

    @cached_property
    def n_pods(self) -> int:
        """Number of the sub-job's pending pods with a request."""
        return sum(len(pods) for pods in self.pods.values())


@dataclass(eq=False)
class SubJobs(Sequence[SubJob]):
    """The s sub-jobs of a gang, one array per property; indexing makes the `SubJob` with that number.

    Attributes
    ----------
    names, policies : tuple of str
        Name and sub-group policy of each sub-job; empty for the default one.
    topology : ndarray of shape (s,), bool
        Whether each sub-job has a topology constraint.
    limits : tuple of (int or None)
        Highest tier allowed for each sub-job; None: none.
    min_available, total, counted, priority, match_index : ndarray of shape (s,), int64
        As in `SubJob`.
    pending, request : ndarray of shape (s, r), int64
        Summed requests of the pending pods, and of all pods, of each sub-job.
    running_nodes : tuple of ndarray of int32
        Nodes of the running pods of each sub-job.
    start : ndarray of shape (s + 1,), int64
        Entries of sub-job i: ``start[i]`` to ``start[i + 1]``, one per role with a request, as roles are tried.
    shapes : ndarray of int32
        Role of each entry: its place in the demand's order.
    left : ndarray of int64
        Pods of each entry.
    first : ndarray of int64
        ``positions[first[e]:first[e + 1]]`` are the pods of entry e.
    positions : ndarray of int64
        Positions of the pending pods in the gang, entry by entry.
    runs : Runs, optional
        The order in which the pods of each sub-job are tried; None: each has pods of one role alone.
    numbers : tuple of int
        The demand's roles in their order: the number in the gang of each shape.
    """

    names: tuple[str, ...]
    policies: tuple[str, ...]
    topology: npt.NDArray[np.bool_]
    limits: tuple[int | None, ...]
    min_available: Longs
    total: Longs
    counted: Longs
    priority: Longs
    match_index: Longs
    pending: Longs
    request: Longs
    running_nodes: tuple[Ints, ...]
    start: Longs
    shapes: Ints
    left: Longs
    first: Longs
    positions: Longs
    runs: Runs | None
    numbers: tuple[int, ...]

    @cached_property
    def roles(self) -> Longs:
        """Role of each entry as its number in the gang, int64."""
        return np.array(self.numbers, dtype=np.int64)[self.shapes]

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> SubJob: ...
    @overload
    def __getitem__(self, index: slice) -> list[SubJob]: ...
    def __getitem__(self, index: int | slice) -> SubJob | list[SubJob]:
        numbers = range(len(self))[index]
        return self._object(numbers) if isinstance(numbers, int) else [self._object(i) for i in numbers]

    def __iter__(self) -> Iterator[SubJob]:
        return map(self._object, range(len(self)))

    @cached_property
    def _objects(self) -> dict[int, SubJob]:
        return {}

    def _object(self, i: int) -> SubJob:
        known = self._objects.get(i)
        if known is None:
            known = self._objects[i] = self._make(i)
        return known

    def _make(self, i: int) -> SubJob:
        entries = range(int(self.start[i]), int(self.start[i + 1]))
        return SubJob(
            name=self.names[i],
            policy=self.policies[i],
            topology=bool(self.topology[i]),
            limit=self.limits[i],
            min_available=int(self.min_available[i]),
            total=int(self.total[i]),
            counted=int(self.counted[i]),
            pods={int(self.roles[e]): self.positions[self.first[e] : self.first[e + 1]] for e in entries},
            pending=self.pending[i],
            request=self.request[i],
            running_nodes=self.running_nodes[i],
            priority=int(self.priority[i]),
            match_index=int(self.match_index[i]),
        )


def split(gang: Gang, snapshot: ClusterSnapshot, demand: Demand, limits: Limits) -> SubJobs:
    """Split a gang into sub-jobs: its sub-groups in their order, then one for the pods of no sub-group, if any.

    `snapshot`: shows the gang's running pods. `limits`: highest tiers that the constraints of the gang and its
    sub-groups allow.
    """
    groups = gang.sub_groups
    runs = _running(gang, snapshot) if gang.ready else ()
    dealt = deal_pods(
        [group.pods for group in groups],
        gang.role_of_pod,
        demand.position_of_role,
        len(demand.order),
        demand.rows,
        np.array([role.priority for role in gang.roles], dtype=np.int64),
        default=not gang.sub_grouped or bool(runs and runs[-1]),
    )
    s = len(dealt.size)
    total, counted, request, running_nodes = dealt.size, dealt.counted, dealt.pending, (_NONE,) * s
    priority = dealt.priority
    if runs:
        priority = np.maximum(priority, _priority_of_running(gang, runs[:s]))
        done = [*[group.succeeded for group in groups], gang.succeeded]
        started = np.array([len(mine) + len(theirs) for mine, theirs in zip(runs, done, strict=True)], dtype=np.int64)
        total, counted = total + started[:s], counted + started[:s]
        held = [[pod.requests for pod in mine] for mine in runs]
        request = _with_others(request, [[*a, *b] for a, b in zip(held, done, strict=True)][:s], snapshot)
        running_nodes = tuple(map(_nodes, runs[:s]))
    pending = dealt.pending
    if gang.n_not_tried:
        failed, gated = (
            [*[getattr(part, kind) for part in groups], getattr(gang, kind)][:s] for kind in ("failed", "gated")
        )
        total = total + np.array([len(a) + len(b) for a, b in zip(failed, gated, strict=True)], dtype=np.int64)
        request = _with_others(_with_others(request, failed, snapshot), gated, snapshot)
        pending = _with_others(pending, gated, snapshot)
    topology = [group.constraint is not None for group in groups]
    minimum = [group.min_available for group in groups]
    match_index = [group.match_index for group in groups]
    default = ("",) * (s - len(groups))
    if default:
        topology.append(gang.constraint is not None)
        minimum.append(1 if gang.sub_grouped else gang.min_available)
        match_index.append(0)
        if not gang.sub_grouped:
            total[-1] = gang.n_pods + max(gang.ready, len(runs[-1]) if runs else 0) + gang.n_not_tried
    alternating = len(demand.order) > 1 and bool((dealt.start[1:] > dealt.start[:-1] + 1).any())
    return SubJobs(
        names=(*[group.name for group in groups], *default) if groups else default,
        policies=(*[group.policy for group in groups], *default) if groups else default,
        topology=np.array(topology, dtype=np.bool_),
        limits=(*limits.sub_groups, *[limits.job] * len(default)),
        min_available=np.array(minimum, dtype=np.int64),
        total=total,
        counted=counted,
        priority=priority,
        match_index=np.array(match_index, dtype=np.int64),
        pending=pending,
        request=request,
        running_nodes=running_nodes,
        start=dealt.start,
        shapes=dealt.shapes,
        left=dealt.left,
        first=dealt.first,
        positions=dealt.positions,
        runs=runs_of(gang, dealt.first[dealt.start], dealt.positions) if alternating else None,
        numbers=demand.roles,
    )


def _running(gang: Gang, snapshot: ClusterSnapshot) -> list[list[RunningPod]]:
    """Running pods of each sub-group, then those that belong to no sub-group."""
    by_name = {pod.name: pod for pod in snapshot.running_index.gangs.get(gang.key, ())}
    named = [[by_name.pop(name) for name in group.running if name in by_name] for group in gang.sub_groups]
    return [*named, list(by_name.values())]


def _priority_of_running(gang: Gang, runs: Sequence[Sequence[RunningPod]]) -> Longs:
    """Highest priority among the running pods of each sub-job whose role the gang knows; at least 0."""
    of_role = {role.name: role.priority for role in gang.roles}
    return np.array([max([of_role.get(pod.role, 0) for pod in mine], default=0) for mine in runs], dtype=np.int64)


def _with_others(first: Longs, others: Sequence[Sequence[Mapping[str, int]]], snapshot: ClusterSnapshot) -> Longs:
    """Summed requests of each sub-job with those of further pods (`others`) added: int64 (s, r)."""
    request = first
    for i, mine in enumerate(others):
        if mine:
            request = first.copy() if request is first else request
            request[i] += np.sum([request_vector(snapshot.resources, each)[0] for each in mine], axis=0)
            np.minimum(request[i], MAX_SUM, out=request[i])
    return request


_NONE = np.zeros(0, dtype=np.int32)
_NONE.flags.writeable = False


def _nodes(running: Sequence[RunningPod]) -> Ints:
    return np.array([pod.node for pod in running], dtype=np.int32) if running else _NONE
