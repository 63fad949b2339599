"""The set of k devices whose slowest pair is fastest, exactly, with its ties.

Owns: the value of the best set, the choice among ties, their list and number, an upper bound, and the split of a set
among pods. Does not own: validation and errors in words (``workbench.kernels.bottleneck``), symmetrising, link classes.

Objective of a set: the lowest link class among its pairs, then the lowest pair weight; without classes the weight
alone. Ties have the same objective; among them (DESIGN, decision 1) the one wins that

(a) leaves the best objective for another k free devices (ignoring ``require``), nothing left being worst,
(b) has the larger ascending vector of pair weights: at the lowest weight where two sets differ, fewer pairs,
(c) is lexicographically smallest as an ascending list.

Two engines, same answers where both finish:

- n <= 16, tables: every subset's objective; per k the subsets in falling order of (objective, b, c), so that the first
  one inside ``free`` is a best one and scanning its ties in order decides (b) and (c); and the best value left in every
  free mask, which decides (a) in one look-up. n <= 8 tabulates the answers themselves.
- above, search: binary search over classes, then over weights; is there a k-clique among the pairs at least that
  fast? Core reduction, "the core is a clique", greedy colouring. Then a lexicographic search of the ties.

Work is counted in *units*, roughly words of bitset read: a budget in units cuts the same search at the same place on
every machine, which a clock would not.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport malloc
from libc.stdlib cimport free as release
from libc.string cimport memcmp, memcpy, memset
from cpython.exc cimport PyErr_CheckSignals

import numpy as np

from workbench._core.bits cimport ctz, popcount

cdef int MAX_DEVICES = 1024
cdef int TABLE_DEVICES = 16
cdef int ANSWER_DEVICES = 8
# Adjacency for each threshold is kept when there are few; noise makes as many thresholds as pairs.
cdef int KEPT_LEVELS = 32
# Units between two looks at pending signals: a few milliseconds.
cdef int64_t POLL = 4_000_000
cdef int64_t UNLIMITED = <int64_t>1 << 62
cdef uint64_t COUNT_LIMIT = <uint64_t>1 << 62

# Answers of a search that may be cut. -2 is an exception under way.
cdef enum:
    NO = 0
    YES = 1
    CUT = 2


# ---------------------------------------------------------------------------------------------------------------------
# Word sets
# ---------------------------------------------------------------------------------------------------------------------

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
    """Lowest member, or -1."""
    cdef int i
    for i in range(w):
        if a[i]:
            return (i << 6) + ctz(a[i])
    return -1


cdef inline bint lexicographically_before(const uint64_t* a, const uint64_t* b, int w) noexcept nogil:
    """Of two different sets of one size: does ``a`` hold the lowest device in which they differ?"""
    cdef int i
    cdef uint64_t x
    for i in range(w):
        x = a[i] ^ b[i]
        if x:
            return (a[i] >> ctz(x)) & 1
    return False


# ---------------------------------------------------------------------------------------------------------------------
# The search engine
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Search:
    int n
    int w
    int n_levels
    int n_classes
    const int32_t* rank       # (n, n): position of the pair's weight among the distinct weights
    const int32_t* cls        # (n, n): position of the pair's class, or NULL
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


cdef int spend(Search* s, int64_t units) except -2 nogil:
    """Count work; 1 when the limit is passed. Lets Ctrl-C through every few milliseconds."""
    s.units += units
    if s.units >= s.poll:
        s.poll = s.units + POLL
        with gil:
            PyErr_CheckSignals()
    return s.units > s.limit


cdef inline uint64_t at_least(const int32_t* rank, int32_t t, int size) noexcept nogil:
    """Bits of the up to 64 ranks that reach ``t``: compared as bytes, which compilers do many at a time, then packed."""
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
    """Make ``graph`` the pairs of at least class ``c`` and weight rank ``t``; rows outside ``members`` stay stale."""
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
    """Shrink ``p`` to its (need-1)-core in ``graph``; its size, and whether all its members are joined.

    A k-clique lies inside the (k-1)-core, so nothing is lost; on graphs made of separate groups the core of a
    threshold that no group meets is empty, which answers without search.
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
    """Is there a clique of ``need`` devices inside ``pool[depth]``? Adds it to ``found``."""
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


cdef inline void intersect(uint64_t* out, const uint64_t* a, const uint64_t* b, int w) noexcept nogil:
    cdef int i
    for i in range(w):
        out[i] = a[i] & b[i]


cdef int candidates(Search* s, const uint64_t* free, const uint64_t* require, uint64_t* out) noexcept nogil:
    """The free devices joined to every required one, those left out; -1 when two required ones are not joined."""
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
    """Is there a k-clique of ``graph`` inside ``free`` that holds ``require``? On YES it is in ``found``."""
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
    """Polynomial necessary condition for ``decide``: a (k-1)-core of at least k devices around the required ones."""
    cdef bint clique
    cdef uint64_t* p = s.pool
    memcpy(p, free, s.w * sizeof(uint64_t))
    return core(s, p, k, &clique) >= k and inside(require, p, s.w)


