"""Leaf switches and their nodes: free nodes per switch, nodes for a job's pods, and votes of running pods.

Numbers are checked in the loops that read them: a function that meets a number out of range returns less than it was
asked for, and ``workbench.kernels.switches`` says what is wrong.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from workbench._core.bits cimport popcount
from workbench._core.switch_states cimport EXCLUSIVE, SHARED, UNHEALTHY_ROW, state_of

# Parts of what a pod says (``workbench.kernels.switches``).
cdef enum:
    STATE = 3
    UNHEALTHY = 4
    HOLDS = 8


def free_under_switches(
    const int32_t[::1] holders not None,
    const int64_t[:, ::1] idle not None,
    const int64_t[::1] request not None,
    const uint8_t[::1] feasible not None,
    const uint64_t[:, ::1] gpu_free not None,
    int64_t n_gpus,
    const int32_t[::1] node_switch not None,
    uint8_t[::1] free not None,
    int64_t[::1] counts not None,
):
    """Write into ``free`` (n,) which nodes can take one more pod, and into ``counts`` how many there are per switch.

    Returns the number of nodes looked at: fewer than n if a free node names a switch that does not exist.
    """
    cdef int64_t n = idle.shape[0], words = gpu_free.shape[1], s = counts.shape[0], r = idle.shape[1]
    cdef int64_t i = 0, k, found, asked = 0, end = 0
    cdef uint64_t any_free
    cdef uint8_t fits
    columns_array = np.empty(r + 1, dtype=np.int64)
    cdef int64_t[::1] columns = columns_array
    with nogil:
        counts[:] = 0
        # A resource that is not asked for may be overdrawn.
        for k in range(r):
            columns[asked] = k
            asked += request[k] > 0
        for i in range(n):
            free[i] = (holders[i] == 0) & (feasible[i] != 0)
        i = 0
        while i < n:
            # In a busy cluster most nodes are taken, and jobs take neighbours: those are passed over eight at a time.
            if i == end and i + 8 <= n:
                memcpy(&any_free, &free[i], 8)
                end = i + 8
                if any_free == 0:
                    i = end
                    continue
            if free[i]:
                fits = True
                for k in range(asked):
                    fits &= idle[i, columns[k]] >= request[columns[k]]
                if n_gpus > 0:
                    found = 0
                    for k in range(words):
                        found += popcount(gpu_free[i, k])
                    fits &= found >= n_gpus
                if node_switch[i] >= s:
                    break
                if node_switch[i] >= 0:
                    counts[node_switch[i]] += fits
                free[i] = fits
            i += 1
    return i


def join_votes(const int64_t[:, ::1] votes not None, int8_t[::1] state not None, uint8_t[::1] unhealthy not None):
    """Write state and health of each switch, given the numbers of votes for idle, shared, exclusive, unhealthy (4, s).

    Shared beats exclusive, which beats idle.
    """
    cdef int64_t i
    with nogil:
        for i in range(state.shape[0]):
            state[i] = state_of(votes[SHARED, i], votes[EXCLUSIVE, i])
            unhealthy[i] = state[i] == SHARED and votes[UNHEALTHY_ROW, i] > 0


def first_free(
    const int64_t[::1] chosen not None,
    const int64_t[::1] wanted not None,
    const int8_t[::1] says not None,
    const uint8_t[::1] free not None,
    const int64_t[::1] start not None,
    const int32_t[::1] nodes not None,
    const int64_t[::1] by_position not None,
):
    """Choose free nodes under given switches, the lowest positions first.

    Arguments as in ``workbench.kernels.switches``. Returns the number of switches that had enough nodes, the node
    of each pod, and its group of equal annotations.
    """
    cdef int64_t n = free.shape[0], m = nodes.shape[0]
    cdef int64_t i, k, entry, left, last, places = 0, found = 0, groups = 0
    cdef int32_t number
    for i in range(wanted.shape[0]):
        # More nodes than there are would be refused below.
        places += min(max(wanted[i], 0), m)
    node_array, group_array = np.empty(places, dtype=np.int32), np.empty(places, dtype=np.int32)
    head_array = np.empty(chosen.shape[0], dtype=np.int64)
    cdef int32_t[::1] node = node_array, group = group_array
    cdef int64_t[::1] head = head_array
    # The group of the switches that say the same, and are no shared ones.
    cdef int32_t[4] of_state
    of_state[:] = [-1, -1, -1, -1]
    with nogil:
        for i in range(chosen.shape[0]):
            left = wanted[i]
            if left < 0 or left > places - found or chosen[i] < 0 or chosen[i] + 1 >= start.shape[0]:
                break
            if start[chosen[i]] < 0 or start[chosen[i] + 1] > m:
                break
            # The first free ones in configuration order are taken, and then stand in the order of their positions.
            last = start[chosen[i]] - 1
            while left and last + 1 < start[chosen[i] + 1]:
                last += 1
                left -= 0 <= nodes[last] < n and free[nodes[last]] != 0
            if left:
                break
            number = -1 if says[i] & STATE == SHARED else of_state[says[i] & STATE]
            if number < 0:
                number = <int32_t>groups
                of_state[says[i] & STATE] = number
                head[groups] = i
                groups += 1
            left = wanted[i]
            for k in range(start[chosen[i]], start[chosen[i] + 1]):
                entry = by_position[k]
                if start[chosen[i]] <= entry <= last and 0 <= nodes[entry] < n and free[nodes[entry]] and left:
                    node[found] = nodes[entry]
                    group[found] = number
                    found += 1
                    left -= 1
            if left:
                break
        else:
            i = chosen.shape[0]
    return i, node_array, group_array, head_array[:groups]


cdef int64_t first_wrong(
    const int64_t[::1] start, const int32_t[::1] node, const int8_t[::1] says, const int32_t[::1] node_switch, int64_t s
) noexcept nogil:
    """Index of the first pod with a number out of range; the number of pods if all are right.

    -1 if ``start`` is no offset array over the pods.
    """
    cdef int64_t p = node.shape[0], n = node_switch.shape[0], jobs = start.shape[0] - 1, i
    if start[0] != 0 or start[jobs] != p:
        return -1
    for i in range(jobs):
        if start[i] > start[i + 1]:
            return -1
    for i in range(p):
        if node[i] < -1 or node[i] >= n or says[i] < 0 or says[i] > 15 or (says[i] & STATE) == STATE:
            return i
        if node[i] >= 0 and node_switch[node[i]] >= s:
            return i
    return p


def add_jobs(
    int64_t sign,
    const int64_t[::1] start not None,
    const uint8_t[:, ::1] counts not None,
    const int32_t[::1] node not None,
    const int8_t[::1] says not None,
    const int32_t[::1] node_switch not None,
    int32_t[::1] holders not None,
    int64_t[:, ::1] sums not None,
):
    """Add running jobs (``sign`` 1) to ``holders`` (pods per node) and ``sums`` (votes per switch), or subtract them.

    Returns the number of pods; less, with nothing changed, if a number is out of range.
    """
    cdef int64_t s = sums.shape[1], i, j, k, under, n_under, wrong
    # The switches of one job, and the last job seen under each; a place beyond the switches stands for none.
    switches_array, seen_array = np.empty(s + 1, dtype=np.int64), np.empty(s + 1, dtype=np.int64)
    cdef int64_t[::1] switches = switches_array, seen = seen_array
    with nogil:
        seen[:] = -1
        wrong = first_wrong(start, node, says, node_switch, s)
        for j in range(start.shape[0] - 1 if wrong == node.shape[0] else 0):
            n_under = 0
            for i in range(start[j], start[j + 1]):
                under = -1
                if node[i] >= 0:
                    under = node_switch[node[i]]
                    holders[node[i]] += <int32_t>sign * ((says[i] & HOLDS) != 0)
                if under < 0:
                    under = s
                elif counts[j, 0]:
                    sums[says[i] & STATE, under] += sign
                    sums[3, under] += sign * ((says[i] & UNHEALTHY) != 0)
                if seen[under] != j:
                    seen[under] = j
                    switches[n_under] = under
                    n_under += 1
            for k in range(n_under):
                under = switches[k]
                if under == s:
                    continue
                if n_under > 1:
                    sums[4, under] += sign * counts[j, 1]
                    sums[5, under] += sign * counts[j, 2]
                sums[6, under] += sign * counts[j, 3]
    return wrong
