"""Declarations of ``sub_job_search.pyx``, which finds the HyperNode for one sub-job of a job.

`place_sub` places a sub-job inside a HyperNode: its pods stay on the nodes, in the counts and in the list of placed
pods until `take_back`. While `planning` is set, pods are only counted, until `take_plan_back`.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from workbench._core.domain_counts cimport DomainCounts
from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.job_state cimport JobState, Sub
from workbench._core.progress cimport Progress
from workbench._core.state_table cimport StateTable
from workbench._core.sub_job_scores cimport SubJobScores
from workbench._core.tournament cimport Tournament
from workbench._core.trial_fill cimport TrialFill


@cython.final
cdef class SubJobSearch:
    cdef StateTable states
    cdef HyperNodeTree hypernodes
    cdef TrialFill fill
    cdef DomainCounts counts
    cdef SubJobScores scores
    cdef JobState job
    cdef int64_t n, r, d
    cdef Tournament* trees             # per kind and tier, the virtual top's last
    cdef int64_t n_trees
    cdef Tournament scratch
    cdef int64_t attempt_number
    cdef readonly int32_t chosen                # where the last sub-job went, and its score
    cdef readonly double chosen_score
    # pods that a planned attempt counts in a domain
    cdef readonly bint planning, unplanned
    cdef int32_t* plan_domain
    cdef int64_t* plan_pods
    cdef int64_t n_plan
    cdef int32_t plan_shape

    cdef int open(self) except -1
    cpdef void begin(self, bint planning) noexcept nogil
    cdef void grow(self, Tournament* tree, const Sub* sub, const int32_t* domains) noexcept nogil
    cdef void refresh(self, Tournament* tree, const Sub* sub, int64_t t, const int32_t* domains) noexcept nogil
    cdef void weigh(self, int32_t number, int64_t change) noexcept nogil
    cdef int64_t inside(self, int32_t number, int32_t domain) noexcept nogil
    cdef Progress try_in(self, int32_t number, int32_t domain) noexcept nogil
    cdef bint solves(self, int32_t number, int32_t domain) noexcept nogil
    cdef bint enter_in(self, int32_t number, int32_t domain, double score) noexcept nogil
    cdef bint plan_in(self, int32_t number, int32_t domain, double score) noexcept nogil
    cdef void count_plan(self, int32_t domain, int64_t pods) noexcept nogil
    cpdef void take_plan_back(self) noexcept nogil
    cdef int32_t widened(self, int32_t record, int32_t domain) noexcept nogil
    cdef void note_sub(
        self, int32_t number, const Progress* now, int64_t placed, int32_t domain, double score
    ) noexcept nogil
    cpdef bint may_plan(self) noexcept nogil
    cdef int pick(self, int32_t number, Tournament* tree, const int32_t* domains) noexcept nogil
    cdef int pick_one(self, int32_t number, int32_t domain) noexcept nogil
    cpdef bint place_sub(self, int32_t number, int32_t given) noexcept nogil
    cdef void stay(self, int32_t number) noexcept nogil
    cpdef void take_back(self, int64_t log_mark, int64_t changed_mark) noexcept nogil
