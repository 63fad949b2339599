"""The contract of GPU policies, and the choice of GPUs on every node of a placement.

A GPU policy chooses on one node at a time and keeps no state; equal questions are asked once per call.
`PerPodGpuPolicy` serves one pod at a time, as a device plugin does, without knowledge of the gang.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.errors import InternalError
from workbench.kernels.ledger import lowest_gpus, whole_nodes
from workbench.kernels.rows import unique_rows
from workbench.kernels.states import alike
from workbench.model.arrays import Ints, Longs, Words, distinct
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.gpu_shares import gpu_counts
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import words_to_mask
from workbench.model.snapshot import gpu_words
from workbench.policies.parameters import Parametrised

__all__ = ["GpuAssignment", "GpuPolicy", "GpuQuestions", "NodeGpus", "PerPodGpuPolicy", "lowest_indices"]


@dataclass(frozen=True)
class NodeGpus:
    """The free GPUs of one node, and the node's bandwidth matrix.

    `free`: bit mask of the free GPUs: bit i is GPU i. `matrix`, if None: the bandwidths are unknown.
    """

    free: int
    matrix: BandwidthMatrix | None


#: A node of which nothing is known.
_BLIND = NodeGpus(0, None)


class GpuPolicy(Parametrised, ABC):
    """Base class of GPU policies, which choose the GPUs of the pods on one node at a time.

    `name`: as in the registry. `counts_only`: whether a request fits exactly when enough GPUs are free; if so, `fits`
    is not called. `lowest_unknown`: whether pods get the lowest free indices on a node without a matrix; if so,
    `choose` is not called for such nodes.
    """

    name: str
    counts_only: bool = True
    lowest_unknown: bool = False

    def fits(self, gpus: NodeGpus, requests: Sequence[int]) -> bool:
        """Whether the pods of a node, which request these numbers of GPUs, can all get GPUs from its free ones."""
        return sum(requests) <= gpus.free.bit_count()

    @abstractmethod
    def score(self, gpus: NodeGpus, requests: Sequence[int]) -> float:
        """Score of a node, 0 to 100, for pods with these requests, which fit there.

        Used if the node policy weighs GPU scores.
        """

    @abstractmethod
    def choose(self, gpus: NodeGpus, requests: Sequence[int]) -> tuple[int, ...] | None:
        """Choose free GPUs for each pod of a gang on one node: disjoint bit masks, in the order of ``requests``.

        Returns None if the pods cannot be served together although each of them alone could be, which does not happen
        with `counts_only`; the gang is then refused.
        """

    def choose_singles(self, matrix: BandwidthMatrix, free: Words, n_gpus: Ints) -> Words | None:
        """Choose GPUs for one pod on each of many nodes that share a bandwidth matrix.

        `free`: ndarray of shape (m, w), uint64; bits of the free GPUs of each node. `n_gpus`: ndarray of shape (m,),
        int32; GPUs that the pod on each node asks for. Returns ndarray of shape (m, w), uint64, or None: bits of the
        chosen GPUs; None: call `choose` for each node instead.
        """
        return None

    def warnings(self, questions: Sequence[tuple[NodeGpus, Sequence[int], int]]) -> list[Notice]:
        """Notices for the user about the chosen GPUs.

        Each question is a node's free GPUs, the requests there, and the number of nodes for which it was asked.
        """
        return []


def lowest_indices(free: int, count: int) -> int:
    """Mask of the ``count`` free GPUs with the lowest numbers."""
    chosen = 0
    for _ in range(count):
        lowest = free & -free
        chosen |= lowest
        free ^= lowest
    return chosen


class GpuAssignment(NamedTuple):
    """GPUs of each pod of a gang.

    `words`: ndarray of shape (n_pods, w), uint64; bits of each pod's GPUs; None if no pod asks for a GPU. `warnings`:
    warnings for the user about the chosen GPUs. `unserved`: a node whose pods cannot be served together; -1: none.
    `visible`: ndarray of shape (n_pods, w), uint64; as `visible_words` of a `Placement`.
    """

    words: Words | None
    warnings: tuple[Notice, ...] = ()
    unserved: int = -1
    visible: Words | None = None


@dataclass(eq=False)
class GpuQuestions:
    """Asks one GPU policy about the nodes of a ledger, and remembers the answers, during one call of `place`."""

    policy: GpuPolicy
    ledger: Ledger
    _fits: dict[tuple[int, int, int], bool] = field(default_factory=dict)
    _scores: dict[tuple[int, int, int], float] = field(default_factory=dict)

    def free_count(self) -> Longs:
        """Number of free GPUs of each node, int64 (n,)."""
        return gpu_counts(self.ledger.gpu_free)

    def feasible(self, n_gpus: int) -> npt.NDArray[np.bool_] | None:
        """Whether each node can serve one pod with ``n_gpus`` GPUs, bool (n,).

        None if every node with that many free GPUs can.
        """
        if n_gpus == 0 or self.policy.counts_only:
            return None
        return self._per_node(n_gpus, self._fits, self.policy.fits, np.dtype(np.bool_))

    def scores(self, n_gpus: int) -> npt.NDArray[np.float64] | None:
        """The GPU policy's score of each node for one pod with ``n_gpus`` GPUs, float64 (n,).

        0 where the pod does not fit; None if ``n_gpus`` is 0.
        """
        if n_gpus == 0:
            return None

        def score(gpus: NodeGpus, requests: Sequence[int]) -> float:
            return self.policy.score(gpus, requests) if self.policy.fits(gpus, requests) else 0.0

        return self._per_node(n_gpus, self._scores, score, np.dtype(np.float64))

    def _per_node(
        self,
        n_gpus: int,
        memo: dict[tuple[int, int, int], Any],
        ask: Callable[[NodeGpus, Sequence[int]], Any],
        dtype: np.dtype[Any],
    ) -> npt.NDArray[Any]:
        state = np.column_stack([self.ledger.snapshot.node_matrix.astype(np.uint64), self.ledger.gpu_free])
        distinct, inverse = unique_rows(state)
        answers = np.empty(len(distinct), dtype=dtype)
        for i, row in enumerate(distinct):
            matrix = int(row[:1].view(np.int64)[0])
            key = (matrix, words_to_mask(row[1:]), n_gpus)
            if key not in memo:
                check()
                memo[key] = ask(self._node_gpus(key[1], matrix), (n_gpus,))
            answers[i] = memo[key]
        return answers[inverse]

    def _node_gpus(self, free: int, matrix: int) -> NodeGpus:
        known = self.ledger.snapshot.matrices[matrix] if matrix >= 0 else None
        # A matrix smaller than the machine says nothing about the GPUs beyond it.
        return NodeGpus(free, known if known is not None and free.bit_length() <= len(known) else None)

    def assign_gpus(self, gang: Gang, node: Ints) -> GpuAssignment:
        """Choose GPUs for every placed pod of a gang.

        `node`: ndarray of shape (n_pods,), int32; -1 for pods without a node. Nodes with equal free GPUs, matrix and
        requests are decided together. The pods of a node are passed to the GPU policy in the order of their positions
        in the gang. The policy is not called for a node whose only pod takes all free GPUs.
        """
        dealt = self._deal_lowest(gang, node) or self._deal_wholes(gang, node)
        if dealt is not None:
            return dealt
        wanted = np.array([role.n_gpus for role in gang.roles], dtype=np.int64)[gang.role_of_pod]
        pods = ((node >= 0) & (wanted > 0)).nonzero()[0]
        if len(pods) == 0:
            return GpuAssignment(None)
        gpu_free = self.ledger.gpu_free
        words = np.zeros((gang.n_pods, gpu_free.shape[1]), dtype=np.uint64)
        pods = pods[np.argsort(node[pods], kind="stable")]
        node_of_pod = node[pods]
        bounds = np.concatenate([[0], (node_of_pod[1:] != node_of_pod[:-1]).nonzero()[0] + 1, [len(pods)]])
        first = bounds[:-1]
        nodes, count = node_of_pod[first], bounds[1:] - first
        sums = np.add.reduceat(wanted[pods], first)
        free = gpu_free[nodes]
        n_free = gpu_counts(free)
        if (sums > n_free).any():
            raise InternalError("a node policy gave a node more GPU pods than it has free GPUs")
        everything = (count == 1) & (sums == n_free)
        matrix = self.ledger.snapshot.node_matrix[nodes]
        if self.policy.counts_only:
            words[pods[first[everything]]] = free[everything]
            done = everything.copy()
        else:
            done = np.zeros(len(nodes), dtype=np.bool_)
        asked: list[tuple[NodeGpus, Sequence[int], int]] = []
        asked += self._of_matrices(matrix[done])
        if words.shape[1] == 1 and self.ledger.snapshot.matrices:
            done |= self._deal_singles(words, pods[first], sums, free, matrix, ~done & (count == 1), asked)
        rest = (~done).nonzero()[0]
        sorted_wanted = wanted[pods]
        for same in alike(matrix[rest], free[rest], sorted_wanted, first[rest], count[rest]) if len(rest) else ():
            check()
            at = rest[same]
            requests = tuple(sorted_wanted[first[at[0]] : bounds[at[0] + 1]].tolist())
            gpus = self._node_gpus(words_to_mask(free[at[0]]), int(matrix[at[0]]))
            masks = self.policy.choose(gpus, requests)
            if masks is None:
                return GpuAssignment(None, unserved=int(nodes[at[0]]))
            _check_masks(self.policy.name, gpus, requests, masks)
            asked.append((gpus, requests, len(at)))
            # A row of words for each pod of a node; nodes alike get the same.
            words[pods[first[at, None] + np.arange(len(masks))]] = gpu_words(masks, words.shape[1])
        return GpuAssignment(words, tuple(self.policy.warnings(asked)))

    def _deal_lowest(self, gang: Gang, node: Ints) -> GpuAssignment | None:
        """Choose the lowest free GPUs for all pods; None if the policy may choose otherwise on some node."""
        if not self.policy.lowest_unknown or self.ledger.snapshot.matrices:
            return None
        n_gpus = [role.n_gpus for role in gang.roles]
        if not any(n_gpus):
            return GpuAssignment(None)
        of_role = np.array(n_gpus, dtype=np.int64)
        words, n_nodes = lowest_gpus(node, gang.role_of_pod, of_role, self.ledger.gpu_free)
        if n_nodes < 0:
            raise InternalError("a node policy gave a node more GPU pods than it has free GPUs")
        if n_nodes == 0:
            return GpuAssignment(None)
        return GpuAssignment(words, tuple(self.policy.warnings([(_BLIND, (1,), n_nodes)])))

    def _deal_wholes(self, gang: Gang, node: Ints) -> GpuAssignment | None:
        """Give each pod all free GPUs of its node, if equal pods, one per node, take just those; else return None."""
        if not self.policy.counts_only or len(gang.roles) != 1 or not gang.roles[0].n_gpus or len(node) == 0:
            return None
        words = whole_nodes(node, gang.roles[0].n_gpus, self.ledger.gpu_free)
        if words is None:
            return None
        snapshot = self.ledger.snapshot
        blind = [(_BLIND, (1,), len(node))]
        asked = self._of_matrices(snapshot.node_matrix.take(node)) if snapshot.matrices else blind
        return GpuAssignment(words, tuple(self.policy.warnings(asked)))

    def _of_matrices(self, matrix: Ints) -> list[tuple[NodeGpus, Sequence[int], int]]:
        """For each matrix number, a node whose only pod takes all GPUs, and how many nodes have it (for `warnings`)."""
        counts = np.bincount(matrix + 1)
        return [(self._node_gpus(0, int(i) - 1), (1,), int(counts[i])) for i in counts.nonzero()[0]]

    def _deal_singles(
        self,
        words: Words,
        pod: npt.NDArray[np.intp],
        n_gpus: Longs,
        free: Words,
        matrix: Ints,
        single: npt.NDArray[np.bool_],
        asked: list[tuple[NodeGpus, Sequence[int], int]],
    ) -> npt.NDArray[np.bool_]:
        done = np.zeros(len(single), dtype=np.bool_)
        for number in distinct(matrix[single & (matrix >= 0)]):
            known = self.ledger.snapshot.matrices[int(number)]
            here = np.flatnonzero(single & (matrix == number))
            if len(known) > 64 or int(np.bitwise_or.reduce(free[here, 0])).bit_length() > len(known):
                continue
            chosen = self.policy.choose_singles(
                known, np.ascontiguousarray(free[here, 0]), n_gpus[here].astype(np.int32)
            )
            if chosen is not None:
                words[pod[here], 0] = chosen
                done[here] = True
                asked.append((NodeGpus(0, known), (1,), len(here)))
        return done


def _check_masks(policy: str, gpus: NodeGpus, requests: Sequence[int], masks: Sequence[int]) -> None:
    given = 0
    for mask, count in zip(masks, requests, strict=True):
        if mask & ~gpus.free or mask & given or mask.bit_count() != count:
            raise InternalError(f"{policy} chose GPUs {mask:b} for a pod of {count}, free are {gpus.free & ~given:b}")
        given |= mask


class PerPodGpuPolicy(GpuPolicy):
    """GPU policy that serves the pods of a node one after another, each from the GPUs that the earlier pods left."""

    @abstractmethod
    def choose_one(self, gpus: NodeGpus, count: int) -> int | None:
        """Mask of `count` free GPUs for one pod; None if the policy refuses."""

    def fits(self, gpus: NodeGpus, requests: Sequence[int]) -> bool:
        if self.counts_only:
            return super().fits(gpus, requests)
        return self.choose(gpus, requests) is not None

    def score(self, gpus: NodeGpus, requests: Sequence[int]) -> float:
        """Score 0 for every node: the policy has no preference among nodes."""
        return 0.0

    def choose(self, gpus: NodeGpus, requests: Sequence[int]) -> tuple[int, ...] | None:
        masks = []
        for count in requests:
            mask = self.choose_one(gpus, count)
            if mask is None:
                return None
            masks.append(mask)
            gpus = NodeGpus(gpus.free & ~mask, gpus.matrix)
        return tuple(masks)


def unlooked_notices(policy: str, blind: int, large: int, why: str) -> list[Notice]:
    """Warnings about nodes whose GPUs a policy takes by number, without a look at their links.

    `policy`: name of the policy. `blind`, `large`: number of nodes without a bandwidth matrix, and of nodes with a
    matrix that the policy does not look at. `why`: what the latter have, such as ``more than 16 GPUs``.
    """
    found = []
    if blind:
        text = f"{policy}: {counted(blind, 'node has', 'nodes have')} no bandwidth matrix, lowest indices taken"
        found.append(Notice("no-bandwidth-matrix", text, numbers={"count": blind}))
    if large:
        text = f"{policy}: {counted(large, 'node has', 'nodes have')} {why}, lowest indices taken"
        found.append(Notice("machine-too-large", text, numbers={"count": large}))
    return found
