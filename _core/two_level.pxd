"""Declarations of ``two_level.pyx``, the search that places a job and its sub-jobs in HyperNodes."""

cimport cython
from libc.stdint cimport int32_t, int64_t

from workbench._core.attempt_trace cimport AttemptTrace
from workbench._core.best_attempt cimport BestAttempt
from workbench._core.domain_counts cimport DomainCounts
from workbench._core.hypernode_tree cimport Walk
from workbench._core.job_state cimport Bounds, JobState, Sub
from workbench._core.search_parts cimport SearchParts
from workbench._core.sub_job_scores cimport SubJobScores
from workbench._core.sub_job_search cimport SubJobSearch


cdef struct Row:
    # a HyperNode that a turn looked at
    int32_t domain, stuck
    int64_t place, holds
    double bound           # what its score cannot exceed
    double score
    bint kept


@cython.final
cdef class TwoLevel(SearchParts):
    cdef readonly DomainCounts counts           # pods that domains hold, totals, the log of changed nodes
    cdef readonly JobState job                  # how far the job is
    cdef readonly SubJobScores scores           # what a HyperNode is worth to a sub-job
    cdef readonly SubJobSearch search           # where a sub-job goes
    cdef readonly AttemptTrace trace            # what an explanation hears
    cdef readonly BestAttempt best              # of the turn
    cdef Bounds bounds                          # of what it is given
    cdef Row* rows_of_turn
    cdef int64_t n_rows
    # HyperNodes, or NOWHERE
    cdef int32_t found                          # the best of the turn, until it is settled
    cdef int32_t standing                       # whose attempt was not taken back
    cdef int32_t kept                           # whose attempt `best` holds

    cdef int find(self, bint every) except -1
    cdef void take_back_attempt(self) noexcept nogil
    cdef int open_rows(self) except -1
    cdef bint attempt_in(self, int32_t domain, bint planning) noexcept nogil
    cdef void settle_turn(self, int32_t domain) noexcept nogil
    cdef bint all_alike(self, Sub* first) noexcept nogil
    cdef void open_tier(self, const Walk* walk, const int64_t* left, int64_t needs, const Sub* alike) noexcept nogil
