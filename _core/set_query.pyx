"""One query for the best set of devices by search: its memory, its answer and the list of the ties."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport malloc
from libc.stdlib cimport free as release
from libc.string cimport memcpy, memset

import numpy as np

from workbench._core.clique_search cimport CUT, POLL, Search, count_words, has
from workbench._core.tied_sets cimport COUNT_LIMIT, Ties, list_ties, prepare, search


cdef class SetQuery:
    """Scratch memory of one query for a set of devices; searches run without the GIL, so each query has its own."""

    cdef int allocate(
        self, const Search* machine, const uint64_t* free, const uint64_t* require, int k, int64_t budget
    ) except -1:
        """Take the machine's sizes and tables, and memory for a query about ``k`` devices; ``require`` may be NULL."""
        cdef size_t n = machine.n, w = machine.w, levels = machine.n_levels
        cdef size_t graph = n * w * 8
        cdef size_t need
        cdef char* at
        self.s = machine[0]
        self.s.limit = budget
        # 64-bit arrays first, so that everything is aligned.
        need = 4 * graph + 3 * (n + 2) * w * 8 + (n + 2) * w * 8 + 9 * w * 8 + levels * 8
        need += 2 * levels * 4 + 2 * (n + 2) * n * 2 + 2 * n * 2
        self.memory = <char*>malloc(need)
        if self.memory == NULL:
            raise MemoryError()
        at = self.memory
        self.q.graph = <uint64_t*>at; at += graph
        self.q.high = <uint64_t*>at; at += graph
        self.q.top_graph = <uint64_t*>at; at += graph
        self.q.scratch = <uint64_t*>at; at += graph
        self.s.pool = <uint64_t*>at; at += 3 * (n + 2) * w * 8
        self.q.stack = <uint64_t*>at; at += (n + 2) * w * 8
        self.s.found = <uint64_t*>at; at += w * 8
        self.s.spare = <uint64_t*>at; at += w * 8
        self.s.rest = <uint64_t*>at; at += 4 * w * 8
        self.q.require = <uint64_t*>at; at += w * 8
        self.q.chosen = <uint64_t*>at; at += w * 8
        self.q.winner = <uint64_t*>at; at += w * 8
        self.q.floor = <int64_t*>at; at += levels * 8
        self.q.counts = <int32_t*>at; at += levels * 4
        self.q.winner_counts = <int32_t*>at; at += levels * 4
        self.s.order = <int16_t*>at; at += (n + 2) * n * 2
        self.s.colour = <int16_t*>at; at += (n + 2) * n * 2
        self.q.members = <int16_t*>at; at += n * 2
        self.q.lack = <int16_t*>at; at += n * 2
        memset(self.s.spare, 0, w * 8)
        memset(self.q.chosen, 0, w * 8)
        memset(self.q.winner, 0, w * 8)
        memset(self.q.counts, 0, levels * 4)
        self.q.s = &self.s
        self.s.graph = self.q.scratch
        self.q.k = k
        self.q.free = free
        if require == NULL:
            memset(self.q.require, 0, w * 8)
        else:
            memcpy(self.q.require, require, w * 8)
        self.q.n_members = 0
        self.q.has_winner = False
        self.q.total_lack = 0
        return 0

    cdef int find(self) except -2:
        """Find the best set, ``q.winner``; YES if the choice is proven, else CUT."""
        cdef int answer
        with nogil:
            answer = search(&self.q, &self.proven)
        return answer

    cdef list(self, const uint64_t[::1] require, int64_t max_ties, int64_t budget):
        """List the first ``max_ties`` equally good sets in lexicographic order.

        Return them, how many exist, and whether all count.
        """
        cdef Ties* q = &self.q
        cdef int answer, w = q.s.w
        cdef int64_t room = 128
        cdef uint64_t[:, ::1] view
        if q.k == 1:
            return self._list_single(require, max_ties, w)
        while True:
            if room > max_ties:
                room = max_ties
            listed = np.empty((room, w), dtype=np.uint64)
            view = listed
            memcpy(q.require, &require[0], w * sizeof(uint64_t))
            q.listed = &view[0, 0]
            q.list_limit = room
            q.n_listed = 0
            q.total = 0
            q.saturated = False
            q.enough = COUNT_LIMIT
            q.s.units = 0
            q.s.poll = POLL
            q.s.limit = budget
            with nogil:
                prepare(q, q.s.rest + 2 * w, q.c)
                memcpy(q.stack, q.s.rest + 2 * w, w * sizeof(uint64_t))
                answer = list_ties(q, q.k, False)
            if q.n_listed < room or room == max_ties:
                break
            room *= 8
        return listed[: q.n_listed], q.total, answer != CUT

    cdef _list_single(self, const uint64_t[::1] require, int64_t max_ties, int w):
        cdef int v
        members = [v for v in range(64 * w) if has(&self.q.free[0], v)]
        if count_words(&require[0], w):
            members = [v for v in members if has(&require[0], v)]
        total = len(members)
        members = members[:max_ties]
        listed = np.zeros((len(members), w), dtype=np.uint64)
        for row, v in enumerate(members):
            listed[row, v >> 6] = np.uint64(1) << np.uint64(v & 63)
        return listed, total, True

    def __dealloc__(self):
        release(self.memory)
