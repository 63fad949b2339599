"""Counting how many pods fit on nodes and in domains, and in which tier."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

import numpy as np


def pods_per_node(
    const int64_t[:, ::1] idle not None,
    const int64_t[::1] request not None,
    const uint8_t[::1] feasible,
    int64_t cap,
    int64_t[::1] out not None,
):
    """Write into ``out`` how many pods that each take ``request`` fit on every node, at most ``cap``."""
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
    """Write into ``out`` the sum of ``per_node`` over the ``members`` of every domain."""
    cdef int64_t d = out.shape[0], i, k, total
    with nogil:
        for i in range(d):
            total = 0
            for k in range(start[i], start[i + 1]):
                total += per_node[members[k]]
            out[i] = total


def domain_counts_spans(
    const int64_t[::1] per_node not None,
    const int32_t[:, ::1] spans not None,
    int64_t[::1] prefix not None,
    int64_t[::1] out not None,
):
    """Write into ``out`` the sum of ``per_node`` over every domain, each an interval of nodes.

    ``prefix`` is scratch.
    """
    cdef int64_t n = per_node.shape[0], d = spans.shape[0], i
    with nogil:
        prefix[0] = 0
        for i in range(n):
            prefix[i + 1] = prefix[i] + per_node[i]
        for i in range(d):
            out[i] = prefix[spans[i, 1]] - prefix[spans[i, 0]]


def lowest_tier_with_fit(
    const int64_t[::1] counts not None, const int32_t[::1] tier not None, int64_t need, bint limited, int64_t highest
):
    """Lowest tier with a fitting domain, and its fitting domains, ascending; None if there is none."""
    cdef int64_t d = counts.shape[0], i, best = INT64_MAX, found = 0
    with nogil:
        for i in range(d):
            if counts[i] >= need and (not limited or tier[i] <= highest):
                if tier[i] < best:
                    best = tier[i]
                    found = 0
                if tier[i] == best:
                    found += 1
    if found == 0:
        return None
    domains_array = np.empty(found, dtype=np.int32)
    cdef int32_t[::1] domains = domains_array
    found = 0
    for i in range(d):
        if counts[i] >= need and tier[i] == best:
            domains[found] = <int32_t>i
            found += 1
    return int(best), domains_array
