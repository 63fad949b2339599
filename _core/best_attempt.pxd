"""Declarations of ``best_attempt.pyx``, which stores the best placement of a job found so far.

`keep_attempt` copies the placement that is on the nodes; after it was undone, `repeat_attempt` restores it.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from workbench._core.domain_counts cimport DomainCounts
from workbench._core.job_state cimport JobState, Sub
from workbench._core.progress cimport Entry, Progress
from workbench._core.state_table cimport StateTable


@cython.final
cdef class BestAttempt:
    cdef StateTable states
    cdef DomainCounts counts
    cdef JobState job
    cdef Sub* best_subs
    cdef Entry* best_entries
    cdef Progress best_job
    cdef Entry* best_job_entries
    cdef double best_score
    cdef int32_t* best_log             # sub, shape, node and pod of each pod placed
    cdef int64_t n_best_log

    cpdef int open_best(self) except -1
    cpdef void keep_attempt(self) noexcept nogil
    cpdef void repeat_attempt(self) noexcept nogil
