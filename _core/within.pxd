"""Checks of one column of numbers, for functions that check what they are given and then use it."""

from libc.stdint cimport int32_t, int64_t


cdef inline bint longs_within(const int64_t[::1] column, int64_t length, int64_t low, int64_t high) except -1:
    """Whether a column has a length, and every number is in a range that includes both ends; None counts as such."""
    cdef int64_t i
    if column is None:
        return True
    if column.shape[0] != length:
        return False
    for i in range(length):
        if not low <= column[i] <= high:
            return False
    return True


cdef inline bint ints_within(const int32_t[::1] column, int64_t length, int64_t low, int64_t high) except -1:
    """As `longs_within`."""
    cdef int64_t i
    if column is None:
        return True
    if column.shape[0] != length:
        return False
    for i in range(length):
        if not low <= column[i] <= high:
            return False
    return True


cdef inline bint amounts_within(
    const int64_t[:, ::1] amounts, int64_t rows, int64_t columns, int64_t low, int64_t high
) except -1:
    """Whether a table has a shape, and every number is in a range that includes both ends."""
    cdef int64_t i, k
    if amounts.shape[0] != rows or amounts.shape[1] != columns:
        return False
    for i in range(rows):
        for k in range(columns):
            if not low <= amounts[i, k] <= high:
                return False
    return True


cdef inline bint offsets_to(const int64_t[::1] start, int64_t rows, int64_t end) except -1:
    """Whether ``rows + 1`` numbers ascend (two may be equal) from 0 to ``end``."""
    cdef int64_t i
    if start.shape[0] != rows + 1 or start[0] != 0 or start[rows] != end:
        return False
    for i in range(rows):
        if start[i] > start[i + 1]:
            return False
    return True
