"""The division of a set of devices among pods, for machines of up to 16 devices."""

from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memcmp, memcpy

import numpy as np


cdef class Dealer:
    """Divides devices among pods so that the pods' lowest pair weights are best, by dynamic programming over masks.

    ``list_of[mask]`` is the ascending list of lowest-weight ranks of the best deal, as 16 bytes (255: one device, and
    the filling behind the last pod), so that comparing bytes compares lists. A list plus one more pod keeps its order,
    therefore the best deal of a mask is made of a first pod and the best deal of the rest.
    """

    cdef int prepare(self, uint8_t[::1] level_of, int n_pods, int* size_of) except -1:
        """Divide among ``n_pods`` pods of falling sizes; ``level_of`` has the lowest weight rank in each mask."""
        cdef int j
        self.level_of = level_of
        self.n_pods = n_pods
        for j in range(n_pods - 1, -1, -1):
            self.size_of[j] = size_of[j]
            self.same_to_end[j] = size_of[j] == size_of[n_pods - 1]
        self.list_of = np.full((level_of.shape[0], 16), 255, dtype=np.uint8)
        self.known = np.zeros(level_of.shape[0], dtype=np.uint8)
        self.known[0] = 1
        return 0

    cdef void _merge(self, uint16_t pod, uint16_t rest, uint8_t* out) noexcept nogil:
        cdef uint8_t level = self.level_of[pod]
        cdef const uint8_t* tail = &self.list_of[rest, 0]
        cdef int i = 0
        while i < 15 and tail[i] <= level and tail[i] != 255:
            out[i] = tail[i]
            i += 1
        out[i] = level
        while i < 15:
            out[i + 1] = tail[i]
            i += 1

    cdef void _solve(self, uint16_t mask, int j) noexcept nogil:
        """Compute and store the best division of the devices in ``mask`` among the pods from number ``j`` on."""
        cdef uint8_t merged[16]
        cdef uint8_t* best = &self.list_of[mask, 0]
        cdef uint16_t pod, rest, forced = 0, choice
        cdef bint first = True
        cdef int k = self.size_of[j]
        if self.known[mask]:
            return
        self.known[mask] = 1
        if self.same_to_end[j]:
            # Equal pods only: one of them holds the lowest device, so let it be this one.
            forced = mask & -mask
        choice = mask & ~forced
        pod = first_subset(choice, k - (1 if forced else 0))
        while True:
            rest = mask & ~(pod | forced)
            self._solve(rest, j + 1)
            self._merge(pod | forced, rest, merged)
            if first or memcmp(merged, best, 16) > 0:
                memcpy(best, merged, 16)
                first = False
            pod = next_subset(choice, pod)
            if pod == 0:
                break

    cdef bytes best(self, uint16_t union):
        """The ascending list of the best division of the devices in ``union``, as 16 bytes."""
        with nogil:
            self._solve(union, 0)
        return bytes(self.list_of[union, :])

    cdef list listed(self, uint16_t union, Py_ssize_t limit):
        """List at most ``limit`` best divisions of the devices in ``union`` among the pods, as lists of masks.

        Of equal pods the lexicographically smaller set comes first.
        """
        rows = []
        self._list(union, 0, [], rows, limit)
        return rows

    cdef _list(self, uint16_t mask, int j, list done, list rows, Py_ssize_t limit):
        cdef uint8_t merged[16]
        cdef uint16_t pod, rest
        if len(rows) >= limit:
            return
        if j == self.n_pods:
            rows.append(list(done))
            return
        # All subsets of the mask in lexicographic order; equal pods must follow their predecessor, and when only equal
        # ones are left, the first of them holds the lowest device, as all subsets up to here do.
        for pod in subsets_in_order(mask, self.size_of[j]):
            if j and self.size_of[j] == self.size_of[j - 1]:
                if (pod & -pod) < (<int>done[j - 1] & -<int>done[j - 1]):
                    continue
            if self.same_to_end[j] and not pod & mask & -mask:
                break
            rest = mask & ~pod
            self._solve(rest, j + 1)
            self._merge(pod, rest, merged)
            if memcmp(merged, &self.list_of[mask, 0], 16) == 0:
                done.append(pod)
                self._list(rest, j + 1, done, rows, limit)
                done.pop()
            if len(rows) >= limit:
                return


cdef inline uint16_t first_subset(uint16_t choice, int k) noexcept nogil:
    """Mask of the ``k`` lowest devices of the set ``choice``."""
    cdef uint16_t out = 0, low
    while k:
        low = choice & -choice
        out |= low
        choice ^= low
        k -= 1
    return out


cdef inline uint16_t next_subset(uint16_t choice, uint16_t subset) noexcept nogil:
    """Next larger mask inside ``choice`` with as many bits as ``subset``.

    0 after the last one, and for the empty set.
    """
    cdef int member = 0, moved = 0, i
    cdef uint16_t rest = choice, bit
    cdef uint16_t seen = 0
    if subset == 0:
        return 0
    # Find the lowest member of `subset` whose successor in `choice` is not a member.
    while rest:
        bit = rest & -rest
        rest ^= bit
        if subset & bit:
            member += 1
            seen |= bit
            if rest and not subset & (rest & -rest):
                bit = rest & -rest
                subset = (subset & ~seen) | bit
                return subset | first_subset(choice, member - 1)
    return 0


cdef list subsets_in_order(uint16_t mask, int k):
    cdef uint16_t subset = first_subset(mask, k)
    out = []
    while True:
        out.append(subset)
        subset = next_subset(mask, subset)
        if subset == 0:
            break
    out.sort(key=lambda m: [i for i in range(16) if m >> i & 1])
    return out
