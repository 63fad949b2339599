"""Max-min fair rates of bundles of flows over links, by progressive filling.

The rules and the arguments are described, and checked, in ``workbench.kernels.fair_rates``.

The level at which a link fills never falls while bundles stop, so that a heap of links need not be told of changes:
the level of the link at its top is computed anew, and sinks if it has risen.
"""

from libc.stdint cimport int32_t, int64_t

import numpy as np


cdef inline bint earlier(double a, int32_t link_a, double b, int32_t link_b) noexcept nogil:
    return a < b or (a == b and link_a < link_b)


cdef void sink(int32_t* heap, const double* level, int64_t at, int64_t size) noexcept nogil:
    cdef int32_t moved = heap[at]
    cdef int64_t below
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and earlier(level[heap[below + 1]], heap[below + 1], level[heap[below]], heap[below]):
            below += 1
        if not earlier(level[heap[below]], heap[below], level[moved], moved):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = moved


cdef class _Filling:
    """The links while the rates rise."""

    cdef const int64_t[::1] start
    cdef const int32_t[::1] link
    cdef const double[::1] load, weight, demand
    # By link: what is left of it, the load of the open bundles at level 1, their number, the level at which it fills.
    cdef double[::1] left, rising, level
    cdef int64_t[::1] open
    cdef double[::1] rate
    cdef unsigned char[::1] stopped

    cdef void stop(self, int64_t bundle, double rate) noexcept nogil:
        cdef int64_t at
        cdef int32_t link
        self.stopped[bundle] = 1
        self.rate[bundle] = rate
        for at in range(self.start[bundle], self.start[bundle + 1]):
            link = self.link[at]
            self.left[link] -= rate * self.load[at]
            self.rising[link] -= self.weight[bundle] * self.load[at]
            self.open[link] -= 1

    cdef void fill(
        self, int32_t[::1] heap, const int64_t[::1] first, const int32_t[::1] member, const int64_t[::1] wishes
    ) noexcept nogil:
        cdef int64_t size = heap.shape[0], next_wish = 0, at, bundle, n_wishes = wishes.shape[0]
        cdef double now = 0, full, wished
        cdef int32_t link
        for at in range(size // 2 - 1, -1, -1):
            sink(&heap[0], &self.level[0], at, size)
        while size:
            link = heap[0]
            if not self.open[link]:
                size -= 1
                heap[0] = heap[size]
                sink(&heap[0], &self.level[0], 0, size)
                continue
            full = self.left[link] / self.rising[link] if self.left[link] > 0 else 0.0
            if full < now:
                full = now
            if full > self.level[link]:
                self.level[link] = full
                sink(&heap[0], &self.level[0], 0, size)
                continue
            while next_wish < n_wishes and self.stopped[wishes[next_wish]]:
                next_wish += 1
            if next_wish < n_wishes:
                bundle = wishes[next_wish]
                wished = self.demand[bundle] / self.weight[bundle]
                if wished <= full:
                    now = wished
                    self.stop(bundle, self.demand[bundle])
                    continue
            now = full
            for at in range(first[link], first[link + 1]):
                if not self.stopped[member[at]]:
                    self.stop(member[at], now * self.weight[member[at]])


def fair_rates(
    const int64_t[::1] start,
    const int32_t[::1] link,
    const double[::1] load,
    const double[::1] weight,
    const double[::1] demand,
    const double[::1] capacity,
):
    """Rate of each bundle; see ``workbench.kernels.fair_rates``."""
    cdef _Filling filling = _Filling()
    cdef int64_t bundles = weight.shape[0], links = capacity.shape[0], bundle, at
    cdef int64_t[::1] first = np.zeros(links + 1, dtype=np.int64), place
    cdef int32_t[::1] member = np.empty(link.shape[0], dtype=np.int32)
    filling.start, filling.link, filling.load = start, link, load
    filling.weight, filling.demand = weight, demand
    filling.left = np.array(capacity)
    filling.rising = np.zeros(links)
    filling.open = np.zeros(links, dtype=np.int64)
    rate = np.array(demand)
    filling.rate = rate
    filling.stopped = np.zeros(bundles, dtype=np.uint8)
    for bundle in range(bundles):
        for at in range(start[bundle], start[bundle + 1]):
            filling.open[link[at]] += 1
            filling.rising[link[at]] += weight[bundle] * load[at]
    for at in range(links):
        first[at + 1] = first[at] + filling.open[at]
    place = np.array(first)
    for bundle in range(bundles):
        for at in range(start[bundle], start[bundle + 1]):
            member[place[link[at]]] = bundle
            place[link[at]] += 1
    heap = np.flatnonzero(np.asarray(filling.open)).astype(np.int32)
    filling.level = np.zeros(links)
    limited = np.flatnonzero((np.diff(start) > 0) & np.isfinite(demand))
    wishes = limited[np.argsort(np.asarray(demand)[limited] / np.asarray(weight)[limited], kind="stable")]
    if len(heap):
        filling.fill(heap, first, member, wishes.astype(np.int64))
    return rate