cdef uint32_t core_bound(
    Search* s, const uint64_t* free, const uint64_t* require, int k, int c, uint32_t low
) except? 0xFFFFFFFE nogil:
    """Highest weight rank, at least ``low``, at which `core_exists`: no set of k devices can be better."""
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
    """Lowest class and lowest weight rank among the pairs of a set of two or more."""
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
    """Best objective of k >= 2 devices out of ``free``; YES, or CUT when the weight (never the class) is unproven.

    ``weight_limit``: units at which the second stage, the weight inside the best class, stops.
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


# ---------------------------------------------------------------------------------------------------------------------
# Among ties
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Ties:
    Search* s
    int k
    const uint64_t* free
    uint64_t* require
    int c                  # class of the objective
    uint32_t t             # its weight rank: every tie holds a pair of exactly this rank
    uint64_t* graph        # pairs fast enough for the objective
    uint64_t* high         # those strictly faster than the objective's weight
    uint64_t* top_graph    # pairs fast enough for the best objective that could be left
    uint64_t* scratch      # any other threshold
    uint64_t* stack        # (n + 2, w): devices still open, per depth
    uint64_t* chosen
    int16_t* members
    int n_members
    int32_t* counts        # pairs of `chosen` per weight rank
    int16_t* lack          # per device: how many of k - 1 pairs must be at the objective's weight
    int least_lack
    int total_lack
    int64_t* floor         # per rank: fewest pairs of at most that rank in any tie, where known
    bint floor_known
    bint look_ahead        # are there enough devices left for another k at all?
    int top_class
    uint32_t top_level
    uint64_t* winner
    int32_t* winner_counts
    bint has_winner
    bint closed            # the winner leaves the best that any set could leave
    bint certified         # the winner's vector meets the floor: none is larger
    int left_class
    uint32_t left_level
    uint64_t* listed       # (list_limit, w)
    int64_t list_limit
    int64_t n_listed
    uint64_t total
    uint64_t enough        # stop counting here
    bint saturated


cdef int compare_counts(const Ties* q) noexcept nogil:
    cdef uint32_t r
    for r in range(q.t, <uint32_t>q.s.n_levels):
        if q.counts[r] != q.winner_counts[r]:
            return 1 if q.counts[r] < q.winner_counts[r] else -1
    return 0


cdef void count_pair_ranks(Ties* q, int v, int sign) noexcept nogil:
    cdef int i
    cdef const int32_t* rank = q.s.rank + <size_t>v * q.s.n
    for i in range(q.n_members):
        q.counts[rank[q.members[i]]] += sign


cdef void push(Ties* q, int v) noexcept nogil:
    count_pair_ranks(q, v, 1)
    q.members[q.n_members] = <int16_t>v
    q.n_members += 1
    put(q.chosen, v)
    q.total_lack += q.lack[v]
    q.s.units += q.n_members >> 1


cdef void pop(Ties* q) noexcept nogil:
    cdef int v
    q.n_members -= 1
    v = q.members[q.n_members]
    count_pair_ranks(q, v, -1)
    drop(q.chosen, v)
    q.total_lack -= q.lack[v]


cdef int consider(Ties* q) except -2 nogil:
    """Is ``chosen`` better than the winner by (a), (b), (c)? CUT when the budget ends before (a) is known."""
    cdef Search* s = q.s
    cdef int w = s.w, order = 1, i, answer, left_class = -1
    cdef uint32_t left_level = 0, r
    cdef int64_t cumulated = 0
    cdef bint top = False
    s.units += 16 + ((s.n_levels - q.t) >> 2)
    if q.has_winner:
        order = compare_counts(q)
        if order == 0:
            if memcmp(q.chosen, q.winner, w * sizeof(uint64_t)) == 0:
                return NO
            order = 1 if lexicographically_before(q.chosen, q.winner, w) else -1
        if q.closed and order < 0:
            return NO
    if q.look_ahead:
        for i in range(w):
            s.rest[i] = q.free[i] & ~q.chosen[i]
        s.graph = q.top_graph
        answer = decide(s, s.rest, s.spare, q.k)
        if answer == CUT:
            return CUT
        top = answer == YES
        if top:
            left_class = q.top_class
            left_level = q.top_level
        else:
            if q.closed:
                return NO
            s.graph = q.scratch
            answer = best_value(s, s.rest, s.spare, q.k, s.limit, &left_class, &left_level, s.rest + w)
            if answer == CUT:
                return CUT
            if q.has_winner:
                if left_class < q.left_class or (left_class == q.left_class and left_level < q.left_level):
                    return NO
                if left_class == q.left_class and left_level == q.left_level and order < 0:
                    return NO
    q.has_winner = True
    memcpy(q.winner, q.chosen, w * sizeof(uint64_t))
    memcpy(q.winner_counts, q.counts, s.n_levels * sizeof(int32_t))
    q.closed = top or not q.look_ahead
    q.left_class = left_class
    q.left_level = left_level
    q.certified = q.floor_known
    for r in range(q.t, <uint32_t>(s.n_levels - 1)):
        if not q.certified:
            break
        cumulated += q.counts[r]
        q.certified = cumulated == q.floor[r]
    return YES


cdef bint hopeless(Ties* q, const uint64_t* open_, int need) noexcept nogil:
    """Can no completion of ``chosen`` inside ``open_`` beat a winner that leaves the best?"""
    cdef Search* s = q.s
    cdef int64_t cumulated = 0
    cdef uint32_t r
    cdef int fewest
    if not (q.has_winner and q.closed):
        return False
    if q.certified:
        for r in range(q.t, <uint32_t>(s.n_levels - 1)):
            cumulated += q.counts[r]
            if cumulated > q.floor[r]:
                return True
    fewest = (q.total_lack + need * q.least_lack + 1) // 2
    if q.counts[q.t] > fewest:
        fewest = q.counts[q.t]
    return fewest > q.winner_counts[q.t]


cdef bint objective_pair_possible(Ties* q, const uint64_t* open_) noexcept nogil:
    """Does ``chosen`` with ``open_`` still hold a pair of exactly the objective's weight, as every tie must?"""
    cdef Search* s = q.s
    cdef int w = s.w, i, j, v
    cdef uint64_t word
    cdef const uint64_t* g
    cdef const uint64_t* h
    if q.counts[q.t] > 0:
        return True
    for i in range(w):
        word = open_[i]
        while word:
            v = (i << 6) + ctz(word)
            word &= word - 1
            g = q.graph + <size_t>v * w
            h = q.high + <size_t>v * w
            s.units += w
            for j in range(w):
                if g[j] & ~h[j] & (open_[j] | q.chosen[j]):
                    return True
    return False


cdef inline int count_missing(const Ties* q) noexcept nogil:
    """Required devices that are not chosen yet."""
    cdef int i, total = 0
    for i in range(q.s.w):
        total += popcount(q.require[i] & ~q.chosen[i])
    return total


cdef int extend(Ties* q, int need, bint clique) except -2 nogil:
    """Visit the ties in lexicographic order; YES: the winner is final, NO: all seen, CUT: the budget ended it."""
    cdef Search* s = q.s
    cdef int w = s.w, i, v, answer
    cdef uint64_t* p = q.stack + <size_t>q.n_members * w
    cdef bint required
    if count_missing(q) > need:
        return NO
    if need == 0:
        answer = consider(q)
        if answer == CUT:
            return CUT
        if q.closed and q.certified and memcmp(q.chosen, q.winner, w * sizeof(uint64_t)) == 0:
            return YES
        return NO
    if spend(s, 16 + w + q.n_members):
        return CUT
    if not clique:
        s.graph = q.graph
        if core(s, p, need, &clique) < need:
            return NO
        for i in range(w):
            if q.require[i] & ~q.chosen[i] & ~p[i]:
                return NO
    if hopeless(q, p, need) or not objective_pair_possible(q, p):
        return NO
    while count_words(p, w) >= need:
        v = lowest(p, w)
        drop(p, v)
        required = has(q.require, v)
        intersect(p + w, p, q.graph + <size_t>v * w, w)
        push(q, v)
        answer = extend(q, need - 1, clique)
        pop(q)
        if answer != NO or required:
            return answer
    return NO


cdef void note_tie(Ties* q) noexcept nogil:
    if q.n_listed < q.list_limit:
        memcpy(q.listed + <size_t>q.n_listed * q.s.w, q.chosen, q.s.w * sizeof(uint64_t))
        q.n_listed += 1


cdef void add_binomial(Ties* q, int n, int k) noexcept nogil:
    """Add C(n, k) to the total, or mark it as too many."""
    cdef uint64_t value = 1
    cdef int i
    if k > n - k:
        k = n - k
    if k < 0:
        return
    for i in range(1, k + 1):
        if value > COUNT_LIMIT // <uint64_t>(n - k + i):
            q.saturated = True
            return
        value = value * <uint64_t>(n - k + i) // <uint64_t>i
    q.total += value
    if q.total > COUNT_LIMIT:
        q.saturated = True


cdef int list_ties(Ties* q, int need, bint clique) except -2 nogil:
    """List and count the ties in lexicographic order. Inside a clique, what is past the list is counted at once."""
    cdef Search* s = q.s
    cdef int w = s.w, i, v, answer, size, n_required
    cdef uint64_t* p = q.stack + <size_t>q.n_members * w
    cdef bint required
    n_required = count_missing(q)
    if n_required > need:
        return NO
    if need == 0:
        note_tie(q)
        q.total += 1
        return CUT if q.total >= q.enough else NO
    if spend(s, 16 + w + q.n_members):
        return CUT
    if not clique:
        s.graph = q.graph
        if core(s, p, need, &clique) < need:
            return NO
    size = count_words(p, w)
    for i in range(w):
        if q.require[i] & ~q.chosen[i] & ~p[i]:
            return NO
    if size < need:
        return NO
    if clique and q.n_listed >= q.list_limit:
        add_binomial(q, size - n_required, need - n_required)
        return CUT if q.saturated or q.total >= q.enough else NO
    if not objective_pair_possible(q, p):
        return NO
    while count_words(p, w) >= need:
        v = lowest(p, w)
        drop(p, v)
        required = has(q.require, v)
        intersect(p + w, p, q.graph + <size_t>v * w, w)
        push(q, v)
        answer = list_ties(q, need - 1, clique)
        pop(q)
        if answer != NO or required:
            return answer
    return NO


