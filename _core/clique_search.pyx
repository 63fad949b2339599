"""The search for k devices that are joined each with each, and the best objective of k devices by it.

A binary search over link classes, then over weights, asks at each threshold: is there a k-clique among the pairs at
least that fast? `core` removes what cannot be in one, and answers alone where the rest is a clique; `clique_search`
then branches over a greedy colouring. Phases of `best_value`: a first set and its objective; the class, always proven;
an upper bound on the weight by `core_bound`; the weight, within its budget.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from cpython.exc cimport PyErr_CheckSignals

from workbench._core.bits cimport ctz

cdef object watcher = None


def watch(called):
    """Set a function that every search for GPU sets calls every few milliseconds; an exception from it ends the search.

    It is called in the thread of the search.
    """
    global watcher
    watcher = called


cdef int look_up() except -1:
    PyErr_CheckSignals()
    if watcher is not None:
        watcher()
    return 0


cdef int spend(Search* s, int64_t units) except -2 nogil:
    """Count ``units`` of work; return 1 once the limit is passed.

    Checks for Ctrl-C and cancelling every few milliseconds.
    """
    s.units += units
    if s.units >= s.poll:
        s.poll = s.units + POLL
        with gil:
            look_up()
    return s.units > s.limit


cdef inline uint64_t at_least(const int32_t* rank, int32_t t, int size) noexcept nogil:
    """Bit i is set if ``rank[i]`` is at least ``t``, for the first ``size`` ranks (at most 64)."""
    cdef uint8_t reached[64]
    cdef uint64_t word = 0, eight
    cdef int i
    memset(reached, 0, 64)
    if size == 64:
        for i in range(64):
            reached[i] = rank[i] >= t
    else:
        for i in range(size):
            reached[i] = rank[i] >= t
    for i in range(8):
        eight = (
            <uint64_t>reached[8 * i] | <uint64_t>reached[8 * i + 1] << 8 | <uint64_t>reached[8 * i + 2] << 16
            | <uint64_t>reached[8 * i + 3] << 24 | <uint64_t>reached[8 * i + 4] << 32
            | <uint64_t>reached[8 * i + 5] << 40 | <uint64_t>reached[8 * i + 6] << 48
            | <uint64_t>reached[8 * i + 7] << 56
        )
        # Moves the low bit of byte j to bit 56 + j.
        word |= ((eight * <uint64_t>0x0102040810204080) >> 56) << (8 * i)
    return word


cdef void load(Search* s, int c, uint32_t t, const uint64_t* members) noexcept nogil:
    """Make ``graph`` join the pairs of at least class ``c`` and weight rank ``t``.

    Only rows of ``members`` are right.
    """
    cdef int v, u, i, n = s.n, w = s.w
    cdef const uint64_t* by_class = NULL
    cdef const uint64_t* by_level = NULL
    cdef uint64_t* row
    cdef const int32_t* rank
    cdef const int32_t* cls
    if s.cls != NULL and c > 0:
        by_class = s.class_adj + <size_t>c * n * w if s.class_adj != NULL else NULL
    if s.level_adj != NULL:
        by_level = s.level_adj + <size_t>t * n * w
    for v in range(n):
        if not has(members, v):
            continue
        row = s.graph + <size_t>v * w
        if by_level != NULL:
            memcpy(row, by_level + <size_t>v * w, w * sizeof(uint64_t))
        else:
            rank = s.rank + <size_t>v * n
            for i in range(w):
                row[i] = at_least(rank + (i << 6), <int32_t>t, n - (i << 6) if n - (i << 6) < 64 else 64)
            drop(row, v)
            s.units += n >> 2
        if s.cls != NULL and c > 0:
            if by_class != NULL:
                for i in range(w):
                    row[i] &= by_class[<size_t>v * w + i]
            else:
                cls = s.cls + <size_t>v * n
                for u in range(n):
                    if cls[u] < c:
                        drop(row, u)
        s.units += w


cdef int core(Search* s, uint64_t* p, int need, bint* clique) except -2 nogil:
    """Remove from ``p`` the devices that cannot be in a clique of ``need``: leave the (need-1)-core of ``graph``.

    Returns the number of devices left; ``clique`` is set to whether every two of them are joined. If the graph has
    separate groups, a core that no group reaches is empty, which answers without a search.
    """
    cdef int w = s.w, i, v, degree, size, least
    cdef uint64_t word
    cdef bint changed = True
    clique[0] = False
    while changed:
        changed = False
        size = count_words(p, w)
        if size < need:
            return size
        spend(s, size * (w + 2))
        least = size
        for i in range(w):
            word = p[i]
            while word:
                v = (i << 6) + ctz(word)
                word &= word - 1
                degree = count_common(s.graph + <size_t>v * w, p, w)
                if degree < need - 1:
                    drop(p, v)
                    changed = True
                elif degree < least:
                    least = degree
    clique[0] = least == size - 1
    return size


cdef int clique_search(Search* s, int depth, int need) except -2 nogil:
    """Whether ``need`` devices of ``pool[depth]`` are joined each with each; if so they are added to ``found``."""
    cdef int w = s.w, n = s.n, i, v, size, n_order = 0, colour = 0, answer
    cdef uint64_t* p = s.pool + <size_t>depth * 3 * w
    cdef uint64_t* uncoloured = p + w
    cdef uint64_t* open_ = p + 2 * w
    cdef uint64_t* child = p + 3 * w
    cdef int16_t* order = s.order + <size_t>depth * n
    cdef int16_t* colours = s.colour + <size_t>depth * n
    cdef const uint64_t* row
    cdef bint clique
    if need == 0:
        return YES
    size = core(s, p, need, &clique)
    if size < need:
        return NO
    if clique or need == 1:
        while need:
            v = lowest(p, w)
            put(s.found, v)
            drop(p, v)
            need -= 1
        return YES
    if spend(s, size + 16):
        return CUT
    # Greedy colouring: devices of one colour are pairwise not joined, so a clique takes at most one of each colour,
    # and only devices of colour >= need can be the last of a clique among those coloured before them.
    memcpy(uncoloured, p, w * sizeof(uint64_t))
    while True:
        v = lowest(uncoloured, w)
        if v < 0:
            break
        colour += 1
        memcpy(open_, uncoloured, w * sizeof(uint64_t))
        while v >= 0:
            drop(uncoloured, v)
            drop(open_, v)
            row = s.graph + <size_t>v * w
            for i in range(w):
                open_[i] &= ~row[i]
            if colour >= need:
                order[n_order] = <int16_t>v
                colours[n_order] = <int16_t>colour
                n_order += 1
            v = lowest(open_, w)
        s.units += size
    for i in range(n_order - 1, -1, -1):
        v = order[i]
        row = s.graph + <size_t>v * w
        intersect(child, p, row, w)
        answer = clique_search(s, depth + 1, need - 1)
        if answer == YES:
            put(s.found, v)
        if answer != NO:
            return answer
        drop(p, v)
    return NO


cdef int candidates(Search* s, const uint64_t* free, const uint64_t* require, uint64_t* out) noexcept nogil:
    """Write into ``out`` the free devices joined to every device of ``require``, without those; return how many.

    -1 if two required devices are not joined.
    """
    cdef int w = s.w, i, v, n_required = 0
    cdef uint64_t word
    memcpy(out, free, w * sizeof(uint64_t))
    for i in range(w):
        word = require[i]
        while word:
            v = (i << 6) + ctz(word)
            word &= word - 1
            n_required += 1
            drop(out, v)
    if n_required == 0:
        return 0
    for v in range(s.n):
        if has(require, v):
            for i in range(w):
                word = require[i] & ~s.graph[<size_t>v * w + i]
                if i == v >> 6:
                    word &= ~(<uint64_t>1 << (v & 63))
                if word:
                    return -1
            intersect(out, out, s.graph + <size_t>v * w, w)
    return n_required


cdef int decide(Search* s, const uint64_t* free, const uint64_t* require, int k) except -2 nogil:
    """Whether ``free`` has ``k`` devices, the ones of ``require`` among them, joined each with each.

    Then set ``found``.
    """
    cdef int answer, n_required
    memset(s.found, 0, s.w * sizeof(uint64_t))
    n_required = candidates(s, free, require, s.pool)
    if n_required < 0 or n_required > k:
        return NO
    answer = clique_search(s, 0, k - n_required)
    if answer == YES:
        for i in range(s.w):
            s.found[i] |= require[i]
    return answer


cdef bint core_exists(Search* s, const uint64_t* free, const uint64_t* require, int k) except -2 nogil:
    """Necessary test for `decide`: ``k`` devices with k - 1 joined neighbours each exist around the required ones."""
    cdef bint clique
    cdef uint64_t* p = s.pool
    memcpy(p, free, s.w * sizeof(uint64_t))
    return core(s, p, k, &clique) >= k and inside(require, p, s.w)


cdef uint32_t core_bound(
    Search* s, const uint64_t* free, const uint64_t* require, int k, int c, uint32_t low
) except? 0xFFFFFFFE nogil:
    """Upper bound on the weight rank of the slowest pair among ``k`` devices of class ``c``; at least ``low``."""
    cdef uint32_t high = s.n_levels - 1, middle
    while low < high:
        middle = low + (high - low + 1) // 2
        load(s, c, middle, free)
        if core_exists(s, free, require, k):
            low = middle
        else:
            high = middle - 1
    return low


cdef void objective(Search* s, const uint64_t* members, int* c, uint32_t* t) noexcept nogil:
    """Write the lowest class ``c`` and lowest weight rank ``t`` among the pairs of a set of two devices or more."""
    cdef int v, u, i, w = s.w
    cdef uint64_t word
    c[0] = s.n_classes - 1
    t[0] = s.n_levels - 1
    for v in range(s.n):
        if not has(members, v):
            continue
        for i in range(v >> 6, w):
            word = members[i]
            while word:
                u = (i << 6) + ctz(word)
                word &= word - 1
                if u <= v:
                    continue
                if <uint32_t>s.rank[<size_t>v * s.n + u] < t[0]:
                    t[0] = <uint32_t>s.rank[<size_t>v * s.n + u]
                if s.cls != NULL and s.cls[<size_t>v * s.n + u] < c[0]:
                    c[0] = s.cls[<size_t>v * s.n + u]


cdef int best_value(
    Search* s, const uint64_t* free, const uint64_t* require, int k, int64_t weight_limit,
    int* c_out, uint32_t* t_out, uint64_t* best,
) except -2 nogil:
    """Find the best objective (class, weight rank of the slowest pair) of ``k`` free devices that include ``require``.

    Returns YES, or CUT if the search for the weight stopped after ``weight_limit`` units of work; the class is always
    proven. ``best`` receives a set.
    """
    cdef int w = s.w, i, v, c, high_class, middle_class, answer, missing
    cdef int64_t limit = s.limit, left
    cdef uint32_t t, high, middle
    cdef bint proven = True
    memcpy(best, require, w * sizeof(uint64_t))
    missing = k - count_words(require, w)
    for v in range(s.n):
        if missing == 0:
            break
        if has(free, v) and not has(best, v):
            put(best, v)
            missing -= 1
    objective(s, best, &c, &t)
    high_class = s.n_classes - 1
    while c < high_class:
        s.limit = UNLIMITED
        middle_class = (c + high_class + 1) // 2
        load(s, middle_class, 0, free)
        if decide(s, free, require, k) == YES:
            memcpy(best, s.found, w * sizeof(uint64_t))
            objective(s, best, &c, &t)
        else:
            high_class = middle_class - 1
    s.limit = weight_limit
    high = core_bound(s, free, require, k, c, t)
    while t < high:
        middle = t + (high - t + 1) // 2
        load(s, c, middle, free)
        if weight_limit < UNLIMITED:
            # Half of what is left for each question, so that a hard one does not starve easier, lower ones.
            left = weight_limit - s.units
            s.limit = s.units + (left // 2 if left > 0 else 0)
        answer = decide(s, free, require, k)
        if answer == YES:
            memcpy(best, s.found, w * sizeof(uint64_t))
            objective(s, best, &i, &t)
        else:
            if answer == CUT:
                proven = False
                if s.units >= weight_limit:
                    break
            high = middle - 1
    s.limit = limit
    c_out[0] = c
    t_out[0] = t
    return YES if proven else CUT
