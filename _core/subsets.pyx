"""Subsets of k devices of a device mask: count, list, rank, unrank.

Order everywhere: lexicographic order of the ascending index lists, so {0, 1, 9} comes before {0, 2, 3}. Masks are
rows of little-endian uint64 words, (n + 63) // 64 of them, at most 1,024 devices. Validation and errors in words are
``workbench.kernels.subsets``' part.

A subset of size k of a mask with m devices is, by position inside the mask, a k-subset of 0..m-1; its rank is

    sum over i of [C(m - p[i-1] - 1, k - i) - C(m - p[i], k - i)],   p[-1] = -1

which counts, per place i, the subsets that put a smaller position there.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

import numpy as np

from workbench._core.bits cimport ctz, popcount

cdef enum:
    MAX_DEVICES = 1024
    MAX_WORDS = 16
    # C(n, k) < 2^62 only where k or n - k is at most 32: C(65, 32) is the last one in the middle.
    HALF = 33

# Ranks are below 2^62, so sums of two never wrap.
cdef uint64_t TOO_MANY = <uint64_t>1 << 62


cdef uint64_t binomial(int n, int k) noexcept nogil:
    """Binomial coefficient C(n, k), or TOO_MANY if C(n, k) is not below TOO_MANY."""
    cdef uint64_t value = 1, factor, common, divisor
    cdef int i
    if k < 0 or k > n:
        return 0
    if k > n - k:
        k = n - k
    for i in range(1, k + 1):
        factor = <uint64_t>(n - k + i)
        divisor = <uint64_t>i
        # value * factor is divisible by i; cancel first, so that only a real overflow stops us.
        common = greatest_common_divisor(value, divisor)
        value //= common
        divisor //= common
        factor //= divisor
        if value > TOO_MANY // factor:
            return TOO_MANY
        value *= factor
    return value if value < TOO_MANY else TOO_MANY


cdef uint64_t greatest_common_divisor(uint64_t a, uint64_t b) noexcept nogil:
    cdef uint64_t c
    while b:
        c = a % b
        a = b
        b = c
    return a


cdef pascal(int n):
    """Table of the binomial coefficients C(m, j) for m <= n and j <= HALF, as a flat array.

    TOO_MANY for larger values.
    """
    result = np.zeros((n + 1) * (HALF + 1), dtype=np.uint64)
    cdef uint64_t[::1] table = result
    cdef uint64_t value
    cdef int m, j
    for m in range(n + 1):
        table[m * (HALF + 1)] = 1
        for j in range(1, (m if m < HALF else HALF) + 1):
            value = table[(m - 1) * (HALF + 1) + j - 1] + table[(m - 1) * (HALF + 1) + j]
            table[m * (HALF + 1) + j] = value if value < TOO_MANY else TOO_MANY
    return result


cdef inline uint64_t choose(const uint64_t* table, int m, int j) noexcept nogil:
    """Look the binomial coefficient C(m, j) up in a table made by `pascal`.

    TOO_MANY if both j and m - j exceed HALF.
    """
    if j < 0 or j > m:
        return 0
    if j > m - j:
        j = m - j
    return table[m * (HALF + 1) + j] if j <= HALF else TOO_MANY


cdef int positions(const uint64_t[::1] mask, int32_t* out) noexcept nogil:
    """Write the devices of a bit mask, ascending, into ``out``; return their number."""
    cdef Py_ssize_t i
    cdef int count = 0
    cdef uint64_t word
    for i in range(mask.shape[0]):
        word = mask[i]
        while word:
            out[count] = <int32_t>((i << 6) + ctz(word))
            count += 1
            word &= word - 1
    return count


cdef int count_devices(const uint64_t[::1] mask) noexcept nogil:
    cdef Py_ssize_t i
    cdef int total = 0
    for i in range(mask.shape[0]):
        total += popcount(mask[i])
    return total


def device_lists(const uint64_t[:, ::1] rows):
    """Devices, ascending, of each mask in ``rows``; all masks must hold equally many devices.

    Returns
    -------
    ndarray of shape (m, k), int64

    Raises
    ------
    ValueError
        More than 16 words, or a row of another size.
    """
    cdef Py_ssize_t w = rows.shape[1], m = rows.shape[0], row, i, at
    cdef Py_ssize_t k = count_devices(rows[0]) if m else 0
    cdef uint64_t word
    cdef bint alike = True
    if w > MAX_WORDS:
        raise ValueError("device_lists: at most 16 words expected")
    result = np.empty((m, k), dtype=np.int64)
    cdef int64_t[:, ::1] out = result
    with nogil:
        for row in range(m):
            at = 0
            for i in range(w):
                word = rows[row, i]
                while word:
                    if at < k:
                        out[row, at] = (i << 6) + ctz(word)
                    at += 1
                    word &= word - 1
            if at != k:
                alike = False
                break
    if not alike:
        raise ValueError(f"device_lists: rows of {k} devices expected, row {row} has {at}")
    return result


def count(const uint64_t[::1] mask, int k):
    """Number of subsets of ``k`` devices of a mask; -1 if there are 2^62 or more, too many for an int64 rank."""
    cdef uint64_t value = binomial(count_devices(mask), k)
    return -1 if value == TOO_MANY else <int64_t>value


def enumerate_masks(const uint64_t[::1] mask, int k, int64_t start, int64_t limit):
    """List subsets of ``k`` devices of a mask in lexicographic order, from number ``start`` on, at most ``limit``.

    Returns
    -------
    ndarray of shape (m, words), uint64
    """
    cdef int32_t device[MAX_DEVICES]
    cdef int32_t at[MAX_DEVICES]
    cdef uint64_t current[MAX_WORDS]
    cdef Py_ssize_t w = mask.shape[0], row, rows
    cdef int n, i, j
    cdef uint64_t total, here
    if w > MAX_WORDS or k < 0 or start < 0 or limit < 0:
        raise ValueError("enumerate_masks: at most 16 words, k, start and limit >= 0 expected")
    n = positions(mask, device)
    total = binomial(n, k)
    rows = 0 if <uint64_t>start >= total else <Py_ssize_t>min(<uint64_t>limit, total - <uint64_t>start)
    result = np.empty((rows, w), dtype=np.uint64)
    if rows == 0:
        return result
    cdef uint64_t[:, ::1] out = result
    cdef uint64_t[::1] table = pascal(n)
    with nogil:
        unrank_positions(&table[0], n, k, <uint64_t>start, at)
        memset(current, 0, sizeof(current))
        for i in range(k):
            current[device[at[i]] >> 6] |= <uint64_t>1 << (device[at[i]] & 63)
        for row in range(rows):
            for i in range(<int>w):
                out[row, i] = current[i]
            # The last place that can still move moves by one, those behind it follow directly.
            i = k - 1
            while i >= 0 and at[i] == n - k + i:
                current[device[at[i]] >> 6] ^= <uint64_t>1 << (device[at[i]] & 63)
                i -= 1
            if i < 0:
                break
            current[device[at[i]] >> 6] ^= <uint64_t>1 << (device[at[i]] & 63)
            at[i] += 1
            current[device[at[i]] >> 6] |= <uint64_t>1 << (device[at[i]] & 63)
            for j in range(i + 1, k):
                at[j] = at[j - 1] + 1
                current[device[at[j]] >> 6] |= <uint64_t>1 << (device[at[j]] & 63)
    return result


cdef void unrank_positions(const uint64_t* table, int n, int k, uint64_t rank, int32_t* at) noexcept nogil:
    cdef int i, position = 0
    cdef uint64_t below
    for i in range(k):
        while True:
            below = choose(table, n - position - 1, k - i - 1)
            if rank < below:
                break
            rank -= below
            position += 1
        at[i] = position
        position += 1


def rank(const uint64_t[::1] mask, const uint64_t[:, ::1] subsets):
    """Position of each row of ``subsets`` in the lexicographic list of the subsets of ``mask`` of that size.

    Returns
    -------
    ndarray of shape (m,), int64
        -1 for a row that is no subset of ``mask``, -2 where the number of subsets of its size is 2^62 or more.
    """
    cdef int32_t device[MAX_DEVICES]
    cdef Py_ssize_t w = mask.shape[0], row
    cdef int n, i, k, place, position
    cdef uint64_t value, stray, word
    if w > MAX_WORDS or subsets.shape[1] != w:
        raise ValueError("rank: rows of as many words as the mask, at most 16, expected")
    n = positions(mask, device)
    result = np.empty(subsets.shape[0], dtype=np.int64)
    cdef int64_t[::1] out = result
    cdef uint64_t[::1] table = pascal(n)
    with nogil:
        for row in range(subsets.shape[0]):
            stray = 0
            k = 0
            for i in range(<int>w):
                stray |= subsets[row, i] & ~mask[i]
                k += popcount(subsets[row, i])
            if stray:
                out[row] = -1
                continue
            if choose(&table[0], n, k) == TOO_MANY:
                out[row] = -2
                continue
            value = 0
            place = 0
            for position in range(n):
                if place == k:
                    break
                word = subsets[row, device[position] >> 6]
                if (word >> (device[position] & 63)) & 1:
                    place += 1
                else:
                    value += choose(&table[0], n - position - 1, k - place - 1)
            out[row] = <int64_t>value
    return result


def unrank(const uint64_t[::1] mask, int k, const int64_t[::1] ranks):
    """Subsets of ``k`` devices of a mask at the given positions of their lexicographic list; the inverse of `rank`.

    Returns
    -------
    ndarray of shape (m, words), uint64
    """
    cdef int32_t device[MAX_DEVICES]
    cdef int32_t at[MAX_DEVICES]
    cdef Py_ssize_t w = mask.shape[0], row
    cdef int n, i
    cdef uint64_t total
    if w > MAX_WORDS or k < 0:
        raise ValueError("unrank: at most 16 words and k >= 0 expected")
    n = positions(mask, device)
    total = binomial(n, k)
    for row in range(ranks.shape[0]):
        if ranks[row] < 0 or <uint64_t>ranks[row] >= total:
            raise ValueError(f"unrank: ranks of 0 to {total - 1} expected, not {ranks[row]}")
    result = np.zeros((ranks.shape[0], w), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = result
    cdef uint64_t[::1] table = pascal(n)
    with nogil:
        for row in range(ranks.shape[0]):
            unrank_positions(&table[0], n, k, <uint64_t>ranks[row], at)
            for i in range(k):
                out[row, device[at[i]] >> 6] |= <uint64_t>1 << (device[at[i]] & 63)
    return result
