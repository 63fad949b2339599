"""The distinct bases of groups, and how many nodes fit in the groups of each: what the best base of a contest costs.

There are hardly more bases than tiers, so that they are searched one by one. A base is what a group's leaf is worth
beside the record (`Groups.base`); `fitting` is that of the contest at hand, which owns it.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from workbench._core.contest cimport Contest, Groups


cdef struct Levels:
    int32_t n
    int32_t* of            # of each group: the number of its base
    double* base
    int64_t* fitting       # nodes that fit in the groups of each base


cdef inline int32_t level_of(Levels* levels, double base) noexcept nogil:
    """Number of a base among the distinct ones."""
    cdef int32_t i
    for i in range(levels.n):
        if levels.base[i] == base:
            return i
    levels.base[levels.n] = base
    levels.fitting[levels.n] = 0
    levels.n += 1
    return levels.n - 1


cdef inline void set_base(Levels* levels, Groups* groups, int64_t g, double base) noexcept nogil:
    groups.base[g] = base
    levels.of[g] = level_of(levels, base)


cdef inline void count_groups(Levels* levels, const Contest* c, int64_t low, int64_t high, int64_t sign) noexcept nogil:
    """Count the nodes that fit in some groups, or with -1 remove them."""
    cdef int64_t g
    for g in range(low, high):
        levels.fitting[levels.of[g]] += sign * c.fitting[g]


cdef inline void recount(Levels* levels, const Groups* groups, const Contest* c) noexcept nogil:
    cdef int32_t i
    for i in range(levels.n):
        levels.fitting[i] = 0
    count_groups(levels, c, 0, groups.g, 1)


cdef inline void find_best(const Levels* levels, const Groups* groups, Contest* c) noexcept nogil:
    """Find the largest base among nodes that fit, and how many of them share it; none where nothing is scored."""
    cdef int32_t i
    c.best_base = -INFINITY
    c.n_best = 0
    if groups.scored:
        for i in range(levels.n):
            if levels.fitting[i] and levels.base[i] > c.best_base:
                c.best_base = levels.base[i]
                c.n_best = levels.fitting[i]
