"""Rules that choose leaf switches for a job (switch affinity): the rules of a new job, and the shared-switch rule.

Sources and messages of the rules are in ``workbench.policies.switch_affinity``. Ties are broken by the order of the
switches, which is that of the configuration.
"""

from libc.stdint cimport int8_t, int64_t
from libc.string cimport memset

import numpy as np

from workbench._core.switch_states cimport (
    EXCLUSIVE, FOUNDATION_ROW, IDLE, SHARED, UNHEALTHY_ROW, state_of,
)

# Kinds of job and rules (``workbench.kernels.switch_rules``).
cdef enum:
    PADDING = 0
    FOUNDATION = 1
    COMMON = 2

cdef enum:
    ONE = 0
    WHOLE = 1
    CLOSEST = 2
    OPENED = 3
    FALL_BACK = 4

# Classes of switches with a free node, in the order in which a job that fits under one switch asks for them.
cdef enum:
    CLOSED = 0
    SICK = 1
    HEALTHY = 2
    OPEN = 3
    FULL = 4


cdef int64_t most_of(int64_t s, const int64_t* free) noexcept nogil:
    """Largest of the numbers of free nodes of ``s`` switches; -1 if one is negative."""
    cdef int64_t i, most = 0
    for i in range(s):
        if free[i] < 0:
            return -1
        most = max(most, free[i])
    return most


cdef void classify(int64_t s, const int64_t* sums, const int64_t* free, int8_t* kind) noexcept nogil:
    cdef int64_t i
    cdef int8_t state
    for i in range(s):
        state = state_of(sums[SHARED * s + i], sums[EXCLUSIVE * s + i])
        if free[i] == 0:
            kind[i] = FULL
        elif state == SHARED:
            kind[i] = SICK if sums[UNHEALTHY_ROW * s + i] > 0 else HEALTHY
        else:
            kind[i] = OPEN if state == IDLE else CLOSED


cdef int64_t sort_by_free(
    int64_t s, const int8_t* kind, int8_t wanted, const int64_t* free, int64_t most, bint falling, int64_t* bucket,
    int64_t* order
) noexcept nogil:
    """Write the switches of kind ``wanted`` into ``order``, sorted by free nodes (``falling`` or rising).

    Return how many. ``most`` is the largest number of free nodes; ``bucket`` is scratch memory.
    """
    cdef int64_t i, key
    memset(bucket, 0, (most + 2) * sizeof(int64_t))
    for i in range(s):
        if kind[i] == wanted:
            bucket[(most - free[i] if falling else free[i]) + 1] += 1
    for key in range(most + 1):
        bucket[key + 1] += bucket[key]
    for i in range(s):
        if kind[i] == wanted:
            key = most - free[i] if falling else free[i]
            order[bucket[key]] = i
            bucket[key] += 1
    return bucket[most]


cdef int64_t smallest_one(
    int64_t s, const int8_t* kind, const int64_t* free, int64_t n_pods, bint sick_too
) noexcept nogil:
    """Smallest switch with free nodes for all ``n_pods`` pods, in the first class of switches that has one; -1: none.

    ``sick_too``: unhealthy switches may be chosen.
    """
    cdef int64_t i, best = -1
    for i in range(s):
        if kind[i] == FULL or free[i] < n_pods or (kind[i] == SICK and not sick_too):
            continue
        if best < 0 or kind[i] < kind[best] or (kind[i] == kind[best] and free[i] < free[best]):
            best = i
    return best


cdef int64_t closest(
    int64_t n, const int64_t* order, const int64_t* free, int64_t n_pods, int64_t max_shared, int64_t* switch,
    int64_t* taken
) noexcept nogil:
    """Choose one or two of ``n`` switches for ``n_pods`` pods so that the fewest nodes stay free (shared-switch rule).

    ``order`` lists the switches by free nodes. Writes the switches and the pods under each; returns how many, 0: none
    fit.
    """
    cdef int64_t i, other, enough = n, single = 0, total = -1, first = -1, second = -1
    if max_shared == 0:
        return 0
    while single < n and free[order[single]] < n_pods:
        single += 1
    if max_shared > 1:
        for i in range(n):
            # With more free nodes on the one, fewer will do on the other.
            while enough > 0 and free[order[enough - 1]] >= n_pods - free[order[i]]:
                enough -= 1
            other = max(enough, i + 1)
            if other < n and (first < 0 or free[order[i]] + free[order[other]] < total):
                first = i
                second = other
                total = free[order[first]] + free[order[second]]
    # A pair whose smaller switch alone would do is never taken: that switch is closer.
    if first >= 0 and (single == n or total <= free[order[single]]):
        switch[0] = order[first]
        taken[0] = free[order[first]]
        switch[1] = order[second]
        taken[1] = n_pods - taken[0]
        return 2
    if single == n:
        return 0
    switch[0] = order[single]
    taken[0] = n_pods
    return 1


cdef int64_t smallest_opened(int64_t n, const int64_t* order, const int64_t* free, int64_t n_pods) noexcept nogil:
    """Switch with the fewest free nodes among those with at least ``n_pods``, in ``order`` (falling free nodes).

    -1: none.
    """
    cdef int64_t i, best = -1
    for i in range(n):
        if free[order[i]] < n_pods:
            break
        if best < 0 or free[order[i]] < free[best]:
            best = order[i]
    return best


