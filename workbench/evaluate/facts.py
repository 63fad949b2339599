"""`JobFacts` and `RunFacts`: the facts about a placed job and about a session from which metrics are computed.

Every fact is computed when it is first read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.evaluate.closeness import SAME_NODE, Closeness
from workbench.evaluate.member_jobs import placed_jobs
from workbench.evaluate.switch_sharing import JobSwitches, SwitchSharing
from workbench.kernels.gpu_sets import indices_of
from workbench.model.arrays import Longs, Words
from workbench.model.placement import Decision, Placement, words_to_mask
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology

if TYPE_CHECKING:
    from workbench.evaluate.cost.job_cost import JobCost
    from workbench.evaluate.cost.plan import CommunicationPlan

__all__ = ["NODE", "JobFacts", "RunFacts", "gpus_free_after", "tier_keys"]


#: Key of "on the same node" beside the tiers; no HyperNode tier can be called so.
NODE = "node"


def tier_keys(topology: Topology) -> tuple[str, ...]:
    """Keys of a metric that has a value per tier, closest first: `NODE`, every tier, then the virtual top's tier."""
    return (NODE, *(str(tier) for tier in topology.tiers), str(topology.top_tier))


class JobFacts:
    """Facts about one placed job, from which metrics are computed.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        The cluster before the decision.
    gpu_free : ndarray of shape (n, w), uint64, optional
        Free GPUs of every node at the end of the run; by default those that this placement alone leaves free.
    switches : JobSwitches, optional
        How the job shares the leaf switches; None where that was not measured.
    communication : CommunicationPlan, optional
        What the cost of communication is computed from; None: it is not measured.

    Attributes
    ----------
    placed : ndarray of shape (p,), int64
        Positions of the pods that have a node; every array below describes these p pods and their m nodes.
    nodes : ndarray of shape (m,), int32
        Indices of the nodes that hold at least one of the pods, ascending.
    node_of_pod : ndarray of shape (p,), int64
        Position in `nodes` of each pod's node.
    """

    # Facts are computed when a metric first asks for them, and kept. `closeness` holds the tiers that nodes share, from
    # which follow pairs, ring steps and HyperNodes; `_gpu_words` and `_gpu_sets` hold the job's GPUs on each node.

    def __init__(
        self,
        placement: Placement,
        snapshot: ClusterSnapshot,
        gpu_free: Words | None = None,
        switches: JobSwitches | None = None,
        communication: CommunicationPlan | None = None,
    ) -> None:
        self._communication = communication
        self.placement = placement
        self.snapshot = snapshot
        self.switches = switches
        self._gpu_free = gpu_free
        self.placed: Longs = np.flatnonzero(placement.node >= 0)
        self.nodes, self.node_of_pod = np.unique(placement.node[self.placed], return_inverse=True)

    @property
    def topology(self) -> Topology:
        return self.placement.topology

    @cached_property
    def cost(self) -> JobCost | None:
        """Communication cost of the job per training step; None if its shape is not stated or a pod has no node."""
        return None if self._communication is None else self._communication.cost_of(self.placement)

    @cached_property
    def pods_per_node(self) -> Longs:
        """Number of the job's pods on each of `nodes`, int64 of shape (m,)."""
        return np.bincount(self.node_of_pod, minlength=len(self.nodes))

    @cached_property
    def closeness(self) -> Closeness:
        """The tiers that pairs of the job's nodes share."""
        return Closeness(self.topology, self.nodes)

    @cached_property
    def domains_used(self) -> dict[int, int]:
        """For each tier, closest first, the number of HyperNodes that hold at least one pod of the job."""
        return self.closeness.domains_used()

    @cached_property
    def common_domain(self) -> int:
        """Index of the closest HyperNode that holds every pod of the job.

        -1 for the virtual top (the whole cluster).
        """
        return self.closeness.common_domain()

    @cached_property
    def ring_levels(self) -> Longs:
        """For each link of the ring of ranks, how close its two pods are: int64 of shape (number of links,).

        -1 means the same node; otherwise the value is the index in ``closeness.tiers`` of the closest tier that the
        pods' nodes share. The ring follows the ranks, and the last rank is linked to the first: p pods have p links (2
        pods: both directions), 1 pod has none.
        """
        rank = self.placement.rank
        ring = self.node_of_pod if rank is None else self.node_of_pod[np.argsort(rank[self.placed], kind="stable")]
        if len(ring) < 2:
            return np.zeros(0, dtype=np.int64)
        return self.closeness.pair_levels(ring, np.roll(ring, -1))

    def by_tier(self, counts: Sequence[int]) -> dict[str, int]:
        """Turn a list of counts into a metric value by tier: first the same node, then each of ``closeness.tiers``."""
        return dict(zip(tier_keys(self.topology), counts, strict=True))

    @cached_property
    def pod_pairs(self) -> dict[str, int]:
        """Number of unordered pairs of the job's pods, by the closest tier that their nodes share."""
        same_node, per_level = self.closeness.pair_counts(self.pods_per_node)
        return self.by_tier([same_node, *per_level.tolist()])

    @cached_property
    def ring_crossings(self) -> dict[str, int]:
        """Number of links of the ring of ranks, by the closest tier that the two pods' nodes share."""
        n_levels = len(self.closeness.tiers) + 1
        return self.by_tier(np.bincount(self.ring_levels - SAME_NODE, minlength=n_levels).tolist())

    @cached_property
    def _gpu_words(self) -> Words | None:
        """The job's GPUs on each of `nodes` as bits, uint64 of shape (m, w); None if the policy chose no GPUs."""
        if self.placement.gpu_words is None:
            return None
        words = np.zeros((len(self.nodes), self.placement.gpu_words.shape[1]), dtype=np.uint64)
        np.bitwise_or.at(words, self.node_of_pod, self.placement.gpu_words[self.placed])
        return words

    @cached_property
    def _gpu_sets(self) -> tuple[tuple[tuple[int, ...], ...], npt.NDArray[np.float64]]:
        """The job's GPU numbers on each of `nodes`, and the bottleneck of each set in GB/s (NaN if unknown)."""
        words, snapshot = self._gpu_words, self.snapshot
        if words is None or not len(words):
            return ((),) * len(self.nodes), np.full(len(self.nodes), np.nan)
        matrix_of = snapshot.node_matrix[self.nodes]
        # Few distinct (matrix, set) pairs stand behind thousands of nodes: each is looked at once.
        first, state_of = _distinct_rows([matrix_of, *words.T])
        sets = [indices_of(words_to_mask(words[at])) for at in first]
        values = np.full(len(sets), np.nan)
        for i, (index, gpus) in enumerate(zip(matrix_of[first].tolist(), sets)):
            matrix = snapshot.matrices[index] if 0 <= index < len(snapshot.matrices) else None
            if matrix is not None and len(gpus) > 1 and gpus[-1] < len(matrix):
                block = matrix.gb_s[np.ix_(gpus, gpus)]
                values[i] = block[~np.eye(len(gpus), dtype=np.bool_)].min()
        return tuple(sets[i] for i in state_of.tolist()), values[state_of]

    @property
    def gpus(self) -> tuple[tuple[int, ...], ...]:
        """The job's GPU numbers on each of `nodes`; empty if the policy chose no GPUs."""
        return self._gpu_sets[0]

    @property
    def bottleneck_gb_s(self) -> npt.NDArray[np.float64]:
        """Smallest bandwidth between any two of the job's GPUs on each of `nodes`, in both directions: float64 of shape
        (m,).

        NaN where the job has fewer than two GPUs on the node or the matrix of the node is unknown.
        """
        return self._gpu_sets[1]

    @cached_property
    def gpus_stranded(self) -> int | None:
        """Number of GPUs still free at the end on nodes where the job holds GPUs; None if the policy chose no GPUs."""
        words = self._gpu_words
        if words is None:
            return None
        free = gpus_free_after(self.snapshot, [self.placement]) if self._gpu_free is None else self._gpu_free
        return int(np.bitwise_count(free[self.nodes[(words != 0).any(axis=1)]]).sum())