cdef int seeds(Ties* q, const uint64_t* start, int64_t until) except -2 nogil:
    """Offer sets grown greedily, most fast pairs first, so that the search starts with a good winner.

    Without them a lexicographic search under a budget would never leave the neighbourhood of device 0.
    Devices of an earlier offer do not start another one.
    """
    cdef Search* s = q.s
    cdef int w = s.w, i, v, u, best, best_fast, fast, origin, answer
    cdef uint64_t word
    cdef uint64_t* todo = q.stack
    cdef uint64_t* p = q.stack + w
    memcpy(todo, start, w * sizeof(uint64_t))
    while s.units < until and not (q.closed and q.certified):
        origin = -1
        for i in range(w):
            word = todo[i]
            while word:
                v = (i << 6) + ctz(word)
                word &= word - 1
                if origin < 0 or q.lack[v] < q.lack[origin]:
                    origin = v
        if origin < 0:
            break
        drop(todo, origin)
        memcpy(p, start, w * sizeof(uint64_t))
        v = origin
        for i in range(w):
            if q.require[i]:
                v = lowest(q.require, w)
        while True:
            push(q, v)
            drop(p, v)
            intersect(p, p, q.graph + <size_t>v * w, w)
            if q.n_members == q.k:
                break
            best = -1
            best_fast = -1
            for i in range(w):
                word = q.require[i] & ~q.chosen[i]
                if word and best < 0:
                    best = (i << 6) + ctz(word)
            if best < 0 and not has(q.chosen, origin):
                if not has(p, origin):
                    break
                best = origin
            if best < 0:
                for i in range(w):
                    word = p[i]
                    while word:
                        u = (i << 6) + ctz(word)
                        word &= word - 1
                        # Most fast pairs with the chosen, then most fast pairs still to be had.
                        fast = count_common(q.high + <size_t>u * w, q.chosen, w) * (s.n + 1)
                        fast += count_common(q.high + <size_t>u * w, p, w)
                        s.units += 2 * w + 2
                        if fast > best_fast:
                            best = u
                            best_fast = fast
            if best < 0:
                break
            v = best
        answer = NO
        if q.n_members == q.k:
            for i in range(w):
                todo[i] &= ~q.chosen[i]
            answer = consider(q)
        while q.n_members:
            pop(q)
        if answer == CUT:
            return CUT
        if spend(s, w):
            return CUT
    return NO


cdef int64_t most_inside_groups(Ties* q, const uint64_t* start, uint32_t r) noexcept nogil:
    """At most how many pairs of k devices can have weight rank ``r`` or more: sum of C(x, 2) over connected groups."""
    cdef Search* s = q.s
    cdef int w = s.w, n = s.n, i, v, size, missing = q.k
    cdef int64_t pairs = 0
    cdef uint64_t* todo = s.pool
    cdef uint64_t* edge = s.pool + w
    cdef uint64_t fresh
    cdef int32_t* how_many = <int32_t*>(s.pool + 2 * w)
    memset(how_many, 0, (n + 1) * sizeof(int32_t))
    memcpy(todo, start, w * sizeof(uint64_t))
    while True:
        v = lowest(todo, w)
        if v < 0:
            break
        memset(edge, 0, w * sizeof(uint64_t))
        put(edge, v)
        size = 0
        while v >= 0:
            drop(edge, v)
            drop(todo, v)
            size += 1
            for i in range(w):
                fresh = s.level_adj[(<size_t>r * n + v) * w + i] & q.graph[<size_t>v * w + i] & todo[i]
                edge[i] |= fresh
            v = lowest(edge, w)
        how_many[size] += 1
        s.units += size * (w + 2)
    for size in range(n, 0, -1):
        for i in range(how_many[size]):
            v = size if size < missing else missing
            pairs += <int64_t>v * (v - 1) // 2
            missing -= v
            if missing == 0:
                return pairs
    return pairs


cdef int prepare(Ties* q, uint64_t* start, int c) except -2 nogil:
    """Graphs, lacks and floors of the ties; ``start`` becomes the devices that any tie may hold."""
    cdef Search* s = q.s
    cdef int w = s.w, n = s.n, i, u, v, degree, n_edges = 0, k = q.k, missing, lack
    cdef uint64_t word
    cdef bint clique
    cdef uint32_t r
    cdef uint64_t* allowed = s.rest
    cdef int edge_u = -1, edge_v = -1
    cdef int64_t total
    cdef int32_t* histogram
    memcpy(start, q.free, w * sizeof(uint64_t))
    s.graph = q.graph
    load(s, c, q.t, start)
    for v in range(n):
        if has(q.require, v):
            for i in range(w):
                word = q.graph[<size_t>v * w + i]
                if i == v >> 6:
                    word |= <uint64_t>1 << (v & 63)
                start[i] &= word
    core(s, start, k, &clique)
    if q.t + 1 < <uint32_t>s.n_levels:
        s.graph = q.high
        load(s, c, q.t + 1, start)
    else:
        memset(q.high, 0, <size_t>n * w * sizeof(uint64_t))
    # Every tie holds a pair of exactly the objective's weight; among noisy weights that is often one pair, and then
    # only its common neighbours matter.
    memset(allowed, 0, w * sizeof(uint64_t))
    for u in range(n):
        if not has(start, u):
            continue
        for i in range(u >> 6, w):
            word = q.graph[<size_t>u * w + i] & ~q.high[<size_t>u * w + i] & start[i]
            while word:
                v = (i << 6) + ctz(word)
                word &= word - 1
                if v <= u:
                    continue
                n_edges += 1
                edge_u = u
                edge_v = v
                if n_edges <= 64:
                    put(allowed, u)
                    put(allowed, v)
                    for missing in range(w):
                        allowed[missing] |= (
                            q.graph[<size_t>u * w + missing] & q.graph[<size_t>v * w + missing] & start[missing]
                        )
        s.units += w
    if n_edges <= 64:
        memcpy(start, allowed, w * sizeof(uint64_t))
    if n_edges == 1:
        put(q.require, edge_u)
        put(q.require, edge_v)
    memset(q.lack, 0, n * sizeof(int16_t))
    q.least_lack = 0
    q.floor_known = s.level_adj != NULL
    if not q.floor_known:
        return 0
    # Pairs of at most rank r in a tie: each member has at most its faster neighbours, the others must be slower.
    histogram = <int32_t*>q.stack
    for r in range(q.t, <uint32_t>(s.n_levels - 1)):
        memset(histogram, 0, (k + 1) * sizeof(int32_t))
        for v in range(n):
            if not has(start, v):
                continue
            degree = 0
            for i in range(w):
                degree += popcount(
                    q.graph[<size_t>v * w + i] & s.level_adj[(<size_t>(r + 1) * n + v) * w + i] & start[i]
                )
            lack = k - 1 - degree if degree < k - 1 else 0
            histogram[lack] += 1
            if r == q.t:
                q.lack[v] = <int16_t>lack
            s.units += w
        total = 0
        missing = k
        for lack in range(k):
            if r == q.t and missing == k and histogram[lack]:
                q.least_lack = lack
            u = histogram[lack] if histogram[lack] < missing else missing
            total += <int64_t>u * lack
            missing -= u
            if missing == 0:
                break
        q.floor[r] = (total + 1) // 2
        # Faster pairs lie inside connected groups; the fewest slower ones come from filling the largest groups first.
        total = <int64_t>k * (k - 1) // 2 - most_inside_groups(q, start, r + 1)
        if total > q.floor[r]:
            q.floor[r] = total
    return 0


