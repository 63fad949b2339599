"""Tournament trees that find the best node for a pod: one over the nodes of each group, and one over the groups.

A group is the nodes of one leaf domain (lowest HyperNode).

    outer   [ group 0 | group 1 | ... ]      key: total = node part + group's offset, node part, rank
    inner   [ nodes of group 0 ] [ ... ]     key: node part, rank

A tree of n leaves has its root at 1 and its leaves at n, also for n = 1 where leaf and root are one.
"""

from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX, int32_t, int64_t

cdef enum:
    NO_RECORD = -2     # nothing of the job is placed yet


cdef struct Inner:
    double node
    int64_t key        # name rank and position in one number: the smaller wins; INT64_MAX: does not fit


cdef struct Outer:
    double total
    double node
    int64_t key


cdef struct Closeness:
    # what leaves are worth beside a record (``workbench.kernels.domains.TopologyScores``)
    const int32_t* parent
    const int32_t* depth
    const double* value
    double top_value, own_value, weight, total_tasks


cdef struct Groups:
    int64_t g
    bint scored            # by topology, against a record
    int64_t* first         # slot of each group's first node, and one past the last
    int32_t* domain_of     # leaf domain of each group, -1: none
    int64_t* tasks         # of the gang in each group
    double* base           # of each group: what its leaf is worth beside the record


cdef struct Contest:
    # the nodes as one shape sees them
    Inner* inner           # trees of all groups; group g starts at 2 * first[g]
    Outer* outer
    int64_t* fitting       # nodes that fit, per group
    int64_t n_fitting
    double best_base       # the largest base among fitting nodes, and how many share it
    int64_t n_best
    double* gain           # of each group, whatever the record (``fading.pxd``); NULL: the record decides


cdef inline bint inner_beats(const Inner* a, const Inner* b) noexcept nogil:
    return a.node > b.node or (a.node == b.node and a.key < b.key)


cdef inline bint outer_beats(const Outer* a, const Outer* b) noexcept nogil:
    if a.total != b.total:
        return a.total > b.total
    return a.node > b.node or (a.node == b.node and a.key < b.key)


cdef inline void play_inner(Inner* tree, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n - 1, 0, -1):
        tree[i] = tree[2 * i] if inner_beats(&tree[2 * i], &tree[2 * i + 1]) else tree[2 * i + 1]


cdef inline void lift_inner(Inner* tree, int64_t i) noexcept nogil:
    """Update the tournament tree of a group after the score of its node at leaf ``i`` changed."""
    cdef Inner best = tree[i]
    cdef const Inner* other
    while i > 1:
        other = &tree[i ^ 1]
        i >>= 1
        if inner_beats(other, &best):
            best = other[0]
        tree[i] = best


cdef inline double offset(const Groups* groups, const Closeness* closeness, const Contest* c, int64_t g) noexcept nogil:
    cdef double base
    if c.gain != NULL:
        return c.gain[g]
    if not groups.scored:
        return 0.0
    base = groups.base[g]
    if c.n_best >= 2 and base == c.best_base and groups.domain_of[g] >= 0:
        base = base + <double>groups.tasks[g] / closeness.total_tasks
    return base * 100.0 * closeness.weight


cdef inline void set_outer(const Groups* groups, const Closeness* closeness, Contest* c, int64_t g) noexcept nogil:
    cdef const Inner* root = c.inner + 2 * groups.first[g] + 1
    cdef Outer* leaf = c.outer + groups.g + g
    leaf.node = root.node
    leaf.key = root.key
    leaf.total = root.node + offset(groups, closeness, c, g) if root.key != INT64_MAX else -INFINITY


cdef inline void play_outer(const Groups* groups, const Closeness* closeness, Contest* c) noexcept nogil:
    cdef int64_t g
    cdef Outer* tree = c.outer
    for g in range(groups.g):
        set_outer(groups, closeness, c, g)
    for g in range(groups.g - 1, 0, -1):
        tree[g] = tree[2 * g] if outer_beats(&tree[2 * g], &tree[2 * g + 1]) else tree[2 * g + 1]


cdef inline void lift(const Groups* groups, const Closeness* closeness, Contest* c, int64_t g) noexcept nogil:
    """Update the tournament tree over the groups after the best node or the topology score of group ``g`` changed."""
    cdef Outer* tree = c.outer
    cdef int64_t i = groups.g + g
    cdef Outer best
    cdef const Outer* other
    set_outer(groups, closeness, c, g)
    best = tree[i]
    while i > 1:
        other = &tree[i ^ 1]
        i >>= 1
        if outer_beats(other, &best):
            best = other[0]
        tree[i] = best


cdef inline void lift_range(
    const Groups* groups, const Closeness* closeness, Contest* c, int64_t low, int64_t high
) noexcept nogil:
    """Update the tournament tree over the groups after scores of groups ``low`` to ``high`` (excluded) changed."""
    cdef int64_t g
    for g in range(low, high):
        lift(groups, closeness, c, g)


cdef inline int32_t lca(const Closeness* closeness, int32_t a, int32_t b) noexcept nogil:
    """Lowest common ancestor of two domains (HyperNodes); -1 is the virtual top."""
    while a != b and a >= 0 and b >= 0:
        if closeness.depth[a] >= closeness.depth[b]:
            a = closeness.parent[a]
        else:
            b = closeness.parent[b]
    return a if a == b else -1


cdef inline double base_of(const Closeness* closeness, int32_t domain, int32_t record) noexcept nogil:
    """Closeness score of a leaf domain (lowest HyperNode) to ``record``, the domain in which the job is allocated.

    0 for no leaf domain.
    """
    cdef int32_t common
    if domain < 0:
        return 0.0
    if domain == record:
        return closeness.own_value
    common = lca(closeness, domain, record)
    return closeness.value[common] if common >= 0 else closeness.top_value
