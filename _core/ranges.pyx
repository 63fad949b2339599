"""Checks of array arguments (dtype, shape, range) for ``workbench.kernels``, in one pass without a temporary array.

Owns no message: which argument is wrong, and what was expected, is said by ``workbench.kernels.checks``.
"""

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t

from numpy import int32, ndarray


cdef int64_t outside_32(const int32_t* x, int64_t n, int64_t low, int64_t high) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if x[i] < low or x[i] > high:
            return i
    return -1


cdef int64_t outside_8(const uint8_t* x, int64_t n, int64_t low, int64_t high) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if x[i] < low or x[i] > high:
            return i
    return -1


cdef int64_t outside_64(const int64_t* x, int64_t n, int64_t low, int64_t high) noexcept nogil:
    cdef int64_t i, j, end
    cdef uint64_t wrong, width
    if low > high:
        return 0 if n else -1
    width = <uint64_t>high - <uint64_t>low
    # Eight comparisons to one branch: what lies below `low` wraps around to beyond `high`.
    for i in range(0, n - 7, 8):
        wrong = 0
        for j in range(i, i + 8):
            wrong |= <uint64_t>x[j] - <uint64_t>low > width
        if wrong:
            break
    else:
        i = n & ~<int64_t>7
    for j in range(i, n):
        if x[j] < low or x[j] > high:
            return j
    return -1


cdef int64_t outside_real(const double* x, int64_t n, double low, double high) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if not low <= x[i] <= high:
            return i
    return -1


cdef int64_t outside(const Py_buffer* view, low, high) except -2:
    """Position of the first number of a buffer outside ``low .. high``; -1: none. Other dtypes than the four raise."""
    cdef int64_t n = view.len // view.itemsize
    if view.format[0] == c"d":
        return outside_real(<const double*>view.buf, n, low, high)
    if view.format[0] == c"B":
        return outside_8(<const uint8_t*>view.buf, n, low, high)
    if view.format[0] != c"i" and view.format[0] != c"l" and view.format[0] != c"q":
        raise TypeError(f"uint8, int32, int64 or float64 expected, not format {view.format}")
    if view.itemsize == 4:
        return outside_32(<const int32_t*>view.buf, n, low, high)
    return outside_64(<const int64_t*>view.buf, n, low, high)


def first_outside(array, low, high):
    """Position of the first number of an array that is outside a range.

    Parameters
    ----------
    array : ndarray of uint8, int32, int64 or float64, C-contiguous
        Of any shape.
    low, high : int or float
        Both included; int64 for integers.

    Returns
    -------
    int
        Position in the flat array; -1: nowhere. A NaN is outside of every range.
    """
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    try:
        return outside(&view, low, high)
    finally:
        PyBuffer_Release(&view)


cdef bint sound(value, int itemsize, tuple shape, low, high) except -1:
    cdef Py_buffer view
    cdef int i
    cdef char kind
    if type(value) is not ndarray:
        return False
    try:
        PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except (ValueError, BufferError):
        return False
    try:
        kind = view.format[0]
        if view.itemsize != itemsize or (kind != c"i" and kind != c"l" and kind != c"q") or view.ndim != len(shape):
            return False
        for i in range(view.ndim):
            if shape[i] != -1 and view.shape[i] != shape[i]:
                return False
        return outside(&view, low, high) < 0
    finally:
        PyBuffer_Release(&view)


def is_sound(value, int itemsize, tuple shape not None, low, high):
    """Whether a value is a C-contiguous array of int32 or int64 with a given shape and all numbers in a range.

    Parameters
    ----------
    value : object
    itemsize : {4, 8}
    shape : tuple of int
        Length of each dimension; -1: any length.
    low, high : int
        Smallest and largest number allowed.
    """
    return sound(value, itemsize, shape, low, high)


def are_sound(tuple columns not None, length):
    """Whether each of several values is a sound array of one dimension and a common length, as `is_sound` checks one.

    Parameters
    ----------
    columns : tuple of (str, object, type, int, int)
        Name, which is not looked at, array, ``numpy.int32`` or ``numpy.int64``, and the range. None instead of an array
        counts as sound.
    length : int
    """
    cdef tuple column, shape = (length,)
    for column in columns:
        if column[1] is None:
            continue
        if not sound(column[1], 4 if column[2] is int32 else 8, shape, column[3], column[4]):
            return False
    return True


def are_arrays(bytes kinds not None, *values):
    """Whether values are C-contiguous arrays of given dtypes and numbers of dimensions.

    Parameters
    ----------
    kinds : bytes
        Two characters for each value: of the dtype, as the struct module names it (``i`` int32, ``q`` int64 ...), and
        the number of dimensions.
    values : object
    """
    cdef Py_buffer view
    cdef Py_ssize_t i
    cdef const char* kind = kinds
    cdef char form
    cdef bint same
    if len(kinds) != 2 * len(values):
        raise ValueError("two characters for each value expected")
    for i in range(len(values)):
        if type(values[i]) is not ndarray:
            return False
        try:
            PyObject_GetBuffer(values[i], &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        except (ValueError, BufferError):
            return False
        form = view.format[0]
        # What a long is, differs between platforms.
        if form == c"l":
            form = c"q" if view.itemsize == 8 else c"i"
        elif form == c"L":
            form = c"Q" if view.itemsize == 8 else c"I"
        same = form == kind[2 * i] and view.ndim == kind[2 * i + 1] - c"0"
        PyBuffer_Release(&view)
        if not same:
            return False
    return True


def is_offsets(const int64_t[::1] start not None, int64_t end):
    """Whether ``start`` is a valid CSR offset array: begins with 0, never falls, ends with ``end``."""
    cdef int64_t i, n = start.shape[0]
    if n == 0 or start[0] != 0 or start[n - 1] != end:
        return False
    for i in range(1, n):
        if start[i] < start[i - 1]:
            return False
    return True


def is_order(const int32_t[::1] rank not None, uint8_t[::1] seen not None):
    """Whether ``rank`` is a permutation of 0..n-1; ``seen`` is scratch memory, n zeros, and is overwritten."""
    cdef int64_t i, n = rank.shape[0]
    for i in range(n):
        if not 0 <= rank[i] < n or seen[rank[i]]:
            return False
        seen[rank[i]] = True
    return True