cdef int choose_among(Ties* q, const uint64_t* witness, int c) except -2 nogil:
    """The winner among the ties into ``winner``; YES when (a), (b) and (c) are proven, else CUT."""
    cdef Search* s = q.s
    cdef int w = s.w, i, v, answer
    cdef int64_t until
    cdef uint64_t* start = s.rest + 2 * w
    cdef uint64_t* ignored = s.rest + w
    cdef uint64_t word
    cdef bint required = count_words(q.require, w) > 0
    prepare(q, start, c)
    if s.level_adj == NULL:
        # Among noisy weights the witness is mostly the only tie, and nothing is left to decide.
        q.listed = NULL
        q.list_limit = q.n_listed = 0
        q.total = 0
        q.saturated = False
        q.enough = 2
        memcpy(q.stack, start, w * sizeof(uint64_t))
        if list_ties(q, q.k, False) == NO and q.total == 1:
            memcpy(q.winner, witness, w * sizeof(uint64_t))
            return YES
    q.look_ahead = count_words(q.free, w) >= 2 * q.k
    q.closed = not q.look_ahead
    if q.look_ahead:
        q.top_class = c
        q.top_level = q.t
        if required:
            # What is left need not hold the required devices, so more than the objective may be possible.
            s.graph = q.scratch
            if best_value(s, q.free, s.spare, q.k, s.limit, &q.top_class, &q.top_level, ignored) == CUT:
                memcpy(q.winner, witness, w * sizeof(uint64_t))
                return CUT
        s.graph = q.top_graph
        load(s, q.top_class, q.top_level, q.free)
    for i in range(w):
        word = witness[i]
        while word:
            v = (i << 6) + ctz(word)
            word &= word - 1
            push(q, v)
    answer = consider(q)
    while q.n_members:
        pop(q)
    if answer == CUT:
        memcpy(q.winner, witness, w * sizeof(uint64_t))
        return CUT
    if s.level_adj != NULL:
        until = s.units + (s.limit - s.units) // 4
        if seeds(q, start, until) == CUT:
            return CUT
    memcpy(q.stack, start, w * sizeof(uint64_t))
    answer = extend(q, q.k, False)
    return CUT if answer == CUT else YES


# ---------------------------------------------------------------------------------------------------------------------
# Tables for n <= 16
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Entry:
    uint64_t vector   # the first four runs of the ascending vector, larger is better
    uint16_t value    # objective
    uint16_t mask
    bint whole        # are four runs the whole vector?


cdef struct Machine:
    int n
    const int32_t* rank


cdef inline uint64_t vector_key(const Machine* m, int mask, bint* whole) noexcept nogil:
    """Ascending vector of weight ranks as (rank, 255 - how often) bytes: comparing keys compares vectors."""
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
    """1 when the ascending vector of ``a`` is larger, -1 when that of ``b`` is, 0 when they are the same."""
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
    """Merge sort: the C library's qsort has no place for the machine that the comparison needs."""
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


cdef inline int scan(const uint16_t* masks, int begin, int end, uint16_t look, uint16_t want) noexcept nogil:
    """First position whose mask shows exactly ``want`` under ``look``; ``end`` when none does."""
    cdef int i = begin, j
    cdef uint16_t hit
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


# ---------------------------------------------------------------------------------------------------------------------
# The object
# ---------------------------------------------------------------------------------------------------------------------

