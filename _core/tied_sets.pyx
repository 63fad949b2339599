"""Which of the sets with the best objective is chosen, and their list.

Phases of a query (`search`): the best objective and one set that has it; the devices that a tie can hold, with bounds
on its pairs (`prepare`); the ties in turn, the best by the rules (a), (b) and (c) kept (`choose_among`).
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from workbench._core.bits cimport ctz, popcount
from workbench._core.clique_search cimport (
    CUT,
    NO,
    UNLIMITED,
    YES,
    Search,
    best_value,
    core,
    count_common,
    count_words,
    decide,
    drop,
    has,
    inside,
    intersect,
    lexicographically_before,
    load,
    lowest,
    put,
    spend,
)


cdef int compare_counts(const Ties* q) noexcept nogil:
    cdef uint32_t r
    for r in range(q.t, <uint32_t>q.s.n_levels):
        if q.counts[r] != q.winner_counts[r]:
            return 1 if q.counts[r] < q.winner_counts[r] else -1
    return 0


cdef void count_pair_ranks(Ties* q, int v, int sign) noexcept nogil:
    """Add the pairs of device ``v`` with the chosen ones to the counts per weight rank, or subtract (``sign`` -1)."""
    cdef Search* s = q.s
    cdef int i, w = s.w, faster, reaching = q.n_members
    cdef uint32_t r, top = s.n_levels - 1
    cdef const int32_t* rank = s.rank + <size_t>v * s.n
    if s.level_adj != NULL and <int>(top - q.t) * w < q.n_members:
        # Few weights: whole words of members are counted at once.
        for r in range(q.t, top):
            faster = count_common(s.level_adj + (<size_t>(r + 1) * s.n + v) * w, q.chosen, w)
            q.counts[r] += sign * (reaching - faster)
            reaching = faster
        q.counts[top] += sign * reaching
        return
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
    """Compare the complete set ``chosen`` with the best one so far by the rules (a), (b), (c) and keep the better.

    CUT if the budget of work ends before rule (a) is decided.
    """
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
    """Whether no set that adds ``need`` devices of ``open_`` to ``chosen`` can beat the best one so far."""
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
    """Whether a pair within ``chosen`` and ``open_`` has exactly the objective's weight, as every such set must."""
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
    """Number of required devices that are not in ``chosen`` yet."""
    cdef int i, total = 0
    for i in range(q.s.w):
        total += popcount(q.require[i] & ~q.chosen[i])
    return total


cdef int extend(Ties* q, int need, bint clique) except -2 nogil:
    """Visit the equally good sets in lexicographic order, ``need`` devices still to choose, and keep the best.

    Returns YES if the best one is final, NO if all were seen, CUT if the budget of work ended.
    """
    cdef Search* s = q.s
    cdef int w = s.w, i, v, answer, size
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
    size = count_words(p, w)
    while size >= need:
        v = lowest(p, w)
        drop(p, v)
        size -= 1
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
    """Add the binomial coefficient C(n, k) to the number of equally good sets, or mark the number as too large."""
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
    """List and count the equally good sets in lexicographic order, ``need`` devices still to choose.

    ``clique``: every choice of open devices will do, so that sets beyond the list are counted without a visit.
    """
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
    while size >= need:
        v = lowest(p, w)
        drop(p, v)
        size -= 1
        required = has(q.require, v)
        intersect(p + w, p, q.graph + <size_t>v * w, w)
        push(q, v)
        answer = list_ties(q, need - 1, clique)
        pop(q)
        if answer != NO or required:
            return answer
    return NO


cdef int seeds(Ties* q, const uint64_t* start, int64_t until) except -2 nogil:
    """Grow sets greedily with as many fast pairs as possible, so that the search starts with a good set to beat.

    Without them a lexicographic search under a budget would never leave the sets around device 0. Devices of an earlier
    set do not start another one; ``until`` is where the work stops.
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
    """Upper bound on the pairs of weight rank ``r`` or more among k devices, from the sizes of connected groups."""
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
    """Prepare the search among equally good sets: graphs by weight, and bounds on the pairs of each rank.

    ``start`` is reduced to the devices that such a set can hold; ``c`` is the lowest link class that they have.
    """
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
    """Write the best of the equally good sets into ``winner``; YES if rules (a), (b) and (c) are proven, else CUT.

    ``witness`` is one of these sets; ``c`` is the lowest link class that they have.
    """
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


cdef int search(Ties* q, bint* proven) except -2 nogil:
    """Find the best objective and choose among the sets that have it; YES if the choice is proven, else CUT.

    ``proven`` is set to whether the weight inside the best link class is proven.
    """
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
    weight_limit = s.units + budget // 2 if s.by_class and budget < UNLIMITED else UNLIMITED
    answer = best_value(s, q.free, q.require, q.k, weight_limit, &c, &q.t, witness)
    proven[0] = answer == YES
    if answer == CUT:
        memcpy(q.winner, witness, w * sizeof(uint64_t))
        return CUT
    # The search for the objective is never cut and takes nothing from the budget of the ties.
    s.limit = s.units + budget if budget < UNLIMITED else UNLIMITED
    q.c = c
    return choose_among(q, witness, c)
