"""Bottleneck bandwidths of many sets of devices, and groups of nodes with equal resources.

The bottleneck of a set is its lowest pair weight.

Owns the values only, for tables over many states; choosing a set, ties and certificates are in ``bottleneck``.
Validation and error messages are in ``workbench.kernels.states``.
"""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcmp

import numpy as np

from workbench._core.bits cimport ctz, popcount

cdef int TABLE_DEVICES = 16


def best_bottlenecks(const double[:, ::1] pair_weight):
    """The best bottleneck (lowest pair weight) that k devices can have, for every mask of free devices and every k.

    Parameters
    ----------
    pair_weight : ndarray of shape (n, n), float64, C-contiguous
        Weight of the pair i, j, the same at [j, i]; the diagonal is ignored. 1 <= n <= 16. No NaN.

    Returns
    -------
    ndarray of shape (2^n, n + 1), float64
        Entry [mask, k]: inf for k = 1, NaN where the mask has fewer than k devices and for k = 0.

    Notes
    -----
    A mask of k devices is its own best set; of a larger one the best set misses some device, so that the best of the
    masks with one device less is the best. 2^n masks times n devices times at most n sizes: 10 us for n = 8, about
    4 ms and 9 MB for n = 16.
    """
    cdef int n = <int>pair_weight.shape[0]
    if n < 1 or n > TABLE_DEVICES or pair_weight.shape[1] != n:
        raise ValueError(f"pair_weight: shape (n, n) with 1 <= n <= {TABLE_DEVICES} expected")
    table = np.full((1 << n, n + 1), NAN)
    cdef double[:, ::1] best = table
    cdef double value, weight
    cdef int mask, rest, without, low, k, count, size = 1 << n
    with nogil:
        for mask in range(1, size):
            count = popcount(<uint64_t>mask)
            low = ctz(<uint64_t>mask)
            rest = mask & (mask - 1)
            # The whole mask: the rest of it, and the pairs of its lowest device.
            value = best[rest, count - 1] if count > 1 else INFINITY
            while rest:
                weight = pair_weight[low, ctz(<uint64_t>rest)]
                value = weight if weight < value else value
                rest &= rest - 1
            best[mask, count] = value
            if count == 1:
                continue
            for k in range(1, count):
                best[mask, k] = -INFINITY
            rest = mask
            while rest:
                without = mask & ~(rest & -rest)
                rest &= rest - 1
                for k in range(1, count):
                    if best[without, k] > best[mask, k]:
                        best[mask, k] = best[without, k]
    return table


def bottlenecks(const double[:, ::1] pair_weight, const uint64_t[:, ::1] sets):
    """Lowest pair weight within each of m sets of devices.

    Parameters
    ----------
    pair_weight : ndarray of shape (n, n), float64, C-contiguous
        As in `best_bottlenecks`; any n.
    sets : ndarray of shape (m, words), uint64, C-contiguous
        Masks as little-endian words, (n + 63) // 64 of them.

    Returns
    -------
    ndarray of shape (m,), float64
        inf for sets of fewer than two devices.
    """
    cdef int n = <int>pair_weight.shape[0], words = (n + 63) >> 6, top = n & 63
    cdef Py_ssize_t m = sets.shape[0], row
    cdef int i, j, word, count
    cdef uint64_t rest
    cdef double value
    if n < 1 or pair_weight.shape[1] != n or sets.shape[1] != words:
        raise ValueError("pair_weight of shape (n, n) and sets of (n + 63) // 64 words expected")
    values = np.empty(m, dtype=np.float64)
    members = np.empty(n, dtype=np.intc)
    cdef double[::1] out = values
    cdef int[::1] member = members
    for row in range(m):
        if top and sets[row, words - 1] >> top:
            raise ValueError(f"sets: masks of {n} devices expected")
    with nogil:
        for row in range(m):
            count = 0
            for word in range(words):
                rest = sets[row, word]
                while rest:
                    member[count] = 64 * word + ctz(rest)
                    count += 1
                    rest &= rest - 1
            value = INFINITY
            for i in range(count):
                for j in range(i + 1, count):
                    if pair_weight[member[i], member[j]] < value:
                        value = pair_weight[member[i], member[j]]
            out[row] = value
    return values


cdef bint same_question(
    int64_t a, int64_t b, const int32_t* matrix, const uint64_t* free, int64_t words, const int64_t* wanted,
    const int64_t* first, const int64_t* count,
) noexcept nogil:
    cdef int64_t k
    if matrix[a] != matrix[b] or count[a] != count[b]:
        return False
    for k in range(words):
        if free[a * words + k] != free[b * words + k]:
            return False
    for k in range(count[a]):
        if wanted[first[a] + k] != wanted[first[b] + k]:
            return False
    return True


