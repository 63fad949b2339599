"""The HyperNodes as a forest: the nodes in each HyperNode, and the order in which a search goes from tier to tier."""

cimport cython
from libc.stdint cimport int32_t, int64_t

from workbench._core.contest cimport NO_RECORD

import numpy as np


@cython.final
@cython.auto_pickle(False)
cdef class HyperNodeTree:
    """Nodes of each domain (HyperNode) and lowest domain of each node.

    `set_tree` adds parents, tiers and the search order. Searches only read this object, so that any number of them
    share it.
    """

    def set_nodes(
        self, const int32_t[::1] leaf not None, const int64_t[::1] start not None, const int32_t[::1] members not None
    ):
        """Set the nodes of every domain (HyperNode) and the lowest domain of every node; call this first.

        Domain j has the nodes ``members[start[j]:start[j + 1]]``; ``leaf`` (n,) is -1 for a node in no domain. The
        arrays are kept, not copied.
        """
        self.open(leaf, start, members)

    cdef int open(
        self, const int32_t[::1] leaf, const int64_t[::1] start, const int32_t[::1] members
    ) except -1:
        self.d = start.shape[0] - 1
        self.keep = [leaf, start, members]
        self.leaf = &leaf[0] if leaf.shape[0] else NULL
        self.start = &start[0]
        self.members = &members[0] if members.shape[0] else NULL
        return 0

    def set_leaves(self, const int64_t[::1] start not None, const int32_t[::1] leaves not None):
        """Set the leaf domains (lowest HyperNodes) that hold each node, for topologies where a node may have several.

        Node i has ``leaves[start[i]:start[i + 1]]``; both arrays are kept, not copied.
        """
        if leaves.shape[0]:
            self.keep += [start, leaves]
            self.leaf_start = &start[0]
            self.leaves = &leaves[0]

    def set_tree(
        self,
        const int32_t[::1] parent not None,
        const int64_t[::1] tiers not None,
        const int64_t[::1] tier_start not None,
        const int32_t[::1] tier_domains not None,
        const int32_t[::1] tier_of not None,
        const int32_t[::1] place_of not None,
        const int32_t[::1] end_of not None,
        const int32_t[::1] place_in_tier not None,
        const int64_t[::1] largest not None,
        const int64_t[::1] node_start not None,
        const int32_t[::1] node_domains not None,
        const int32_t[:, ::1] spans,
        int64_t top_tier,
        bint nested,
        bint proper,
        bint contained,
    ):
        """Set parent, tier and preorder of every domain (HyperNode); the arrays are kept, not copied."""
        self.keep += [parent, tiers, tier_start, tier_domains, tier_of, place_of, end_of, place_in_tier, largest]
        self.keep += [node_start, node_domains, spans]
        self.n_tiers = tiers.shape[0]
        self.largest = &largest[0]
        self.tier_start = &tier_start[0]
        self.node_start = &node_start[0]
        if self.d:
            self.parent = &parent[0]
            self.tiers = &tiers[0]
            self.tier_domains = &tier_domains[0]
            self.tier_of = &tier_of[0]
            self.place_of = &place_of[0]
            self.end_of = &end_of[0]
            self.place_in_tier = &place_in_tier[0]
            if spans is not None:
                self.spans = &spans[0, 0]
        if node_domains.shape[0]:
            self.node_domains = &node_domains[0]
        self.top_tier = top_tier
        self.nested = nested
        self.proper = proper
        self.contained = contained

    cpdef int64_t domain_tier(self, int32_t domain) noexcept nogil:
        """Tier of a HyperNode; for -1 the tier of the virtual top, which lies above all HyperNodes."""
        return self.tiers[self.tier_of[domain]] if domain >= 0 else self.top_tier

    cpdef bint contains(self, int32_t outer, int32_t inner) noexcept nogil:
        """Whether HyperNode ``outer`` is ``inner`` or an ancestor of ``inner``.

        -1, the virtual top, is an ancestor of all.
        """
        if outer < 0 or inner < 0:
            return outer < 0
        return self.place_of[outer] <= self.place_of[inner] < self.end_of[outer]

    cdef int32_t start_of(self, int32_t given, int32_t record, int64_t limit) noexcept nogil:
        """HyperNode below which a search for a job looks, given the tier limit.

        The lower one of ``given`` and the highest HyperNode around ``record``, where the job is allocated so far, whose
        tier is at most ``limit``.
        """
        cdef int32_t allowed = record
        if record == NO_RECORD:
            return given
        if self.domain_tier(record) > limit:
            return NOWHERE
        while allowed >= 0 and self.domain_tier(self.parent[allowed]) <= limit:
            allowed = self.parent[allowed]
        if self.contains(allowed, given):
            return given
        return allowed if self.contains(given, allowed) else NOWHERE

    cdef int64_t first_of(self, int64_t t, int64_t place) noexcept nogil:
        """Index of the first HyperNode of the ``t``-th tier at or after ``place`` in preorder (a lower bound)."""
        cdef int64_t low = self.tier_start[t], high = self.tier_start[t + 1], middle
        while low < high:
            middle = (low + high) >> 1
            if self.place_of[self.tier_domains[middle]] < place:
                low = middle + 1
            else:
                high = middle
        return low

    cdef bint interval(self, int32_t domain, int64_t* first, int64_t* end) noexcept nogil:
        """Write the first node of a domain (HyperNode) and one past its last.

        False if it has no node or its nodes are not consecutive.
        """
        cdef int64_t low = self.start[domain], high = self.start[domain + 1]
        if low == high or self.members[high - 1] - self.members[low] != high - low - 1:
            return False
        first[0], end[0] = self.members[low], self.members[high - 1] + 1
        return True

    cpdef bint holds_node(self, int32_t domain, int32_t node) noexcept nogil:
        """Whether a node lies in a HyperNode; every node lies in -1, the virtual top."""
        cdef int64_t k
        if domain < 0:
            return True
        for k in range(self.node_start[node], self.node_start[node + 1]):
            if self.node_domains[k] == domain:
                return True
        return False

    def interval_of(self, int32_t domain):
        """First node of a domain (HyperNode) and one past its last.

        None if it has no node or its nodes are not consecutive.
        """
        cdef int64_t first, end
        return (first, end) if self.interval(domain, &first, &end) else None

    def gradients(self, int32_t given, int32_t record, limit):
        """HyperNodes that are tried for a job, one int32 array per tier (gradient), the closest tier first.

        ``given`` is the HyperNode inside which the job must stay, ``record`` the one in which it is allocated so far,
        ``limit`` the highest tier allowed; None: the given HyperNode alone is tried.
        """
        cdef int64_t i
        cdef int32_t[::1] domains
        cdef Walk walk = self.walk(given, record, limit is not None, 0 if limit is None else limit)
        found = []
        while self.step(&walk):
            domains_array = np.empty(1 if walk.alone else walk.end - walk.first, dtype=np.int32)
            domains = domains_array
            for i in range(domains.shape[0]):
                domains[i] = walk.start if walk.alone else self.tier_domains[walk.first + i]
            found.append(domains_array)
        return found
