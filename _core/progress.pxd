"""Counts of a gang's pods while they are placed: pods placed, left and needed, and whether to try further pods.

An entry is one role of the gang. These structs and inline functions are shared, so that every kernel that places pods
counts alike; the rules are in ``workbench.kernels.dry_runs``.
"""

from libc.stdint cimport int32_t, int64_t


cdef enum:
    # What happens after a pod that fits nowhere.
    BY_MINIMUMS = 0
    STOP = 1
    GO_ON = 2


cdef struct Entry:
    int32_t shape
    int32_t name           # entries of one name fail together
    int64_t left, present, minimum
    int64_t given          # pods taken from the queue: placed, or skipped
    int64_t dropped        # pods that were left when one of the name failed in this pass


cdef struct Run:
    # pods of one entry that are tried one after another
    int32_t entry
    int64_t upto           # pods of the entry up to the run's last, from the first on


cdef struct Progress:
    Entry* entries
    const Run* runs        # in the order in which pods are tried; NULL: entry by entry
    int32_t n, n_runs
    int32_t rule
    bint minimums_count
    bint every             # the turns that follow, of one pod each, are taken in the same pass
    int64_t min_available, counted
    int64_t short_of       # pods missing for the minimums
    int64_t rest           # sum of left


cdef inline bint is_ready(const Progress* p) noexcept nogil:
    return p.counted >= p.min_available and (not p.minimums_count or p.short_of == 0)


cdef inline int64_t missing_of(const Progress* p) noexcept nogil:
    cdef int64_t missing = p.min_available - p.counted
    if p.minimums_count and p.short_of > missing:
        missing = p.short_of
    return missing if missing > 0 else 0


cdef inline int64_t below_minimum(const Entry* e) noexcept nogil:
    return e.minimum - e.present if e.minimum > e.present else 0


cdef inline int64_t until_ready(const Progress* p, const Entry* e) noexcept nogil:
    """Number of pods of an entry (role) to place next: up to the pod that makes the gang ready, at least one."""
    cdef int64_t wanted = p.min_available - p.counted
    if p.minimums_count:
        if p.short_of > below_minimum(e):
            return e.left
        if e.minimum - e.present > wanted:
            wanted = e.minimum - e.present
    if wanted < 1:
        wanted = 1
    return wanted if wanted < e.left else e.left


cdef inline void note_placed(Progress* p, Entry* e, int64_t count) noexcept nogil:
    p.short_of -= below_minimum(e)
    e.present += count
    e.given += count
    p.short_of += below_minimum(e)
    e.left -= count
    p.rest -= count
    p.counted += count


cdef inline bint may_go_on(const Progress* now, int32_t failed) noexcept nogil:
    """Whether to try further pods of the gang after a pod of entry ``failed`` fitted on no node.

    Source: docs/reference/volcano-topology.md, section 5.1, step 5.
    """
    cdef int32_t i
    if now.rule != BY_MINIMUMS:
        return now.rule == GO_ON
    if not now.minimums_count:
        return now.counted + now.rest >= now.min_available
    # Those that failed before were asked for then, and their counts have not sunk since.
    for i in range(now.n):
        if now.entries[i].name == now.entries[failed].name and below_minimum(&now.entries[i]) > 0:
            return False
    return True


cdef inline void skip_name(Progress* now, int32_t failed) noexcept nogil:
    """Give up all remaining pods of roles with the name of role ``failed``, of which a pod fitted on no node."""
    cdef int32_t other
    for other in range(now.n):
        if now.entries[other].name == now.entries[failed].name:
            now.rest -= now.entries[other].left
            now.entries[other].dropped = now.entries[other].left
            now.entries[other].left = 0


cdef inline void leave_rest(Progress* now, int32_t last) noexcept nogil:
    """Put the pods of given-up roles that come after run ``last``, which ended the fill, back among the pods left."""
    cdef Entry* entry
    cdef int32_t i, k
    cdef int64_t passed
    for i in range(now.n):
        entry = &now.entries[i]
        if entry.dropped == 0:
            continue
        passed = entry.given
        for k in range(last):
            if now.runs[k].entry == i and now.runs[k].upto > passed:
                passed = now.runs[k].upto
        if passed - entry.given < entry.dropped:
            entry.left = entry.dropped - (passed - entry.given)
            now.rest += entry.left
        entry.given = passed