cdef class Solver:
    """Best subsets of one machine; built once, then asked with masks.

    Parameters
    ----------
    pair_weight : ndarray of shape (n, n), float64, C-contiguous
        Weight of the pair i, j, the same at [j, i]; the diagonal is ignored. 1 <= n <= 1024. No NaN.
    link_class : ndarray of shape (n, n), int32, C-contiguous, or None
        Class of the pair, higher is faster, symmetric; the diagonal is ignored.

    Notes
    -----
    Memory: n <= 8 about 6 KB of tables, n = 16 about 1.4 MB once a query needed them; above, 4 n^2 bytes of ranks (8 with
    classes) and n^2 / 8 bytes for each kept threshold.
    """

    cdef readonly int n
    cdef readonly int words
    cdef readonly int64_t default_budget
    cdef int n_levels
    cdef int n_classes
    cdef double[::1] levels
    cdef int32_t[:, ::1] rank
    cdef int32_t[:, ::1] cls
    cdef bint has_classes
    cdef uint64_t[:, :, ::1] level_adj
    cdef uint64_t[:, :, ::1] class_adj
    cdef bint keeps_levels
    cdef bint keeps_classes
    # tables, n <= 16
    cdef uint64_t full
    cdef uint16_t[::1] value_of     # per mask: objective
    cdef uint8_t[::1] level_of      # per mask: rank of the lowest weight, 255 without a pair
    cdef uint16_t[::1] order        # masks by size, inside a size by (objective, b, c)
    cdef int offset[18]
    cdef bint sorted_size[17]
    cdef uint16_t[:, ::1] left      # per mask and k - 1: 1 + best objective of k devices, 0 when fewer
    cdef bint has_left
    cdef uint8_t[:, ::1] answers    # n <= 8: per mask and k

    def __cinit__(self, const double[:, ::1] pair_weight, const int32_t[:, ::1] link_class=None):
        cdef int n = <int>pair_weight.shape[0]
        if n < 1 or n > MAX_DEVICES or pair_weight.shape[1] != n:
            raise ValueError(f"pair_weight: shape (n, n) with 1 <= n <= {MAX_DEVICES} expected")
        if link_class is not None and (link_class.shape[0] != n or link_class.shape[1] != n):
            raise ValueError("link_class: shape of pair_weight expected")
        self.n = n
        self.words = (n + 63) >> 6
        self.default_budget = 12 * <int64_t>n * n
        self.full = (<uint64_t>1 << n) - 1 if n < 64 else ~<uint64_t>0
        self.has_classes = link_class is not None
        weights = np.asarray(pair_weight)
        upper = np.triu_indices(n, 1)
        levels, inverse = np.unique(weights[upper], return_inverse=True)
        self.n_levels = len(levels) if n > 1 else 1
        self.levels = levels if n > 1 else np.array([np.inf])
        rank = np.full((n, n), 0x7FFFFFFF, dtype=np.int32)
        rank[upper] = inverse
        rank.T[upper] = inverse
        self.rank = rank
        self.n_classes = 1
        if self.has_classes and n > 1:
            classes, inverse = np.unique(np.asarray(link_class)[upper], return_inverse=True)
            self.n_classes = len(classes)
            cls = np.full((n, n), 0x7FFFFFFF, dtype=np.int32)
            cls[upper] = inverse
            cls.T[upper] = inverse
            self.cls = cls
        self.has_classes = self.n_classes > 1
        if n <= TABLE_DEVICES:
            self._build_tables()
        else:
            self.keeps_levels = self.n_levels <= KEPT_LEVELS
            if self.keeps_levels:
                self.level_adj = adjacency(rank, self.n_levels)
            self.keeps_classes = self.has_classes and self.n_classes <= KEPT_LEVELS
            if self.keeps_classes:
                self.class_adj = adjacency(np.asarray(self.cls), self.n_classes)

    cdef void _fill(self, Search* s) noexcept:
        memset(s, 0, sizeof(Search))
        s.n = self.n
        s.w = self.words
        s.n_levels = self.n_levels
        s.n_classes = self.n_classes
        s.rank = &self.rank[0, 0]
        s.cls = &self.cls[0, 0] if self.has_classes else NULL
        s.level_adj = &self.level_adj[0, 0, 0] if self.keeps_levels else NULL
        s.class_adj = &self.class_adj[0, 0, 0] if self.keeps_classes else NULL
        s.limit = UNLIMITED
        s.poll = POLL

    # -- tables -------------------------------------------------------------------------------------------------------

    cdef _build_tables(self):
        cdef int n = self.n, size = 1 << n, mask, low, rest, k, v, free
        cdef int level, cls, r
        cdef int fill[18]
        self.value_of = np.empty(size, dtype=np.uint16)
        self.level_of = np.empty(size, dtype=np.uint8)
        self.order = np.empty(size, dtype=np.uint16)
        class_of_array = np.empty(size, dtype=np.uint8)
        cdef uint8_t[::1] class_of = class_of_array
        self.offset[0] = 0
        memset(fill, 0, sizeof(fill))
        for mask in range(size):
            fill[popcount(mask) + 1] += 1
        for k in range(n + 1):
            self.offset[k + 1] = self.offset[k] + fill[k + 1]
            fill[k] = self.offset[k]
            self.sorted_size[k] = False
        for mask in range(size):
            k = popcount(mask)
            self.order[fill[k]] = <uint16_t>mask
            fill[k] += 1
            if mask & (mask - 1) == 0:
                self.level_of[mask] = 255
                class_of[mask] = 255
                self.value_of[mask] = 0xFFFF
                continue
            low = ctz(<uint64_t>mask)
            rest = mask & (mask - 1)
            level = self.level_of[rest]
            cls = class_of[rest] if self.has_classes else 0
            while rest:
                v = ctz(<uint64_t>rest)
                rest &= rest - 1
                r = <int>self.rank[low, v]
                if r < level:
                    level = r
                if self.has_classes and self.cls[low, v] < cls:
                    cls = self.cls[low, v]
            self.level_of[mask] = <uint8_t>level
            class_of[mask] = <uint8_t>cls
            self.value_of[mask] = <uint16_t>((cls << 8) | level)
        if n <= ANSWER_DEVICES:
            self.answers = np.zeros((size, ANSWER_DEVICES + 1), dtype=np.uint8)
            for free in range(1, size):
                for k in range(1, popcount(free) + 1):
                    self.answers[free, k] = <uint8_t>self._choose_in_tables(<uint16_t>free, k, 0)

    cdef _sort_size(self, int k):
        """Put the masks of one size in order, at the first query for it: n = 16 needs 2 ms for all of k = 8."""
        cdef int begin = self.offset[k], size = self.offset[k + 1] - begin, i
        cdef Machine machine
        cdef Entry* entries = <Entry*>malloc(2 * <size_t>size * sizeof(Entry))
        if entries == NULL:
            raise MemoryError()
        machine.n = self.n
        machine.rank = &self.rank[0, 0]
        for i in range(size):
            entries[i].mask = self.order[begin + i]
            entries[i].value = self.value_of[entries[i].mask]
            entries[i].vector = vector_key(&machine, entries[i].mask, &entries[i].whole)
        sort_entries(&machine, entries, entries + size, size)
        for i in range(size):
            self.order[begin + i] = entries[i].mask
        release(entries)
        self.sorted_size[k] = True

    cdef _build_left(self):
        cdef int n = self.n, size = 1 << n, half = 8, mask, rest, k, count, i
        cdef uint16_t* row
        cdef const uint16_t* below
        cdef uint16_t best[8]
        self.left = np.zeros((size, half), dtype=np.uint16)
        for mask in range(1, size):
            count = popcount(mask)
            row = &self.left[mask, 0]
            memset(best, 0, sizeof(best))
            rest = mask
            while rest:
                below = &self.left[mask & ~(rest & -rest), 0]
                rest &= rest - 1
                for i in range(8):
                    best[i] = below[i] if below[i] > best[i] else best[i]
            if count <= half:
                best[count - 1] = self.value_of[mask]
                if count > 1:
                    best[count - 1] += 1
            memcpy(row, best, sizeof(best))
        self.has_left = True

    cdef int _choose_in_tables(self, uint16_t free, int k, uint16_t require) except -2:
        """Best mask, 0 when there is none. Ties in the order of (b, c): the first that leaves the most wins."""
        cdef int count = popcount(free), begin, end, i, best
        cdef uint16_t look, value, left, best_left, top
        cdef const uint16_t* order
        if k < 1 or k > count or require & ~free or popcount(require) > k:
            return 0
        if not self.sorted_size[k]:
            self._sort_size(k)
        order = &self.order[0]
        end = self.offset[k + 1]
        look = <uint16_t>(~free | require)
        i = scan(order, self.offset[k], end, look, require)
        best = i
        if 2 * k > count:
            return order[best]
        if not self.has_left:
            self._build_left()
        top = self.left[free, k - 1]
        value = self.value_of[order[i]]
        best_left = self.left[free & ~order[i], k - 1]
        while best_left < top:
            i = scan(order, i + 1, end, look, require)
            if i == end or self.value_of[order[i]] != value:
                break
            left = self.left[free & ~order[i], k - 1]
            if left > best_left:
                best_left = left
                best = i
        return order[best]

    # -- questions ----------------------------------------------------------------------------------------------------

    def choose(self, uint64_t free, int k):
        """Mask of the chosen k devices out of the mask ``free``; 0 when k < 1 or fewer are free. n <= 64."""
        cdef uint64_t out = 0
        if free & ~self.full or self.n > 64:
            raise ValueError(f"free: mask of {self.n} devices expected, in one word")
        if self.n <= ANSWER_DEVICES:
            return self.answers[free, k] if 1 <= k <= ANSWER_DEVICES else 0
        if self.n <= TABLE_DEVICES:
            return self._choose_in_tables(<uint16_t>free, k, 0)
        self._choose_by_search(&free, k, &out)
        return out

    def choose_many(self, const uint64_t[::1] free, const int32_t[::1] k):
        """`choose` for each row; n <= 64."""
        cdef Py_ssize_t i, m = free.shape[0]
        cdef uint64_t word, bad = 0
        if k.shape[0] != m or self.n > 64:
            raise ValueError("free and k: equal lengths expected, of a machine of at most 64 devices")
        result = np.zeros(m, dtype=np.uint64)
        cdef uint64_t[::1] out = result
        for i in range(m):
            bad |= free[i] & ~self.full
        if bad:
            raise ValueError(f"free: masks of {self.n} devices expected")
        if self.n <= ANSWER_DEVICES:
            for i in range(m):
                if 1 <= k[i] <= ANSWER_DEVICES:
                    out[i] = self.answers[free[i], k[i]]
        elif self.n <= TABLE_DEVICES:
            for i in range(m):
                if i & 0xFFFF == 0xFFFF:
                    PyErr_CheckSignals()
                out[i] = self._choose_in_tables(<uint16_t>free[i], k[i], 0)
        else:
            for i in range(m):
                word = free[i]
                self._choose_by_search(&word, k[i], &out[i])
        return result

    def choose_words(self, const uint64_t[::1] free, int k):
        """`choose` with masks of ``words`` words, for any n."""
        self._check_words(free)
        result = np.zeros(self.words, dtype=np.uint64)
        cdef uint64_t[::1] out = result
        cdef uint64_t word
        if self.n <= TABLE_DEVICES:
            out[0] = self.choose(free[0], k)
        else:
            self._choose_by_search(&free[0], k, &out[0])
        return result

    cdef _check_words(self, const uint64_t[::1] mask):
        cdef int top = self.n & 63
        if mask.shape[0] != self.words or (top and mask[self.words - 1] >> top):
            raise ValueError(f"mask: {self.words} words of {self.n} devices expected")

    cdef int _choose_by_search(self, const uint64_t* free, int k, uint64_t* out) except -2:
        cdef _Work work = _Work.__new__(_Work)
        cdef Ties* q
        cdef int c, answer
        if k < 1 or k > count_words(free, self.words):
            return NO
        work.allocate(self, free, NULL, k, self.default_budget)
        q = &work.q
        with nogil:
            answer = search(q, &work.proven)
        memcpy(out, q.winner, self.words * sizeof(uint64_t))
        return answer

    def solve(
        self, const uint64_t[::1] free, int k, const uint64_t[::1] require, int64_t max_ties, int64_t budget
    ):
        """The chosen set with its ties and certificate.

        Parameters
        ----------
        free, require : ndarray of shape (words,), uint64
            Masks; ``require`` inside ``free``.
        k : int
            max(1, devices in ``require``) <= k <= devices in ``free``.
        max_ties : int
            How many ties to list, >= 1.
        budget : int
            Units for the weight inside a class together with (a) to (c), and again for listing and counting the
            ties. Negative: `default_budget`.

        Returns
        -------
        tuple
            mask (words,) uint64; ties (t, words) uint64, lexicographic, the chosen one in the last place when it would
            come later; number of ties counted; is that all of them; upper bound; is the objective (with classes: the
            class) exact; is the choice among ties proven.
        """
        cdef int count, i, answer, w = self.words
        cdef _Work work
        cdef Ties* q
        self._check_words(free)
        self._check_words(require)
        count = count_words(&free[0], w)
        if (
            k < 1 or k > count or max_ties < 1
            or not inside(&require[0], &free[0], w) or count_words(&require[0], w) > k
        ):
            raise ValueError("solve: require inside free, and 1 <= |require| <= k <= |free| expected")
        mask = np.zeros(w, dtype=np.uint64)
        cdef uint64_t[::1] out = mask
        work = _Work.__new__(_Work)
        work.allocate(self, &free[0], &require[0], k, self.default_budget if budget < 0 else budget)
        q = &work.q
        upper = float("inf")
        if k > 1:
            with nogil:
                upper_level = core_bound(q.s, q.free, &require[0], k, 0, 0)
            upper = self.levels[upper_level]
            q.s.units = 0
            q.s.poll = POLL
        if self.n <= TABLE_DEVICES:
            out[0] = self._choose_in_tables(<uint16_t>free[0], k, <uint16_t>require[0])
            ties = self._ties_in_tables(<uint16_t>free[0], k, <uint16_t>require[0], <uint16_t>out[0])
            return mask, self._shorten(ties, mask, max_ties), len(ties), True, upper, True, True
        with nogil:
            answer = search(q, &work.proven)
        for i in range(w):
            out[i] = q.winner[i]
        if not work.proven:
            # With the weight unproven the sets of equal weight are no ties.
            return mask, mask.reshape(1, w), 1, False, upper, True, False
        ties, total, complete = work.list(self, free, require, k, max_ties, budget)
        return mask, self._shorten(ties, mask, max_ties), max(total, 1), complete, upper, True, answer == YES

    cdef _shorten(self, ties, mask, max_ties):
        """The first ``max_ties``; the chosen set takes the last place when it is not among them."""
        kept = ties[:max_ties]
        if not (kept == mask).all(axis=1).any():
            if len(kept) == max_ties:
                kept = kept[: max_ties - 1]
            kept = np.concatenate([kept, mask.reshape(1, -1)])
        return np.ascontiguousarray(kept)

    cdef _ties_in_tables(self, uint16_t free, int k, uint16_t require, uint16_t best):
        cdef int i, end = self.offset[k + 1], n_ties = 0
        cdef uint16_t look = <uint16_t>(~free | require), value = self.value_of[best]
        masks = np.empty(end - self.offset[k], dtype=np.uint64)
        cdef uint64_t[::1] out = masks
        i = scan(&self.order[0], self.offset[k], end, look, require)
        while i < end and self.value_of[self.order[i]] == value:
            out[n_ties] = self.order[i]
            n_ties += 1
            i = scan(&self.order[0], i + 1, end, look, require)
        masks = masks[:n_ties]
        # Lexicographic order of ascending lists of one size is falling order of the reversed bits.
        reversed_bits = np.zeros(n_ties, dtype=np.uint64)
        for i in range(self.n):
            reversed_bits |= ((masks >> np.uint64(i)) & np.uint64(1)) << np.uint64(63 - i)
        return masks[np.argsort(~reversed_bits, kind="stable")].reshape(-1, 1)

    def value(self, const uint64_t[::1] mask):
        """Lowest pair weight of a set and the first pair (i, j) that has it; (inf, -1, -1) below two devices."""
        cdef int v, u, best_v = -1, best_u = -1, n = self.n
        cdef uint32_t best = 0xFFFFFFFF
        self._check_words(mask)
        for v in range(n):
            if has(&mask[0], v):
                for u in range(v + 1, n):
                    if has(&mask[0], u) and <uint32_t>self.rank[v, u] < best:
                        best = <uint32_t>self.rank[v, u]
                        best_v = v
                        best_u = u
        if best_v < 0:
            return float("inf"), -1, -1
        return self.levels[best], best_v, best_u

    # -- splits -------------------------------------------------------------------------------------------------------

    def split(self, uint64_t free, sizes, uint64_t require, bint fixed, int64_t max_splits):
        """Deal devices to pods so that the ascending list of the pods' lowest weights is lexicographically largest.

        Parameters
        ----------
        free : int
            Free devices; with ``fixed`` exactly the devices to deal.
        sizes : sequence of int
            Devices per pod, falling, each >= 1.
        require : int
            Devices that the union must hold.
        fixed : bool
            Deal exactly ``free``; else the best over every tie of the union of sum(sizes) devices.
        max_splits : int
            How many optimal splits to list.

        Returns
        -------
        tuple
            union masks, masks per pod (s, pods) of the listed optimal splits, their complete number or how many were
            listed, is that all, and the chosen row. A pod of one device counts as infinity. Of equal pods the
            lexicographically smaller set comes first. Chosen: the first union by (a), (b), (c), in it the
            lexicographically smallest sets, pod after pod.
        """
        cdef int n_pods = len(sizes), total = 0, i, j, k
        cdef int size_of[16]
        if self.n > TABLE_DEVICES:
            raise ValueError(f"split: at most {TABLE_DEVICES} devices, not {self.n}")
        if free & ~self.full or require & ~free:
            raise ValueError("split: free inside the machine and require inside free expected")
        if n_pods < 1 or n_pods > 16:
            raise ValueError("split: 1 to 16 pods expected")
        for i in range(n_pods):
            size_of[i] = sizes[i]
            if size_of[i] < 1 or (i and size_of[i] > size_of[i - 1]):
                raise ValueError("split: falling sizes of at least 1 expected")
            total += size_of[i]
        k = popcount(free)
        if total > k or popcount(require) > total or (fixed and total != k):
            raise ValueError("split: sizes do not fit")
        cdef uint16_t chosen = <uint16_t>free
        if fixed:
            unions = np.array([[free]], dtype=np.uint64)
        else:
            chosen = <uint16_t>self._choose_in_tables(<uint16_t>free, total, <uint16_t>require)
            unions = self._ties_in_tables(<uint16_t>free, total, <uint16_t>require, chosen)
        cdef _Dealer dealer = _Dealer.__new__(_Dealer)
        dealer.prepare(self, n_pods, size_of, <uint16_t>free)
        best = bytes(16)
        lists = []
        for (union,) in unions.tolist():
            found = dealer.best(union)
            lists.append(found)
            if found > best:
                best = found
        rows = []
        row_unions = []
        complete = True
        keep = [union for (union,), found in zip(unions.tolist(), lists) if found == best]
        for union in keep:
            for row in dealer.listed(union, max_splits + 1 - len(rows)):
                row_unions.append(union)
                rows.append(row)
            if len(rows) > max_splits:
                complete = False
                rows = rows[:max_splits]
                row_unions = row_unions[:max_splits]
                break
        first = keep[0]
        if not fixed:
            for union in keep[1:]:
                if self._union_before(<uint16_t>free, total, union, first):
                    first = union
        chosen_row = dealer.listed(first, 1)[0]
        return (
            np.array(row_unions, dtype=np.uint64),
            np.array(rows, dtype=np.uint64).reshape(len(rows), n_pods),
            complete,
            first,
            np.array(chosen_row, dtype=np.uint64),
        )

    cdef bint _union_before(self, uint16_t free, int k, uint16_t a, uint16_t b) except -1:
        """Is tie ``a`` better than tie ``b`` by (a), (b), (c)?"""
        cdef Machine machine
        cdef int order
        cdef uint16_t left_a, left_b
        if 2 * k <= popcount(free):
            if not self.has_left:
                self._build_left()
            left_a = self.left[free & ~a, k - 1]
            left_b = self.left[free & ~b, k - 1]
            if left_a != left_b:
                return left_a > left_b
        machine.n = self.n
        machine.rank = &self.rank[0, 0]
        order = compare_vectors(&machine, a, b)
        if order:
            return order > 0
        order = a ^ b
        return (a & order & -order) != 0


