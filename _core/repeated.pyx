"""Places one job again and again on nodes that other jobs change in between."""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from workbench._core.job_state cimport Sub
from workbench._core.memory cimport free, grab
from workbench._core.progress cimport Entry, Progress
from workbench._core.two_level cimport TwoLevel

import numpy as np


@cython.final
@cython.auto_pickle(False)
cdef class Repeated:
    """Places one job on the present nodes any number of times; each run is undone before it returns.

    The contract is in ``workbench.kernels.repeated.Repeated``; arguments are trusted unless a method says otherwise.
    Between runs the search holds the cluster without the job's pods, so that only nodes changed by others are counted
    again.
    """

    cdef TwoLevel search
    cdef Sub* subs                     # as before the first turn
    cdef Entry* entries
    cdef Entry* job_entries
    cdef Progress job
    cdef int32_t job_record
    cdef list keep                     # owners of the memory that is only borrowed
    cdef const int64_t* place_start    # of sub-job i and shape s at i * n_shapes + s
    cdef const int32_t* places
    cdef int64_t* given                # pods that have a node; 0 between runs
    cdef readonly double score

    def __cinit__(
        self, TwoLevel search not None, const int64_t[::1] place_start not None, const int32_t[::1] places not None
    ):
        cdef int64_t n_job = search.job.progress_settled.n
        self.search = search
        self.keep = [place_start, places]
        self.place_start = &place_start[0]
        self.places = &places[0] if places.shape[0] else NULL
        self.given = <int64_t*>grab((place_start.shape[0] - 1) * sizeof(int64_t))
        self.subs = <Sub*>grab(search.job.n_subs * sizeof(Sub))
        self.entries = <Entry*>grab(search.job.n_entries * sizeof(Entry))
        self.job_entries = <Entry*>grab(n_job * sizeof(Entry))
        memcpy(self.subs, search.job.settled, search.job.n_subs * sizeof(Sub))
        memcpy(self.entries, search.job.entries_settled, search.job.n_entries * sizeof(Entry))
        memcpy(self.job_entries, search.job.job_entries, n_job * sizeof(Entry))
        self.job = search.job.progress_settled
        self.job_record = search.job.record

    def __dealloc__(self):
        free(self.given)
        free(self.subs)
        free(self.entries)
        free(self.job_entries)

    def pods(self):
        """Number of pods to place, by sub-job i and shape s, at index ``i * n_shapes + s``; int64."""
        cdef TwoLevel s = self.search
        out_array = np.zeros(s.job.n_subs * s.states.n_shapes, dtype=np.int64)
        cdef int64_t[::1] out = out_array
        cdef int64_t i, e
        for i in range(s.job.n_subs):
            for e in range(self.subs[i].first_entry, self.subs[i].first_entry + self.subs[i].progress.n):
                if self.entries[e].left:
                    out[i * s.states.n_shapes + self.entries[e].shape] += self.entries[e].left
        return out_array

    cdef int64_t first_wrong(
        self, const int32_t* nodes, const int64_t* rows, int64_t m, int64_t largest
    ) noexcept nogil:
        cdef int64_t i, k, r = self.search.r
        for i in range(m):
            if not 0 <= nodes[i] < self.search.n:
                return i
            for k in range(r):
                if not -largest <= rows[i * r + k] <= largest:
                    return i
        return -1

    def change(self, const int32_t[::1] nodes not None, const int64_t[:, ::1] rows not None, int64_t largest):
        """Take amounts from nodes: row i of ``rows`` from the idle resources of ``nodes[i]``.

        Negative amounts are given back. Returns -1 when done, else the first index with an invalid node or an amount
        beyond ``largest``; then nothing changes.
        """
        cdef TwoLevel s = self.search
        cdef int64_t i, m = nodes.shape[0], wrong
        if m == 0 or s.r == 0:
            return -1
        wrong = self.first_wrong(&nodes[0], &rows[0, 0], m, largest)
        if wrong >= 0:
            return wrong
        s.states.make_room(m, s.job.n_pods)
        with nogil:
            for i in range(m):
                s.counts.take_row(nodes[i], &rows[i, 0])
                if i + 1 == m or nodes[i + 1] != nodes[i]:
                    s.counts.follow(nodes[i])
        return -1

    @property
    def record(self):
        """HyperNode in which the job was allocated in the last run; -1: the virtual top (all nodes)."""
        return self.search.job.record

    def run(self, int32_t[::1] node not None):
        """Place the job, write the node of each pod into ``node`` (-1: none), and take the pods from the nodes again.

        Returns whether enough pods were placed for the job to start.
        """
        cdef TwoLevel s = self.search
        cdef int64_t i, x, n
        cdef bint ready
        s.states.make_room(s.job.n_pods, s.job.n_pods)
        s.states.n_settled = s.states.n_states
        memcpy(s.job.settled, self.subs, s.job.n_subs * sizeof(Sub))
        memcpy(s.job.entries_settled, self.entries, s.job.n_entries * sizeof(Entry))
        memcpy(s.job.job_entries, self.job_entries, self.job.n * sizeof(Entry))
        s.job.progress_settled = self.job
        s.job.record = self.job_record
        self.score = 0.0
        while s.pods_left and s.turn():
            self.score += s.job.last_score
        ready = s.ready
        with nogil:
            n = s.job.log_settled
            for i in range(node.shape[0]):
                node[i] = -1
            for i in range(n):
                x = s.job.log_sub[i] * s.states.n_shapes + s.job.log_shape[i]
                node[self.places[self.place_start[x] + self.given[x]]] = s.job.log_node[i]
                self.given[x] += 1
            for i in range(n):
                self.given[s.job.log_sub[i] * s.states.n_shapes + s.job.log_shape[i]] = 0
            s.job.log_settled = s.counts.changed_settled = 0
            s.search.take_back(0, 0)
        return ready
