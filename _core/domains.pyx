"""Counts of pods that fit on nodes, and sums over the nodes of domains (HyperNodes)."""

from libc.stdint cimport int32_t, int64_t, uint8_t


def pods_per_node(
    const int64_t[:, ::1] idle not None,
    const int64_t[::1] request not None,
    const uint8_t[::1] feasible,
    int64_t cap,
    int64_t[::1] out not None,
):
    """Write into ``out`` (n,) how many equal pods fit on each of n nodes, at most ``cap`` on one node.

    Row i of ``idle`` (n, r) is what node i has free, ``request`` (r,) what one pod asks for, in the same base units.
    The count is 0 for nodes whose entry in ``feasible`` (n,) is 0; with ``feasible`` None every node may be used.
    """
    cdef int64_t n = idle.shape[0], r = idle.shape[1], i, k, fit, count
    cdef bint masked = feasible is not None
    with nogil:
        for i in range(n):
            fit = cap
            if masked and not feasible[i]:
                fit = 0
            for k in range(r):
                if fit == 0:
                    break
                if request[k] > 0:
                    # A division costs more than the rest: where one pod is asked about, a comparison says it all.
                    if idle[i, k] < request[k]:
                        fit = 0
                    elif fit > 1:
                        count = idle[i, k] // request[k]
                        if count < fit:
                            fit = count
            out[i] = fit


def domain_counts(
    const int64_t[::1] per_node not None,
    const int64_t[::1] start not None,
    const int32_t[::1] members not None,
    int64_t[::1] out not None,
):
    """Write into ``out`` the sum of a per-node number over the nodes of each domain (HyperNode).

    Domain i has the nodes ``members[start[i]:start[i + 1]]``.
    """
    cdef int64_t d = out.shape[0], i, k, total
    with nogil:
        for i in range(d):
            total = 0
            for k in range(start[i], start[i + 1]):
                total += per_node[members[k]]
            out[i] = total
