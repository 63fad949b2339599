"""Declarations of ``sub_job_scores.pyx``: scores of HyperNodes for one sub-job, from counts of fitting pods.

Call `count_for` for a HyperNode before asking for its score. A score of -inf means that the sub-job does not fit there.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from workbench._core.domain_counts cimport DomainCounts
from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.job_state cimport Sub
from workbench._core.progress cimport Entry
from workbench._core.state_table cimport StateTable
from workbench._core.tournament cimport Tournament


@cython.final
cdef class SubJobScores:
    cdef StateTable states
    cdef HyperNodeTree hypernodes
    cdef DomainCounts counts
    cdef int64_t r
    cdef int64_t* used_here            # scratch: of a HyperNode with sub-jobs that may come

    cdef double packed(self, const Sub* sub, int32_t domain) noexcept nogil
    cdef double key_of(self, const Sub* sub, int32_t domain) noexcept nogil
    cdef double worth(self, const Sub* sub, int32_t domain) noexcept nogil
    cdef int64_t least(self, const Sub* sub, const Entry** entry) noexcept nogil
    cdef void grow(self, Tournament* tree, const Sub* sub, const int32_t* domains) noexcept nogil
    cdef void count_for(self, const Sub* sub, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil
    cdef bint too_small(self, const Sub* sub, int64_t t) noexcept nogil
    cdef double most_of(self, const Sub* sub, int64_t times, int32_t given) noexcept nogil
    cdef double most_here(self, const Sub* sub, int64_t times, int32_t domain) noexcept nogil
