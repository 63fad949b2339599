"""Assigns a gang's pods to its sub-jobs, and orders the pods of queues, in one walk over the pods.

What a sub-job is, is told in ``workbench.policies.volcano.v1_15.splitting``. Arguments are checked in
``workbench.kernels.sub_jobs``.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from workbench._core.memory cimport claim, free

import numpy as np


def pods_of_sub_jobs(
    groups,
    const int32_t[::1] role_of_pod not None,
    const int32_t[::1] place not None,
    int64_t n_tried,
    const int64_t[:, ::1] rows not None,
    const int64_t[::1] priority_of_role not None,
    int64_t largest,
    int64_t most,
    bint default,
):
    """Distribute pods to sub-jobs; see ``workbench.kernels.sub_jobs.deal_pods``. None if a number is out of range.

    ``place`` is the position of each role in the order of roles; ``n_tried`` and above: best effort. ``largest`` is the
    largest amount of one row, ``most`` the largest sum.
    """
    # Tuples stay as long as they are found to be.
    cdef list lines = list(map(tuple, groups))
    cdef int64_t n = role_of_pod.shape[0], m = place.shape[0], r = rows.shape[1], n_groups = len(lines), named = 0
    cdef int64_t i, j, k, s, begin, end, entries = 0, out = 0, rest = n
    cdef int32_t role, number, last
    cdef bint sound, ascending
    cdef tuple pods
    cdef int64_t* ends
    cdef int64_t* given
    cdef int64_t* begins
    cdef int64_t* moved
    cdef uint8_t* taken
    if rows.shape[0] != m or priority_of_role.shape[0] != m:
        return None
    with nogil:
        sound = are_in_order(role_of_pod, place, rows, largest)
    if not sound:
        return None
    for pods in lines:
        named += len(pods)
    # Where each sub-job ends; the pods named, then those that nobody named; where the pods of each role begin; pods
    # on their way to another place; which pods are named.
    cdef int64_t* scratch = <int64_t*>claim(
        (n_groups + 1 + named + n + m + 1 + named + n) * sizeof(int64_t) + n * sizeof(uint8_t)
    )
    try:
        ends = scratch
        given = ends + n_groups + 1
        begins = given + named + n
        moved = begins + m + 1
        taken = <uint8_t*>(moved + named + n)
        memset(taken, 0, n)
        j = 0
        for i, pods in enumerate(lines):
            for pod in pods:
                k = pod
                if not 0 <= k < n:
                    return None
                given[j] = k
                rest -= not taken[k]
                taken[k] = True
                j += 1
            ends[i] = j
        s = n_groups + (default or rest > 0)
        with nogil:
            for i in range(n):
                if not taken[i]:
                    given[j] = i
                    j += 1
            if s > n_groups:
                ends[n_groups] = j
            end = 0
            for i in range(s):
                begin = end
                end = ends[i]
                last = -1
                ascending = True
                for j in range(begin, end):
                    number = place[role_of_pod[given[j]]]
                    ascending = ascending and number >= last
                    last = number
                if not ascending:
                    # By place, each in the order given.
                    memset(begins, 0, (m + 1) * sizeof(int64_t))
                    for j in range(begin, end):
                        begins[place[role_of_pod[given[j]]] + 1] += 1
                    for k in range(m):
                        begins[k + 1] += begins[k]
                    for j in range(begin, end):
                        number = place[role_of_pod[given[j]]]
                        moved[begins[number]] = given[j]
                        begins[number] += 1
                    memcpy(given + begin, moved, (end - begin) * sizeof(int64_t))
                last = -1
                for j in range(begin, end):
                    role = role_of_pod[given[j]]
                    if place[role] < n_tried:
                        entries += role != last
                        out += 1
                    last = role
        positions_array = np.empty(out, dtype=np.int64)
        shapes_array = np.empty(entries, dtype=np.int32)
        left_array = np.empty(entries, dtype=np.int64)
        first_array = np.empty(entries + 1, dtype=np.int64)
        start_array = np.zeros(s + 1, dtype=np.int64)
        counted_array = np.zeros(s, dtype=np.int64)
        priority_array = np.zeros(s, dtype=np.int64)
        pending_array = np.zeros((s, r), dtype=np.int64)
        size_array = np.empty(s, dtype=np.int64)
        fill_columns(
            given, ends, role_of_pod, place, n_tried, rows, priority_of_role, most, positions_array, shapes_array,
            left_array, first_array, start_array, counted_array, priority_array, pending_array, size_array,
        )
    finally:
        free(scratch)
    return (
        size_array,
        start_array,
        shapes_array,
        left_array,
        first_array,
        positions_array,
        pending_array,
        counted_array,
        priority_array,
    )


cdef bint are_in_order(
    const int32_t[::1] role_of_pod, const int32_t[::1] place, const int64_t[:, ::1] rows, int64_t largest
) noexcept nogil:
    """Whether roles and places are numbers of the ``place.shape[0]`` roles, and amounts from 0 to ``largest``."""
    cdef int64_t i, c, m = place.shape[0]
    for i in range(role_of_pod.shape[0]):
        if not 0 <= role_of_pod[i] < m:
            return False
    for i in range(m):
        if not 0 <= place[i] < m:
            return False
        for c in range(rows.shape[1]):
            if not 0 <= rows[i, c] <= largest:
                return False
    return True


cdef void fill_columns(
    const int64_t* given,
    const int64_t* ends,
    const int32_t[::1] role_of_pod,
    const int32_t[::1] place,
    int64_t n_tried,
    const int64_t[:, ::1] rows,
    const int64_t[::1] priority_of_role,
    int64_t most,
    int64_t[::1] positions,
    int32_t[::1] shapes,
    int64_t[::1] left,
    int64_t[::1] first,
    int64_t[::1] start,
    int64_t[::1] counted,
    int64_t[::1] priority,
    int64_t[:, ::1] pending,
    int64_t[::1] size,
) noexcept nogil:
    """Write the columns of the sub-jobs and of their entries; the pods of each sub-job are ``given`` by role."""
    cdef int64_t i, j, k, t, c, count, begin, end = 0, entries = 0, out = 0, r = rows.shape[1]
    cdef int32_t role
    for i in range(size.shape[0]):
        begin = end
        end = ends[i]
        size[i] = end - begin
        j = begin
        while j < end:
            role = role_of_pod[given[j]]
            t = j + 1
            while t < end and role_of_pod[given[t]] == role:
                t += 1
            count = t - j
            if priority_of_role[role] > priority[i]:
                priority[i] = priority_of_role[role]
            for c in range(r):
                if rows[role, c] and count > (most - pending[i, c]) // rows[role, c]:
                    pending[i, c] = most
                else:
                    pending[i, c] += count * rows[role, c]
            if place[role] < n_tried:
                shapes[entries] = place[role]
                left[entries] = count
                first[entries] = out
                entries += 1
                for k in range(j, t):
                    positions[out] = given[k]
                    out += 1
            else:
                counted[i] += count
            j = t
        start[i + 1] = entries
    first[entries] = out


def runs_of_queues(
    const int64_t[::1] start not None,
    const int64_t[::1] positions not None,
    const int64_t[::1] rank not None,
    const int32_t[::1] role_of_pod not None,
    int64_t n_roles,
):
    """Order the pods of several queues and join neighbours of one role into runs; None if a pod is named twice.

    Arguments and result are explained in ``workbench.kernels.sub_jobs.runs_of_queues``.
    """
    cdef int64_t n = rank.shape[0], queues = start.shape[0] - 1, named = positions.shape[0]
    cdef int64_t q, i, pod, runs = 0
    cdef int32_t role, last
    cdef bint twice = False
    cdef int64_t[::1] by_rank = np.empty(n, dtype=np.int64), queue_of = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] line = np.empty(named, dtype=np.int64), end = np.empty(queues, dtype=np.int64)
    cdef int64_t[::1] taken = np.empty(n_roles, dtype=np.int64)
    run_start_array = np.zeros(queues + 1, dtype=np.int64)
    roles_array = np.empty(named, dtype=np.int32)
    upto_array = np.empty(named, dtype=np.int64)
    cdef int64_t[::1] run_start = run_start_array, upto = upto_array
    cdef int32_t[::1] roles = roles_array
    with nogil:
        for i in range(n):
            by_rank[rank[i]] = i
            queue_of[i] = -1
        for q in range(queues):
            end[q] = start[q]
            for i in range(start[q], start[q + 1]):
                twice |= queue_of[positions[i]] >= 0
                queue_of[positions[i]] = q
        # By rank, each pod goes to the end of its queue: all queues in one pass, nothing is sorted.
        for i in range(0 if twice else n):
            pod = by_rank[i]
            q = queue_of[pod]
            if q >= 0:
                line[end[q]] = pod
                end[q] += 1
        for q in range(0 if twice else queues):
            for i in range(n_roles):
                taken[i] = 0
            last = -1
            for i in range(start[q], start[q + 1]):
                role = role_of_pod[line[i]]
                taken[role] += 1
                if role != last:
                    roles[runs] = role
                    runs += 1
                upto[runs - 1] = taken[role]
                last = role
            run_start[q + 1] = runs
    return None if twice else (run_start_array, roles_array[:runs], upto_array[:runs])
