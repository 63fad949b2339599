"""Declarations of ``search_parts.pyx``, the base of the kernels that place pods: node amounts, HyperNodes, shapes."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.state_table cimport StateTable
from workbench._core.trial_fill cimport TrialFill


cdef class SearchParts:
    cdef readonly StateTable states
    cdef readonly HyperNodeTree hypernodes
    cdef readonly TrialFill fill
    cdef readonly int64_t n, r, d

    cdef int open(
        self, const int64_t[:, ::1] idle, const int64_t[:, ::1] used, const int64_t[:, ::1] allocatable,
        const int32_t[::1] rank, HyperNodeTree hypernodes, double binpack, const double[::1] binpack_by, double least,
        double most, const int64_t[::1] request_by, double balanced, const uint8_t[::1] balanced_by
    ) except -1
