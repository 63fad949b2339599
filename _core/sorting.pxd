"""Sorting of int64 numbers in place."""

from libc.stdint cimport int64_t
from libc.stdlib cimport qsort


cdef inline int compare_numbers(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const int64_t*>a)[0], y = (<const int64_t*>b)[0]
    return (x > y) - (x < y)


cdef inline void sort_numbers(int64_t* numbers, int64_t n) noexcept nogil:
    """Sort ``n`` numbers in place, the smallest first."""
    qsort(numbers, n, sizeof(int64_t), compare_numbers)
