"""Declarations of ``hypernode_tree.pyx``: the HyperNodes as numbered domains, read-only.

Domain -1 is the virtual top, which holds every node. All arrays are borrowed from numpy and kept alive by `keep`.

`walk` and `step` alone say which HyperNodes a search tries, and in which order::

    walk = tree.walk(given, record, limited, limit)
    while tree.step(&walk):
        # the HyperNodes tier_domains[walk.first:walk.end], or walk.start alone if walk.alone
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

cdef enum:
    NOWHERE = -3           # no HyperNode is left after the record


cdef struct Walk:
    # the HyperNodes that a job, or a sub-job inside a HyperNode, may go to: tier after tier, closest first
    int32_t start          # where the walk begins; NOWHERE: no HyperNode may be tried
    bint limited           # False: the given HyperNode alone
    int64_t limit          # highest tier
    int64_t next           # number of the tier to look at next, that of the virtual top being `n_tiers`
    # the gradient at hand
    int64_t tier           # number of its tier, if it is not `alone`
    int64_t first, end     # its HyperNodes in `tier_domains`
    bint alone             # instead: it is `start` and nothing else


@cython.final
cdef class HyperNodeTree:
    cdef int64_t d
    cdef list keep                     # owners of the memory that is only borrowed
    # nodes
    cdef const int32_t* leaf           # of each node, -1: none
    cdef const int64_t* start          # nodes of each domain: where they begin in `members`
    cdef const int32_t* members
    cdef const int64_t* leaf_start     # every leaf that holds a node, where leaves overlap; NULL: no node has two
    cdef const int32_t* leaves
    cdef bint contained                # a leaf is below a domain if its nodes are in it
    # the forest, after `set_tree`
    cdef int64_t n_tiers
    cdef const int32_t* parent
    cdef const int64_t* tiers
    cdef const int64_t* tier_start
    cdef const int32_t* tier_domains   # of each tier in the order of the walk
    cdef const int32_t* place_of       # of each domain in the walk, and where its subtree ends
    cdef const int32_t* end_of
    cdef const int32_t* tier_of        # number of the tier of each domain
    cdef const int32_t* place_in_tier  # of each domain in `tier_domains`
    cdef const int64_t* largest        # nodes of a domain of each tier, at most
    cdef const int32_t* spans          # of each domain: first node and one past the last; NULL: no intervals
    cdef const int64_t* node_start
    cdef const int32_t* node_domains
    cdef int64_t top_tier
    cdef bint nested, proper

    cdef inline int64_t at(self, int32_t domain) noexcept nogil:
        return domain if domain >= 0 else self.d

    cdef inline int64_t where(self, int32_t domain) noexcept nogil:
        """Index of a domain (HyperNode) in arrays of counts, which are ordered by tier."""
        return self.place_in_tier[domain] if domain >= 0 else self.d

    cdef inline int64_t first_below(self, int64_t t, int32_t start) noexcept nogil:
        """Index in `tier_domains` of the first domain (HyperNode) of the ``t``-th tier inside ``start``.

        -1 is the virtual top.
        """
        return self.tier_start[t] if start < 0 else self.first_of(t, self.place_of[start])

    cdef inline int64_t end_below(self, int64_t t, int32_t start) noexcept nogil:
        """Index in `tier_domains` one past the last domain (HyperNode) of the ``t``-th tier inside ``start``.

        -1 is the virtual top.
        """
        return self.tier_start[t + 1] if start < 0 else self.first_of(t, self.end_of[start])

    cdef inline Walk walk(self, int32_t given, int32_t record, bint limited, int64_t limit) noexcept nogil:
        """Begin the list of HyperNodes that a search tries inside ``given``, tier by tier; use `step` to go on.

        ``record`` is where the job is allocated so far; not ``limited``: only ``given`` itself is tried.
        """
        cdef Walk walk
        walk.start = self.start_of(given, record, limit) if limited else given
        walk.limited, walk.limit = limited, limit
        walk.next = 0 if limited else self.n_tiers
        walk.tier = walk.first = walk.end = 0
        walk.alone = False
        return walk

    cdef inline bint step(self, Walk* walk) noexcept nogil:
        """Go on to the next tier that has a HyperNode to try; False if there is none."""
        cdef int64_t t, own = self.n_tiers
        if walk.start == NOWHERE:
            return False
        if walk.next < self.n_tiers:
            # In a proper tree no other domain of the start's tier or above is below it.
            if self.proper and walk.start >= 0:
                own = self.tier_of[walk.start]
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

    cpdef int64_t domain_tier(self, int32_t domain) noexcept nogil
    cpdef bint contains(self, int32_t outer, int32_t inner) noexcept nogil
    cdef int32_t start_of(self, int32_t given, int32_t record, int64_t limit) noexcept nogil
    cdef int64_t first_of(self, int64_t t, int64_t place) noexcept nogil
    cdef bint interval(self, int32_t domain, int64_t* first, int64_t* end) noexcept nogil
    cpdef bint holds_node(self, int32_t domain, int32_t node) noexcept nogil
    cdef int open(self, const int32_t[::1] leaf, const int64_t[::1] start, const int32_t[::1] members) except -1
