"""Declarations of ``attempt_trace.pyx``, which records how a job's sub-jobs are placed in one HyperNode.

While `telling` is set, the search calls `tell_sub`, which places a sub-job and records the step, instead of
`SubJobSearch.place_sub`; `told` returns the recorded steps.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from workbench._core.domain_counts cimport DomainCounts
from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.job_state cimport JobState
from workbench._core.state_table cimport StateTable
from workbench._core.sub_job_scores cimport SubJobScores
from workbench._core.sub_job_search cimport SubJobSearch
from workbench._core.trial_fill cimport TrialFill


cdef struct Looked:
    # a HyperNode that one step looked at
    int64_t step, held
    int32_t domain
    int32_t verdict
    double score, share    # how full it becomes; share of the tasks inside, which is added


cdef struct Step:
    # one sub-job's turn within the attempt
    int32_t sub
    int32_t domain         # NOWHERE: it found no place
    int64_t pods, needs
    double score


@cython.final
cdef class AttemptTrace:
    cdef StateTable states
    cdef HyperNodeTree hypernodes
    cdef TrialFill fill
    cdef DomainCounts counts
    cdef SubJobScores scores
    cdef JobState job
    cdef SubJobSearch search
    cdef int64_t r
    cdef bint telling, inner, forgot   # forgot: there was no memory for a row
    cdef Looked* looked
    cdef int64_t n_looked, room_looked
    cdef Step* steps
    cdef double* step_parts            # of each step what each resource adds to its score
    cdef int64_t n_steps, room_steps

    cpdef void begin(self, bint inner) noexcept nogil
    cdef void note_look(self, int32_t domain, int64_t held, int32_t verdict, double score) noexcept nogil
    cdef void note_step(self, int32_t number, bint placed, int64_t needs) noexcept nogil
    cdef void look_at_all(self, int32_t number, int32_t given) noexcept nogil
    cdef bint look_at_tier(self, int32_t number, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil
    cdef bint add_shares(self, int32_t number, int64_t first) noexcept nogil
    cdef scores_of(self, int32_t number, const int32_t[::1] domains)
    cpdef bint tell_sub(self, int32_t number, int32_t given) noexcept nogil
    cpdef tuple told(self)