def kinds_of_nodes(
    const int32_t[::1] matrix not None,
    const uint64_t[:, ::1] free not None,
    const int64_t[::1] wanted not None,
    const int64_t[::1] first not None,
    const int64_t[::1] count not None,
):
    """Group nodes with equal bandwidth matrix and free devices whose pods have equal requests in equal order.

    Parameters
    ----------
    matrix : ndarray of shape (m,), int32
        Matrix of each node.
    free : ndarray of shape (m, words), uint64
        Free devices of each node.
    wanted : ndarray of int64
        ``wanted[first[i]:first[i] + count[i]]`` are the requests of the pods of node i.
    first, count : ndarray of shape (m,), int64

    Returns
    -------
    kinds : ndarray of shape (m,), int32
        Number of each node's kind, in the order in which kinds come first.
    firsts : ndarray of shape (kinds,), int64
        First node of each kind.
    """
    cdef int64_t m = matrix.shape[0], words = free.shape[1], i, k, n_slots = 8
    cdef int32_t n_kinds = 0
    cdef uint64_t hashed, slot
    kinds_array = np.empty(m, dtype=np.int32)
    firsts_array = np.empty(m, dtype=np.int64)
    if m == 0:
        return kinds_array, firsts_array
    while n_slots < 2 * m:
        n_slots *= 2
    slots_array = np.full(n_slots, -1, dtype=np.int64)
    cdef int64_t[::1] slots = slots_array, firsts = firsts_array
    cdef int32_t[::1] kinds = kinds_array
    with nogil:
        for i in range(m):
            # Neighbours are often alike, and to compare them is cheaper than to hash one.
            if i and same_question(
                i, i - 1, &matrix[0], &free[0, 0] if words else NULL, words, &wanted[0], &first[0], &count[0]
            ):
                kinds[i] = kinds[i - 1]
                continue
            hashed = <uint64_t>matrix[i]
            for k in range(words):
                hashed = (hashed ^ free[i, k]) * <uint64_t>0x9E3779B97F4A7C15
                hashed ^= hashed >> 29
            for k in range(first[i], first[i] + count[i]):
                hashed = (hashed ^ <uint64_t>wanted[k]) * <uint64_t>0x9E3779B97F4A7C15
                hashed ^= hashed >> 29
            slot = hashed & <uint64_t>(n_slots - 1)
            # A slot holds the first node of its kind.
            while slots[slot] >= 0 and not same_question(
                i, slots[slot], &matrix[0], &free[0, 0] if words else NULL, words, &wanted[0], &first[0], &count[0]
            ):
                slot = (slot + 1) & <uint64_t>(n_slots - 1)
            if slots[slot] < 0:
                slots[slot] = i
                kinds[i] = n_kinds
                firsts[n_kinds] = i
                n_kinds += 1
            else:
                kinds[i] = kinds[slots[slot]]
    return kinds_array, firsts_array[:n_kinds]


cdef inline bint same_amounts(
    const int64_t[:, ::1] idle, const int64_t[:, ::1] used, const int64_t[:, ::1] allocatable, int64_t a, int64_t b
) noexcept nogil:
    cdef size_t row = idle.shape[1] * sizeof(int64_t)
    return (
        memcmp(&idle[a, 0], &idle[b, 0], row) == 0
        and memcmp(&used[a, 0], &used[b, 0], row) == 0
        and memcmp(&allocatable[a, 0], &allocatable[b, 0], row) == 0
    )


def states_of_nodes(
    const int64_t[:, ::1] idle not None, const int64_t[:, ::1] used not None, const int64_t[:, ::1] allocatable not None
):
    """Group nodes whose idle, used and allocatable amounts are all equal; such a group is called a state.

    Parameters
    ----------
    idle, used, allocatable : ndarray of shape (n, r), int64, C-contiguous

    Returns
    -------
    state_of : ndarray of shape (n,), int32
        Number of each node's state, in the order in which states come first.
    first : ndarray of shape (states,), int32
        First node of each state.
    """
    cdef int64_t n = idle.shape[0], r = idle.shape[1], i, k, n_slots = 8
    cdef int32_t n_states = 0
    cdef uint64_t hashed, slot
    state_array = np.zeros(n, dtype=np.int32)
    first_array = np.zeros(n, dtype=np.int32)
    if n == 0 or r == 0:
        return state_array, first_array[:1]
    while n_slots < 2 * n:
        n_slots *= 2
    slots_array = np.full(n_slots, -1, dtype=np.int32)
    cdef int32_t[::1] slots = slots_array
    cdef int32_t[::1] state_of = state_array
    cdef int32_t[::1] first = first_array
    with nogil:
        for i in range(n):
            if i and same_amounts(idle, used, allocatable, i, i - 1):
                state_of[i] = state_of[i - 1]
                continue
            hashed = 0
            for k in range(r):
                hashed = (hashed ^ <uint64_t>idle[i, k]) * <uint64_t>0x9E3779B97F4A7C15
                hashed ^= hashed >> 29
                hashed = (hashed ^ <uint64_t>used[i, k]) * <uint64_t>0x9E3779B97F4A7C15
                hashed ^= hashed >> 29
                hashed = (hashed ^ <uint64_t>allocatable[i, k]) * <uint64_t>0x9E3779B97F4A7C15
                hashed ^= hashed >> 29
            slot = hashed & <uint64_t>(n_slots - 1)
            while slots[slot] >= 0 and not same_amounts(idle, used, allocatable, i, first[slots[slot]]):
                slot = (slot + 1) & <uint64_t>(n_slots - 1)
            if slots[slot] < 0:
                slots[slot] = n_states
                first[n_states] = <int32_t>i
                n_states += 1
            state_of[i] = slots[slot]
    return state_array, first_array[:n_states].copy()
