"""`DomainTree`: the HyperNodes of a cluster and the nodes in them, as compiled searches share them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench._core.hypernode_tree import HyperNodeTree
from workbench._core.ranges import is_order
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.domains import checked_leaves
from workbench.kernels.fading import Rings
from workbench.kernels.tiers import VIRTUAL_TOP, Forest
from workbench.kernels.two_level_checks import checked_csr

__all__ = ["DomainTree"]


class DomainTree:
    """The HyperNodes of a cluster (called domains, by number) and the nodes in them.

    The arrays are checked once; all searches share this object.

    Parameters
    ----------
    forest : Forest
        The tree of the d domains, which are numbered in the order of their names.
    walk, end : ndarray of shape (d,), int32
        Position of each domain in preorder of the forest, and one past the last position of its subtree.
    member_start : ndarray of shape (d + 1,), int64
        Offsets into ``members``, ascending from 0.
    members : ndarray of shape (member_start[d],), int32
        Nodes of domain j, each once, ascending: ``members[member_start[j]:member_start[j + 1]]``.
    node_start : ndarray of shape (n + 1,), int64
        Offsets into ``node_domains``, ascending from 0.
    node_domains : ndarray of shape (node_start[n],), int32
        Domains that hold node i: ``node_domains[node_start[i]:node_start[i + 1]]``.
    name_rank, leaf : ndarray of shape (n,), int32
        Rank of each node's name; leaf domain of each node, -1 for none.
    spans : ndarray of shape (d, 2), int32, optional
        First node of each domain and one past its last, if the nodes of every domain are consecutive; None: they need
        not be.
    nested : bool
        Whether every domain holds the nodes of the domains below it; False: a domain's pod count is no bound for those
        below.
    leaves : tuple of (ndarray of shape (n + 1,), int64, ndarray of shape (m,), int32), optional
        Every leaf domain that holds node i, if leaves overlap: ``leaves[1][leaves[0][i]:leaves[0][i + 1]]``. None: no
        node is in two.
    """

    # The constructor checks the arrays, then derives the order of domains by tier (`tier_domains`, `tier_start`,
    # `place_in_tier`) and the largest domain of each tier; `compiled` is the same tree for the compiled searches.

    def __init__(
        self,
        forest: Forest,
        walk: NDArray[np.int32],
        end: NDArray[np.int32],
        member_start: NDArray[np.int64],
        members: NDArray[np.int32],
        node_start: NDArray[np.int64],
        node_domains: NDArray[np.int32],
        name_rank: NDArray[np.int32],
        leaf: NDArray[np.int32],
        *,
        spans: NDArray[np.int32] | None = None,
        nested: bool = True,
        leaves: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
    ) -> None:
        self.d = d = len(forest)
        self.forest = forest
        self.walk = as_array("walk", walk, np.int32, 1)
        check_length("walk", walk, d)
        if not is_order(self.walk, np.zeros(d, dtype=np.uint8)):
            raise InputError("no order", source="walk", expected=f"each of 0..{d - 1} once")
        self.end = as_array("end", end, np.int32, 1)
        check_length("end", end, d)
        check_range("end", end, 1, d)
        self.name_rank = as_array("name_rank", name_rank, np.int32, 1)
        self.n = n = self.name_rank.shape[0]
        check_range("name_rank", self.name_rank, 0, n - 1)
        self.leaf = as_array("leaf", leaf, np.int32, 1)
        check_length("leaf", leaf, n)
        check_range("leaf", leaf, VIRTUAL_TOP, d - 1)
        self.member_start, self.members = checked_csr("member", member_start, members, d, n)
        self.node_start, self.node_domains = checked_csr("node", node_start, node_domains, n, d)
        self.spans = None
        if spans is not None:
            self.spans = as_array("spans", spans, np.int32, 2)
            if self.spans.shape != (d, 2):
                raise InputError("wrong shape", source="spans", got=str(self.spans.shape), expected=f"({d}, 2)")
            check_range("spans", self.spans, 0, n)
        self.leaves = None if leaves is None else checked_leaves(leaves, n, d)
        self.nested = nested
        self.proper = nested and self._proper()
        """Besides, any two domains that share a node are nested, and tiers grow towards the root."""
        covered = self.leaf >= 0
        self.contained = self.proper and np.array_equal(
            self.forest.depth[self.leaf[covered]] + 1, np.diff(self.node_start)[covered]
        )
        """Besides, the leaf of a node is the deepest domain that holds it, if it has one."""
        tiers, tier_of = np.unique(forest.tier, return_inverse=True)
        self.tiers = tiers.astype(np.int64)
        self.tier_of = tier_of.reshape(-1).astype(np.int32)
        self.tier_domains = np.lexsort((self.walk, self.tier_of)).astype(np.int32)
        counts = np.bincount(self.tier_of, minlength=len(tiers))
        self.tier_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.place_in_tier = np.empty(d, dtype=np.int32)
        self.place_in_tier[self.tier_domains] = np.arange(d, dtype=np.int32)
        self.largest = np.zeros(len(tiers) + 1, dtype=np.int64)
        self.largest[-1] = n
        np.maximum.at(self.largest, self.tier_of, np.diff(self.member_start))
        self.top_tier = max(int(tiers[-1]) + 1, 1) if d else 1
        """The largest tier plus one, at least 1."""
        self.compiled = self._compiled()
        """The same for compiled searches, which share it."""

    def _compiled(self) -> HyperNodeTree:
        made = HyperNodeTree()
        made.set_nodes(self.leaf, self.member_start, self.members)
        if self.leaves is not None:
            made.set_leaves(*self.leaves)
        made.set_tree(
            self.forest.parent,
            self.tiers,
            self.tier_start,
            self.tier_domains,
            self.tier_of,
            self.walk,
            self.end,
            self.place_in_tier,
            self.largest,
            self.node_start,
            self.node_domains,
            self.spans,
            self.top_tier,
            self.nested,
            self.proper,
            self.contained,
        )
        return made

    @cached_property
    def rings(self) -> Rings:
        """Nodes grouped by the domains (HyperNodes) around them, an argument of `workbench.kernels.fading.Fading`."""
        return Rings.of(self.node_start, self.node_domains, self.tier_of, len(self.tiers))

    def _proper(self) -> bool:
        parent, tier = self.forest.parent, self.forest.tier
        inner = np.flatnonzero(parent >= 0)
        if bool((tier[parent[inner]] <= tier[inner]).any()):
            return False
        holders = np.diff(self.node_start)
        held = np.flatnonzero(holders)
        if len(held) == 0:
            return True
        # The deepest holder's ancestors hold the node, too: when they are as many as its holders, there are no others.
        deepest = np.maximum.reduceat(self.forest.depth[self.node_domains], self.node_start[held])
        return np.array_equal(deepest + 1, holders[held])