cdef class _Dealer:
    """Best deal of every mask that the last pods can be dealt from, by dynamic programming over masks.

    ``list_of[mask]`` is the ascending list of lowest-weight ranks of the best deal, as 16 bytes (255: one device, and
    the filling behind the last pod), so that comparing bytes compares lists. A list plus one more pod keeps its order,
    therefore the best deal of a mask is made of a first pod and the best deal of the rest.
    """

    cdef Solver solver
    cdef int n_pods
    cdef int size_of[16]
    cdef int rest_of[17]     # devices still to be dealt before pod j
    cdef bint same_to_end[16]
    cdef uint8_t[:, ::1] list_of
    cdef uint8_t[::1] known

    cdef prepare(self, Solver solver, int n_pods, int* size_of, uint16_t free):
        cdef int j
        self.solver = solver
        self.n_pods = n_pods
        self.rest_of[n_pods] = 0
        for j in range(n_pods - 1, -1, -1):
            self.size_of[j] = size_of[j]
            self.rest_of[j] = self.rest_of[j + 1] + size_of[j]
            self.same_to_end[j] = size_of[j] == size_of[n_pods - 1]
        self.list_of = np.full((1 << solver.n, 16), 255, dtype=np.uint8)
        self.known = np.zeros(1 << solver.n, dtype=np.uint8)
        self.known[0] = 1

    cdef void _merge(self, uint16_t pod, uint16_t rest, uint8_t* out) noexcept nogil:
        cdef uint8_t level = self.solver.level_of[pod]
        cdef const uint8_t* tail = &self.list_of[rest, 0]
        cdef int i = 0
        while i < 15 and tail[i] <= level and tail[i] != 255:
            out[i] = tail[i]
            i += 1
        out[i] = level
        while i < 15:
            out[i + 1] = tail[i]
            i += 1

    cdef void _solve(self, uint16_t mask, int j) noexcept nogil:
        """Fill ``list_of[mask]`` for pods j to the last."""
        cdef uint8_t merged[16]
        cdef uint8_t* best = &self.list_of[mask, 0]
        cdef uint16_t pod, rest, forced = 0, choice
        cdef bint first = True
        cdef int k = self.size_of[j]
        if self.known[mask]:
            return
        self.known[mask] = 1
        if self.same_to_end[j]:
            # Equal pods only: one of them holds the lowest device, so let it be this one.
            forced = mask & -mask
        choice = mask & ~forced
        pod = first_subset(choice, k - (1 if forced else 0))
        while True:
            rest = mask & ~(pod | forced)
            self._solve(rest, j + 1)
            self._merge(pod | forced, rest, merged)
            if first or memcmp(merged, best, 16) > 0:
                memcpy(best, merged, 16)
                first = False
            pod = next_subset(choice, pod)
            if pod == 0:
                break

    cdef bytes best(self, uint16_t union):
        with nogil:
            self._solve(union, 0)
        return bytes(self.list_of[union, :])

    cdef list listed(self, uint16_t union, Py_ssize_t limit):
        """Every optimal deal of ``union``, at most ``limit``; equal pods in lexicographic order."""
        rows = []
        self._list(union, 0, [], rows, limit)
        return rows

    cdef _list(self, uint16_t mask, int j, list done, list rows, Py_ssize_t limit):
        cdef uint8_t merged[16]
        cdef uint16_t pod, rest
        if len(rows) >= limit:
            return
        if j == self.n_pods:
            rows.append(list(done))
            return
        # All subsets of the mask in lexicographic order; equal pods must follow their predecessor, and when only equal
        # ones are left, the first of them holds the lowest device, as all subsets up to here do.
        for pod in subsets_in_order(mask, self.size_of[j]):
            if j and self.size_of[j] == self.size_of[j - 1]:
                if (pod & -pod) < (<int>done[j - 1] & -<int>done[j - 1]):
                    continue
            if self.same_to_end[j] and not pod & mask & -mask:
                break
            rest = mask & ~pod
            self._solve(rest, j + 1)
            self._merge(pod, rest, merged)
            if memcmp(merged, &self.list_of[mask, 0], 16) == 0:
                done.append(pod)
                self._list(rest, j + 1, done, rows, limit)
                done.pop()
            if len(rows) >= limit:
                return


