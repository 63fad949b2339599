"""The order of all subsets of a machine of up to 16 devices: by objective, ascending vector and list."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

from workbench._core.bits cimport ctz


cdef uint64_t vector_key(const Machine* m, int mask, bint* whole) noexcept nogil:
    """Key of a set of devices by its pair weights in ascending order; keys compare as the vectors do.

    ``whole`` is set to whether the key tells the vector completely.
    """
    cdef uint8_t counts[128]
    cdef uint64_t present[2]
    cdef uint64_t key = 0
    cdef int v, u, rest, rank, run, i = 0
    present[0] = present[1] = 0
    rest = mask
    while rest:
        v = ctz(<uint64_t>rest)
        rest &= rest - 1
        u = rest
        while u:
            rank = <int>m.rank[v * m.n + ctz(<uint64_t>u)]
            u &= u - 1
            if not (present[rank >> 6] >> (rank & 63)) & 1:
                present[rank >> 6] |= <uint64_t>1 << (rank & 63)
                counts[rank] = 0
            counts[rank] += 1
    for run in range(4):
        while i < 2 and present[i] == 0:
            i += 1
        if i == 2:
            key <<= 16
            continue
        rank = (i << 6) + ctz(present[i])
        present[i] &= present[i] - 1
        key = (key << 16) | <uint64_t>((rank << 8) | (255 - counts[rank]))
    whole[0] = present[0] == 0 and present[1] == 0 or i == 2
    if i == 0 and present[0] == 0 and present[1] != 0:
        whole[0] = False
    return key


cdef int compare_vectors(const Machine* m, int a, int b) noexcept nogil:
    """Compare the ascending pair weights of two sets: 1 if those of ``a`` are larger, -1 if smaller, 0 if equal."""
    cdef int counts[128]
    cdef int v, u, rest, sign, i
    memset(counts, 0, sizeof(counts))
    for i in range(2):
        rest = a if i == 0 else b
        sign = 1 if i == 0 else -1
        while rest:
            v = ctz(<uint64_t>rest)
            rest &= rest - 1
            u = rest
            while u:
                counts[m.rank[v * m.n + ctz(<uint64_t>u)]] += sign
                u &= u - 1
    for i in range(128):
        if counts[i]:
            return 1 if counts[i] < 0 else -1
    return 0


cdef bint entry_before(const Machine* m, const Entry* a, const Entry* b) noexcept nogil:
    cdef int order
    cdef int differ
    if a.value != b.value:
        return a.value > b.value
    if a.vector != b.vector:
        return a.vector > b.vector
    if not a.whole:
        order = compare_vectors(m, a.mask, b.mask)
        if order:
            return order > 0
    differ = a.mask ^ b.mask
    return (a.mask & differ & -differ) != 0


cdef void sort_entries(const Machine* m, Entry* entries, Entry* scratch, int size) noexcept nogil:
    """Sort entries (sets with their keys) by merging; ``scratch`` has as much memory. Unlike qsort it can use ``m``."""
    cdef int width = 1, low, middle, high, i, j, out
    cdef Entry* source = entries
    cdef Entry* target = scratch
    cdef Entry* other
    while width < size:
        low = 0
        while low < size:
            middle = low + width if low + width < size else size
            high = low + 2 * width if low + 2 * width < size else size
            i = low
            j = middle
            for out in range(low, high):
                if i < middle and (j >= high or not entry_before(m, &source[j], &source[i])):
                    target[out] = source[i]
                    i += 1
                else:
                    target[out] = source[j]
                    j += 1
            low = high
        other = source
        source = target
        target = other
        width *= 2
    if source != entries:
        memcpy(entries, source, size * sizeof(Entry))
