"""Lowest common ancestors over the HyperNode forest, in bulk.

Two ways to the same answer; the constructor picks one:

packed      every domain has a 63-bit code, the ranks of its path packed level by level (a rank counts siblings
            from 1, so 0 means "the path has ended"). The highest bit in which two codes differ names the level
            where the paths part; the answer is the ancestor above that level:

                code(s4) = 01|01|00      code(s2) = 01|10|01      xor = 00|11|01 -> they part at level 1
                                                                  above[1] of s4 (and of s2): s6

Euler       where the codes need more than 63 bits or a path has more than 15 domains: range minimum over the
            depth-first order (sparse table, O(d log d) memory), two look-ups per pair.

Scores take a shorter way where all domains of one level have the same value (no skipped tiers): the level alone
decides, and a pair costs two loads from an array of 4 d bytes (8 d above 32 bits). A gather of 64-byte rows (code and
path) was tried and is three times slower at 150,000 domains.
"""

cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t, uintptr_t

import numpy as np

from workbench._core.bits cimport clz

cdef enum:
    MAX_PATH = 16  # domains of a path, and the virtual top
    CODE_BITS = 63


ctypedef fused code_t:
    uint32_t
    uint64_t


cdef struct View:
    int64_t d
    const int32_t* parent
    const int32_t* depth
    # packed; entry 0 of codes and of each row of above stands for domain -1
    const uint64_t* codes
    const uint32_t* short_codes  # their upper halves where the lower ones are all 0, else NULL
    const int32_t* above      # above[l * (d + 1) + a + 1]: the ancestor just above level l; last row: a itself
    const int8_t* level_of    # leading zeros of the xor -> level where the paths part
    # Euler
    const int32_t* first      # position in depth-first order
    const int32_t* sparse     # sparse[k * d + i]: shallowest parent met in positions i .. i + 2**k - 1


cdef inline int32_t meet_packed(const View* view, int32_t a, int32_t b) noexcept nogil:
    cdef uint64_t apart = view.codes[<int64_t>a + 1] ^ view.codes[<int64_t>b + 1]
    # Codes use bits 1..63, so bit 0 stands for "no difference" and clz never sees zero.
    return view.above[view.level_of[clz(apart | 1)] * (view.d + 1) + a + 1]


cdef inline int32_t meet_euler(const View* view, int32_t a, int32_t b) noexcept nogil:
    cdef int32_t low, high, left, right, k
    if a < 0 or b < 0:
        return -1
    if a == b:
        return a
    low = view.first[a]
    high = view.first[b]
    if low > high:
        low, high = high, low
    # The shallowest domain among positions low+1..high is a child of the answer.
    low += 1
    k = 63 - clz(<uint64_t>(high - low + 1))
    left = view.sparse[k * view.d + low]
    right = view.sparse[k * view.d + high - (1 << k) + 1]
    if left < 0 or right < 0:
        return -1
    return left if view.depth[left] <= view.depth[right] else right


cdef void fill_lca(const View* view, bint packed, const int32_t* a, const int32_t* b, int64_t m, int32_t* out) noexcept nogil:
    cdef int64_t i
    if packed:
        for i in range(m):
            out[i] = meet_packed(view, a[i], b[i])
    else:
        for i in range(m):
            out[i] = meet_euler(view, a[i], b[i])


cdef void fill_scores(
    const View* view, bint packed, const int32_t* a, const int32_t* b, int64_t m,
    const double* table, const double* own, double* out,
) noexcept nogil:
    # table[x + 1] is the value of LCA x, own[a + 1] the value where both sides are a.
    cdef int64_t i
    for i in range(m):
        if a[i] == b[i]:
            out[i] = own[<int64_t>a[i] + 1]
        elif packed:
            out[i] = table[<int64_t>meet_packed(view, a[i], b[i]) + 1]
        else:
            out[i] = table[<int64_t>meet_euler(view, a[i], b[i]) + 1]


cdef void fill_scores_by_level(
    const code_t* codes, int up, const int32_t* a, const int32_t* b, int64_t m,
    const double* by_zeros, const double* own, double* out,
) noexcept nogil:
    cdef int64_t i
    cdef uint64_t apart
    for i in range(m):
        apart = <uint64_t>(codes[<int64_t>a[i] + 1] ^ codes[<int64_t>b[i] + 1]) << up
        out[i] = by_zeros[clz(apart | 1)] if apart else own[<int64_t>a[i] + 1]


