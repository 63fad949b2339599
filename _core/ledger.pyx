"""Giving many pods their nodes at once, and taking them back.

Validation and errors in words are ``workbench.kernels.ledger``' part; that a node has room is the callers'.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t


def add_pods(
    int64_t sign,
    const int32_t[::1] nodes not None,
    const int64_t[:, ::1] rows not None,
    const uint64_t[:, ::1] words,
    int64_t[:, ::1] used not None,
    int64_t[:, ::1] idle not None,
    uint64_t[:, ::1] gpu_free not None,
):
    """Changes ``used``, ``idle`` and ``gpu_free``; one row of ``rows`` serves every pod.

    Answers how many pods it looked at: fewer than there are where one has no such node, and then nothing is changed.
    """
    cdef int64_t n = used.shape[0], r = used.shape[1], w = gpu_free.shape[1], p = nodes.shape[0]
    cdef int64_t i, k, node, amount, step = 1 if rows.shape[0] > 1 else 0
    cdef bint flip = words is not None
    with nogil:
        for i in range(p):
            if not 0 <= nodes[i] < n:
                break
        else:
            for i in range(p):
                node = nodes[i]
                for k in range(r):
                    amount = sign * rows[i * step, k]
                    used[node, k] += amount
                    idle[node, k] -= amount
                if flip:
                    for k in range(w):
                        # Taking and giving back are the same flip: the sets of one call are disjoint.
                        gpu_free[node, k] ^= words[i, k]
            i = p
    return i
