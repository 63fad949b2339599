"""Declarations of ``deal.pyx``, the division of a set of devices among pods."""

from libc.stdint cimport uint8_t, uint16_t


cdef class Dealer:
    cdef uint8_t[::1] level_of
    cdef int n_pods
    cdef int size_of[16]
    cdef bint same_to_end[16]
    cdef uint8_t[:, ::1] list_of
    cdef uint8_t[::1] known

    cdef int prepare(self, uint8_t[::1] level_of, int n_pods, int* size_of) except -1
    cdef void _merge(self, uint16_t pod, uint16_t rest, uint8_t* out) noexcept nogil
    cdef void _solve(self, uint16_t mask, int j) noexcept nogil
    cdef bytes best(self, uint16_t union)
    cdef list listed(self, uint16_t union, Py_ssize_t limit)
    cdef _list(self, uint16_t mask, int j, list done, list rows, Py_ssize_t limit)