cdef bint level_values(const View* view, const double* table, int levels, double* by_level) noexcept nogil:
    """Find the value that all domains (HyperNodes) of each level share and write it into ``by_level``.

    False if two values differ.

    ``table`` has the value of the virtual top, then of each domain; ``by_level[0]`` is that of the virtual top.
    """
    cdef bint seen[MAX_PATH]
    cdef int64_t i
    cdef int level
    for level in range(levels + 1):
        seen[level] = False
    by_level[0] = table[0]
    for i in range(view.d):
        level = view.depth[i] + 1
        if not seen[level]:
            seen[level] = True
            by_level[level] = table[i + 1]
        elif by_level[level] != table[i + 1]:
            return False
    return True


@cython.final
@cython.auto_pickle(False)
cdef class Forest:
    """HyperNodes as a forest of d domains, for lowest common ancestors (LCA); a cycle of parents raises.

    The contract is in ``workbench.kernels.tiers``; other arguments are trusted.
    """

    cdef readonly object parent, depth
    cdef readonly bint packed
    cdef readonly int64_t size
    cdef int levels
    cdef View view
    cdef object keep

    def __cinit__(self, const int32_t[::1] parent not None):
        cdef int64_t d = parent.shape[0]
        self.size = d
        parent_array = np.array(parent, dtype=np.int32)
        # Children of each domain, ascending; entry d holds the roots.
        slots = np.where(parent_array < 0, d, parent_array)
        children_array = np.argsort(slots, kind="stable").astype(np.int32)
        start_array = np.zeros(d + 2, dtype=np.int64)
        np.cumsum(np.bincount(slots, minlength=d + 1), out=start_array[1:])
        order_array = np.empty(d, dtype=np.int32)
        depth_array = np.full(d, -1, dtype=np.int32)
        rank_array = np.zeros(d, dtype=np.int32)
        cdef const int32_t[::1] children = children_array
        cdef const int64_t[::1] start = start_array
        cdef int32_t[::1] order = order_array
        cdef int32_t[::1] depth = depth_array
        cdef int32_t[::1] rank = rank_array
        cdef int64_t done = 0, head, i
        cdef int32_t domain, child
        for i in range(start[d], start[d + 1]):
            order[done] = children[i]
            depth[children[i]] = 0
            rank[children[i]] = <int32_t>(i - start[d] + 1)
            done += 1
        head = 0
        while head < done:
            domain = order[head]
            head += 1
            for i in range(start[domain], start[domain + 1]):
                child = children[i]
                depth[child] = depth[domain] + 1
                rank[child] = <int32_t>(i - start[domain] + 1)
                order[done] = child
                done += 1
        if done < d:
            stranded = int(np.argmin(depth_array))
            raise ValueError(f"domain {stranded} is on a cycle of parents or below one")
        parent_array.flags.writeable = False
        depth_array.flags.writeable = False
        self.parent = parent_array
        self.depth = depth_array
        self.keep = []
        self.view.parent = self.pin(parent_array)
        self.view.depth = self.pin(depth_array)
        self.view.d = d
        levels = int(depth_array.max()) + 1 if d else 0
        widths = []
        if levels < MAX_PATH:
            widest = np.zeros(levels, dtype=np.int64)
            np.maximum.at(widest, depth_array, rank_array)
            widths = [int(w).bit_length() for w in widest]
        self.packed = levels < MAX_PATH and sum(widths) <= CODE_BITS
        self.levels = levels
        if self.packed:
            self.pack(order, rank, widths)
        else:
            self.tour(children, start)

    cdef const int32_t* pin(self, array) except? NULL:
        """Address of an array's entries; the forest keeps the array alive."""
        self.keep.append(array)
        return <const int32_t*><uintptr_t>array.ctypes.data

    cdef int pack(self, const int32_t[::1] order, const int32_t[::1] rank, list widths) except -1:
        cdef int levels = self.levels, level, low = 64
        cdef int64_t d = self.size, i
        cdef int shifts[MAX_PATH]
        cdef int32_t domain, up
        codes_array = np.zeros(d + 1, dtype=np.uint64)
        above_array = np.full((levels + 1, d + 1), -1, dtype=np.int32)
        level_array = np.full(64, levels, dtype=np.int8)
        bit = 0
        for level in range(levels):
            low -= widths[level]
            shifts[level] = low
            level_array[bit:bit + widths[level]] = level
            bit += widths[level]
        cdef uint64_t[::1] codes = codes_array
        cdef int32_t[:, ::1] above = above_array
        for i in range(d):
            domain = order[i]
            up = self.view.parent[domain]
            codes[domain + 1] = codes[up + 1] | <uint64_t>rank[domain] << shifts[self.view.depth[domain]]
            for level in range(1, self.view.depth[domain] + 1):
                above[level, domain + 1] = above[level, up + 1]
            for level in range(self.view.depth[domain] + 1, levels + 1):
                above[level, domain + 1] = domain
        self.view.short_codes = NULL
        if low >= 32:
            # Half the bytes: 150,000 domains then stay in the second-level cache.
            self.view.short_codes = <const uint32_t*>self.pin((codes_array >> 32).astype(np.uint32))
        self.view.codes = <const uint64_t*>self.pin(codes_array)
        self.view.above = self.pin(above_array)
        self.view.level_of = <const int8_t*>self.pin(level_array)
        return 0

    cdef int tour(self, const int32_t[::1] children, const int64_t[::1] start) except -1:
        cdef int64_t d = self.size, i, k, span, done = 0, top = 0
        first_array = np.empty(d, dtype=np.int32)
        stack_array = np.empty(d, dtype=np.int32)
        rows = max(1, int(d).bit_length())
        sparse_array = np.empty((rows, d), dtype=np.int32)
        cdef int32_t[::1] first = first_array
        cdef int32_t[::1] stack = stack_array
        cdef int32_t[:, ::1] sparse = sparse_array
        cdef const int32_t* parent = self.view.parent
        cdef const int32_t* depth = self.view.depth
        cdef int32_t domain, left, right
        # The stack never holds more than the domains not yet visited.
        for i in range(start[d + 1] - 1, start[d] - 1, -1):
            stack[top] = children[i]
            top += 1
        while top:
            top -= 1
            domain = stack[top]
            first[domain] = <int32_t>done
            sparse[0, done] = parent[domain]
            done += 1
            for i in range(start[domain + 1] - 1, start[domain] - 1, -1):
                stack[top] = children[i]
                top += 1
        k = 1
        while (1 << k) <= d:
            span = 1 << (k - 1)
            for i in range(d - (1 << k) + 1):
                left = sparse[k - 1, i]
                right = sparse[k - 1, i + span]
                if left < 0 or right < 0:
                    sparse[k, i] = -1
                else:
                    sparse[k, i] = left if depth[left] <= depth[right] else right
            k += 1
        self.view.first = self.pin(first_array)
        self.view.sparse = self.pin(sparse_array)
        return 0

    def lca(self, const int32_t[::1] a not None, const int32_t[::1] b not None, int32_t[::1] out not None):
        """Write the lowest common ancestor of each pair of domains (HyperNodes) into ``out``; -1 is the virtual top."""
        cdef int64_t m = a.shape[0]
        if m:
            with nogil:
                fill_lca(&self.view, self.packed, &a[0], &b[0], m, &out[0])

    def lca_against(self, const int32_t[::1] a not None, int32_t b, int32_t[::1] out not None):
        """Write the lowest common ancestor of ``b`` and each domain (HyperNode) of ``a`` into ``out``."""
        cdef int64_t i
        with nogil:
            for i in range(a.shape[0]):
                out[i] = meet_packed(&self.view, a[i], b) if self.packed else meet_euler(&self.view, a[i], b)

    def scores(
        self,
        const int32_t[::1] a not None,
        const int32_t[::1] b not None,
        const double[::1] table not None,
        const double[::1] own not None,
        double[::1] out not None,
    ):
        """Write a score per pair of HyperNodes into ``out``: ``table`` at the pair's lowest common ancestor + 1.

        Where both are the same domain, ``own`` at that domain + 1 is written instead.
        """
        cdef int64_t m = a.shape[0]
        cdef double by_level[MAX_PATH]
        cdef double by_zeros[64]
        cdef int zeros
        if m == 0:
            return
        with nogil:
            if self.packed and level_values(&self.view, &table[0], self.levels, by_level):
                for zeros in range(64):
                    by_zeros[zeros] = by_level[self.view.level_of[zeros]]
                if self.view.short_codes != NULL:
                    fill_scores_by_level(self.view.short_codes, 32, &a[0], &b[0], m, by_zeros, &own[0], &out[0])
                else:
                    fill_scores_by_level(self.view.codes, 0, &a[0], &b[0], m, by_zeros, &own[0], &out[0])
            else:
                fill_scores(&self.view, self.packed, &a[0], &b[0], m, &table[0], &own[0], &out[0])

    def path(self, int32_t domain):
        """Ancestors of one domain (HyperNode), itself first, its root last."""
        cdef int64_t length = 0 if domain < 0 else self.view.depth[domain] + 1, i
        out_array = np.empty(length, dtype=np.int32)
        cdef int32_t[::1] out = out_array
        for i in range(length):
            out[i] = domain
            domain = self.view.parent[domain]
        return out_array
