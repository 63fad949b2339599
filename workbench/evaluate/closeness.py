"""`Closeness`: how close a gang's nodes are, measured as the closest tier that two nodes share.

The tier shared by two nodes is the smallest tier of a HyperNode that holds both, or the virtual top's if none does. In
a tree this is the tier of their lowest common ancestor; if HyperNodes overlap, it is the closest that the network
offers. All metrics about closeness use this definition.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Ints, Longs, distinct
from workbench.model.topology import TOP, Topology

__all__ = ["SAME_NODE", "Closeness"]


#: Level of a node with itself; levels from 0 on are positions in `Closeness.tiers`.
SAME_NODE = -1

# Rows of the membership product held at once where HyperNodes overlap: 512 x 5,000 floats are 10 MB.
_CHUNK = 512


class Closeness:
    """The tiers that pairs of a few nodes of a topology share.

    `tiers`: the topology's tiers, closest first, then the virtual top's. `nodes` (ndarray of shape (m,), int32):
    distinct node indices; the methods refer to nodes by their position in this array.
    """

    # Where HyperNodes nest, `_groups` labels the nodes of each tier, and pairs are compared or counted by label. Where
    # they overlap, `_membership` and `_pairs_sharing` look at pairs through a matrix of nodes and HyperNodes.

    def __init__(self, topology: Topology, nodes: Ints) -> None:
        self.topology = topology
        self.nodes = nodes
        self.tiers = (*topology.tiers, topology.top_tier)
        start, domains = topology.node_domains
        counts = (start[1:] - start[:-1])[nodes]
        offsets = np.repeat(start[nodes] - (np.cumsum(counts) - counts), counts)
        self._member_node = np.repeat(np.arange(len(nodes)), counts)
        self._member_domain = domains[offsets + np.arange(int(counts.sum()))]
        self._member_tier = topology.tier[self._member_domain]

    def domains_used(self) -> dict[int, int]:
        """For each tier, closest first, the number of its HyperNodes that hold at least one of the nodes."""
        held = np.bincount(self._member_domain, minlength=self.topology.n_domains)
        used = self.topology.tier[held > 0]
        return {tier: int((used == tier).sum()) for tier in self.topology.tiers}

    def common_domain(self) -> int:
        """Index of the closest HyperNode that holds all the nodes; `TOP` (-1) if none does.

        Closest is the lowest tier, then the fewest nodes, then the smallest name.
        """
        held = np.bincount(self._member_domain, minlength=self.topology.n_domains)
        whole = np.flatnonzero(held == len(self.nodes)) if len(self.nodes) else np.zeros(0, dtype=np.int64)
        if len(whole) == 0:
            return TOP
        sizes = np.diff(self.topology.member_start)[whole]
        return int(whole[np.lexsort((self.topology.domain_rank[whole], sizes, self.topology.tier[whole]))[0]])

    @cached_property
    def _groups(self) -> Longs | None:
        """A label of each node for each tier, equal for two nodes if they share that tier or a closer one; int64.

        None if no such labels exist, because HyperNodes of one tier overlap or a lower tier is not nested in the next.
        """
        m = len(self.nodes)
        labels = np.arange(m, dtype=np.int64)
        next_label = np.zeros(m + self.topology.n_domains, dtype=np.int64)
        rows = []
        for tier in self.topology.tiers:
            here = self._member_tier == tier
            nodes, domains = self._member_node[here], self._member_domain[here]
            if np.bincount(nodes, minlength=1).max() > 1:
                return None
            coarser = labels.copy()
            coarser[nodes] = m + domains.astype(np.int64)
            next_label[labels] = coarser
            # Two nodes of one label that go apart: the last of them has overwritten what the other wrote.
            if (next_label[labels] != coarser).any():
                return None
            rows.append(coarser)
            labels = coarser
        rows.append(np.zeros(m, dtype=np.int64))
        return np.stack(rows)

    def pair_levels(self, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> Longs:
        """The level of each pair of nodes: `SAME_NODE`, or the index in `tiers` of the closest tier that they share.

        `a` and `b` are int64 arrays of equal shape with the pairs' positions in `nodes`; so is the result.
        """
        if self._groups is not None:
            levels: Longs = (self._groups[:, a] == self._groups[:, b]).argmax(axis=0).astype(np.int64)
        else:
            levels = np.full(len(a), len(self.tiers) - 1, dtype=np.int64)
            for level in reversed(range(len(self.topology.tiers))):
                shared = self._membership(level)
                for at in range(0, len(a), _CHUNK):
                    part = slice(at, at + _CHUNK)
                    levels[part][(shared[a[part]] * shared[b[part]]).any(axis=1)] = level
        levels[a == b] = SAME_NODE
        return levels

    def pair_counts(self, weights: Longs) -> tuple[int, Longs]:
        """Number of unordered pairs of pods on one node, and of pairs whose nodes share each of `tiers` as the closest.

        `weights` (int64 of shape (m,)) gives the number of pods on each node. The pairs are counted by group of nodes,
        never one by one: O(nodes x tiers) in a tree.
        """
        same_node = int((weights * (weights - 1) // 2).sum())
        within = [same_node]
        if self._groups is not None:
            for labels in self._groups:
                pods = np.bincount(labels, weights=weights).astype(np.int64)
                within.append(int((pods * (pods - 1) // 2).sum()))
        else:
            for level in range(len(self.topology.tiers)):
                within.append(same_node + self._pairs_sharing(self._membership(level), weights))
            total = int(weights.sum())
            within.append(total * (total - 1) // 2)
        counts = np.array(within, dtype=np.int64)
        return same_node, counts[1:] - counts[:-1]

    def _membership(self, level: int) -> npt.NDArray[np.float32]:
        """Matrix of shape (m, HyperNodes used): 1 where the node is in the HyperNode, of this tier or a closer one."""
        used = distinct(self._member_domain)
        close = self._member_tier <= self.topology.tiers[level]
        table = np.zeros((len(self.nodes), len(used)), dtype=np.float32)
        table[self._member_node[close], np.searchsorted(used, self._member_domain[close])] = 1.0
        return table

    def _pairs_sharing(self, membership: npt.NDArray[np.float32], weights: Longs) -> int:
        """Number of pairs of pods on different nodes that share at least one HyperNode of `membership`.

        `weights` gives the number of pods on each node.
        """
        ordered = 0
        for at in range(0, len(self.nodes), _CHUNK):
            shares = membership[at : at + _CHUNK] @ membership.T > 0
            shares[np.arange(len(shares)), at + np.arange(len(shares))] = False
            ordered += int(weights[at : at + _CHUNK] @ (shares @ weights))
        return ordered // 2
