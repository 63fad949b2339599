# Part of two_level.pyx: the best attempt of a turn, kept while others are tried.

@cython.auto_pickle(False)
cdef class BestAttempt(ToldSearch):
    """What the best attempt so far placed and how far it brought the job, so that it need not be made again."""

    cdef Sub* best_subs
    cdef Entry* best_entries
    cdef Progress best_job
    cdef Entry* best_job_entries
    cdef double best_score
    cdef int32_t* best_log             # sub, shape, node and pod of each pod placed
    cdef int64_t n_best_log

    def __dealloc__(self):
        free(self.best_subs)
        free(self.best_entries)
        free(self.best_job_entries)
        free(self.best_log)

    cdef int open_best(self) except -1:
        self.best_subs = <Sub*>regrow(self.best_subs, self.n_subs * sizeof(Sub))
        self.best_entries = <Entry*>regrow(self.best_entries, self.n_entries * sizeof(Entry))
        self.best_job_entries = <Entry*>regrow(self.best_job_entries, self.job_settled.n * sizeof(Entry))
        self.best_log = <int32_t*>regrow(self.best_log, 4 * self.n_pods * sizeof(int32_t))
        return 0

    cdef void keep_attempt(self) noexcept nogil:
        """Note the attempt at hand, whose pods stay for now."""
        cdef int64_t i
        cdef int32_t* row = self.best_log
        memcpy(self.best_subs, self.subs, self.n_subs * sizeof(Sub))
        memcpy(self.best_entries, self.entries, self.n_entries * sizeof(Entry))
        memcpy(self.best_job_entries, self.job.entries, self.job.n * sizeof(Entry))
        self.best_job = self.job
        self.best_score = self.score
        self.n_best_log = self.n_log - self.log_settled
        for i in range(self.log_settled, self.n_log):
            row[0], row[1] = self.log_sub[i], self.log_shape[i]
            row[2], row[3] = self.log_node[i], self.log_pod[i]
            row += 4

    cdef void repeat_attempt(self) noexcept nogil:
        """Place its pods again where they were; everything must be as before it."""
        cdef int64_t i, node
        cdef const int32_t* row = self.best_log
        memcpy(self.subs, self.best_subs, self.n_subs * sizeof(Sub))
        memcpy(self.entries, self.best_entries, self.n_entries * sizeof(Entry))
        self.job = self.best_job
        memcpy(self.job.entries, self.best_job_entries, self.job.n * sizeof(Entry))
        self.score = self.best_score
        self.leave_states()
        for i in range(self.n_log, self.n_log + self.n_best_log):
            self.log_sub[i], self.log_shape[i] = row[0], row[1]
            self.log_node[i], self.log_pod[i] = row[2], row[3]
            self.states.take(row[2], self.states.shapes[row[1]].request)
            row += 4
        for i in range(self.n_log, self.n_log + self.n_best_log):
            node = self.log_node[i]
            self.change_state(<int32_t>node, self.states.find_state(node))
        self.n_log += self.n_best_log
        self.commits += 1
