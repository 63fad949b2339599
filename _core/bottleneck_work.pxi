# Part of bottleneck.pyx: the memory of one query by search, and the listing of its ties.

cdef class _Work:
    """Scratch memory of one query for a set of devices; searches run without the GIL, so each query has its own."""

    cdef Search s
    cdef Ties q
    cdef bint proven
    cdef char* memory

    cdef allocate(self, Solver solver, const uint64_t* free, const uint64_t* require, int k, int64_t budget):
        cdef size_t n = solver.n, w = solver.words, levels = solver.n_levels
        cdef size_t graph = n * w * 8
        cdef size_t need
        cdef char* at
        solver._fill(&self.s)
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

    cdef list(self, Solver solver, const uint64_t[::1] free, const uint64_t[::1] require, int k, int64_t max_ties, int64_t budget):
        """List the first ``max_ties`` equally good sets in lexicographic order.

        Return them, how many exist, and whether all count.
        """
        cdef Ties* q = &self.q
        cdef int answer, w = solver.words
        cdef int64_t room = 128
        cdef uint64_t[:, ::1] view
        if k == 1:
            return self._list_single(free, require, max_ties, w)
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
            q.s.limit = solver.default_budget if budget < 0 else budget
            with nogil:
                prepare(q, q.s.rest + 2 * w, q.c)
                memcpy(q.stack, q.s.rest + 2 * w, w * sizeof(uint64_t))
                answer = list_ties(q, k, False)
            if q.n_listed < room or room == max_ties:
                break
            room *= 8
        return listed[: q.n_listed], q.total, answer != CUT

    cdef _list_single(self, const uint64_t[::1] free, const uint64_t[::1] require, int64_t max_ties, int w):
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


cdef adjacency(rank, int n_thresholds):
    """Bit matrices, uint64 (n_thresholds, n, w): for each weight rank the pairs of devices of at least that rank."""
    cdef int n = rank.shape[0], w = (n + 63) >> 6
    out = np.zeros((n_thresholds, n, w * 64), dtype=np.uint8)
    for threshold in range(n_thresholds):
        out[threshold, :, :n] = rank >= threshold
        out[threshold, np.arange(n), np.arange(n)] = 0
    return np.packbits(out, axis=2, bitorder="little").view("<u8").astype(np.uint64).reshape(n_thresholds, n, w)