cdef inline uint16_t first_subset(uint16_t choice, int k) noexcept nogil:
    """The ``k`` lowest members."""
    cdef uint16_t out = 0, low
    while k:
        low = choice & -choice
        out |= low
        choice ^= low
        k -= 1
    return out


cdef inline uint16_t next_subset(uint16_t choice, uint16_t subset) noexcept nogil:
    """The next subset of that size inside ``choice`` by value, 0 after the last (also after the empty one)."""
    cdef int member = 0, moved = 0, i
    cdef uint16_t rest = choice, bit
    cdef uint16_t seen = 0
    if subset == 0:
        return 0
    # Find the lowest member of `subset` whose successor in `choice` is not a member.
    while rest:
        bit = rest & -rest
        rest ^= bit
        if subset & bit:
            member += 1
            seen |= bit
            if rest and not subset & (rest & -rest):
                bit = rest & -rest
                subset = (subset & ~seen) | bit
                return subset | first_subset(choice, member - 1)
    return 0


cdef list subsets_in_order(uint16_t mask, int k):
    cdef uint16_t subset = first_subset(mask, k)
    out = []
    while True:
        out.append(subset)
        subset = next_subset(mask, subset)
        if subset == 0:
            break
    out.sort(key=lambda m: [i for i in range(16) if m >> i & 1])
    return out


