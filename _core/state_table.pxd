"""Declarations of ``state_table.pyx``: resources of nodes, and groups of nodes with equal amounts, called states.

Whoever changes `idle` and `used` of a node asks `find_state` for its new state. A trial stores that in `run_state` and
`touched`, under the number of the trial (`stamp`), and leaves `state_of` alone; pods that stay are written to
`state_of`.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t

from workbench._core.node_score cimport Weights


cdef struct Shape:
    int64_t* request
    const uint8_t* feasible   # by node; NULL: all
    const double* extra       # by node; NULL: none
    double binpack_weights
    # by state of a node
    double* score             # -inf: does not fit
    uint8_t* scored           # whether that is known
    int32_t* fit              # pods that a node holds, plus one; 0: not known
    int32_t* next             # state with one pod more, plus one; 0: not known


@cython.final
cdef class StateTable:
    cdef int64_t n, r
    cdef int32_t n_shapes
    cdef Weights weights
    cdef Shape* shapes
    cdef int64_t* idle
    cdef int64_t* used
    cdef const int64_t* allocatable
    cdef list keep                # owners of the memory that is only borrowed
    # states: what is idle, used and allocatable on a node; most nodes share one with others
    cdef int32_t* state_of        # of each node, but for what the run at hand changed
    cdef int64_t* table           # 3 r numbers each
    cdef int32_t* slots           # hash table of states; -1: free
    cdef uint64_t slot_mask
    cdef readonly int32_t n_states, state_capacity
    cdef int32_t n_remembered
    cdef const int32_t* known_states     # NULL: to be found
    cdef const int32_t* first_in_state
    cdef int64_t n_known
    cdef double* scores_of        # of all shapes
    cdef uint8_t* scored_of
    cdef int32_t* fits_of
    cdef int32_t* nexts_of
    cdef int64_t reserved         # states that stay free for pods that stay
    cdef int32_t* run_state       # of each node that the run at hand changed; -1: there was no room for it
    cdef int64_t stamp            # number of the run at hand, and of the run that changed each node
    cdef int64_t* touched
    cdef int32_t n_settled        # states before the attempt at hand
    # scratch: nodes counted in each state, 0 between two questions, and the states that were met
    cdef int32_t* with_state
    cdef int32_t* met_states

    cdef inline int32_t state_now(self, int32_t node) noexcept nogil:
        """State (number of the group of equal nodes) of a node with the pods of the present trial.

        -1: there was no room for it.
        """
        return self.run_state[node] if self.touched[node] == self.stamp else self.state_of[node]

    cdef inline bint has_room(self, int64_t more) noexcept nogil:
        """Whether the nodes are grouped into states and ``more`` states can be added.

        A state is a group of nodes with equal amounts.
        """
        return self.table != NULL and self.n_states + more <= self.state_capacity

    cdef inline void take(self, int64_t node, const int64_t* row) noexcept nogil:
        """Subtract amounts, one per resource, from a node's idle resources and add them to its used ones."""
        cdef int64_t at = node * self.r, k
        for k in range(self.r):
            self.idle[at + k] -= row[k]
            self.used[at + k] += row[k]

    cdef inline void give_back(self, int64_t node, const int64_t* row) noexcept nogil:
        cdef int64_t at = node * self.r, k
        for k in range(self.r):
            self.idle[at + k] += row[k]
            self.used[at + k] -= row[k]

    cdef inline bint holds_at_least(self, int64_t node, const int64_t* amounts) noexcept nogil:
        cdef const int64_t* idle = self.idle + node * self.r
        cdef int64_t k
        for k in range(self.r):
            if idle[k] < amounts[k]:
                return False
        return True

    cdef int open_states(self, int64_t more) except -1
    cdef int claim_states(self, int64_t more) except -1
    cpdef void keep_states(self, int32_t count) noexcept nogil
    cdef uint64_t hash_of(self, const int64_t* idle, const int64_t* used, const int64_t* allocatable) noexcept nogil
    cpdef int32_t find_state(self, int64_t node) noexcept nogil
    cdef int32_t next_state(self, Shape* shape, int32_t state, int32_t node) noexcept nogil
    cdef double rate(
        self, const Shape* shape, const int64_t* idle, const int64_t* used, const int64_t* allocatable
    ) noexcept nogil
    cdef double score_now(self, Shape* shape, int32_t node) noexcept nogil
    cpdef int make_room(self, int64_t more, int64_t per_attempt) except -1
    cdef void leave_states(self, int64_t more) noexcept nogil
    cdef int change_shape(self, int64_t s, const uint8_t[::1] feasible, const double[::1] extra) except -1
    cdef int open(
        self, const int64_t[:, ::1] idle, const int64_t[:, ::1] used, const int64_t[:, ::1] allocatable, double binpack,
        const double[::1] binpack_by, double least, double most, const int64_t[::1] request_by, double balanced, const
        uint8_t[::1] balanced_by
    ) except -1
    cdef int32_t add_shape(
        self, const int64_t[::1] request, const uint8_t[::1] feasible, const double[::1] extra
    ) except -1
    cdef int know_states(self, const int32_t[::1] state_of, const int32_t[::1] first) except -1
