"""Entries, vectors and scans of the look-up tables of all subsets, for machines of up to 16 devices."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t

from workbench._core.bits cimport ctz


cdef struct Entry:
    uint64_t vector   # the first four runs of the ascending vector, larger is better
    uint16_t value    # objective
    uint16_t mask
    bint whole        # are four runs the whole vector?


cdef struct Machine:
    int n
    const int32_t* rank


cdef inline int scan(const uint16_t* masks, int begin, int end, uint16_t look, uint16_t want) noexcept nogil:
    """First position from ``begin`` to ``end`` (excluded) whose mask ANDed with ``look`` equals ``want``.

    ``end``: none.
    """
    cdef int i = begin, j
    cdef uint16_t hit
    # Among many ties the next one stands right here as a rule.
    if i < end and (masks[i] & look) == want:
        return i
    while i + 32 <= end:
        hit = 0
        for j in range(32):
            hit |= <uint16_t>((masks[i + j] & look) == want)
        if hit:
            break
        i += 32
    while i < end and (masks[i] & look) != want:
        i += 1
    return i


cdef inline uint16_t reversed_mask(uint16_t mask) noexcept nogil:
    """The mask with its bits reversed: of two sets of one size, the lexicographically smaller has the larger mask."""
    cdef uint16_t x = mask
    x = <uint16_t>((x & 0x5555) << 1 | (x >> 1) & 0x5555)
    x = <uint16_t>((x & 0x3333) << 2 | (x >> 2) & 0x3333)
    x = <uint16_t>((x & 0x0F0F) << 4 | (x >> 4) & 0x0F0F)
    return <uint16_t>(x << 8 | x >> 8)


cdef uint64_t vector_key(const Machine* m, int mask, bint* whole) noexcept nogil
cdef int compare_vectors(const Machine* m, int a, int b) noexcept nogil
cdef void sort_entries(const Machine* m, Entry* entries, Entry* scratch, int size) noexcept nogil
