"""Groups nodes with equal resources into states, so that a pod's score is computed once per state, not per node.

Nodes with equal idle, used and allocatable amounts share one state. Per state and pod shape, the score, the number of
pods that fit, and the state after one more pod are computed once.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset

from workbench._core.memory cimport claim, free, grab, regrow
from workbench._core.node_score cimport fits, node_score, packing_sum

import numpy as np


@cython.final
@cython.auto_pickle(False)
cdef class StateTable:
    """Idle, used and allocatable resources of nodes, the group of equal nodes ("state") of each, and the pod shapes."""

    cdef int open(
        self,
        const int64_t[:, ::1] idle,
        const int64_t[:, ::1] used,
        const int64_t[:, ::1] allocatable,
        double binpack,
        const double[::1] binpack_by,
        double least,
        double most,
        const int64_t[::1] request_by,
        double balanced,
        const uint8_t[::1] balanced_by,
    ) except -1:
        cdef int64_t n = idle.shape[0], r = idle.shape[1], i
        cdef size_t cells = n * r * sizeof(int64_t)
        self.n = n
        self.r = r
        self.keep = [allocatable]
        self.allocatable = &allocatable[0, 0] if n and r else NULL
        self.idle = <int64_t*>claim(cells)
        self.used = <int64_t*>claim(cells)
        if cells:
            memcpy(self.idle, &idle[0, 0], cells)
            memcpy(self.used, &used[0, 0], cells)
        self.weights.r = r
        self.weights.binpack = binpack
        self.weights.least = least
        self.weights.most = most
        self.weights.balanced = balanced
        self.weights.binpack_by = <double*>grab(r * sizeof(double))
        self.weights.request_by = <int64_t*>grab(r * sizeof(int64_t))
        self.weights.balanced_by = <uint8_t*>grab(r)
        for i in range(r):
            self.weights.binpack_by[i] = binpack_by[i]
            self.weights.request_by[i] = request_by[i]
            self.weights.balanced_by[i] = balanced_by[i]
        # Before the first run no state is known, and no run, of which 0 would be the number, changed a node.
        self.state_of = <int32_t*>claim(n * sizeof(int32_t))
        memset(self.state_of, 0xFF, n * sizeof(int32_t))
        self.stamp = 1
        self.touched = <int64_t*>grab(n * sizeof(int64_t))
        self.run_state = <int32_t*>claim(n * sizeof(int32_t))
        self.met_states = <int32_t*>claim(n * sizeof(int32_t))
        return 0

    def __dealloc__(self):
        cdef int32_t k
        for k in range(self.n_shapes):
            free(self.shapes[k].request)
        free(self.shapes)
        free(self.idle)
        free(self.used)
        free(self.weights.binpack_by)
        free(self.weights.request_by)
        free(self.weights.balanced_by)
        free(self.state_of)
        free(self.table)
        free(self.slots)
        free(self.scores_of)
        free(self.scored_of)
        free(self.fits_of)
        free(self.nexts_of)
        free(self.run_state)
        free(self.touched)
        free(self.with_state)
        free(self.met_states)

    cdef int32_t add_shape(
        self, const int64_t[::1] request, const uint8_t[::1] feasible, const double[::1] extra
    ) except -1:
        """Register a pod shape (pods with equal request and allowed nodes) and return its number.

        ``feasible`` and ``extra`` have an entry per node, or are None, and are kept, not copied.
        """
        cdef int64_t k
        self.shapes = <Shape*>regrow(self.shapes, (self.n_shapes + 1) * sizeof(Shape))
        # Zeroed and counted first: if the allocation below fails, __dealloc__ frees what is there.
        cdef Shape* new = &self.shapes[self.n_shapes]
        new[0] = Shape(NULL, NULL, NULL, 0.0, NULL, NULL, NULL, NULL)
        self.n_shapes += 1
        new.request = <int64_t*>grab(self.r * sizeof(int64_t))
        for k in range(self.r):
            new.request[k] = request[k]
        new.binpack_weights = packing_sum(self.weights.binpack_by, new.request, self.weights.r)
        if feasible is not None and self.n:
            self.keep.append(feasible)
            new.feasible = &feasible[0]
        if extra is not None and self.n:
            self.keep.append(extra)
            new.extra = &extra[0]
        return self.n_shapes - 1

    cdef int change_shape(self, int64_t s, const uint8_t[::1] feasible, const double[::1] extra) except -1:
        """Replace the allowed nodes and extra scores (arrays over nodes, or None) of shape ``s``.

        Both are kept, not copied.
        """
        self.shapes[s].feasible = NULL
        self.shapes[s].extra = NULL
        self.keep += [feasible, extra]
        if feasible is not None and self.n:
            self.shapes[s].feasible = &feasible[0]
        if extra is not None and self.n:
            self.shapes[s].extra = &extra[0]
        return 0

    cdef int know_states(self, const int32_t[::1] state_of, const int32_t[::1] first) except -1:
        """Set the groups (states) of nodes with equal amounts: the group of each node, the first node of each group."""
        if self.n == 0:
            return 0
        self.keep += [state_of, first]
        self.known_states = &state_of[0]
        self.first_in_state = &first[0]
        self.n_known = first.shape[0]
        return 0

    cdef int open_states(self, int64_t more) except -1:
        """Group all nodes by equal amounts into states anew, forget all scores, and reserve memory for ``more`` states.

        If memory runs out, no states are known, and the next use calls this again.
        """
        try:
            self.claim_states(more)
        except MemoryError:
            free(self.table)
            self.table = NULL
            raise
        return 0

    cdef int claim_states(self, int64_t more) except -1:
        cdef int64_t i, cells, capacity = more, n_slots = 64
        cdef int32_t k
        capacity += self.n if self.known_states == NULL else self.n_known
        while n_slots < 2 * capacity:
            n_slots *= 2
        free(self.table)
        free(self.slots)
        free(self.scores_of)
        free(self.scored_of)
        free(self.fits_of)
        free(self.nexts_of)
        self.table = NULL
        self.slots = NULL
        free(self.with_state)
        self.with_state = NULL
        self.scores_of = NULL
        self.scored_of = NULL
        self.fits_of = NULL
        self.nexts_of = NULL
        self.n_states = 0
        self.table = <int64_t*>claim(3 * capacity * self.r * sizeof(int64_t))
        self.slots = <int32_t*>claim(n_slots * sizeof(int32_t))
        self.slot_mask = n_slots - 1
        memset(self.slots, 0xFF, n_slots * sizeof(int32_t))
        if self.known_states != NULL:
            # Numbered in the order of their first nodes, as below.
            for i in range(self.n_known):
                self.find_state(self.first_in_state[i])
            memcpy(self.state_of, self.known_states, self.n * sizeof(int32_t))
            self.known_states = NULL
        else:
            for i in range(self.n):
                self.state_of[i] = self.find_state(i)
        self.state_capacity = <int32_t>(self.n_states + more)
        cells = <int64_t>self.n_shapes * self.state_capacity
        self.scores_of = <double*>claim(cells * sizeof(double))
        self.scored_of = <uint8_t*>grab(cells)
        self.fits_of = <int32_t*>grab(cells * sizeof(int32_t))
        self.nexts_of = <int32_t*>grab(cells * sizeof(int32_t))
        self.with_state = <int32_t*>grab(self.state_capacity * sizeof(int32_t))
        self.n_remembered = self.n_shapes
        for k in range(self.n_shapes):
            i = <int64_t>k * self.state_capacity
            self.shapes[k].score = self.scores_of + i
            self.shapes[k].scored = self.scored_of + i
            self.shapes[k].fit = self.fits_of + i
            self.shapes[k].next = self.nexts_of + i
        return 0

    cpdef void keep_states(self, int32_t count) noexcept nogil:
        """Forget all states (groups of equal nodes) but the first ``count``; no node may be in a forgotten one."""
        cdef int32_t k, i, last = self.n_states
        cdef uint64_t slot
        cdef const int64_t* state
        # The last that came goes first, so that no chain of the hash table is cut before its end.
        for i in range(last - 1, count - 1, -1):
            state = self.table + 3 * <int64_t>i * self.r
            slot = self.hash_of(state, state + self.r, state + 2 * self.r)
            while self.slots[slot] != i:
                slot = (slot + 1) & self.slot_mask
            self.slots[slot] = -1
        self.n_states = count
        for k in range(self.n_shapes):
            memset(self.shapes[k].scored + count, 0, last - count)
            memset(self.shapes[k].fit + count, 0, (last - count) * sizeof(int32_t))
            memset(self.shapes[k].next + count, 0, (last - count) * sizeof(int32_t))
            for i in range(count):
                if self.shapes[k].next[i] > count:
                    self.shapes[k].next[i] = 0

    cpdef int make_room(self, int64_t more, int64_t per_attempt) except -1:
        """Reserve memory for ``more`` states, with headroom for several placements of up to ``per_attempt`` pods.

        A state is a group of nodes with equal amounts.
        """
        if not self.has_room(more):
            self.open_states(per_attempt + more + self.n // 4 + 256)
        return 0

    cdef void leave_states(self, int64_t more) noexcept nogil:
        """Forget states of earlier trials if there is no room for ``more`` new ones.

        No node may be in a forgotten state. A state is a group of nodes with equal amounts.
        """
        if self.n_states + more > self.state_capacity:
            self.keep_states(self.n_settled)

    cdef uint64_t hash_of(self, const int64_t* idle, const int64_t* used, const int64_t* allocatable) noexcept nogil:
        cdef uint64_t h = 0
        cdef int64_t k
        for k in range(self.r):
            h = ((h << 23 | h >> 41) ^ <uint64_t>idle[k]) * <uint64_t>0x9E3779B97F4A7C15
            h = ((h << 23 | h >> 41) ^ <uint64_t>used[k]) * <uint64_t>0x9E3779B97F4A7C15
            h = ((h << 23 | h >> 41) ^ <uint64_t>allocatable[k]) * <uint64_t>0x9E3779B97F4A7C15
        return (h ^ h >> 32) & self.slot_mask

    cpdef int32_t find_state(self, int64_t node) noexcept nogil:
        """Number of the state of a node with its present amounts.

        An unknown state is added, so call `make_room` before. A state is a group of nodes with equal amounts.
        """
        cdef const int64_t* idle = self.idle + node * self.r
        cdef const int64_t* used = self.used + node * self.r
        cdef const int64_t* allocatable = self.allocatable + node * self.r
        cdef size_t row = self.r * sizeof(int64_t)
        cdef uint64_t slot = self.hash_of(idle, used, allocatable)
        cdef int64_t* state
        while self.slots[slot] >= 0:
            state = self.table + 3 * <int64_t>self.slots[slot] * self.r
            if (
                memcmp(state, idle, row) == 0
                and memcmp(state + self.r, used, row) == 0
                and memcmp(state + 2 * self.r, allocatable, row) == 0
            ):
                return self.slots[slot]
            slot = (slot + 1) & self.slot_mask
        self.slots[slot] = self.n_states
        state = self.table + 3 * <int64_t>self.n_states * self.r
        if row:
            memcpy(state, idle, row)
            memcpy(state + self.r, used, row)
            memcpy(state + 2 * self.r, allocatable, row)
        self.n_states += 1
        return self.n_states - 1

    cdef int32_t next_state(self, Shape* shape, int32_t state, int32_t node) noexcept nogil:
        """State of a node after one pod of a shape (equal requests) was placed on it.

        -1 if that state is new and there is no room for it. A state is a group of nodes with equal amounts.
        """
        if state < 0:
            return -1
        if shape.next[state] == 0:
            if self.n_states + self.reserved >= self.state_capacity:
                return -1
            shape.next[state] = self.find_state(node) + 1
        return shape.next[state] - 1

    cdef double rate(
        self, const Shape* shape, const int64_t* idle, const int64_t* used, const int64_t* allocatable
    ) noexcept nogil:
        """Score of a pod on a node with given amounts, without the shape's extra score.

        -inf if the pod does not fit.
        """
        if not fits(shape.request, idle, self.r):
            return -INFINITY
        return node_score(&self.weights, shape.request, shape.binpack_weights, used, allocatable)

    cdef double score_now(self, Shape* shape, int32_t node) noexcept nogil:
        """Score of one more pod of a shape (equal requests) on a node, looked up by the node's state.

        -inf if the pod does not fit.

        A state is a group of nodes with equal amounts.
        """
        cdef int64_t at = node * self.r
        cdef const int64_t* row
        cdef int32_t state = self.state_now(node)
        cdef double score
        if shape.feasible != NULL and not shape.feasible[node]:
            return -INFINITY
        if state < 0:
            score = self.rate(shape, self.idle + at, self.used + at, self.allocatable + at)
        else:
            if not shape.scored[state]:
                row = self.table + 3 * <int64_t>state * self.r
                shape.score[state] = self.rate(shape, row, row + self.r, row + 2 * self.r)
                shape.scored[state] = True
            score = shape.score[state]
        return score if shape.extra == NULL else score + shape.extra[node]

    # ---- asked from Python, one node at a time ----

    def states(self):
        """State of every node (nodes with equal amounts share one), int32 (n,), without pods of a trial under way."""
        cdef int64_t i
        out_array = np.empty(self.n, dtype=np.int32)
        cdef int32_t[::1] out = out_array
        for i in range(self.n):
            out[i] = self.state_of[i]
        return out_array

    def score(self, int32_t s, int32_t node):
        """Score of one more pod of shape ``s`` (equal requests) on a node, given all pods there.

        -inf if the pod does not fit.
        """
        return self.score_now(&self.shapes[s], node)

    def place_one(self, int32_t s, int32_t node):
        """Place a pod of shape ``s`` (equal requests) on a node for good; call `make_room` before."""
        cdef int32_t state
        self.take(node, self.shapes[s].request)
        state = self.next_state(&self.shapes[s], self.state_of[node], node)
        self.state_of[node] = state if state >= 0 else self.find_state(node)

    def remove_one(self, int32_t s, int32_t node):
        """Remove a pod of shape ``s`` (equal requests) from a node for good; call `make_room` before."""
        self.give_back(node, self.shapes[s].request)
        self.state_of[node] = self.find_state(node)
