"""`HeldNodes`: which placements hold the nodes of a cluster under one policy, and what is broken; no time, no queue."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.model.gang import Gang
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Working
from workbench.policies.contract import Policy
from workbench.policies.stream import SessionStream
from workbench.simulate.lost_pods import placement_of_running, with_pods_placed_again

__all__ = ["HeldNodes", "break_gpus", "break_node", "held_gpus", "pace_of", "smallest_missing", "whole_gpus"]

#: Name of a job or a fault: a number in simulations, a text in timelines. Keys of one `HeldNodes` must be sortable.
Key = Any


class HeldNodes(Working):
    """The nodes of a cluster as jobs hold them and faults break them; `Simulation` and `Timeline` are built on it.

    `snapshot`: the cluster at the beginning, with its running pods; not changed. `free_gpus`: idle whole GPUs on nodes
    that are not broken, including those of HyperNodes reserved for one Job; a GPU that placed pods share counts, too.
    """

    # Overview:
    #   place, adopt, extend, release, take_over   who holds what, by the key of the job
    #   break_down, repair                         nodes and GPUs that faults close; a node may suffer from several
    #   hit_by                                     which jobs a fault meets: the caller stops them before it breaks
    #   snapshot                                   the cluster with all of this

    def __init__(self, snapshot: ClusterSnapshot, policy: Policy) -> None:
        self._base, self._policy = snapshot, policy
        self._stream = policy.stream(snapshot)
        self._held: dict[Key, Placement] = {}
        # By fault: its nodes and the bits of its GPUs; by broken node: its faults.
        self._faults: dict[Key, tuple[tuple[int, ...], int]] = {}
        self._broken: dict[int, tuple[Key, ...]] = {}
        self._now: ClusterSnapshot | None = snapshot
        self.free_gpus = int(np.bitwise_count(snapshot.gpu_free).sum())

    def _kept(self) -> dict[str, Any]:
        return {**super()._kept(), "_now": None}

    @property
    def broken(self) -> tuple[int, ...]:
        """Nodes that are broken, wholly or in part, ascending."""
        return tuple(sorted(self._broken))

    @property
    def broken_names(self) -> frozenset[str]:
        """Names of the nodes that are broken, wholly or in part."""
        names = self._base.topology.node_names
        return frozenset(names[node] for node in self._broken)

    def free_gpus_on(self, nodes: npt.NDArray[np.bool_]) -> int:
        """Whole GPUs that are left on some nodes, given as a mask, bool (n,)."""
        return int(np.bitwise_count(self._stream.ledger.gpu_free[nodes]).sum())

    def holds(self, key: Key) -> bool:
        """Whether the job `key` holds nodes."""
        return key in self._held

    def placement(self, key: Key) -> Placement:
        """The placement that the job `key` holds."""
        return self._held[key]

    def place(self, key: Key, gang: Gang) -> Placement | Refusal:
        """Let the policy's stream place a gang; a placement is held by the job `key` from then on."""
        answer = self._stream.place(gang)
        if isinstance(answer, Placement):
            self._hold(key, answer)
        return answer

    def decide(self, gang: Gang) -> Decision:
        """Decision of a session of the policy on the cluster as it is now, for this gang alone; nothing is held."""
        return self._policy.schedule([gang], self.snapshot())[0]

    @property
    def session(self) -> SessionStream | None:
        """The open session of the policy, which shares the nodes; None: its sessions do not stay open."""
        return self._stream if isinstance(self._stream, SessionStream) else None

    def adopt(self, key: Key, placement: Placement) -> None:
        """Let the job `key` hold a placement that `place` did not return."""
        if not self._stream.holds(placement):
            self._stream.adopt(placement)
        self._hold(key, placement)

    def extend(self, key: Key, added: Placement) -> None:
        """Add newly placed pods to what the job `key` holds; `added` is of the gang of its unplaced pods."""
        whole = with_pods_placed_again(self._held[key], added)
        self.release(key)
        self.adopt(key, whole)

    def release(self, key: Key) -> None:
        """Free the nodes that the job `key` holds."""
        placement = self._held.pop(key)
        self._stream.give_back(placement)
        self.free_gpus += whole_gpus(placement)
        self._now = None

    def take_over(self, gang: str) -> None:
        """Let the running pods of a gang of the first snapshot be held under its name, ``namespace/name``.

        Raises UnknownNameError: no pod of such a gang runs; terminating pods do not count, and stay as they are.
        """
        placement = placement_of_running(gang, self._base)
        left = self._base.without_pods(lambda pod: pod.gang == gang and pod.node >= 0 and not pod.terminating)
        self._base = left.without_record(gang)
        self._stream = self._policy.stream(self._base)
        # Broken nodes first: Jobs of HyperJobs close what is idle around them, which would hide a broken node.
        for node in self._broken:
            self._close(node)
        self.free_gpus = self._count_free() - sum(map(whole_gpus, self._held.values()))
        for held in self._in_order():
            self._stream.adopt(held)
        self.adopt(gang, placement)

    def break_down(self, fault: Key, nodes: Iterable[int], gpus: int = 0) -> None:
        """Close nodes, or some GPUs of one, until `repair`; no job holds what breaks any more.

        `fault`, `nodes`, `gpus`: key of the fault; bits of GPUs, or 0 for whole nodes.
        """
        self._faults[fault] = tuple(nodes), gpus
        for node in self._faults[fault][0]:
            self._broken[node] = (*self._broken.get(node, ()), fault)
            self._close_anew(node)

    def repair(self, fault: Key) -> None:
        """Reopen what a fault has broken, as far as no other fault has."""
        for node in self._faults.pop(fault)[0]:
            left = tuple(other for other in self._broken[node] if other != fault)
            if left:
                self._broken[node] = left
            else:
                del self._broken[node]
            self._close_anew(node)

    def faults_of(self, node: int) -> tuple[Key, ...]:
        """Faults that a node suffers from."""
        return self._broken.get(node, ())

    def hit_by(self, nodes: Iterable[int], gpus: int = 0) -> dict[Key, npt.NDArray[np.bool_]]:
        """Jobs with pods on some nodes, or on some GPUs of one, ascending, and which of their pods, bool (n_pods,).

        A pod without known GPUs counts as on every GPU of its node.
        """
        at = tuple(nodes)
        hits = {key: _pods_on(self._held[key], at, gpus) for key in sorted(self._held)}
        return {key: hit for key, hit in hits.items() if hit.any()}

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now: jobs run in it, broken nodes are not ready, and broken GPUs are missing."""
        if self._now is not None:
            return self._now
        snapshot = self._base
        for held in self._in_order():
            snapshot = snapshot.with_placement(held)
        for node in self.broken:
            broken = self._broken_gpus(node)
            if broken:
                snapshot = break_gpus(snapshot, node, [gpu for gpu in range(broken.bit_length()) if broken >> gpu & 1])
            else:
                snapshot = break_node(snapshot, node)
        self._now = snapshot
        return snapshot

    def _in_order(self) -> Iterator[Placement]:
        return (self._held[key] for key in sorted(self._held))

    def _hold(self, key: Key, placement: Placement) -> None:
        if key in self._held:
            raise InputError("it holds nodes already", source="job", got=str(key), expected="a job without nodes")
        self._held[key] = placement
        self.free_gpus -= whole_gpus(placement)
        self._now = None

    def _broken_gpus(self, node: int) -> int:
        """Bits of the broken GPUs of a broken node; 0: the whole node is broken."""
        by = [self._faults[fault][1] for fault in self._broken[node]]
        return 0 if 0 in by else reduce(or_, by)

    def _close_anew(self, node: int) -> None:
        """Close a node as far as it is broken now."""
        # Jobs of HyperJobs close what is idle in their HyperNodes: they do so again, after the change.
        around = [held for held in self._in_order() if self._is_alone_around(held, node)]
        for placement in around:
            self._stream.give_back(placement)
        before = self._count_free()
        if node in self._stream.closed:
            self._stream.reopen(node)
        self._close(node)
        self.free_gpus += self._count_free() - before
        for placement in around:
            self._stream.adopt(placement)
        self._now = None

    def _close(self, node: int) -> None:
        if node in self._broken:
            self._stream.close(node, self._broken_gpus(node))

    def _is_alone_around(self, placement: Placement, node: int) -> bool:
        topology = self._base.topology
        return any(node in topology.nodes_of(topology.domain(name)) for name in placement.exclusive.values())

    def _count_free(self) -> int:
        return int(np.bitwise_count(self._stream.ledger.gpu_free).sum())


def whole_gpus(placement: Placement) -> int:
    """Whole GPUs that a placement holds."""
    if not any(role.n_gpus for role in placement.gang.roles):
        return 0
    counts = np.array([role.n_gpus for role in placement.gang.roles], dtype=np.int64)
    return int(counts[placement.gang.role_of_pod[placement.node >= 0]].sum())


def held_gpus(placement: Placement) -> float:
    """GPUs that a placement holds, shares as parts of one."""
    if not placement.gang.shares_gpus:
        return float(whole_gpus(placement))
    milli = np.array([role.gpu_milli for role in placement.gang.roles], dtype=np.int64)
    return whole_gpus(placement) + int(milli[placement.gang.role_of_pod[placement.node >= 0]].sum()) / WHOLE_GPU


def smallest_missing(placement: Placement) -> int:
    """Whole GPUs of the smallest pod that has no node."""
    missing = np.unique(placement.gang.role_of_pod[placement.node < 0]).tolist()
    return min((placement.gang.roles[role].n_gpus for role in missing), default=0)


def pace_of(placement: Placement) -> float:
    """Seconds that a second of work takes: the work of a job is shared by the pods that run."""
    return placement.gang.n_pods / placement.n_placed


def _pods_on(placement: Placement, nodes: tuple[int, ...], gpus: int) -> npt.NDArray[np.bool_]:
    on = np.isin(placement.node, nodes)
    if gpus and placement.gpu_words is not None:
        on[on] = [bool(placement.gpu_mask(int(pod)) & gpus) for pod in np.flatnonzero(on)]
    return on


def break_node(snapshot: ClusterSnapshot, node: int) -> ClusterSnapshot:
    """The snapshot after a node has failed: it is not ready, so that no pod is placed on it. `node` is its index."""
    not_ready = snapshot.not_ready.copy()
    not_ready[node] = True
    return dataclasses.replace(snapshot, not_ready=not_ready)


def break_gpus(snapshot: ClusterSnapshot, node: int, gpus: Sequence[int]) -> ClusterSnapshot:
    """The snapshot after some GPUs of a node have failed: the node offers fewer GPUs.

    `snapshot`, `node`, `gpus`: index of the node, and numbers of the GPUs; an `InputError` says which of them is not
    healthy before.
    """
    total, free = snapshot.gpu_total.copy(), snapshot.gpu_free.copy()
    allocatable = snapshot.allocatable.copy()
    for gpu in gpus:
        word, bit = divmod(gpu, 64)
        mask = np.uint64(1) << np.uint64(bit)
        if gpu < 0 or word >= total.shape[1] or not total[node, word] & mask:
            name = snapshot.topology.node_names[node]
            raise InputError(
                "no such healthy GPU", source="fault", where=name, got=str(gpu), expected="a GPU of the node"
            )
        total[node, word] &= ~mask
        free[node, word] &= ~mask
        for column in snapshot.gpu_columns:
            if allocatable[node, column] > 0:
                allocatable[node, column] -= 1
                break
    return dataclasses.replace(snapshot, gpu_total=total, gpu_free=free, allocatable=allocatable)
