"""Score of a node by how full the HyperNodes around it become with one more pod; fuller ones score higher.

The rule is in ``workbench.kernels.fading.Fading``. Nodes that share their HyperNode of every tier form a ring and have
equal scores. Every pod changes the virtual top, hence the score of every ring.
"""

from libc.stdint cimport int32_t, int64_t

from workbench._core.contest cimport Groups
from workbench._core.node_score cimport packing_sum


cdef struct Totals:
    # sums over the nodes of each of d domains, the virtual top last
    int64_t r, d
    int64_t* used
    const int64_t* allocatable
    const int64_t* node_start
    const int32_t* node_domains


cdef struct Fading:
    Totals totals
    int64_t n_tiers            # numbers from the lowest tier to the virtual top's; 0: pods gain nothing
    int64_t n_columns
    const int32_t* ring_of     # of each node
    const int32_t* around      # per ring and column the domain, d for the virtual top, -1 for none
    const int32_t* column      # of each tier number, -1: no domain is of that tier
    const double* by_tier
    double total, scale
    const double* packing      # weight of each resource


cdef struct Fullness:
    # of each domain with one more pod of the shape at hand, as far as it was asked for
    double* share
    int64_t* known             # the time at which it was found
    int64_t time


cdef inline int fade(
    Fading* f,
    const int32_t[::1] ring_of,
    const int32_t[:, ::1] around,
    const int32_t[::1] column,
    const double[::1] by_tier,
    const double[::1] packing,
    double scale,
) except -1:
    """Set all arrays and weights of a `Fading`, but not its totals.

    No array may be empty, and the caller keeps them alive.
    """
    cdef int64_t t
    f.n_columns = around.shape[1]
    f.ring_of = &ring_of[0]
    f.around = &around[0, 0]
    f.column = &column[0]
    f.by_tier = &by_tier[0]
    f.packing = &packing[0]
    f.scale = scale
    f.total = 0.0
    for t in range(column.shape[0]):
        f.total += by_tier[t]
    f.n_tiers = column.shape[0]
    return 0


cdef inline double packing_score(
    const double* packing,
    const int64_t* request,
    double weights,
    const int64_t* used,
    const int64_t* allocatable,
    int64_t r,
) noexcept nogil:
    """Weighted mean of ``(used + request) / allocatable`` over the requested resources.

    ``weights`` is the `packing_sum`. 0 if a resource overflows, even one of weight 0; resources of negative weight
    are ignored.
    """
    cdef double score = 0.0
    cdef int64_t k, after
    if weights == 0.0:
        return 0.0
    for k in range(r):
        if request[k] > 0 and packing[k] >= 0.0:
            after = used[k] + request[k]
            if after > allocatable[k]:
                return 0.0
            score += packing[k] * <double>after / <double>(allocatable[k] if allocatable[k] > 1 else 1)
    return score / weights


cdef inline void use_path(const Totals* sums, int32_t node, const int64_t* request, int64_t times) noexcept nogil:
    """Add the requests of ``times`` pods on a node to the used totals of the HyperNodes that hold the node."""
    cdef int64_t j, k
    cdef int64_t* used
    for j in range(sums.node_start[node], sums.node_start[node + 1]):
        used = sums.used + sums.node_domains[j] * sums.r
        for k in range(sums.r):
            used[k] += times * request[k]
    used = sums.used + sums.d * sums.r
    for k in range(sums.r):
        used[k] += times * request[k]


cdef inline void forget_path(const Totals* sums, int32_t node, Fullness* full) noexcept nogil:
    """Mark the scores of the HyperNodes that hold a node as outdated, after their totals changed."""
    cdef int64_t j
    for j in range(sums.node_start[node], sums.node_start[node + 1]):
        full.known[sums.node_domains[j]] = 0
    full.known[sums.d] = 0


cdef inline void find_gains(
    const Fading* f, const Groups* groups, const int64_t* request, Fullness* full, double* gain
) noexcept nogil:
    """Compute the score that each ring of nodes gains from full HyperNodes if one more pod is placed there."""
    cdef const Totals* sums = &f.totals
    cdef int64_t r = sums.r, g, t, domain
    cdef double weights = packing_sum(f.packing, request, r), score
    cdef const int32_t* around
    for g in range(groups.g):
        around = f.around + groups.domain_of[g] * f.n_columns
        score = 0.0
        for t in range(f.n_tiers):
            domain = around[f.column[t]] if f.column[t] >= 0 else -1
            if domain < 0:
                score += f.by_tier[t]
                continue
            if full.known[domain] != full.time:
                full.known[domain] = full.time
                full.share[domain] = packing_score(
                    f.packing, request, weights, sums.used + domain * r, sums.allocatable + domain * r, r
                )
            score += f.by_tier[t] * full.share[domain]
        if f.total > 0.0:
            score = score / f.total
        gain[g] = score * 100.0 * f.scale
