"""Counts, per distinct closeness score of leaf domains, the nodes that a pod fits on.

A group is the nodes of one leaf domain (lowest HyperNode); its base is the closeness score of that domain to where the
job is allocated. There are hardly more distinct bases than tiers, so that they are searched one by one.
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
    """Index of ``base`` among the distinct closeness scores; a new one is appended."""
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
    """Count the nodes that a pod fits on in groups ``low`` to ``high`` (excluded) under their closeness score.

    A group is the nodes of one leaf HyperNode. ``sign`` -1: subtract them instead.
    """
    cdef int64_t g
    for g in range(low, high):
        levels.fitting[levels.of[g]] += sign * c.fitting[g]


cdef inline void recount(Levels* levels, const Groups* groups, const Contest* c) noexcept nogil:
    cdef int32_t i
    for i in range(levels.n):
        levels.fitting[i] = 0
    count_groups(levels, c, 0, groups.g, 1)


cdef inline void find_best(const Levels* levels, const Groups* groups, Contest* c) noexcept nogil:
    """Write the largest closeness score among nodes that the pod fits on, and the number of such nodes, into ``c``.

    (-inf, 0) if pods are not scored by closeness.
    """
    cdef int32_t i
    c.best_base = -INFINITY
    c.n_best = 0
    if groups.scored:
        for i in range(levels.n):
            if levels.fitting[i] and levels.base[i] > c.best_base:
                c.best_base = levels.base[i]
                c.n_best = levels.fitting[i]
