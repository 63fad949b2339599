"""`Ledger`: what is free and used in a cluster during one scheduling session; changes can be rolled back."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from workbench.kernels.domains import pods_per_node
from workbench.kernels.ledger import add_pods
from workbench.model.arrays import Ints, Longs, Words
from workbench.model.cluster_facts import ClusterFacts
from workbench.model.gang import Gang, Role
from workbench.model.gpu_shares import (
    Milli,
    add_shares,
    capped_by_gpus,
    free_milli,
    gpu_counts,
    gpu_width,
    shared_words,
)
from workbench.model.pod_counts import Namespaces, PodCounts, PodKind, pod_labels
from workbench.model.resources import ASSUMED, request_rows
from workbench.model.switch_book import JobPods, SwitchBook
from workbench.model.value import Working

__all__ = ["Ledger", "idle_accelerators"]


#: What is the snapshot's own until something is taken or promised.
_FROM_SNAPSHOT = ("used", "idle", "gpu_free", "releasing", "gpus_releasing", "assumed", "gpu_shares", "exclusive")
#: Steps up to which looking them through is cheaper than comparing, or keeping, every node.
_SHORT_LOG = 64


class _Shares(NamedTuple):
    """GPU shares taken (sign 1) or given back (sign -1) by one call of `Ledger.take_shares` or `give_back_shares`."""

    sign: int
    nodes: Ints
    gpus: Ints
    milli: Ints


class _Pods(NamedTuple):
    """Pods of some kinds that came to nodes (sign 1) or left them (sign -1) by one call that changed `Ledger.pods`."""

    sign: int
    pods: tuple[tuple[PodKind, Ints], ...]


def idle_accelerators(idle: Longs, gpu_free: Words, gpu_columns: tuple[int, ...], nodes: Ints) -> tuple[Longs, Words]:
    """Amounts of the idle accelerators of nodes, int64 (m, r), and the free GPUs as bits, uint64 (m, w).

    `idle`: ndarray of shape (n, r), int64. `gpu_free`: ndarray of shape (n, w), uint64. `gpu_columns`: columns of
    `idle` that count accelerators. `nodes`: ndarray of shape (m,), int32.
    """
    columns = list(gpu_columns)
    rows = np.zeros((len(nodes), idle.shape[1]), dtype=np.int64)
    rows[:, columns] = np.maximum(idle[nodes][:, columns], 0)
    return rows, gpu_free[nodes]


class Ledger(Working):
    """Free and used resources and GPUs of every node during a scheduling session, with cheap undo.

    One ledger serves a whole session; a policy tries a gang between `checkpoint` and `rollback`, whose cost depends on
    what changed in between, not on the size of the cluster.

    `snapshot`: the cluster at the start of the session; it is not changed. HyperNodes in `ClusterFacts.exclusive` have
    no accelerator left in the ledger.

    Attributes
    ----------
    idle : ndarray of shape (n, r), int64
        Allocatable minus used; negative on nodes that are over-committed.
    used : ndarray of shape (n, r), int64
    gpu_free : ndarray of shape (n, w), uint64
        Read all three, change them only through `take` and `give_back`. They are the snapshot's read-only arrays until
        the first `take` replaces them by copies: do not keep `ledger.idle` across `take`.
    releasing : ndarray of shape (n, r), int64, optional
        Resources of terminating pods not yet promised to another pod; None if no pod is terminating.
    gpus_releasing : ndarray of shape (n, w), uint64, optional
        GPUs of terminating pods, as bits; None if no pod is terminating.
    assumed : ndarray of shape (n, 2), int64, optional
        CPU and memory that scores assume of each node's pods beyond their requests; None: nothing.
    gpu_shares : ndarray of shape (n, g), int16, optional
        Thousandths that pods hold of each GPU that they share (`ClusterSnapshot.gpu_shares`); None: no GPU is shared.
        Change them only through `take_shares` and `give_back_shares`.
    exclusive : mapping of str to str
        HyperNode that each Job of a HyperJob holds alone, as `ClusterSnapshot.exclusive`; a `Stream` replaces it.
    """

    # Three kinds of state:
    #   amounts      idle, used, free GPUs and their shares, copied from the snapshot before the first change
    #   the log      of `take`, `give_back` and the like: for `checkpoint`, `rollback` and `since`; `commit` forgets it
    #   derived      sums of domains, free GPUs, counts of pods: made when asked for, then kept up to date or dropped

    def __init__(self, snapshot: ClusterFacts) -> None:
        self.snapshot = snapshot
        self.topology = snapshot.topology
        self.used, self.idle, self.gpu_free = snapshot.used, snapshot.idle, snapshot.gpu_free
        self.releasing = snapshot.releasing
        self.gpus_releasing = snapshot.gpus_releasing
        self.assumed = snapshot.assumed
        self.gpu_shares = snapshot.gpu_shares
        self.exclusive = snapshot.exclusive
        self._domain_idle: Longs | None = None
        self._switches: SwitchBook | None = None
        self._pods: PodCounts | None = None
        self._log: list[tuple[Ints, Longs, Words | None] | tuple[str, JobPods | None] | _Shares | _Pods] = []
        # Whether it holds all that happened since the snapshot.
        self._log_is_whole = True
        self._readers: weakref.WeakSet[Callable[[], object]] | None = None
        if snapshot.exclusive:
            self.close(snapshot.exclusive_nodes)
            self.commit()

    def _kept(self) -> dict[str, Any]:
        kept = super()._kept()
        kept["_domain_idle"], kept["_readers"] = None, None
        # The copy finds them in its own snapshot: some are derived there, and `is` tells that nothing was taken.
        for name in _FROM_SNAPSHOT:
            if getattr(self, name) is getattr(self.snapshot, name):
                del kept[name]
        return kept

    def _derive(self) -> None:
        for name in _FROM_SNAPSHOT:
            if name not in self.__dict__:
                setattr(self, name, getattr(self.snapshot, name))

    def copy(self) -> Ledger:
        """An independent copy of the ledger in its present state.

        Changes made before the copy cannot be rolled back in it.
        """
        other = copy.copy(self)
        # The snapshot's own arrays, too: whoever asks for a copy may change its arrays.
        for name in ("used", "idle", "gpu_free", "gpu_shares"):
            if getattr(other, name) is getattr(self, name) and getattr(self, name) is not None:
                setattr(other, name, getattr(self, name).copy())
        if self.assumed is not None:
            other.assumed = self.assumed.copy()
        other._log = []
        other._log_is_whole = False
        return other

    def replay_recipe(self) -> Callable[[], Ledger] | None:
        """A function that rebuilds a ledger in the present state of this one, and needs less memory than a copy.

        The function replays the changes made since the snapshot. None if there are too many of them or some are not
        kept.
        """
        taken = self.since(0)
        if not self._log_is_whole or len(self._log) > _SHORT_LOG or len(taken) < len(self._log):
            return None
        if self.releasing is not self.snapshot.releasing:
            return None
        snapshot = self.snapshot
        # Copies, because whoever took may change the arrays afterwards.
        steps = [(nodes.copy(), rows.copy(), None if words is None else words.copy()) for nodes, rows, words in taken]

        def make() -> Ledger:
            ledger = Ledger(snapshot)
            for step in steps:
                ledger.take(*step)
            return ledger

        return make

    def after_terminations(self, *, gone: bool) -> Ledger:
        """A copy of the ledger as it will be after the terminating pods are gone.

        `gone`, if True: resources and GPUs of terminating pods count as idle, except those promised to other pods.
        False: idle and GPUs are as they are now. `used` stays as it is now in either case, so that `check` fails on the
        copy.
        """
        other = self.copy()
        other.snapshot = self.snapshot.after_endings
        if gone and self.releasing is not None:
            other.idle = np.add(self.idle, self.releasing, order="C")
            if self.gpus_releasing is not None:
                other.gpu_free = self.gpu_free | self.gpus_releasing
            if self.gpu_shares is not None and self.snapshot.gpu_shares is not None:
                after = other.snapshot.gpu_shares
                ended = self.snapshot.gpu_shares - (0 if after is None else after)
                other.gpu_shares = self.gpu_shares - ended
                # Of a GPU that was shared, the shares that are left decide.
                was, now = (shared_words(shares, other.gpu_free) for shares in (self.gpu_shares, other.gpu_shares))
                other.gpu_free = (other.gpu_free & ~was) | (was & ~now & self.snapshot.gpu_total)
            other.releasing = other.gpus_releasing = None
        return other

    def call_before_change(self, reader: Callable[[], object]) -> None:
        """Have a function called before the ledger changes next, unless nobody else holds the function by then.

        It reads the present state, such as the answer to a question that may never be asked.
        """
        if self._readers is None:
            self._readers = weakref.WeakSet()
        self._readers.add(reader)

    def _call_readers(self) -> None:
        readers, self._readers = self._readers, None
        for reader in list(readers or ()):
            reader()

    def promise(self, nodes: Ints, requests: Longs) -> None:
        """Reserve for pods the resources that terminating pods will free.

        `nodes`: ndarray of shape (p,), int32; node of each pod. `requests`: ndarray of shape (r,) or (p, r), int64;
        resources of every pod alike, or of each pod.
        """
        if self.releasing is not None:
            self._call_readers()
            releasing = self.releasing.copy()
            np.subtract.at(releasing, nodes, requests)
            self.releasing = releasing

    def take(self, nodes: Ints, requests: Longs, gpu_words: Words | None = None) -> None:
        """Subtract the requests and GPUs of newly placed pods from what is free on their nodes.

        The arrays are kept for `rollback` and must not be changed before it.

        Parameters
        ----------
        nodes : ndarray of shape (p,), int32
            Node of each pod; a node may appear several times.
        requests : ndarray of shape (r,) or (p, r), int64
            One row for all pods, or one each; two further columns, if any, are the CPU and memory that scores assume.
        gpu_words : ndarray of shape (p, w), uint64, optional
            GPUs of each pod; must be free and disjoint.
        """
        rows = requests.reshape(-1, requests.shape[-1])
        self._apply(1, nodes, rows, gpu_words)
        self._log.append((nodes, rows, gpu_words))

    def take_gpus(self, nodes: Ints, gpu_words: Words) -> None:
        """Take the GPUs of pods whose other resources are taken already: `take` without further requests.

        `nodes` is int32 of shape (p,); `gpu_words` holds the GPUs of each pod as bits, uint64 of shape (p, w).
        """
        self.take(nodes, np.zeros(self.used.shape[1], dtype=np.int64), gpu_words)

    def close(self, nodes: Ints) -> None:
        """Take every idle accelerator of nodes that a Job holds exclusively, so that no further pod gets one there.

        `nodes`: ndarray of shape (m,), int32; distinct nodes.
        """
        self.take(nodes, *idle_accelerators(self.idle, self.gpu_free, self.snapshot.gpu_columns, nodes))

    def give_back(self, nodes: Ints, requests: Longs, gpu_words: Words | None = None) -> None:
        """Free the resources and GPUs of pods on their nodes; the opposite of `take`. A rollback undoes it.

        `nodes`: ndarray of shape (p,), int32; node of each pod. `requests`: ndarray of shape (p, r) or (r,), int64;
        resources of each pod, or of every pod alike. `gpu_words`: ndarray of shape (p, w), uint64; bits of the GPUs of
        each pod; None: the pods hold no GPU.
        """
        rows = -requests.reshape(-1, requests.shape[-1])
        self._apply(1, nodes, rows, gpu_words)
        self._log.append((nodes, rows, gpu_words))

    @property
    def gpu_milli_free(self) -> Milli:
        """Free thousandths of each GPU in the ledger's present state: int16 of shape (n, g).

        As `ClusterSnapshot.gpu_milli_free`.
        """
        return free_milli(self.gpu_free, self.snapshot.gpu_total, self.gpu_shares)

    def take_shares(self, nodes: Ints, gpus: Ints, milli: Ints) -> None:
        """Take shares of GPUs for pods, in addition to what `take` gives them; the arrays are kept for `rollback`.

        Raises InputError: a GPU does not exist or has too few free thousandths (a GPU that is held whole has none);
        nothing is changed then.

        `nodes`, `gpus`, `milli`: ndarray of shape (p,), int32; node, number of the GPU there and thousandths of each
        share, 1 to 1000; a GPU may appear several times.
        """
        self._share(_Shares(1, nodes, gpus, milli))

    def give_back_shares(self, nodes: Ints, gpus: Ints, milli: Ints) -> None:
        """Free shares of GPUs; the opposite of `take_shares`. A rollback undoes it.

        Raises InputError: more thousandths than are in use.

        `nodes`, `gpus`: ndarray of shape (k,), int32; node and GPU number of each share. `milli`: ndarray of shape
        (k,), int32; thousandths of the GPU to free.
        """
        self._share(_Shares(-1, nodes, gpus, milli))

    def _share(self, step: _Shares, *, undo: bool = False) -> None:
        if self._readers is not None:
            self._call_readers()
        if self.used is self.snapshot.used:
            self._own_arrays()
        if self.gpu_shares is None:
            width = gpu_width(self.snapshot.gpu_total)
            self.gpu_shares = np.zeros((len(self.gpu_free), width), dtype=np.int16)
        elif self.gpu_shares is self.snapshot.gpu_shares:
            self.gpu_shares = self.gpu_shares.copy()
        held = step.nodes, step.gpus, step.milli
        sign = -step.sign if undo else step.sign
        add_shares(sign, *held, self.gpu_shares, self.gpu_free, self.snapshot.gpu_total, restoring=undo)
        if not undo:
            self._log.append(step)

    def checkpoint(self) -> int:
        """A mark of the ledger's present state, to be passed to `rollback` or `since`."""
        return len(self._log)

    def rollback(self, mark: int) -> None:
        """Undo all changes made after `checkpoint` returned `mark`."""
        while len(self._log) > mark:
            entry = self._log.pop()
            if isinstance(entry, _Shares):
                self._share(entry, undo=True)
            elif isinstance(entry, _Pods):
                self._move(entry, undo=True)
            elif len(entry) == 2:
                key, before = entry
                assert self._switches is not None
                self._switches.set_job(key, before)
            else:
                nodes, rows, gpu_words = entry
                self._apply(-1, nodes, rows, gpu_words)

    @property
    def switches(self) -> SwitchBook | None:
        """State of the leaf switches, computed from the running jobs' pods; None if the snapshot has no switch table.

        Change it only by `set_job`.
        """
        if self._switches is None and self.snapshot.switch_table is not None:
            self._switches = SwitchBook(self.snapshot.switch_table, self.snapshot.running_jobs)
        return self._switches

    def set_job(self, key: str, pods: JobPods | None) -> None:
        """Replace the pods of the job `key` (``namespace/name``) that count for the states of the leaf switches.

        None removes the job. Does nothing without a switch table. A rollback undoes the change.
        """
        book = self.switches
        if book is not None:
            self._log.append((key, book.set_job(key, pods)))

    def end_pods(self, key: str, nodes: Ints) -> None:
        """Stop counting pods of the job `key` on the given nodes for the states of the leaf switches.

        `nodes`, int32, has one entry per pod, so a node listed twice stands for two pods.
        """
        pods = None if self._switches is None else self._switches.job(key)
        if pods is None:
            return
        ended = np.bincount(nodes[nodes >= 0], minlength=self.topology.n_nodes)
        order = np.argsort(pods.node, kind="stable")
        node = pods.node[order]
        # The number of pods of the same node before each.
        place = np.arange(len(node)) - np.searchsorted(node, node)
        left = np.sort(order[(node < 0) | (place >= ended[node])])
        self.set_job(key, pods.only(left) if len(left) else None)

    def since(self, mark: int) -> list[tuple[Ints, Longs, Words | None]]:
        """Changes since a mark of `checkpoint`, one entry (nodes, requests, GPUs) per call of `take` or `give_back`.

        Requests that were given back are negative. Requests are one row for all pods of the call, or one row for each.
        """
        return [entry for entry in self._log[mark:] if len(entry) == 3]

    @property
    def pods(self) -> PodCounts:
        """How many pods of each kind every node holds, as rules of other pods select them.

        Counted from the first call on: pods that were placed before it are missing, so a scheduler that reads it does
        so before it places anything. Change it only by `add_pods` and `remove_pods`, or undo what was changed.
        """
        if self._pods is None:
            self._pods = PodCounts(self.topology.n_nodes, self.snapshot.extra(Namespaces).labels)
            for pod in self.snapshot.running:
                if pod.node >= 0:
                    kind = PodKind.of(pod.namespace, pod.labels, pod.rules, terminating=pod.terminating)
                    self._pods.add(kind, (pod.node,))
        return self._pods

    def add_pods(self, gang: Gang, nodes: Ints) -> None:
        """Count the pods of a gang in `pods`, if anybody reads it; `nodes`, int32 (n_pods,), -1 for pods without one.

        A rollback undoes it.
        """
        self._count_pods(1, gang, nodes)

    def remove_pods(self, gang: Gang, nodes: Ints) -> None:
        """Stop counting pods that `add_pods` was told of with the same arguments; a rollback undoes it."""
        self._count_pods(-1, gang, nodes)

    def _count_pods(self, sign: int, gang: Gang, nodes: Ints) -> None:
        if self._pods is None:
            return
        start = gang.role_start.tolist()
        found = []
        for i, role in enumerate(gang.roles):
            mine = nodes[start[i] : start[i + 1]]
            if (mine >= 0).any():
                found.append((PodKind.of(gang.namespace, pod_labels(gang, role), role.rules), mine[mine >= 0].copy()))
        step = _Pods(sign, tuple(found))
        self._move(step)
        self._log.append(step)

    def _move(self, step: _Pods, *, undo: bool = False) -> None:
        assert self._pods is not None
        if self._readers is not None:
            self._call_readers()
        for kind, nodes in step.pods:
            self._pods.add(kind, nodes.tolist(), -step.sign if undo else step.sign)

    def commit(self) -> None:
        """Make all changes so far final, so that they cannot be rolled back.

        Frees the memory that undoing them needs.
        """
        self._log.clear()
        self._log_is_whole = False

    def assume(self) -> Longs:
        """The attribute `assumed` as a writable array, int64 of shape (n, 2); created with zeros if it was None."""
        if self.assumed is None:
            self.assumed = np.zeros((len(self.used), len(ASSUMED)), dtype=np.int64)
        elif self.assumed is self.snapshot.assumed:
            self.assumed = self.assumed.copy()
        return self.assumed

    def _apply(self, sign: int, nodes: Ints, rows: Longs, gpu_words: Words | None) -> None:
        if self._readers is not None:
            self._call_readers()
        if self.used is self.snapshot.used:
            self._own_arrays()
        r = self.used.shape[1]
        if rows.shape[1] > r:
            np.add.at(self.assume(), nodes, sign * rows[:, r:])
            rows = np.ascontiguousarray(rows[:, :r])
        add_pods(sign, nodes, rows, gpu_words, self.used, self.idle, self.gpu_free)
        if self._domain_idle is not None:
            each = np.broadcast_to(-sign * rows, (len(nodes), rows.shape[1]))
            _add_to_ancestors(self._domain_idle, self.topology.node_domains, nodes, each)

    def _own_arrays(self) -> None:
        self.used, self.idle, self.gpu_free = self.used.copy(), self.idle.copy(), self.gpu_free.copy()

    @property
    def domain_idle(self) -> Longs:
        """Idle resources summed over each HyperNode: int64 of shape (d, r), updated with every change after the first
        call.
        """
        if self._domain_idle is None:
            self._domain_idle = self._sum_domains()
        return self._domain_idle

    def free_gpus(self) -> Longs:
        """Free GPUs of each node: int64 of shape (n,).

        A GPU counts as free if no pod holds it, whole or in part. The count is limited by the node's idle GPU resource,
        because a running pod may say how many GPUs it holds but not which.
        """
        columns = list(self.snapshot.gpu_columns)
        amounts: Longs = np.maximum(self.idle[:, columns], 0).sum(axis=1)
        return np.minimum(amounts, gpu_counts(self.gpu_free))

    def free_gpus_by_domain(self) -> Longs:
        """Free GPUs in each HyperNode: int64 of shape (d + 1,).

        Entry i belongs to the HyperNode of index i (`Topology.domain`). The last entry is that of the whole cluster, so
        that the index -1 (`TOP`) finds it.
        """
        return self.topology.domain_sums(self.free_gpus()[:, None])[:, 0]

    def room_for(self, role: Role, at_most: int | None = None) -> Longs:
        """How many further pods of a role each node can take: int64 of shape (n,).

        Counts every requested resource, pod slots and free GPUs, and gives 0 for nodes that the pods' selector,
        affinity or tolerations exclude. Pods of other roles of the gang compete for the same room.

        `role`: one of ``gang.roles``. Parts of GPUs (`Role.gpu_milli`) are not counted. `at_most`: larger counts are
        given as this number; None: no limit, so that a pod without requests fits 2**31 - 1 times.
        """
        snapshot = self.snapshot
        rows, missing = request_rows(snapshot.resources, [role.requests])
        if missing[0]:
            return np.zeros(self.topology.n_nodes, dtype=np.int64)
        idle = capped_by_gpus(self.idle, self.gpu_free, snapshot.gpu_columns) if role.n_gpus else self.idle
        accepting = snapshot.filters.mask(role.filter).view(np.uint8)
        return pods_per_node(idle, rows[0], feasible=accepting, cap=at_most)

    def _sum_domains(self) -> Longs:
        totals = np.zeros((self.topology.n_domains, self.used.shape[1]), dtype=np.int64)
        _add_to_ancestors(
            totals, self.topology.node_domains, np.arange(self.topology.n_nodes, dtype=np.int32), self.idle
        )
        return totals


def _add_to_ancestors(totals: Longs, node_domains: tuple[Longs, Ints], nodes: Ints, rows: Longs) -> None:
    start, domains = node_domains
    counts = (start[1:] - start[:-1])[nodes]
    if counts.sum() == 0:
        return
    offsets = np.repeat(start[nodes] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    touched = domains[offsets + np.arange(counts.sum())]
    np.add.at(totals, touched, np.repeat(rows, counts, axis=0))
