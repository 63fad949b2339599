"""Assigns a gang's pods to its sub-jobs, and orders the pods of queues, in one walk over the pods.

What a sub-job is, is told in ``workbench.policies.volcano.newest.splitting``. Arguments are checked in
``workbench.kernels.sub_jobs``.
"""

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t

import numpy as np


def lined_up(groups):
    """Concatenate sequences of numbers.

    Return the numbers as one array, int64, and the length of each sequence, int64.
    """
    cdef int64_t i, named = 0
    cdef tuple pods
    # Tuples stay as long as they are found to be.
    cdef list lines = list(map(tuple, groups))
    sizes_array = np.empty(len(lines), dtype=np.int64)
    cdef int64_t[::1] sizes = sizes_array
    for i, pods in enumerate(lines):
        sizes[i] = len(pods)
        named += sizes[i]
    positions_array = np.empty(named, dtype=np.int64)
    cdef int64_t[::1] positions = positions_array
    i = 0
    for pods in lines:
        for pod in pods:
            positions[i] = pod
            i += 1
    return positions_array, sizes_array


def pods_of_sub_jobs(
    const int64_t[::1] positions not None,
    const int64_t[::1] sizes not None,
    const int32_t[::1] role_of_pod not None,
    const int32_t[::1] place not None,
    int64_t n_tried,
    const int64_t[:, ::1] rows not None,
    const int64_t[::1] priority_of_role not None,
    int64_t most,
    bint default,
):
    """Assign a gang's pods to its sub-jobs and count them; see ``workbench.kernels.sub_jobs.deal_pods``.

    ``place`` is the position of each role in the order in which roles are tried; from ``n_tried`` on, roles are best
    effort and their pods are only counted. ``most`` limits the summed requests.
    """
    cdef int64_t n = role_of_pod.shape[0], r = rows.shape[1], groups = sizes.shape[0], named = positions.shape[0]
    cdef int64_t i, j, k, t, c, s, count, begin, end, entries = 0, out = 0, rest = 0
    cdef int32_t role, number, last
    cdef bint ascending
    # Scratch: the pods named, then those that nobody named; where the pods of each role begin; which pods are named.
    scratch_array = np.empty(named + n + place.shape[0] + 1, dtype=np.int64)
    cdef int64_t[::1] scratch = scratch_array
    cdef int64_t[::1] given = scratch[: named + n], begins = scratch[named + n :]
    taken_array = np.zeros(n, dtype=np.uint8)
    cdef uint8_t[::1] taken = taken_array
    for i in range(named):
        taken[positions[i]] = True
    for i in range(n):
        rest += not taken[i]
    s = groups + (default or rest > 0)
    positions_array = np.empty(named + rest, dtype=np.int64)
    shapes_array = np.empty(named + rest, dtype=np.int32)
    left_array = np.empty(named + rest, dtype=np.int64)
    first_array = np.empty(named + rest + 1, dtype=np.int64)
    start_array = np.zeros(s + 1, dtype=np.int64)
    counted_array = np.zeros(s, dtype=np.int64)
    priority_array = np.zeros(s, dtype=np.int64)
    pending_array = np.zeros((s, r), dtype=np.int64)
    size_array = np.empty(s, dtype=np.int64)
    cdef int64_t[::1] kept = positions_array, left = left_array, first = first_array
    cdef int64_t[::1] start = start_array, counted = counted_array, priority = priority_array, size = size_array
    cdef int64_t[:, ::1] pending = pending_array
    cdef int32_t[::1] shapes = shapes_array
    with nogil:
        j = 0
        for i in range(named):
            given[i] = positions[i]
        for i in range(n):
            if not taken[i]:
                given[named + j] = i
                j += 1
        end = 0
        for i in range(s):
            begin = end
            size[i] = sizes[i] if i < groups else rest
            end += size[i]
            last = -1
            ascending = True
            for j in range(begin, end):
                number = place[role_of_pod[given[j]]]
                if number < last:
                    ascending = False
                    break
                last = number
            if not ascending:
                # By place, each in the order given; `kept` is free from `begin` on.
                for k in range(place.shape[0] + 1):
                    begins[k] = 0
                for j in range(begin, end):
                    begins[place[role_of_pod[given[j]]] + 1] += 1
                for k in range(place.shape[0]):
                    begins[k + 1] += begins[k]
                for j in range(begin, end):
                    number = place[role_of_pod[given[j]]]
                    kept[begin + begins[number]] = given[j]
                    begins[number] += 1
                for j in range(begin, end):
                    given[j] = kept[j]
            j = begin
            if begin < end:
                priority[i] = INT64_MIN
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
                        kept[out] = given[k]
                        out += 1
                else:
                    counted[i] += count
                j = t
            start[i + 1] = entries
        first[entries] = out
    return (
        size_array,
        start_array,
        shapes_array[:entries],
        left_array[:entries],
        first_array[: entries + 1],
        positions_array[:out],
        pending_array,
        counted_array,
        priority_array,
    )


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
