"""The set of k devices whose slowest pair is fastest, exactly, with its ties.

Owns: the two engines below and which of them answers, an upper bound, and the questions of Python. Does not own: the
search by cliques (``clique_search``), the choice among ties and their list (``tied_sets``, ``set_query``), the order of
all subsets (``subset_tables``), the division of a set among pods (``deal``); validation and errors in words
(``workbench.kernels.bottleneck``), symmetrising, link classes.

Objective of a set: the lowest link class among its pairs, then the lowest pair weight; without classes the weight
alone. Ties have the same objective; among them (docs/decisions.md, decision 1) the one wins that

(a) leaves the best objective for another k free devices (ignoring ``require``), nothing left being worst,
(b) has the larger ascending vector of pair weights: at the lowest weight where two sets differ, fewer pairs,
(c) is lexicographically smallest as an ascending list.

Two engines, same answers where both finish:

- n <= 16, tables: every subset's objective; per k the subsets in falling order of (objective, b, c), so that the first
  one inside ``free`` is a best one and scanning its ties in order decides (b) and (c); and the best value left in every
  free mask, which decides (a) in one look-up. n <= 8 tabulates the answers themselves.
- above, search: binary search over classes, then over weights; is there a k-clique among the pairs at least that
  fast? Core reduction, "the core is a clique", greedy colouring. Then a lexicographic search of the ties.

Work is counted in *units*, roughly words of bitset read: a budget in units cuts the same search at the same place on
every machine, which a clock would not.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport malloc
from libc.stdlib cimport free as release
from libc.string cimport memcpy, memset

import numpy as np

from workbench._core.bits cimport clz, ctz, popcount
from workbench._core.clique_search cimport (
    NO,
    POLL,
    UNLIMITED,
    YES,
    Search,
    core_bound,
    count_words,
    has,
    inside,
    look_up,
)
from workbench._core.deal cimport Dealer
from workbench._core.set_query cimport SetQuery
from workbench._core.subset_tables cimport (
    Entry,
    Machine,
    compare_vectors,
    reversed_mask,
    scan,
    sort_entries,
    vector_key,
)
from workbench._core.tied_sets cimport Ties

cdef int MAX_DEVICES = 1024
cdef int TABLE_DEVICES = 16
cdef int ANSWER_DEVICES = 8
# Adjacency for each threshold is kept when there are few; noise makes as many thresholds as pairs.
cdef int KEPT_LEVELS = 32


cdef class Solver:
    """Finds sets of k devices (GPUs) of one machine whose slowest pair is fastest; device sets are passed as bit masks.

    Parameters
    ----------
    pair_weight : ndarray of shape (n, n), float64, C-contiguous
        Weight of the pair i, j, the same at [j, i]; the diagonal is ignored. 1 <= n <= 1024. No NaN.
    link_class : ndarray of shape (n, n), int32, C-contiguous, or None
        Class of the pair, higher is faster, symmetric; the diagonal is ignored.

    Notes
    -----
    Memory: n <= 8 about 6 KB of tables, n = 16 about 1.4 MB once a query needed them; above, 4 n^2 bytes of ranks (8
    with classes) and n^2 / 8 bytes for each kept threshold.
    """

    cdef readonly int n
    cdef readonly int words
    cdef readonly int64_t default_budget
    cdef int n_levels
    cdef int n_classes
    cdef double[::1] levels
    cdef int32_t[:, ::1] rank
    cdef int32_t[:, ::1] cls
    cdef bint by_class
    cdef bint has_classes
    cdef uint64_t[:, :, ::1] level_adj
    cdef uint64_t[:, :, ::1] class_adj
    cdef bint keeps_levels
    cdef bint keeps_classes
    # tables, n <= 16
    cdef uint64_t full
    cdef uint16_t[::1] value_of     # per mask: objective
    cdef uint8_t[::1] level_of      # per mask: rank of the lowest weight, 255 without a pair
    cdef uint16_t[::1] order        # masks by size, inside a size by (objective, b, c)
    cdef int offset[18]
    cdef bint sorted_size[17]
    cdef uint16_t[:, ::1] left      # per mask and k - 1: 1 + best objective of k devices, 0 when fewer
    cdef bint has_left
    cdef uint8_t[:, ::1] answers    # n <= 8: per mask and k

    def __cinit__(self, const double[:, ::1] pair_weight, const int32_t[:, ::1] link_class=None):
        cdef int n = <int>pair_weight.shape[0]
        if n < 1 or n > MAX_DEVICES or pair_weight.shape[1] != n:
            raise ValueError(f"pair_weight: shape (n, n) with 1 <= n <= {MAX_DEVICES} expected")
        if link_class is not None and (link_class.shape[0] != n or link_class.shape[1] != n):
            raise ValueError("link_class: shape of pair_weight expected")
        self.n = n
        self.words = (n + 63) >> 6
        self.default_budget = 12 * <int64_t>n * n
        self.full = (<uint64_t>1 << n) - 1 if n < 64 else ~<uint64_t>0
        self.by_class = self.has_classes = link_class is not None
        weights = np.asarray(pair_weight)
        upper = np.triu_indices(n, 1)
        levels, inverse = np.unique(weights[upper], return_inverse=True)
        self.n_levels = len(levels) if n > 1 else 1
        self.levels = levels if n > 1 else np.array([np.inf])
        rank = np.full((n, n), 0x7FFFFFFF, dtype=np.int32)
        rank[upper] = inverse
        rank.T[upper] = inverse
        self.rank = rank
        self.n_classes = 1
        if self.has_classes and n > 1:
            classes, inverse = np.unique(np.asarray(link_class)[upper], return_inverse=True)
            self.n_classes = len(classes)
            cls = np.full((n, n), 0x7FFFFFFF, dtype=np.int32)
            cls[upper] = inverse
            cls.T[upper] = inverse
            self.cls = cls
        self.has_classes = self.n_classes > 1
        if n <= TABLE_DEVICES:
            self._build_tables()
        else:
            self.keeps_levels = self.n_levels <= KEPT_LEVELS
            if self.keeps_levels:
                self.level_adj = adjacency(rank, self.n_levels)
            self.keeps_classes = self.has_classes and self.n_classes <= KEPT_LEVELS
            if self.keeps_classes:
                self.class_adj = adjacency(np.asarray(self.cls), self.n_classes)

    cdef void _fill(self, Search* s) noexcept nogil:
        memset(s, 0, sizeof(Search))
        s.n = self.n
        s.w = self.words
        s.n_levels = self.n_levels
        s.n_classes = self.n_classes
        s.rank = &self.rank[0, 0]
        s.by_class = self.by_class
        s.cls = &self.cls[0, 0] if self.has_classes else NULL
        s.level_adj = &self.level_adj[0, 0, 0] if self.keeps_levels else NULL
        s.class_adj = &self.class_adj[0, 0, 0] if self.keeps_classes else NULL
        s.limit = UNLIMITED
        s.poll = POLL

    # -- tables -------------------------------------------------------------------------------------------------------

    cdef _build_tables(self):
        cdef int n = self.n, size = 1 << n, mask, low, rest, k, v, free
        cdef int level, cls, r
        cdef int fill[18]
        self.value_of = np.empty(size, dtype=np.uint16)
        self.level_of = np.empty(size, dtype=np.uint8)
        self.order = np.empty(size, dtype=np.uint16)
        class_of_array = np.empty(size, dtype=np.uint8)
        cdef uint8_t[::1] class_of = class_of_array
        self.offset[0] = 0
        memset(fill, 0, sizeof(fill))
        for mask in range(size):
            fill[popcount(mask) + 1] += 1
        for k in range(n + 1):
            self.offset[k + 1] = self.offset[k] + fill[k + 1]
            fill[k] = self.offset[k]
            self.sorted_size[k] = False
        for mask in range(size):
            k = popcount(mask)
            self.order[fill[k]] = <uint16_t>mask
            fill[k] += 1
            if mask & (mask - 1) == 0:
                self.level_of[mask] = 255
                class_of[mask] = 255
                self.value_of[mask] = 0xFFFF
                continue
            low = ctz(<uint64_t>mask)
            rest = mask & (mask - 1)
            level = self.level_of[rest]
            cls = class_of[rest] if self.has_classes else 0
            while rest:
                v = ctz(<uint64_t>rest)
                rest &= rest - 1
                r = <int>self.rank[low, v]
                if r < level:
                    level = r
                if self.has_classes and self.cls[low, v] < cls:
                    cls = self.cls[low, v]
            self.level_of[mask] = <uint8_t>level
            class_of[mask] = <uint8_t>cls
            self.value_of[mask] = <uint16_t>((cls << 8) | level)
        if n <= ANSWER_DEVICES:
            self.answers = np.zeros((size, ANSWER_DEVICES + 1), dtype=np.uint8)
            for free in range(1, size):
                for k in range(1, popcount(free) + 1):
                    self.answers[free, k] = <uint8_t>self._choose_in_tables(<uint16_t>free, k, 0)

    cdef _sort_size(self, int k):
        """Sort all masks of ``k`` devices by falling quality, on the first query for that size.

        N = 16, k = 8 takes 2 ms.
        """
        cdef int begin = self.offset[k], size = self.offset[k + 1] - begin, i
        cdef Machine machine
        cdef Entry* entries = <Entry*>malloc(2 * <size_t>size * sizeof(Entry))
        if entries == NULL:
            raise MemoryError()
        machine.n = self.n
        machine.rank = &self.rank[0, 0]
        for i in range(size):
            entries[i].mask = self.order[begin + i]
            entries[i].value = self.value_of[entries[i].mask]
            entries[i].vector = vector_key(&machine, entries[i].mask, &entries[i].whole)
        sort_entries(&machine, entries, entries + size, size)
        for i in range(size):
            self.order[begin + i] = entries[i].mask
        release(entries)
        self.sorted_size[k] = True

    cdef _build_left(self):
        cdef int n = self.n, size = 1 << n, half = 8, mask, rest, k, count, i
        cdef uint16_t* row
        cdef const uint16_t* below
        cdef uint16_t best[8]
        self.left = np.zeros((size, half), dtype=np.uint16)
        for mask in range(1, size):
            count = popcount(mask)
            row = &self.left[mask, 0]
            memset(best, 0, sizeof(best))
            rest = mask
            while rest:
                below = &self.left[mask & ~(rest & -rest), 0]
                rest &= rest - 1
                for i in range(8):
                    best[i] = below[i] if below[i] > best[i] else best[i]
            if count <= half:
                best[count - 1] = self.value_of[mask]
                if count > 1:
                    best[count - 1] += 1
            memcpy(row, best, sizeof(best))
        self.has_left = True

    cdef int _choose_in_tables(self, uint16_t free, int k, uint16_t require) except -2:
        """Best mask of ``k`` devices inside ``free`` that holds ``require``, found in the tables (n <= 16).

        0 if there is none. Ties are broken as the module says under (a), (b) and (c).
        """
        cdef int count = popcount(free), begin, end, i, best
        cdef uint16_t look, value, left, best_left, top
        cdef const uint16_t* order
        if k < 1 or k > count or require & ~free or popcount(require) > k:
            return 0
        if not self.sorted_size[k]:
            self._sort_size(k)
        order = &self.order[0]
        end = self.offset[k + 1]
        look = <uint16_t>(~free | require)
        i = scan(order, self.offset[k], end, look, require)
        best = i
        if 2 * k > count:
            return order[best]
        if not self.has_left:
            self._build_left()
        top = self.left[free, k - 1]
        value = self.value_of[order[i]]
        best_left = self.left[free & ~order[i], k - 1]
        while best_left < top:
            i = scan(order, i + 1, end, look, require)
            if i == end or self.value_of[order[i]] != value:
                break
            left = self.left[free & ~order[i], k - 1]
            if left > best_left:
                best_left = left
                best = i
        return order[best]

    # -- questions ----------------------------------------------------------------------------------------------------

    def choose(self, uint64_t free, int k):
        """Choose the best ``k`` devices out of the bit mask ``free``; return their mask.

        For machines of up to 64 devices. 0 if k < 1 or fewer than ``k`` are free.
        """
        cdef uint64_t out = 0
        if free & ~self.full or self.n > 64:
            raise ValueError(f"free: mask of {self.n} devices expected, in one word")
        if self.n <= ANSWER_DEVICES:
            return self.answers[free, k] if 1 <= k <= ANSWER_DEVICES else 0
        if self.n <= TABLE_DEVICES:
            return self._choose_in_tables(<uint16_t>free, k, 0)
        self._choose_by_search(&free, k, &out)
        return out

    def choose_many(self, const uint64_t[::1] free, const int32_t[::1] k):
        """Choose devices as `choose` does, once for each entry of ``free`` and ``k``; uint64 (m,). Up to 64 devices."""
        cdef Py_ssize_t i, m = free.shape[0]
        cdef uint64_t word, bad = 0
        if k.shape[0] != m or self.n > 64:
            raise ValueError("free and k: equal lengths expected, of a machine of at most 64 devices")
        result = np.zeros(m, dtype=np.uint64)
        cdef uint64_t[::1] out = result
        for i in range(m):
            bad |= free[i] & ~self.full
        if bad:
            raise ValueError(f"free: masks of {self.n} devices expected")
        if self.n <= ANSWER_DEVICES:
            for i in range(m):
                if 1 <= k[i] <= ANSWER_DEVICES:
                    out[i] = self.answers[free[i], k[i]]
        elif self.n <= TABLE_DEVICES:
            for i in range(m):
                if i & 0xFFFF == 0xFFFF:
                    look_up()
                out[i] = self._choose_in_tables(<uint16_t>free[i], k[i], 0)
        else:
            for i in range(m):
                word = free[i]
                self._choose_by_search(&word, k[i], &out[i])
        return result

    def choose_words(self, const uint64_t[::1] free, int k):
        """Choose devices as `choose` does on a machine of any size.

        A mask is an array of uint64 words, 64 devices each.
        """
        self._check_words(free)
        result = np.zeros(self.words, dtype=np.uint64)
        cdef uint64_t[::1] out = result
        cdef uint64_t word
        if self.n <= TABLE_DEVICES:
            out[0] = self.choose(free[0], k)
        else:
            self._choose_by_search(&free[0], k, &out[0])
        return result

    cdef _check_words(self, const uint64_t[::1] mask):
        cdef int top = self.n & 63
        if mask.shape[0] != self.words or (top and mask[self.words - 1] >> top):
            raise ValueError(f"mask: {self.words} words of {self.n} devices expected")

    cdef int _choose_by_search(self, const uint64_t* free, int k, uint64_t* out) except -2:
        cdef SetQuery query
        cdef Search machine
        cdef int answer
        if k < 1 or k > count_words(free, self.words):
            return NO
        self._fill(&machine)
        query = SetQuery.__new__(SetQuery)
        query.allocate(&machine, free, NULL, k, self.default_budget)
        answer = query.find()
        memcpy(out, query.q.winner, self.words * sizeof(uint64_t))
        return answer

    def solve(
        self, const uint64_t[::1] free, int k, const uint64_t[::1] require, int64_t max_ties, int64_t budget
    ):
        """Choose the best set of k free devices; return the set, the equally good sets, and what is proven about them.

        Parameters
        ----------
        free, require : ndarray of shape (words,), uint64
            Masks; ``require`` inside ``free``.
        k : int
            max(1, devices in ``require``) <= k <= devices in ``free``.
        max_ties : int
            How many ties to list, >= 1.
        budget : int
            Limit of the work for the weight inside a class and the choice among ties together, and again for listing
            and counting ties; one unit reads about one word of a bitset. Negative: `default_budget`.

        Returns
        -------
        tuple
            Mask of the set, uint64 (words,); ties, uint64 (t, words), in lexicographic order, the chosen set in the
            last place if it would come later; number of ties counted; whether these are all ties; upper bound on the
            objective; whether the objective (with classes: the class) is exact; whether the choice among ties is
            proven. Ties: docs/decisions.md, decision 1.
        """
        cdef int count, i, answer, w = self.words
        cdef int64_t n_ties
        cdef SetQuery query
        cdef Search machine
        cdef Ties* q
        self._check_words(free)
        self._check_words(require)
        count = count_words(&free[0], w)
        if (
            k < 1 or k > count or max_ties < 1
            or not inside(&require[0], &free[0], w) or count_words(&require[0], w) > k
        ):
            raise ValueError("solve: require inside free, and 1 <= |require| <= k <= |free| expected")
        mask = np.zeros(w, dtype=np.uint64)
        cdef uint64_t[::1] out = mask
        self._fill(&machine)
        budget = self.default_budget if budget < 0 else budget
        query = SetQuery.__new__(SetQuery)
        query.allocate(&machine, &free[0], &require[0], k, budget)
        q = &query.q
        upper = float("inf")
        if k > 1:
            with nogil:
                upper_level = core_bound(q.s, q.free, &require[0], k, 0, 0)
            upper = self.levels[upper_level]
            q.s.units = 0
            q.s.poll = POLL
        if self.n <= TABLE_DEVICES:
            out[0] = self._choose_in_tables(<uint16_t>free[0], k, <uint16_t>require[0])
            ties = self._ties_in_tables(
                <uint16_t>free[0], k, <uint16_t>require[0], <uint16_t>out[0], max_ties, &n_ties
            )
            return mask, self._shorten(ties, mask, max_ties), n_ties, True, upper, True, True
        answer = query.find()
        for i in range(w):
            out[i] = q.winner[i]
        if not query.proven:
            # With the weight unproven the sets of equal weight are no ties.
            return mask, mask.reshape(1, w), 1, False, upper, True, False
        ties, total, complete = query.list(require, max_ties, budget)
        return mask, self._shorten(ties, mask, max_ties), max(total, 1), complete, upper, True, answer == YES

    cdef _shorten(self, ties, mask, max_ties):
        """Cut a list of equally good sets to ``max_ties`` rows.

        The chosen set ``mask`` replaces the last row if it was cut off.
        """
        kept = ties[:max_ties]
        if not (kept == mask).all(axis=1).any():
            if len(kept) == max_ties:
                kept = kept[: max_ties - 1]
            kept = np.concatenate([kept, mask.reshape(1, -1)])
        return np.ascontiguousarray(kept)

    cdef _ties_in_tables(self, uint16_t free, int k, uint16_t require, uint16_t best, int64_t most, int64_t* total):
        """List the first ``most`` sets as good as ``best`` in lexicographic order, one word each (n <= 16).

        Sets have ``k`` devices, lie inside ``free`` and hold ``require``. ``total`` receives the number of all such
        sets.
        """
        cdef int i, end = self.offset[k + 1], n_ties = 0, word, key
        cdef uint16_t look = <uint16_t>(~free | require), value = self.value_of[best]
        # Lexicographic order of ascending lists of one size is falling order of the reversed masks: a bit for each.
        cdef uint64_t seen[1024]
        memset(seen, 0, sizeof(seen))
        i = scan(&self.order[0], self.offset[k], end, look, require)
        while i < end and self.value_of[self.order[i]] == value:
            key = reversed_mask(self.order[i])
            seen[key >> 6] |= <uint64_t>1 << (key & 63)
            n_ties += 1
            i = scan(&self.order[0], i + 1, end, look, require)
        total[0] = n_ties
        if most > n_ties:
            most = n_ties
        masks = np.empty((most, 1), dtype=np.uint64)
        cdef uint64_t[:, ::1] out = masks
        word = 1023
        for i in range(<int>most):
            while seen[word] == 0:
                word -= 1
            key = 63 - clz(seen[word])
            seen[word] ^= <uint64_t>1 << key
            out[i, 0] = reversed_mask(<uint16_t>(64 * word + key))
        return masks

    def value(self, const uint64_t[::1] mask):
        """Lowest pair weight in a set of devices and the first pair with this weight, as (weight, i, j).

        (inf, -1, -1) for fewer than two devices.
        """
        cdef int v, u, best_v = -1, best_u = -1, n = self.n
        cdef uint32_t best = 0xFFFFFFFF
        self._check_words(mask)
        for v in range(n):
            if has(&mask[0], v):
                for u in range(v + 1, n):
                    if has(&mask[0], u) and <uint32_t>self.rank[v, u] < best:
                        best = <uint32_t>self.rank[v, u]
                        best_v = v
                        best_u = u
        if best_v < 0:
            return float("inf"), -1, -1
        return self.levels[best], best_v, best_u

    def lowest_pair(self, uint64_t mask):
        """Lowest pair weight in a set of devices of a machine of up to 64; inf for fewer than two devices."""
        cdef uint32_t best = 0xFFFFFFFF, rank
        cdef uint64_t later
        cdef int v
        if mask & ~self.full or self.n > 64:
            raise ValueError(f"mask: devices of {self.n} expected, in one word")
        while mask:
            v = ctz(mask)
            mask &= mask - 1
            later = mask
            while later:
                rank = <uint32_t>self.rank[v, ctz(later)]
                later &= later - 1
                if rank < best:
                    best = rank
        return self.levels[best] if best != 0xFFFFFFFF else float("inf")

    # -- splits -------------------------------------------------------------------------------------------------------

    def split(self, uint64_t free, sizes, uint64_t require, bint fixed, int64_t max_splits):
        """Divide devices among pods: the ascending list of the pods' lowest pair weights is lexicographically largest.

        Parameters
        ----------
        free : int
            Mask of the free devices; with ``fixed`` exactly the devices to divide.
        sizes : sequence of int
            Devices per pod, falling, each >= 1.
        require : int
            Mask of devices that one of the pods must get.
        fixed : bool
            Whether to divide exactly ``free``. Otherwise every best set of sum(sizes) devices (union) is divided, and
            the best division of all is taken.
        max_splits : int
            How many optimal splits to list.

        Returns
        -------
        tuple
            Mask of the union (s,) and masks of the pods (s, pods) of each listed optimal division; number of optimal
            divisions, or of the listed ones if not all were counted; whether all were counted; the chosen row. The
            weight of a pod of one device counts as infinity. Of equal pods the lexicographically smaller set comes
            first. Chosen: the union that `solve` prefers, and in it the lexicographically smallest sets, pod after pod.
        """
        cdef int n_pods = len(sizes), total = 0, i, j, k
        cdef int size_of[16]
        cdef int64_t n_unions
        if self.n > TABLE_DEVICES:
            raise ValueError(f"split: at most {TABLE_DEVICES} devices, not {self.n}")
        if free & ~self.full or require & ~free:
            raise ValueError("split: free inside the machine and require inside free expected")
        if n_pods < 1 or n_pods > 16:
            raise ValueError("split: 1 to 16 pods expected")
        for i in range(n_pods):
            size_of[i] = sizes[i]
            if size_of[i] < 1 or (i and size_of[i] > size_of[i - 1]):
                raise ValueError("split: falling sizes of at least 1 expected")
            total += size_of[i]
        k = popcount(free)
        if total > k or popcount(require) > total or (fixed and total != k):
            raise ValueError("split: sizes do not fit")
        cdef uint16_t chosen = <uint16_t>free
        if fixed:
            unions = np.array([[free]], dtype=np.uint64)
        else:
            chosen = <uint16_t>self._choose_in_tables(<uint16_t>free, total, <uint16_t>require)
            unions = self._ties_in_tables(<uint16_t>free, total, <uint16_t>require, chosen, UNLIMITED, &n_unions)
        cdef Dealer dealer = Dealer.__new__(Dealer)
        dealer.prepare(self.level_of, n_pods, size_of)
        best = bytes(16)
        lists = []
        for (union,) in unions.tolist():
            found = dealer.best(union)
            lists.append(found)
            if found > best:
                best = found
        rows = []
        row_unions = []
        complete = True
        keep = [union for (union,), found in zip(unions.tolist(), lists) if found == best]
        for union in keep:
            for row in dealer.listed(union, max_splits + 1 - len(rows)):
                row_unions.append(union)
                rows.append(row)
            if len(rows) > max_splits:
                complete = False
                rows = rows[:max_splits]
                row_unions = row_unions[:max_splits]
                break
        first = keep[0]
        if not fixed:
            for union in keep[1:]:
                if self._union_before(<uint16_t>free, total, union, first):
                    first = union
        chosen_row = dealer.listed(first, 1)[0]
        return (
            np.array(row_unions, dtype=np.uint64),
            np.array(rows, dtype=np.uint64).reshape(len(rows), n_pods),
            complete,
            first,
            np.array(chosen_row, dtype=np.uint64),
        )

    cdef bint _union_before(self, uint16_t free, int k, uint16_t a, uint16_t b) except -1:
        """Whether set ``a`` of ``k`` free devices beats the equally fast ``b`` by the module's rules (a), (b), (c)."""
        cdef Machine machine
        cdef int order
        cdef uint16_t left_a, left_b
        if 2 * k <= popcount(free):
            if not self.has_left:
                self._build_left()
            left_a = self.left[free & ~a, k - 1]
            left_b = self.left[free & ~b, k - 1]
            if left_a != left_b:
                return left_a > left_b
        machine.n = self.n
        machine.rank = &self.rank[0, 0]
        order = compare_vectors(&machine, a, b)
        if order:
            return order > 0
        order = a ^ b
        return (a & order & -order) != 0


cdef adjacency(rank, int n_thresholds):
    """Bit matrices, uint64 (n_thresholds, n, w): for each weight rank the pairs of devices of at least that rank."""
    cdef int n = rank.shape[0], w = (n + 63) >> 6
    out = np.zeros((n_thresholds, n, w * 64), dtype=np.uint8)
    for threshold in range(n_thresholds):
        out[threshold, :, :n] = rank >= threshold
        out[threshold, np.arange(n), np.arange(n)] = 0
    return np.packbits(out, axis=2, bitorder="little").view("<u8").astype(np.uint64).reshape(n_thresholds, n, w)