cdef int64_t place(
    int64_t s,
    int8_t* kind,
    const int64_t* foundation,
    const int64_t* free,
    int64_t most,
    int64_t job,
    int64_t n_pods,
    int64_t per_switch,
    int64_t max_shared,
    int64_t* bucket,
    int64_t* order,
    int64_t* switch,
    int64_t* taken,
    int8_t* rule,
    int64_t* missing,
) noexcept nogil:
    """Choose the switches of a new job: write each switch, its number of pods and the rule that chose it.

    ``missing`` receives the number of pods without a node. Returns the number of switches.
    """
    cdef int64_t i, k, n, found = 0, left = n_pods, chosen
    missing[0] = 0
    if job == PADDING or n_pods < per_switch:
        chosen = smallest_one(s, kind, free, n_pods, job != FOUNDATION)
        if chosen >= 0:
            switch[0] = chosen
            taken[0] = n_pods
            rule[0] = ONE
            return 1
        if job == PADDING:
            missing[0] = n_pods
            return 0
    n = sort_by_free(s, kind, OPEN, free, most, True, bucket, order)
    while found < n and free[order[found]] <= left:
        switch[found] = order[found]
        taken[found] = free[order[found]]
        rule[found] = WHOLE
        left -= taken[found]
        found += 1
    if left == 0:
        return found
    if found < n:
        chosen = smallest_opened(n - found, &order[found], free, left)
    else:
        chosen = -1
    n = sort_by_free(s, kind, HEALTHY, free, most, False, bucket, order)
    k = closest(n, order, free, left, max_shared, &switch[found], &taken[found])
    if k:
        memset(&rule[found], CLOSEST, k)
        return found + k
    if chosen >= 0:
        switch[found] = chosen
        taken[found] = left
        rule[found] = OPENED
        return found + 1
    if job == COMMON:
        # No idle switch is left, for any that was not taken whole has room for the rest.
        for k in range(2):
            n = sort_by_free(s, kind, HEALTHY if k else SICK, free, most, False, bucket, order)
            for i in range(n):
                if left and not (k and foundation[order[i]]):
                    switch[found] = order[i]
                    taken[found] = min(left, free[order[i]])
                    rule[found] = FALL_BACK
                    left -= taken[found]
                    found += 1
    missing[0] = left
    return found


def place_new(
    const int64_t[:, ::1] sums not None,
    const int64_t[::1] free not None,
    int64_t job,
    int64_t n_pods,
    int64_t per_switch,
    int64_t max_shared,
):
    """Choose the switches of a new job.

    Return arrays of switches, pods and rules, and the number of pods without a node. That number is negative if a
    number of free nodes is negative. See ``workbench.kernels.switch_rules.place_new``.
    """
    cdef int64_t s = free.shape[0], most = most_of(s, &free[0]) if s else 0, found = 0, missing = n_pods
    if most < 0:
        missing, s, most = most, 0, 0
    switch_array, taken_array, rule_array = np.empty(s, np.int64), np.empty(s, np.int64), np.empty(s, np.int8)
    kind_array, order_array, bucket_array = np.empty(s, np.int8), np.empty(s, np.int64), np.empty(most + 2, np.int64)
    cdef int64_t[::1] switch = switch_array, taken = taken_array, order = order_array, bucket = bucket_array
    cdef int8_t[::1] rule = rule_array, kind = kind_array
    if s == 0:
        return switch_array, taken_array, rule_array, missing
    with nogil:
        classify(s, &sums[0, 0], &free[0], &kind[0])
        found = place(
            s, &kind[0], &sums[FOUNDATION_ROW, 0], &free[0], most, job, n_pods, per_switch, max_shared, &bucket[0], &order[0],
            &switch[0], &taken[0], &rule[0], &missing,
        )
    return switch_array[:found], taken_array[:found], rule_array[:found], missing


def place_closest(
    const int8_t[::1] allowed not None,
    const int64_t[::1] free not None,
    int64_t n_pods,
    int64_t max_shared,
    int64_t[::1] switch not None,
    int64_t[::1] taken not None,
):
    """Choose up to two switches so that the fewest nodes stay free (shared-switch rule).

    Write ``switch`` and ``taken``. ``allowed`` is 1 for switches that may be chosen. Returns the number of
    switches, -1 if a number of free nodes is negative.
    """
    cdef int64_t s = free.shape[0], most, n, found
    if s == 0:
        return 0
    most = most_of(s, &free[0])
    if most < 0:
        return -1
    order_array, bucket_array = np.empty(s, dtype=np.int64), np.empty(most + 2, dtype=np.int64)
    cdef int64_t[::1] order = order_array, bucket = bucket_array
    with nogil:
        n = sort_by_free(s, &allowed[0], 1, &free[0], most, False, &bucket[0], &order[0])
        found = closest(n, &order[0], &free[0], n_pods, max_shared, &switch[0], &taken[0])
    return found
