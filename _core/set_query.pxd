"""Declarations of ``set_query.pyx``, one query for the best set of devices by search."""

from libc.stdint cimport int64_t, uint64_t

from workbench._core.clique_search cimport Search
from workbench._core.tied_sets cimport Ties


cdef class SetQuery:
    cdef Search s
    cdef Ties q
    cdef bint proven
    cdef char* memory

    cdef int allocate(
        self, const Search* machine, const uint64_t* free, const uint64_t* require, int k, int64_t budget
    ) except -1
    cdef int find(self) except -2
    cdef list(self, const uint64_t[::1] require, int64_t max_ties, int64_t budget)
    cdef _list_single(self, const uint64_t[::1] require, int64_t max_ties, int w)
