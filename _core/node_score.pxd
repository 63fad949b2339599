"""Score of a node for a pod, and its weights; shared so that every kernel that places pods gives the same score.

The formula stands in ``workbench.kernels.dry_runs.DryRuns``.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint8_t


cdef struct Weights:
    int64_t r              # resources
    double binpack, least, most, balanced
    double* binpack_by
    int64_t* request_by
    uint8_t* balanced_by   # 1: balanced; 2: by pods that ask for it


cdef inline bint fits(const int64_t* request, const int64_t* idle, int64_t r) noexcept nogil:
    cdef int64_t k
    for k in range(r):
        if request[k] > 0 and idle[k] < request[k]:
            return False
    return True


cdef inline double packing_sum(const double* packing, const int64_t* request, int64_t r) noexcept nogil:
    """Sum of the weights of the requested resources; negative weights are ignored."""
    cdef double total = 0.0
    cdef int64_t k
    for k in range(r):
        if request[k] > 0 and packing[k] > 0.0:
            total += packing[k]
    return total


cdef inline double node_score(
    const Weights* w,
    const int64_t* request,
    double binpack_weights,
    const int64_t* used,
    const int64_t* allocatable,
) noexcept nogil:
    """Score of a node for a pod (binpack, least or most requested, balanced), without the shape's extra number.

    ``used`` and ``allocatable`` are the node's amounts; ``binpack_weights`` is the `packing_sum` of the request.
    """
    cdef int64_t r = w.r, k, after, whole, weights
    cdef double score = 0.0, part, spread
    if w.binpack != 0.0:
        part = 0.0
        if binpack_weights > 0.0:
            for k in range(r):
                if request[k] > 0 and w.binpack_by[k] > 0.0:
                    after = used[k] + request[k]
                    if allocatable[k] > 0 and after <= allocatable[k]:
                        part += w.binpack_by[k] * <double>after / <double>allocatable[k]
            part = part / binpack_weights
        score += part * (100.0 * w.binpack)
    if w.least != 0.0:
        whole = weights = 0
        for k in range(r):
            if w.request_by[k] > 0 and allocatable[k] > 0:
                after = used[k] + request[k]
                weights += w.request_by[k]
                if after <= allocatable[k]:
                    whole += (allocatable[k] - after) * 100 // allocatable[k] * w.request_by[k]
        if weights:
            score += <double>(whole // weights) * w.least
    if w.most != 0.0:
        whole = weights = 0
        for k in range(r):
            if w.request_by[k] > 0 and allocatable[k] > 0:
                after = used[k] + request[k]
                weights += w.request_by[k]
                if after <= allocatable[k]:
                    whole += after * 100 // allocatable[k] * w.request_by[k]
        if weights:
            score += <double>(whole // weights) * w.most
    if w.balanced != 0.0:
        spread = imbalance(w, request, used, allocatable)
        score += <double>(<int64_t>((1.0 - spread) * 100.0)) * w.balanced
    return score


cdef inline double imbalance(
    const Weights* w, const int64_t* request, const int64_t* used, const int64_t* allocatable
) noexcept nogil:
    """Standard deviation of a node's used fractions with the pod.

    1, the worst, if the pod requests no balanced resource.
    """
    cdef double low = 0.0, high = 0.0, total = 0.0, squares = 0.0, part, mean
    cdef int64_t k, parts = 0
    cdef bint asks = False
    for k in range(w.r):
        if balances(w, request, allocatable, k):
            low = high
            high = fraction(used[k] + request[k], allocatable[k])
            total += high
            parts += 1
            asks |= request[k] > 0
    if not asks:
        return 1.0
    if parts < 2:
        return 0.0
    if parts == 2:
        return (high - low if high >= low else low - high) / 2.0
    mean = total / <double>parts
    for k in range(w.r):
        if balances(w, request, allocatable, k):
            part = fraction(used[k] + request[k], allocatable[k]) - mean
            squares += part * part
    return sqrt(squares / <double>parts)


cdef inline bint balances(const Weights* w, const int64_t* request, const int64_t* allocatable, int64_t k) noexcept nogil:
    return allocatable[k] > 0 and (w.balanced_by[k] == 1 or (w.balanced_by[k] == 2 and request[k] > 0))


cdef inline double fraction(int64_t after, int64_t allocatable) noexcept nogil:
    return 1.0 if after >= allocatable else <double>after / <double>allocatable
