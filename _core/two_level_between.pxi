# Part of two_level.pyx: what others change between two turns of a session.

@cython.auto_pickle(False)
cdef class BetweenTurns(JobState):
    """A cluster that changed, other feasible nodes, and pods that nobody takes any more."""

    def see(self, const int64_t[:, ::1] idle not None, const int64_t[:, ::1] used not None):
        """Take over what is idle and used now; what the turns placed is part of it."""
        cdef int64_t node, k, s, found = 0
        cdef size_t row = self.r * sizeof(int64_t)
        cdef int64_t[::1] more = np.zeros(self.r + 1, dtype=np.int64)
        if self.n == 0 or self.r == 0:
            return
        # Nothing is taken back before this point, so that the way back may be forgotten with its old states.
        for s in range(self.states.n_shapes):
            self.catch_up(s)
            self.counts[s].seen = 0
        self.n_changed = self.changed_settled = 0
        for node in range(self.n):
            found += self.differs(node, &idle[node, 0], &used[node, 0], row)
        self.make_room_for_states(found + self.n_pods)
        with nogil:
            for node in range(self.n):
                if not self.differs(node, &idle[node, 0], &used[node, 0], row):
                    continue
                for k in range(self.r):
                    more[k] = used[node, k] - self.states.used[node * self.r + k]
                use_path(&self.fill.fading.totals, <int32_t>node, &more[0], 1)
                memcpy(self.states.idle + node * self.r, &idle[node, 0], row)
                memcpy(self.states.used + node * self.r, &used[node, 0], row)
                self.follow(<int32_t>node)
        self.states_settled = self.states.n_states

    cdef bint differs(self, int64_t node, const int64_t* idle, const int64_t* used, size_t row) noexcept nogil:
        return memcmp(self.states.idle + node * self.r, idle, row) != 0 or memcmp(self.states.used + node * self.r, used, row) != 0

    def see_shape(self, int32_t s, const uint8_t[::1] feasible, const double[::1] extra):
        """Other nodes that a shape may run on, another number of its own for each; both are kept, not copied."""
        cdef int64_t t
        self.states.shapes[s].feasible = NULL
        self.states.shapes[s].extra = NULL
        self.keep += [feasible, extra]
        if feasible is not None and self.n:
            self.states.shapes[s].feasible = &feasible[0]
        if extra is not None and self.n:
            self.states.shapes[s].extra = &extra[0]
        for t in range(self.hypernodes.n_tiers + 1):
            self.counts[s].counted[t] = False
        self.prefix_shape = -1
        self.commits += 1

    def left(self):
        """Sub-job, shape and pods left of each entry; entries that have no shape have no pods either."""
        sub_array = np.empty(self.n_entries, dtype=np.int32)
        shape_array = np.empty(self.n_entries, dtype=np.int32)
        left_array = np.empty(self.n_entries, dtype=np.int64)
        cdef int32_t[::1] sub = sub_array
        cdef int32_t[::1] shape = shape_array
        cdef int64_t[::1] left = left_array
        cdef int64_t i, e
        for i in range(self.n_subs):
            for e in range(self.settled[i].first_entry, self.settled[i].first_entry + self.settled[i].progress.n):
                sub[e] = <int32_t>i
                shape[e] = self.entries_settled[e].shape
                left[e] = self.entries_settled[e].left
        return sub_array, shape_array, left_array

    def cap(self, const int64_t[::1] left not None):
        """Skip what an entry has beyond ``left``, for good."""
        cdef int64_t i, e, fewer
        for i in range(self.n_subs):
            for e in range(self.settled[i].first_entry, self.settled[i].first_entry + self.settled[i].progress.n):
                fewer = self.entries_settled[e].left - left[e]
                if fewer > 0:
                    self.entries_settled[e].left -= fewer
                    self.settled[i].progress.rest -= fewer
                    # It no longer asks for the same as others of its kind.
                    self.settled[i].alone = True
        self.commits += 1
