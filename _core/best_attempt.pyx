"""Stores the best placement of a job found so far, so that the pods can be placed again without another search."""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from workbench._core.domain_counts cimport DomainCounts
from workbench._core.job_state cimport JobState, Sub
from workbench._core.memory cimport free, regrow
from workbench._core.progress cimport Entry


@cython.final
@cython.auto_pickle(False)
cdef class BestAttempt:
    """A copy of the best placement of a job found so far: the node of each pod, and the job's counts after it."""

    def __cinit__(self, JobState job not None, DomainCounts counts not None):
        self.job = job
        self.counts = counts
        self.states = counts.states

    def __dealloc__(self):
        free(self.best_subs)
        free(self.best_entries)
        free(self.best_job_entries)
        free(self.best_log)

    cpdef int open_best(self) except -1:
        """Allocate the memory that storing one placement of the current job takes."""
        self.best_subs = <Sub*>regrow(self.best_subs, self.job.n_subs * sizeof(Sub))
        self.best_entries = <Entry*>regrow(self.best_entries, self.job.n_entries * sizeof(Entry))
        self.best_job_entries = <Entry*>regrow(self.best_job_entries, self.job.progress_settled.n * sizeof(Entry))
        self.best_log = <int32_t*>regrow(self.best_log, 4 * self.job.n_pods * sizeof(int32_t))
        return 0

    cpdef void keep_attempt(self) noexcept nogil:
        """Store the placement that is on the nodes now as the best one; the nodes are not changed."""
        cdef int64_t i
        cdef int32_t* row = self.best_log
        memcpy(self.best_subs, self.job.subs, self.job.n_subs * sizeof(Sub))
        memcpy(self.best_entries, self.job.entries, self.job.n_entries * sizeof(Entry))
        memcpy(self.best_job_entries, self.job.progress.entries, self.job.progress.n * sizeof(Entry))
        self.best_job = self.job.progress
        self.best_score = self.job.score
        self.n_best_log = self.job.n_log - self.job.log_settled
        for i in range(self.job.log_settled, self.job.n_log):
            row[0], row[1] = self.job.log_sub[i], self.job.log_shape[i]
            row[2], row[3] = self.job.log_node[i], self.job.log_pod[i]
            row += 4

    cpdef void repeat_attempt(self) noexcept nogil:
        """Place the pods of the stored placement on their nodes again.

        The nodes and counts must be as they were before that placement.
        """
        cdef int64_t i, node
        cdef const int32_t* row = self.best_log
        memcpy(self.job.subs, self.best_subs, self.job.n_subs * sizeof(Sub))
        memcpy(self.job.entries, self.best_entries, self.job.n_entries * sizeof(Entry))
        self.job.progress = self.best_job
        memcpy(self.job.progress.entries, self.best_job_entries, self.job.progress.n * sizeof(Entry))
        self.job.score = self.best_score
        self.states.leave_states(self.job.pods_alive)
        for i in range(self.job.n_log, self.job.n_log + self.n_best_log):
            self.job.log_sub[i], self.job.log_shape[i] = row[0], row[1]
            self.job.log_node[i], self.job.log_pod[i] = row[2], row[3]
            self.states.take(row[2], self.states.shapes[row[1]].request)
            row += 4
        for i in range(self.job.n_log, self.job.n_log + self.n_best_log):
            node = self.job.log_node[i]
            self.counts.change_state(<int32_t>node, self.states.find_state(node))
        self.job.n_log += self.n_best_log
        self.counts.commits += 1
