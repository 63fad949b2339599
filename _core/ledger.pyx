"""Adds the resources and GPUs of many pods to their nodes, or removes them; finds the lowest free GPUs of nodes.

Arguments are checked in ``workbench.kernels.ledger``; callers see to it that the nodes have room.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

import numpy as np

from workbench._core.bits cimport popcount
from workbench._core.memory cimport claim, free


cdef void add_rows(
    int64_t sign, int64_t p, const int32_t* nodes, int64_t r, const int64_t* rows, int64_t step, int64_t* used,
    int64_t* idle,
) noexcept nogil:
    cdef int64_t i, k, amount
    for i in range(p):
        for k in range(r):
            amount = sign * rows[i * step + k]
            if amount:
                used[nodes[i] * r + k] += amount
                idle[nodes[i] * r + k] -= amount


def add_pods(
    int64_t sign,
    const int32_t[::1] nodes not None,
    const int64_t[:, ::1] rows not None,
    const uint64_t[:, ::1] words,
    int64_t[:, ::1] used not None,
    int64_t[:, ::1] idle not None,
    uint64_t[:, ::1] gpu_free not None,
):
    """Add pods to their nodes (``sign`` 1) or remove them (-1), changing ``used``, ``idle`` and ``gpu_free`` in place.

    ``rows`` has the request of each pod, or one row for all; ``words`` the GPU mask of each pod, or None. Returns the
    number of pods if all nodes are valid, else the index of the first pod with an invalid node; then nothing is
    changed.
    """
    cdef int64_t n = used.shape[0], r = used.shape[1], w = gpu_free.shape[1], p = nodes.shape[0]
    cdef int64_t i, k, step = r if rows.shape[0] > 1 else 0
    cdef bint flip = words is not None
    with nogil:
        for i in range(p):
            if not 0 <= nodes[i] < n:
                break
        else:
            if p and r:
                add_rows(sign, p, &nodes[0], r, &rows[0, 0], step, &used[0, 0], &idle[0, 0])
            if flip:
                for i in range(p):
                    for k in range(w):
                        # Taking and giving back are the same flip: the sets of one call are disjoint.
                        gpu_free[nodes[i], k] ^= words[i, k]
            i = p
    return i


def whole_nodes(
    const int32_t[::1] nodes not None,
    int64_t n_gpus,
    const uint64_t[:, ::1] gpu_free not None,
    uint64_t[:, ::1] words not None,
):
    """Write into ``words`` the GPUs of pods that each take all ``n_gpus`` free GPUs of a node of their own.

    Returns the number of leading pods for which this holds; all pods, if it equals their number.
    """
    cdef int64_t n = gpu_free.shape[0], w = gpu_free.shape[1], p = nodes.shape[0], i, k, found
    seen_array = np.zeros(n, dtype=np.uint8)
    cdef uint8_t[::1] seen = seen_array
    with nogil:
        for i in range(p):
            if not 0 <= nodes[i] < n or seen[nodes[i]]:
                break
            seen[nodes[i]] = 1
            found = 0
            for k in range(w):
                words[i, k] = gpu_free[nodes[i], k]
                found += popcount(words[i, k])
            if found != n_gpus:
                break
        else:
            i = p
    return i


def lowest_gpus(
    const int32_t[::1] node not None,
    const int32_t[::1] role not None,
    const int64_t[::1] n_gpus not None,
    const uint64_t[:, ::1] gpu_free not None,
):
    """Give each pod in turn the free GPUs with the lowest numbers on its node (-1: the pod has none).

    Returns the GPU masks, uint64 (p, w), and the number of nodes with such pods, -1 if a node has too few free GPUs.
    """
    cdef int64_t p = node.shape[0], w = gpu_free.shape[1], i, k, missing, found, n_nodes = 0, n_slots = 8
    cdef uint64_t lowest, slot
    cdef int32_t* slots
    cdef uint64_t* left
    words_array = np.zeros((p, w), dtype=np.uint64)
    cdef uint64_t[:, ::1] words = words_array
    while n_slots < 2 * p:
        n_slots *= 2
    # What is left of each node met so far, found by hashing its number: the pods may be few and the nodes many.
    left = <uint64_t*>claim(n_slots * (w * sizeof(uint64_t) + sizeof(int32_t)))
    slots = <int32_t*>(left + n_slots * w)
    with nogil:
        memset(slots, 0xFF, n_slots * sizeof(int32_t))
        for i in range(p):
            missing = n_gpus[role[i]]
            if node[i] < 0 or missing == 0:
                continue
            slot = (<uint64_t>node[i] * <uint64_t>0x9E3779B97F4A7C15 >> 32) & <uint64_t>(n_slots - 1)
            while slots[slot] >= 0 and slots[slot] != node[i]:
                slot = (slot + 1) & <uint64_t>(n_slots - 1)
            if slots[slot] < 0:
                slots[slot] = node[i]
                n_nodes += 1
                for k in range(w):
                    left[slot * w + k] = gpu_free[node[i], k]
            for k in range(w):
                found = popcount(left[slot * w + k])
                if found <= missing:
                    words[i, k] = left[slot * w + k]
                    left[slot * w + k] = 0
                    missing -= found
                    continue
                while missing:
                    lowest = left[slot * w + k] & -left[slot * w + k]
                    left[slot * w + k] ^= lowest
                    words[i, k] |= lowest
                    missing -= 1
                break
            if missing:
                n_nodes = -1
                break
    free(left)
    return words_array, n_nodes
