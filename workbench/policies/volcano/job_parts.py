"""Sub-jobs of the newest Volcano: a gang's sub-groups, and one for the pods of none (volcano-topology.md 3.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.model.gang import Gang, SubGroup
from workbench.model.resources import request_vector
from workbench.model.snapshot import ClusterSnapshot, RunningPod
from workbench.policies.demand import Demand
from workbench.policies.progress import Progress
from workbench.policies.volcano.constraints import Limits

__all__ = ["JobProgress", "SubJob", "SubProgress", "cache_names", "split"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SubJob:
    """What of a sub-job does not change in a session.

    Attributes
    ----------
    name : str
        Empty for the default sub-job.
    policy : str
        Empty for the default sub-job.
    topology : bool
        It has a constraint, be it one that restricts nothing: its pods are scored by the record.
    limit : int, optional
        Highest tier allowed; None: none.
    min_available : int
    total : int
        All its tasks, running ones included.
    counted : int
        Tasks that count before anything is placed: running ones and best-effort ones.
    pods : mapping of int to ndarray of int64
        Per role with a request the positions of its pending pods, in the order in which roles are tried.
    pending : ndarray of shape (r,), int64
        What its pending pods ask for together.
    request : ndarray of shape (r,), int64
        The same with its running pods: what counts in the packing of HyperNodes.
    running_nodes : ndarray of int32
        Node of each running pod; -1: not in the snapshot.
    priority, match_index : int
        Order among sub-jobs.
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
        """Its pending pods with a request."""
        return sum(len(pods) for pods in self.pods.values())


class JobProgress(Progress):
    """Progress of a job without sub-groups, with the newest rules: pods of one role fail together."""

    names: list[str]

    @classmethod
    def start(cls, gang: Gang, snapshot: ClusterSnapshot) -> JobProgress:
        made = Progress.of(gang, snapshot)
        self = cls(made.min_available, made.total, made.counted, made.minimums, made.present, made.left)
        self.names = cache_names(gang)
        return self

    def copy(self) -> JobProgress:
        other = JobProgress(
            self.min_available, self.total, self.counted, self.minimums, list(self.present), list(self.left)
        )
        other.names = self.names
        return other

    def give_up(self, role: int) -> None:
        """The pods of every role that shares the name are skipped, be they of another shape."""
        for other, name in enumerate(self.names):
            if name == self.names[role]:
                self.left[other] = 0

    def go_on(self, failed: Collection[int]) -> bool:
        names = {self.names[role] for role in failed}
        return super().go_on([role for role, name in enumerate(self.names) if name in names])


class SubProgress(Progress):
    """Progress of one sub-job of a job with sub-group policies: its own minimum alone makes it ready."""

    names: list[str]
    all_needed: bool

    @classmethod
    def start(cls, sub: SubJob, names: list[str], job: Progress) -> SubProgress:
        """Before anything of the sub-job is placed; `names` as of `cache_names`."""
        left = [0] * len(names)
        for role, pods in sub.pods.items():
            left[role] = len(pods)
        self = cls(sub.min_available, sub.total, sub.counted, [0] * len(left), [0] * len(left), left)
        self.names = names
        self.all_needed = job.min_available == job.total or sub.min_available >= sub.total
        return self

    def copy(self) -> SubProgress:
        other = SubProgress(
            self.min_available, self.total, self.counted, self.minimums, list(self.present), list(self.left)
        )
        other.names, other.all_needed = self.names, self.all_needed
        return other

    def until_ready(self, role: int) -> int:
        return min(self.left[role], max(self.min_available - self.counted, 1))

    def give_up(self, role: int) -> None:
        for other, name in enumerate(self.names):
            if name == self.names[role]:
                self.left[other] = 0

    def go_on(self, failed: Collection[int]) -> bool:
        return not self.all_needed


def cache_names(gang: Gang) -> list[str]:
    """Name of each role as the pods carry it: roles of several shapes are numbered here (``worker#2``)."""
    return [role.name.partition("#")[0] for role in gang.roles]


def split(gang: Gang, snapshot: ClusterSnapshot, demand: Demand, limits: Limits) -> list[SubJob]:
    """The sub-jobs of a gang: its sub-groups in their order, then the default one, if it has any pod."""
    running = [pod for pod in snapshot.running if pod.gang == gang.key] if gang.ready else []
    by_name = {pod.name: pod for pod in running}
    subs = []
    role_of = gang.role_of_pod
    place = {role: i for i, role in enumerate((*demand.order, *demand.best_effort))}
    taken = np.zeros(gang.n_pods, dtype=np.bool_)
    for group, limit in zip(gang.sub_groups, limits.sub_groups, strict=True):
        positions = np.array(group.pods, dtype=np.int64)
        taken[positions] = True
        mine = [by_name.pop(name) for name in group.running if name in by_name]
        subs.append(_sub_job(gang, snapshot, demand, place, role_of, positions, mine, limit, group))
    rest = np.flatnonzero(~taken)
    if len(rest) or by_name or not gang.sub_grouped:
        subs.append(_sub_job(gang, snapshot, demand, place, role_of, rest, list(by_name.values()), limits.job, None))
    return subs


def _sub_job(
    gang: Gang,
    snapshot: ClusterSnapshot,
    demand: Demand,
    place: Mapping[int, int],
    role_of: Ints,
    positions: Longs,
    running: list[RunningPod],
    limit: int | None,
    group: SubGroup | None,
) -> SubJob:
    roles = role_of[positions]
    count = np.bincount(roles, minlength=len(gang.roles))
    here = np.flatnonzero(count)
    mine = here.tolist()
    pods = {
        role: positions if len(mine) == 1 else positions[roles == role]
        for role in sorted(mine, key=place.__getitem__)
        if not gang.roles[role].best_effort
    }
    pending = count[here] @ demand.rows[here]
    request = pending
    if running:
        rows = [request_vector(snapshot.resources, pod.requests)[0] for pod in running]
        request = pending + np.sum(rows, axis=0)
    if group is not None:
        minimum, total = group.min_available, len(positions) + len(running)
    elif gang.sub_grouped:
        minimum, total = 1, len(positions) + len(running)
    else:
        minimum, total = gang.min_available, gang.n_pods + max(gang.ready, len(running))
    return SubJob(
        name="" if group is None else group.name,
        policy="" if group is None else group.policy,
        topology=(gang.constraint if group is None else group.constraint) is not None,
        limit=limit,
        min_available=minimum,
        total=total,
        counted=len(running) + int(sum(count[role] for role in mine if gang.roles[role].best_effort)),
        pods=pods,
        pending=pending,
        request=request,
        running_nodes=np.array([pod.node for pod in running], dtype=np.int32),
        priority=max((gang.roles[role].priority for role in mine), default=0),
        match_index=0 if group is None else group.match_index,
    )
