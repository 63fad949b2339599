"""Sets of devices as words of bits, and the search for k devices that are joined each with each.

The sets' functions are inline, so they stand here and not in ``clique_search.pyx``.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t

from workbench._core.bits cimport ctz, popcount

cdef extern from *:
    """
    #define WORKBENCH_POLL ((int64_t) 4000000)
    #define WORKBENCH_UNLIMITED ((int64_t) 1 << 62)
    """
    # Units between two looks at what may end a search: a few milliseconds.
    const int64_t POLL "WORKBENCH_POLL"
    const int64_t UNLIMITED "WORKBENCH_UNLIMITED"

# Answers of a search that may be cut. -2 is an exception under way.
cdef enum:
    NO = 0
    YES = 1
    CUT = 2


cdef inline int count_words(const uint64_t* a, int w) noexcept nogil:
    cdef int i, total = 0
    for i in range(w):
        total += popcount(a[i])
    return total


cdef inline int count_common(const uint64_t* a, const uint64_t* b, int w) noexcept nogil:
    cdef int i, total = 0
    for i in range(w):
        total += popcount(a[i] & b[i])
    return total


cdef inline bint inside(const uint64_t* a, const uint64_t* b, int w) noexcept nogil:
    cdef int i
    for i in range(w):
        if a[i] & ~b[i]:
            return False
    return True


cdef inline bint has(const uint64_t* a, int v) noexcept nogil:
    return (a[v >> 6] >> (v & 63)) & 1


cdef inline void put(uint64_t* a, int v) noexcept nogil:
    a[v >> 6] |= <uint64_t>1 << (v & 63)


cdef inline void drop(uint64_t* a, int v) noexcept nogil:
    a[v >> 6] &= ~(<uint64_t>1 << (v & 63))


cdef inline int lowest(const uint64_t* a, int w) noexcept nogil:
    """Lowest device of a set given as ``w`` words; -1 if the set is empty."""
    cdef int i
    for i in range(w):
        if a[i]:
            return (i << 6) + ctz(a[i])
    return -1


cdef inline bint lexicographically_before(const uint64_t* a, const uint64_t* b, int w) noexcept nogil:
    """Whether set ``a`` precedes set ``b`` of equal size: ``a`` holds the lowest device in which the two differ."""
    cdef int i
    cdef uint64_t x
    for i in range(w):
        x = a[i] ^ b[i]
        if x:
            return (a[i] >> ctz(x)) & 1
    return False


cdef inline void intersect(uint64_t* out, const uint64_t* a, const uint64_t* b, int w) noexcept nogil:
    cdef int i
    for i in range(w):
        out[i] = a[i] & b[i]


cdef struct Search:
    int n
    int w
    int n_levels
    int n_classes
    const int32_t* rank       # (n, n): position of the pair's weight among the distinct weights
    const int32_t* cls        # (n, n): position of the pair's class, or NULL when there is only one
    bint by_class             # the class is the objective, be there one or many: the weight inside it has a budget
    const uint64_t* level_adj # (n_levels, n, w): pairs of at least that weight, or NULL when too many
    const uint64_t* class_adj # (n_classes, n, w), or NULL
    uint64_t* graph           # (n, w): the graph of the present threshold
    uint64_t* pool            # (n + 2, 3, w): per depth of the clique search
    int16_t* order            # (n + 2, n)
    int16_t* colour           # (n + 2, n)
    uint64_t* found           # (w,): clique of the last YES
    uint64_t* rest            # (4, w)
    uint64_t* spare           # (w,): the empty set
    int64_t units
    int64_t limit
    int64_t poll


cdef int look_up() except -1
cdef int spend(Search* s, int64_t units) except -2 nogil
cdef void load(Search* s, int c, uint32_t t, const uint64_t* members) noexcept nogil
cdef int decide(Search* s, const uint64_t* free, const uint64_t* require, int k) except -2 nogil
cdef int core(Search* s, uint64_t* p, int need, bint* clique) except -2 nogil
cdef uint32_t core_bound(
    Search* s, const uint64_t* free, const uint64_t* require, int k, int c, uint32_t low
) except? 0xFFFFFFFE nogil
cdef int best_value(
    Search* s, const uint64_t* free, const uint64_t* require, int k, int64_t weight_limit,
    int* c_out, uint32_t* t_out, uint64_t* best,
) except -2 nogil
