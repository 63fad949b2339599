"""The HyperNodes as a forest: the nodes in each, and the order in which a search walks down."""

cimport cython
from libc.stdint cimport int32_t, int64_t

from workbench._core.contest cimport NO_RECORD


@cython.final
@cython.auto_pickle(False)
cdef class HyperNodeTree:
    """Nodes and leaves of every domain; `set_tree` adds parents, tiers and the order of the walk.

    A search changes nothing here, so that any number of them share one.
    """

    def set_nodes(
        self, const int32_t[::1] leaf not None, const int64_t[::1] start not None, const int32_t[::1] members not None
    ):
        """Set the nodes of every domain; comes first, and the memoryviews are kept, not copied."""
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
        """Set every leaf that holds a node, where some have several; both arrays are kept, not copied."""
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
        """Set the HyperNodes; the memoryviews are kept, not copied."""
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
        """The tier of a HyperNode; that of the virtual top for -1."""
        return self.tiers[self.tier_of[domain]] if domain >= 0 else self.top_tier

    cpdef bint contains(self, int32_t outer, int32_t inner) noexcept nogil:
        """Whether ``outer`` is ``inner`` or one of the HyperNodes above it; the virtual top, -1, is above all."""
        if outer < 0 or inner < 0:
            return outer < 0
        return self.place_of[outer] <= self.place_of[inner] < self.end_of[outer]

    cdef Walk walk(self, int32_t given, int32_t record, bint limited, int64_t limit) noexcept nogil:
        """Begin a walk from a HyperNode downwards; without a limit it meets that HyperNode alone."""
        cdef Walk walk
        walk.start = self.start_of(given, record, limit) if limited else given
        walk.limited, walk.limit = limited, limit
        walk.next = 0 if limited else self.n_tiers
        walk.tier = walk.first = walk.end = 0
        walk.alone = False
        return walk

    cdef bint step(self, Walk* walk) noexcept nogil:
        """Go on to the next gradient that has a HyperNode; False: there is none."""
        cdef int64_t t, own
        if walk.start == NOWHERE:
            return False
        if walk.next < self.n_tiers:
            # In a proper tree no other domain of the start's tier or above is below it.
            own = self.tier_of[walk.start] if self.proper and walk.start >= 0 else self.n_tiers
            while walk.next < self.n_tiers:
                t = walk.next
                if self.tiers[t] > walk.limit or t > own:
                    walk.next = self.n_tiers
                    break
                walk.next += 1
                if t == own:
                    walk.first = self.place_in_tier[walk.start]
                    walk.end = walk.first + 1
                else:
                    walk.first = self.first_below(t, walk.start)
                    walk.end = self.end_below(t, walk.start)
                if walk.first < walk.end:
                    walk.tier = t
                    return True
        walk.alone = walk.next == self.n_tiers and (
            not walk.limited or (walk.start < 0 and self.top_tier <= walk.limit)
        )
        walk.next = self.n_tiers + 1
        return walk.alone

    cdef int32_t start_of(self, int32_t given, int32_t record, int64_t limit) noexcept nogil:
        """HyperNode where the walk begins: the lower of the given one and the highest one that the record allows."""
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
        """Index of the tier's first domain at or after ``place`` in preorder (lower bound)."""
        cdef int64_t low = self.tier_start[t], high = self.tier_start[t + 1], middle
        while low < high:
            middle = (low + high) >> 1
            if self.place_of[self.tier_domains[middle]] < place:
                low = middle + 1
            else:
                high = middle
        return low

    cpdef bint holds_node(self, int32_t domain, int32_t node) noexcept nogil:
        """Whether a node is in a HyperNode; every node is in the virtual top, -1."""
        cdef int64_t k
        if domain < 0:
            return True
        for k in range(self.node_start[node], self.node_start[node + 1]):
            if self.node_domains[k] == domain:
                return True
        return False

    def gradients(self, int32_t given, int32_t record, limit):
        """Domains of each gradient of a walk, closest first; ``limit`` None: the given HyperNode alone."""
        cdef int64_t i
        cdef Walk walk = self.walk(given, record, limit is not None, 0 if limit is None else limit)
        found = []
        while self.step(&walk):
            found.append(
                [walk.start] if walk.alone else [self.tier_domains[i] for i in range(walk.first, walk.end)]
            )
        return found
