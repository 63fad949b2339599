"""Declarations of ``domain_counts.pyx``: how many pods fit in each HyperNode, and used and allocatable totals.

`count_shape` brings ``of_shape[s].held``, indexed by `HyperNodeTree.where`, up to date for the domains asked for. For
pods that stay, call `change_state` once for each node; `undo` takes logged changes back until a given number is left.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from workbench._core.fading cimport Totals
from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.state_table cimport StateTable


cdef struct Count:
    int64_t* held          # pods in each domain by its place among those of its tier, the virtual top last
    uint8_t* counted       # whether the domains of a tier are counted yet, the virtual top's last
    int64_t cap            # pods that are looked for at most
    int64_t most           # pods that one node holds at most
    int64_t seen           # changes that the counts know
    bint followed          # False: of one sub-job alone, which counts anew where it looks


cdef struct Change:
    int32_t node
    int32_t before, after  # its state


@cython.final
cdef class DomainCounts:
    cdef StateTable states
    cdef HyperNodeTree hypernodes
    cdef int64_t n, r, d
    cdef list keep                     # owners of the memory that is only borrowed
    # totals per domain, the virtual top last
    cdef int64_t* domain_used
    cdef const int64_t* domain_allocatable
    cdef const int64_t* idle_at_open
    cdef double* packing               # weight of each resource
    cdef double scale
    cdef Count* of_shape
    cdef int64_t n_counts              # shapes that have counts
    cdef int64_t* counts_held
    cdef int64_t* prefix               # pods of one shape on the nodes before each
    cdef int64_t prefix_shape, prefix_time, prefix_first, prefix_end
    # nodes changed by pods that stay or belong to the attempt
    cdef Change* changed
    cdef readonly int64_t n_changed
    cdef int64_t commits               # counts everything that changes nodes, for good or for the attempt
    cdef int64_t changed_settled       # changes that no attempt takes back
    cdef int64_t* more_used            # scratch: by resource, of one change
    cdef Totals totals                 # the sums above, as `use_path` takes them

    cdef inline bint large(self, int32_t domain, const int64_t* amount) noexcept nogil:
        """Whether a domain (HyperNode) had at least these amounts idle when the session began."""
        cdef const int64_t* idle = self.idle_at_open + self.hypernodes.at(domain) * self.r
        cdef int64_t k
        for k in range(self.r):
            if idle[k] < amount[k]:
                return False
        return True

    cdef int open_changes(self, int64_t pods) except -1
    cdef void find_most(self) noexcept nogil
    cpdef int32_t fit_in_state(self, int64_t s, int32_t state) noexcept nogil
    cdef int32_t holds(self, int64_t s, int64_t node) noexcept nogil
    cdef void count_shape(self, int64_t s, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil
    cdef void count_now(self, int64_t s, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil
    cdef void sum_nodes(self, int64_t s, int64_t first, int64_t end) noexcept nogil
    cdef int64_t holds_together(self, int32_t domain, const int64_t* left) noexcept nogil
    cdef void correct(self, int64_t s, const Change* change, bint back) noexcept nogil
    cdef void add(self, int64_t s, int32_t node, int64_t more) noexcept nogil
    cdef void catch_up(self, int64_t s) noexcept nogil
    cdef void take_row(self, int32_t node, const int64_t* row) noexcept nogil
    cdef void follow(self, int32_t node) noexcept nogil
    cdef int64_t holds_of_job(self, int32_t domain, const int64_t* left) noexcept nogil
    cdef void change_state(self, int32_t node, int32_t state) noexcept nogil
    cdef void use_change(self, const Change* change, int64_t times) noexcept nogil
    cpdef void undo(self, int64_t changed_mark) noexcept nogil
    cdef bint differs(self, int64_t node, const int64_t* idle, const int64_t* used, size_t row) noexcept nogil
    cpdef int update_nodes(self, const int64_t[:, ::1] idle, const int64_t[:, ::1] used, int64_t per_attempt) except -1
    cpdef void forget(self, int64_t s) noexcept nogil
    cdef int set_totals(
        self, const int64_t[:, ::1] used, const int64_t[:, ::1] allocatable, const int64_t[:, ::1] idle_at_open, const
        double[::1] packing, double scale, const int64_t[::1] caps
    ) except -1
