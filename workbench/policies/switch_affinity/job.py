"""A job as the switch-affinity rules see it: pending pods, ranks, running pods, and what a fault took away."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.kernels.switches import VOTES_UNHEALTHY
from workbench.model.arrays import Ints, Mask
from workbench.model.extras import AscendWish
from workbench.model.gang import Gang
from workbench.model.resources import is_gpu_resource
from workbench.model.running_pod import RunningPod
from workbench.model.switch_book import JobPods
from workbench.model.switches import IDLE, IS_SHARED, RANK_ANNOTATION, SwitchTable
from workbench.policies.request import Request
from workbench.policies.switch_affinity.job_kind import JobKind, job_kind
from workbench.policies.switch_affinity.rescheduling import Damage

__all__ = ["SwitchJob"]


_NUMBER_AT_END = re.compile(r"-(\d+)\Z")


@dataclass(eq=False)
class SwitchJob:
    """A job before a placement, as the switch-affinity rules see it.

    Attributes
    ----------
    label : str
        Value of the label tor-affinity, the job's own or the default.
    kind : JobKind
        Kind of the job by its label and size (`job_kind`).
    pending : ndarray of shape (p,), int64
        Positions of the job's pending pods that request resources.
    rank : ndarray of shape (p,), int32
        Rank of each pending pod: the rank that a pod of its name had before, or else the next rank that no other pod
        has.
    running : ndarray of shape (r,), int32
        Node of each running pod; -1: a node that is not in the snapshot.
    former : ndarray of shape (p,), int32
        Node that each pending pod had before a fault; -1: none, or a node that is not in the snapshot.
    returns : ndarray of shape (p,), bool
        Whether each pending pod returns to its former node, because the node is healthy.
    votes : JobPods, optional
        The pods that ran before a fault on nodes that are in the snapshot, with their votes; None: there are none.
    marked : bool
        Whether some pod of the job votes for a state of its switch other than idle.
    started : bool
        Whether some of the job's pods run, or ran before a fault on nodes that are in the snapshot.
    """

    label: str
    kind: JobKind
    pending: npt.NDArray[np.int64]
    rank: Ints
    running: Ints
    former: Ints
    returns: Mask
    votes: JobPods | None
    marked: bool
    started: bool

    @classmethod
    def of(cls, request: Request, default_label: str) -> SwitchJob:
        """Read the `SwitchJob` of a request.

        ``default_label`` is the value of tor-affinity for jobs without that label. The snapshot's pods are searched
        only if the gang has running ones.
        """
        gang, topology = request.gang, request.ledger.topology
        pending, none, nothing = _nobody(gang.n_pods)
        if request.demand.best_effort:
            pending = np.flatnonzero(~np.isin(gang.role_of_pod, request.demand.best_effort))
            _, none, nothing = _nobody(len(pending))
        label = gang.extra(AscendWish).job_class or default_label
        if not gang.ready and not gang.extra(AscendWish).former:
            n = len(pending)
            rank = np.arange(n, dtype=np.int32)
            return cls(
                label,
                job_kind(label, _replicas(gang, n, [])),
                pending,
                rank,
                none[:0],
                none,
                nothing,
                None,
                False,
                False,
            )
        same = request.snapshot.running_index.gangs.get(gang.key, ()) if gang.ready else ()
        mine = [pod for pod in same if pod.requests]
        rank = _named_first(request.gang, pending, _free_ranks(mine, len(pending)))
        former, returns, vote = none.copy(), nothing.copy(), np.zeros(len(none), dtype=np.int8)
        by_rank = {pod.rank: pod for pod in gang.extra(AscendWish).former}
        if by_rank:
            for i, number in enumerate(rank.tolist()):
                pod = by_rank.get(number)
                if pod is not None and topology.has_node(pod.node):
                    former[i] = topology.node(pod.node)
                    returns[i] = not pod.faulty
                    vote[i] = pod.mark + VOTES_UNHEALTHY * pod.unhealthy
        idle = str(IDLE)
        marked = any(pod.annotations.get(IS_SHARED, idle) != idle for pod in mine) or any(
            pod.mark != IDLE for pod in gang.extra(AscendWish).former
        )
        return cls(
            label=label,
            kind=job_kind(label, _replicas(gang, len(pending), mine)),
            pending=pending,
            rank=rank,
            running=np.array([pod.node for pod in mine], dtype=np.int32),
            former=former,
            returns=returns,
            votes=JobPods(label, former[former >= 0], vote[former >= 0]) if (former >= 0).any() else None,
            marked=marked,
            started=len(mine) > 0 or bool((former >= 0).any()),
        )

    def damage(self, table: SwitchTable, back: Mask) -> Damage:
        """Describe what the job lost by a fault: the pending pods that do not return to their former nodes.

        `table`: the leaf switches and their nodes. `back`: ndarray of shape (p,), bool; whether each pending pod
        returns to its former node.
        """
        stay = np.concatenate([self.running, self.former[back]])
        survivors = _under(table, stay)
        used = survivors + _under(table, self.former) > 0
        return Damage(
            kind=self.kind,
            n_pods=int((~back).sum()),
            survivors=survivors,
            used=used,
            crossing=self.marked or int(used.sum()) > 1,
        )


@lru_cache(maxsize=64)
def _nobody(n: int) -> tuple[npt.NDArray[np.int64], Ints, Mask]:
    """Positions, ranks and masks of n pods of which none runs or ever had a node; read-only."""
    found = np.arange(n), np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.bool_)
    for array in found:
        array.flags.writeable = False
    return found


def _named_first(gang: Gang, pending: npt.NDArray[np.int64], free: Ints) -> Ints:
    """Give each pending pod a free rank: the one that a pod of its name had before, else the next free one."""
    had = {pod.pod: pod.rank for pod in gang.extra(AscendWish).former if pod.pod}
    if not had:
        return free
    left = set(free.tolist())
    ranks = [had.get(gang.pod(int(position)).name, -1) for position in pending]
    kept = []
    for rank in ranks:
        kept.append(rank if rank in left else -1)
        left.discard(rank)
    others = iter(sorted(left))
    return np.array([next(others) if rank < 0 else rank for rank in kept], dtype=np.int32)


def _replicas(gang: Gang, n_pending: int, running: list[RunningPod]) -> int:
    """Number of pods by which a job counts as large or small: those that ask for NPUs, or, if none does, for anything.

    Source: docs/reference/switch-affinity.md, section 1.2 (replicas are the pods that request an NPU).
    """
    found = sum(role.count for role in gang.roles if role.n_gpus)
    found += sum(any(amount and is_gpu_resource(name) for name, amount in pod.requests.items()) for pod in running)
    return found or n_pending + len(running)


def _under(table: SwitchTable, nodes: Ints) -> npt.NDArray[np.int64]:
    """Number of the given nodes under each switch, int64 (s,); nodes under no switch are left out."""
    switch = table.node_switch[nodes[nodes >= 0]]
    return np.bincount(switch[switch >= 0], minlength=table.n_switches)


def _free_ranks(running: list[RunningPod], n_pending: int) -> Ints:
    """Free ranks for ``n_pending`` pending pods: the smallest ranks that no running pod has.

    A running pod has the rank of its annotation, else the number at the end of its name if no other pod has that rank,
    else any rank (docs/reference/switch-affinity.md, section 3).
    """
    if not running:
        return np.arange(n_pending, dtype=np.int32)
    total = n_pending + len(running)
    free = np.ones(total, dtype=np.bool_)
    unknown = 0
    for by_name in (False, True):
        for pod in running:
            text = pod.annotations.get(RANK_ANNOTATION, "")
            if (text == "") is not by_name:
                continue
            found = _NUMBER_AT_END.search(pod.name) if by_name else None
            digits = (found.group(1) if found else "") if by_name else text
            number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else total
            if number < total and free[number]:
                free[number] = False
            else:
                unknown += 1
    ranks = np.flatnonzero(free)
    return ranks[unknown:].astype(np.int32)