class RunFacts:
    """Facts about one scheduling session of a policy, from which metrics are computed.

    `snapshot`: the cluster before the session. `communication`: as for `JobFacts`. `switches`: how the jobs share the
    leaf switches; None where that was not measured.

    Attributes
    ----------
    jobs : mapping of str to JobFacts
        The placed jobs by ``namespace/name``, in the order of the decisions.
    members : mapping of str to JobFacts
        The placed Jobs of HyperJobs by ``namespace/hyperjob/job``; the HyperJobs are in `jobs`.
    gpu_free : ndarray of shape (n, w), uint64
        Free GPUs of every node once all placements run.
    """

    def __init__(
        self,
        decisions: Sequence[Decision],
        snapshot: ClusterSnapshot,
        switches: SwitchSharing | None = None,
        communication: CommunicationPlan | None = None,
    ) -> None:
        self.decisions = decisions
        self.snapshot = snapshot
        self.switches = switches
        self.placements = [d.result for d in decisions if isinstance(d.result, Placement)]
        self.gpu_free = gpus_free_after(snapshot, self.placements)
        of_job = {} if switches is None else switches.jobs
        self.jobs: Mapping[str, JobFacts] = {
            p.gang.key: JobFacts(p, snapshot, self.gpu_free, of_job.get(p.gang.key), communication)
            for p in self.placements
        }
        self.members: Mapping[str, JobFacts] = {
            f"{p.gang.key}/{job.name}": JobFacts(job.placement, snapshot, self.gpu_free)
            for p in self.placements
            for job in placed_jobs(p)
            if job.placed
        }

    @property
    def gpus_stranded(self) -> int:
        """Number of GPUs still free at the end on nodes where a placed job holds GPUs."""
        touched = np.zeros(self.snapshot.n_nodes, dtype=np.bool_)
        for placement in self.placements:
            if placement.gpu_words is not None:
                touched[placement.node[(placement.gpu_words != 0).any(axis=1) & (placement.node >= 0)]] = True
        return int(np.bitwise_count(self.gpu_free[touched]).sum())


def gpus_free_after(snapshot: ClusterSnapshot, placements: Sequence[Placement]) -> Words:
    """Free GPUs of each node once the placements run, as bits: uint64 of shape (n, w)."""
    free = snapshot.gpu_free.copy()
    for placement in placements:
        if placement.gpu_words is None:
            continue
        placed = np.flatnonzero(placement.node >= 0)
        width = min(free.shape[1], placement.gpu_words.shape[1])
        taken = np.zeros_like(free)
        np.bitwise_or.at(taken[:, :width], placement.node[placed], placement.gpu_words[placed, :width])
        free &= ~taken
    return free


def _distinct_rows(columns: Sequence[npt.NDArray[Any]]) -> tuple[Longs, Longs]:
    """Group equal rows of a table given by columns; returns one row of each group, and the group of each row, int64."""
    kinds = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if (column == column[0]).all():
            continue
        of_column, n = np.unique(column, return_inverse=True)[1], len(column)
        # Both numbers are below n, so the product stays below n squared.
        kinds = np.unique(kinds * n + of_column, return_inverse=True)[1]
    first = np.zeros(int(kinds.max()) + 1, dtype=np.int64)
    first[kinds] = np.arange(len(kinds))
    return first, kinds