cdef int search(Ties* q, bint* proven) except -2 nogil:
    """Value, then choice. YES when the choice among ties is proven; ``proven``: is the weight inside the class?"""
    cdef Search* s = q.s
    cdef int c, answer, w = s.w
    cdef int64_t budget = s.limit, weight_limit
    cdef uint64_t* witness = s.rest + 3 * w
    proven[0] = True
    if q.k == 1:
        # No pair, so no objective and no vector: the lowest device, or the required one.
        memcpy(q.winner, q.require, w * sizeof(uint64_t))
        if count_words(q.require, w) == 0:
            put(q.winner, lowest(q.free, w))
        return YES
    s.graph = q.scratch
    s.limit = UNLIMITED
    weight_limit = s.units + budget // 2 if s.cls != NULL and budget < UNLIMITED else UNLIMITED
    answer = best_value(s, q.free, q.require, q.k, weight_limit, &c, &q.t, witness)
    proven[0] = answer == YES
    if answer == CUT:
        memcpy(q.winner, witness, w * sizeof(uint64_t))
        return CUT
    # The search for the objective is never cut and takes nothing from the budget of the ties.
    s.limit = s.units + budget if budget < UNLIMITED else UNLIMITED
    q.c = c
    return choose_among(q, witness, c)


cdef class _Work:
    """Scratch of one query: a query has its own, because searches run without the GIL."""

    cdef Search s
    cdef Ties q
    cdef bint proven
    cdef char* memory

    cdef allocate(self, Solver solver, const uint64_t* free, const uint64_t* require, int k, int64_t budget):
        cdef size_t n = solver.n, w = solver.words, levels = solver.n_levels
        cdef size_t graph = n * w * 8
        cdef size_t need
        cdef char* at
        solver._fill(&self.s)
        self.s.limit = budget
        # 64-bit arrays first, so that everything is aligned.
        need = 4 * graph + 3 * (n + 2) * w * 8 + (n + 2) * w * 8 + 9 * w * 8 + levels * 8
        need += 2 * levels * 4 + 2 * (n + 2) * n * 2 + 2 * n * 2
        self.memory = <char*>malloc(need)
        if self.memory == NULL:
            raise MemoryError()
        at = self.memory
        self.q.graph = <uint64_t*>at; at += graph
        self.q.high = <uint64_t*>at; at += graph
        self.q.top_graph = <uint64_t*>at; at += graph
        self.q.scratch = <uint64_t*>at; at += graph
        self.s.pool = <uint64_t*>at; at += 3 * (n + 2) * w * 8
        self.q.stack = <uint64_t*>at; at += (n + 2) * w * 8
        self.s.found = <uint64_t*>at; at += w * 8
        self.s.spare = <uint64_t*>at; at += w * 8
        self.s.rest = <uint64_t*>at; at += 4 * w * 8
        self.q.require = <uint64_t*>at; at += w * 8
        self.q.chosen = <uint64_t*>at; at += w * 8
        self.q.winner = <uint64_t*>at; at += w * 8
        self.q.floor = <int64_t*>at; at += levels * 8
        self.q.counts = <int32_t*>at; at += levels * 4
        self.q.winner_counts = <int32_t*>at; at += levels * 4
        self.s.order = <int16_t*>at; at += (n + 2) * n * 2
        self.s.colour = <int16_t*>at; at += (n + 2) * n * 2
        self.q.members = <int16_t*>at; at += n * 2
        self.q.lack = <int16_t*>at; at += n * 2
        memset(self.s.spare, 0, w * 8)
        memset(self.q.chosen, 0, w * 8)
        memset(self.q.winner, 0, w * 8)
        memset(self.q.counts, 0, levels * 4)
        self.q.s = &self.s
        self.s.graph = self.q.scratch
        self.q.k = k
        self.q.free = free
        if require == NULL:
            memset(self.q.require, 0, w * 8)
        else:
            memcpy(self.q.require, require, w * 8)
        self.q.n_members = 0
        self.q.has_winner = False
        self.q.total_lack = 0

    cdef list(self, Solver solver, const uint64_t[::1] free, const uint64_t[::1] require, int k, int64_t max_ties, int64_t budget):
        """The first ties in lexicographic order, how many were counted, and is that all."""
        cdef Ties* q = &self.q
        cdef int answer, w = solver.words
        cdef int64_t room = 128
        cdef uint64_t[:, ::1] view
        if k == 1:
            return self._list_single(free, require, max_ties, w)
        while True:
            if room > max_ties:
                room = max_ties
            listed = np.empty((room, w), dtype=np.uint64)
            view = listed
            memcpy(q.require, &require[0], w * sizeof(uint64_t))
            q.listed = &view[0, 0]
            q.list_limit = room
            q.n_listed = 0
            q.total = 0
            q.saturated = False
            q.enough = COUNT_LIMIT
            q.s.units = 0
            q.s.poll = POLL
            q.s.limit = solver.default_budget if budget < 0 else budget
            with nogil:
                prepare(q, q.s.rest + 2 * w, q.c)
                memcpy(q.stack, q.s.rest + 2 * w, w * sizeof(uint64_t))
                answer = list_ties(q, k, False)
            if q.n_listed < room or room == max_ties:
                break
            room *= 8
        return listed[: q.n_listed], q.total, answer != CUT

    cdef _list_single(self, const uint64_t[::1] free, const uint64_t[::1] require, int64_t max_ties, int w):
        cdef int v
        members = [v for v in range(64 * w) if has(&self.q.free[0], v)]
        if count_words(&require[0], w):
            members = [v for v in members if has(&require[0], v)]
        total = len(members)
        members = members[:max_ties]
        listed = np.zeros((len(members), w), dtype=np.uint64)
        for row, v in enumerate(members):
            listed[row, v >> 6] = np.uint64(1) << np.uint64(v & 63)
        return listed, total, True

    def __dealloc__(self):
        release(self.memory)


cdef adjacency(rank, int n_thresholds):
    """Words (n_thresholds, n, w) of the pairs of at least each rank; the diagonal is left out."""
    cdef int n = rank.shape[0], w = (n + 63) >> 6
    out = np.zeros((n_thresholds, n, w * 64), dtype=np.uint8)
    for threshold in range(n_thresholds):
        out[threshold, :, :n] = rank >= threshold
        out[threshold, np.arange(n), np.arange(n)] = 0
    return np.packbits(out, axis=2, bitorder="little").view("<u8").astype(np.uint64).reshape(n_thresholds, n, w)
