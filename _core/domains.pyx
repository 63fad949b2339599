"""Counts how many pods fit on nodes and domains, and fills a set of nodes pod by pod in score order.

``Fill`` keeps, for each pod shape, a tournament tree per group of nodes (a group is a leaf domain) and one over the
groups (``contest.pxd``).

A placement changes one node, hence one path in the inner tree and one in the outer. That equals a full rescan: inside
a group the offset is the same for all, and adding it never swaps two node parts (it can only make two totals equal,
which is why the node part is the second key). Other shapes learn of the change from a log when they are next used.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from workbench._core.contest cimport (
    Closeness, Contest, Groups, Inner, Outer, base_of, find_best, lift, lift_inner, lca, offset, play_inner, play_outer
)
from workbench._core.fading cimport Fading, Fullness, Totals, fade, find_gains, forget_path, use_path
from workbench._core.memory cimport free, grab, regrow
from workbench._core.node_score cimport Weights, fits, node_score, packing_sum

import numpy as np

cdef enum:
    NO_RECORD = -2

# Above it a float64 no longer holds every integer, and 100 times a quantity may overflow.
cdef int64_t MAX_QUANTITY = <int64_t>1 << 53


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


cdef struct Shape:
    int64_t* request
    uint8_t* feasible      # NULL: all
    double* extra          # NULL: none
    Contest nodes
    double binpack_weights # sum over the requested resources
    int64_t seen           # how far the log has been read
    int64_t record_version
    Fullness full          # where pods fade


@cython.final
@cython.auto_pickle(False)
cdef class Fill:
    """Nodes that are filled pod by pod; see ``workbench.kernels.domains.Fill``. Only quantities are range-checked."""

    # c candidates, r resources, g groups; a slot is a candidate's place when sorted by group
    cdef readonly int64_t c, r, g
    cdef readonly object groups
    cdef int32_t* slot_of
    cdef int32_t* rank
    cdef int32_t* position_of
    cdef int32_t* group_of
    cdef int32_t* node_of         # index in the cluster, by slot
    cdef int64_t* rows            # per slot: idle[r], used[r], allocatable[r]
    # weights
    cdef Weights weights
    # shapes
    cdef Shape* shapes
    cdef readonly int32_t n_shapes
    # placements, for rollback
    cdef readonly int64_t placed
    cdef int64_t capacity
    cdef int32_t* undo_slot
    cdef int32_t* undo_shape
    cdef int32_t* undo_record
    # changed slots, a ring
    cdef int32_t* log
    cdef int64_t log_mask, log_end
    # topology
    cdef bint topology
    cdef object keep, keep_of_fading
    cdef Closeness closeness
    cdef Groups by_leaf
    cdef bint roots_meet, update_record
    cdef readonly int32_t record
    cdef int64_t record_version
    cdef readonly int64_t floor
    # where leaves overlap: every leaf that holds a node of the cluster; NULL: none has two
    cdef const int64_t* leaf_start
    cdef const int32_t* leaves
    cdef object keep_of_leaves
    # pods drawn to full domains; groups are rings then
    cdef Fading fading

    def __cinit__(
        self,
        const int32_t[::1] nodes not None,
        const int64_t[:, ::1] idle not None,
        const int64_t[:, ::1] used not None,
        const int64_t[:, ::1] allocatable not None,
        const int32_t[::1] name_rank not None,
        const int32_t[::1] leaf,
        double binpack,
        const double[::1] binpack_by not None,
        double least,
        double most,
        const int64_t[::1] request_by not None,
        double balanced,
        const uint8_t[::1] balanced_by not None,
    ):
        cdef int64_t c = nodes.shape[0], r = idle.shape[1], i, k, s, n
        cdef int64_t* row
        cdef bint sorted_by_leaf = True
        self.c = c
        self.r = r
        self.record = NO_RECORD
        if leaf is not None:
            for i in range(1, c):
                if leaf[nodes[i]] < leaf[nodes[i - 1]]:
                    sorted_by_leaf = False
                    break
        cdef const int64_t[::1] order
        if sorted_by_leaf:
            order = np.arange(c, dtype=np.int64)
        else:
            order = np.argsort(np.asarray(leaf)[np.asarray(nodes)], kind="stable").astype(np.int64)
        self.slot_of = <int32_t*>grab(c * sizeof(int32_t))
        self.rank = <int32_t*>grab(c * sizeof(int32_t))
        self.position_of = <int32_t*>grab(c * sizeof(int32_t))
        self.group_of = <int32_t*>grab(c * sizeof(int32_t))
        self.node_of = <int32_t*>grab(c * sizeof(int32_t))
        self.by_leaf.first = <int64_t*>grab((c + 1) * sizeof(int64_t))
        self.by_leaf.domain_of = <int32_t*>grab(c * sizeof(int32_t))
        self.rows = <int64_t*>grab(c * 3 * r * sizeof(int64_t))
        for s in range(c):
            i = order[s]
            n = nodes[i]
            if name_rank[n] < 0 or (leaf is not None and leaf[n] < -1):
                raise ValueError(f"node {n}: name rank {name_rank[n]}, leaf {leaf[n] if leaf is not None else None}")
            self.slot_of[i] = <int32_t>s
            self.position_of[s] = <int32_t>i
            self.node_of[s] = <int32_t>n
            self.rank[s] = name_rank[n]
            if s == 0 or (leaf is not None and leaf[n] != self.by_leaf.domain_of[self.g - 1]):
                self.by_leaf.first[self.g] = s
                self.by_leaf.domain_of[self.g] = leaf[n] if leaf is not None else -1
                self.g += 1
            self.group_of[s] = <int32_t>(self.g - 1)
            row = self.rows + s * 3 * r
            for k in range(r):
                row[k] = idle[n, k]
                row[r + k] = used[n, k]
                row[2 * r + k] = allocatable[n, k]
                if not (
                    -MAX_QUANTITY <= row[k] <= MAX_QUANTITY
                    and 0 <= row[r + k] <= MAX_QUANTITY
                    and 0 <= row[2 * r + k] <= MAX_QUANTITY
                ):
                    raise ValueError(f"node {n}, resource {k}: idle {row[k]}, used {row[r + k]}, allocatable {row[2 * r + k]}")
        self.by_leaf.first[self.g] = c
        self.by_leaf.g = self.g
        groups = np.empty(self.g, dtype=np.int32)
        for i in range(self.g):
            groups[i] = self.by_leaf.domain_of[i]
        groups.flags.writeable = False
        self.groups = groups
        self.by_leaf.tasks = <int64_t*>grab(self.g * sizeof(int64_t))
        self.by_leaf.base = <double*>grab(self.g * sizeof(double))
        self.weights.r = r
        self.weights.binpack = binpack
        self.weights.least = least
        self.weights.most = most
        self.weights.balanced = balanced
        self.weights.binpack_by = <double*>grab(r * sizeof(double))
        self.weights.request_by = <int64_t*>grab(r * sizeof(int64_t))
        self.weights.balanced_by = <uint8_t*>grab(r)
        for k in range(r):
            self.weights.binpack_by[k] = binpack_by[k]
            self.weights.request_by[k] = request_by[k]
            self.weights.balanced_by[k] = balanced_by[k]
        self.log_mask = 16
        while self.log_mask < c:
            self.log_mask *= 2
        self.log = <int32_t*>grab(self.log_mask * sizeof(int32_t))
        self.log_mask -= 1

    def __dealloc__(self):
        cdef int32_t k
        for k in range(self.n_shapes):
            free_shape(&self.shapes[k])
        free(self.shapes)
        free(self.slot_of)
        free(self.rank)
        free(self.position_of)
        free(self.group_of)
        free(self.node_of)
        free(self.by_leaf.first)
        free(self.by_leaf.domain_of)
        free(self.rows)
        free(self.by_leaf.tasks)
        free(self.by_leaf.base)
        free(self.weights.binpack_by)
        free(self.weights.request_by)
        free(self.weights.balanced_by)
        free(self.log)
        free(self.undo_slot)
        free(self.undo_shape)
        free(self.undo_record)
        free(self.fading.totals.used)

    def add_shape(self, const int64_t[::1] request not None, const uint8_t[::1] feasible, const double[::1] extra):
        """Add a shape and return its number; ``feasible`` and ``extra`` are by node of the cluster."""
        cdef int64_t s, k
        self.shapes = <Shape*>regrow(self.shapes, (self.n_shapes + 1) * sizeof(Shape))
        # Zeroed and counted first: if an allocation below fails, __dealloc__ frees what is there.
        cdef Shape* new = &self.shapes[self.n_shapes]
        new[0] = Shape(
            NULL, NULL, NULL, Contest(NULL, NULL, NULL, 0, 0.0, 0, NULL), 0.0, -1, -1, Fullness(NULL, NULL, 0)
        )
        self.n_shapes += 1
        try:
            new.request = <int64_t*>grab(self.r * sizeof(int64_t))
            new.nodes.inner = <Inner*>grab(2 * self.c * sizeof(Inner))
            new.nodes.outer = <Outer*>grab(2 * self.g * sizeof(Outer))
            new.nodes.fitting = <int64_t*>grab(self.g * sizeof(int64_t))
            if feasible is not None:
                new.feasible = <uint8_t*>grab(self.c)
            if extra is not None:
                new.extra = <double*>grab(self.c * sizeof(double))
            if self.fading.n_tiers:
                new.full.share = <double*>grab((self.fading.totals.d + 1) * sizeof(double))
                new.full.known = <int64_t*>grab((self.fading.totals.d + 1) * sizeof(int64_t))
                new.nodes.gain = <double*>grab(self.g * sizeof(double))
        except MemoryError:
            self.n_shapes -= 1
            free_shape(new)
            raise
        for k in range(self.r):
            new.request[k] = request[k]
        new.binpack_weights = packing_sum(self.weights.binpack_by, new.request, self.weights.r)
        for s in range(self.c):
            if feasible is not None:
                new.feasible[s] = feasible[self.node_of[s]]
            if extra is not None:
                new.extra[s] = extra[self.node_of[s]]
        with nogil:
            self.rebuild(new)
        return self.n_shapes - 1

    cdef double score(self, const Shape* shape, int64_t slot) noexcept nogil:
        cdef const int64_t* used = self.rows + slot * 3 * self.r + self.r
        cdef double score = node_score(&self.weights, shape.request, shape.binpack_weights, used, used + self.r)
        return score if shape.extra == NULL else score + shape.extra[slot]

    cdef void set_leaf(self, const Shape* shape, int64_t slot, Inner* leaf) noexcept nogil:
        cdef bint feasible = shape.feasible == NULL or shape.feasible[slot]
        if feasible and fits(shape.request, self.rows + slot * 3 * self.r, self.r):
            leaf.node = self.score(shape, slot)
            leaf.key = <int64_t>self.rank[slot] << 32 | self.position_of[slot]
        else:
            leaf.node = -INFINITY
            leaf.key = INT64_MAX

    cdef void rebuild(self, Shape* shape) noexcept nogil:
        cdef int64_t g, i, n
        cdef Inner* tree
        shape.nodes.n_fitting = 0
        for g in range(self.g):
            n = self.by_leaf.first[g + 1] - self.by_leaf.first[g]
            tree = shape.nodes.inner + 2 * self.by_leaf.first[g]
            shape.nodes.fitting[g] = 0
            for i in range(n):
                self.set_leaf(shape, self.by_leaf.first[g] + i, &tree[n + i])
                shape.nodes.fitting[g] += tree[n + i].key != INT64_MAX
            shape.nodes.n_fitting += shape.nodes.fitting[g]
            play_inner(tree, n)
        shape.full.time += 1
        shape.seen = self.log_end
        self.regroup(shape)

    cdef void regroup(self, Shape* shape) noexcept nogil:
        if self.fading.n_tiers:
            find_gains(&self.fading, &self.by_leaf, shape.request, &shape.full, shape.nodes.gain)
        find_best(&self.by_leaf, &shape.nodes)
        play_outer(&self.by_leaf, &self.closeness, &shape.nodes)
        shape.record_version = self.record_version

    cdef bint refresh(self, Shape* shape, int64_t slot) noexcept nogil:
        """Recompute one node in the inner tree; True if the offsets of all groups must be looked at again."""
        cdef int64_t g = self.group_of[slot], n = self.by_leaf.first[g + 1] - self.by_leaf.first[g], i
        cdef Inner* tree = shape.nodes.inner + 2 * self.by_leaf.first[g]
        cdef bint fitted, fits, stale = False
        i = n + slot - self.by_leaf.first[g]
        fitted = tree[i].key != INT64_MAX
        self.set_leaf(shape, slot, &tree[i])
        fits = tree[i].key != INT64_MAX
        lift_inner(tree, i)
        if fitted != fits:
            shape.nodes.fitting[g] += 1 if fits else -1
            shape.nodes.n_fitting += 1 if fits else -1
            if self.by_leaf.scored:
                if fits:
                    stale = True
                elif self.by_leaf.base[g] == shape.nodes.best_base:
                    shape.nodes.n_best -= 1
                    stale = shape.nodes.n_best < 2
        if self.fading.n_tiers:
            forget_path(&self.fading.totals, self.node_of[slot], &shape.full)
            return True
        return stale

    cdef void catch_up(self, Shape* shape) noexcept nogil:
        cdef int64_t i, slot
        cdef bint stale
        if self.log_end - shape.seen > self.c:
            self.rebuild(shape)
            return
        stale = shape.record_version != self.record_version
        for i in range(shape.seen, self.log_end):
            slot = self.log[i & self.log_mask]
            # A run of placements on one node needs one look.
            if i + 1 < self.log_end and self.log[(i + 1) & self.log_mask] == slot:
                continue
            if self.refresh(shape, slot):
                stale = True
            if not stale:
                lift(&self.by_leaf, &self.closeness, &shape.nodes, self.group_of[slot])
        shape.seen = self.log_end
        if stale:
            self.regroup(shape)

    cdef void note(self, int64_t slot) noexcept nogil:
        self.log[self.log_end & self.log_mask] = <int32_t>slot
        self.log_end += 1

    cdef void widen(self, int32_t record) noexcept nogil:
        cdef int64_t g
        self.record = record
        self.record_version += 1
        self.by_leaf.scored = self.topology and record != NO_RECORD
        if self.by_leaf.scored:
            for g in range(self.g):
                self.by_leaf.base[g] = base_of(&self.closeness, self.by_leaf.domain_of[g], record)

    def set_topology(
        self,
        const int32_t[::1] parent not None,
        const int32_t[::1] depth not None,
        const double[::1] value not None,
        double top_value,
        double own_value,
        double weight,
        bint roots_meet,
        bint update_record,
        int32_t record,
        const int64_t[::1] tasks not None,
        int64_t total_tasks,
    ):
        """Score the following placements against a record; the memoryviews are kept, not copied."""
        cdef int64_t g
        self.keep = (parent, depth, value)
        self.closeness.parent = &parent[0] if parent.shape[0] else NULL
        self.closeness.depth = &depth[0] if depth.shape[0] else NULL
        self.closeness.value = &value[0] if value.shape[0] else NULL
        self.closeness.top_value = top_value
        self.closeness.own_value = own_value
        self.closeness.weight = weight
        self.roots_meet = roots_meet
        self.update_record = update_record
        self.closeness.total_tasks = <double>total_tasks
        for g in range(self.g):
            self.by_leaf.tasks[g] = tasks[g]
        self.topology = True
        self.floor = self.placed
        self.widen(record)

    def set_leaves(self, const int64_t[::1] start not None, const int32_t[::1] leaves not None):
        """Set every leaf that holds a node, where some have several; both arrays are kept, not copied."""
        self.keep_of_leaves = start, leaves
        if leaves.shape[0]:
            self.leaf_start = &start[0]
            self.leaves = &leaves[0]

    cdef bint count_task(self, int64_t slot, int64_t change) noexcept nogil:
        """Count a pod on every leaf that holds its node; True if some group's offset changed."""
        cdef int64_t g = self.group_of[slot], k, low, high, middle
        cdef bint others = False
        self.by_leaf.tasks[g] += change
        if self.leaf_start == NULL:
            return False
        for k in range(self.leaf_start[self.node_of[slot]], self.leaf_start[self.node_of[slot] + 1]):
            if self.leaves[k] == self.by_leaf.domain_of[g]:
                continue
            # Groups stand in the order of their leaves.
            low, high = 0, self.g
            while low < high:
                middle = (low + high) // 2
                if self.by_leaf.domain_of[middle] < self.leaves[k]:
                    low = middle + 1
                else:
                    high = middle
            if low < self.g and self.by_leaf.domain_of[low] == self.leaves[k]:
                self.by_leaf.tasks[low] += change
                others = True
        if others:
            self.record_version += 1
        return others

    def set_fading(
        self,
        const int32_t[::1] ring_of not None,
        const int32_t[:, ::1] around not None,
        const int32_t[::1] column not None,
        const double[::1] by_tier not None,
        const double[::1] packing not None,
        double scale,
        const int64_t[:, ::1] used not None,
        const int64_t[:, ::1] allocatable not None,
        const int64_t[::1] node_start not None,
        const int32_t[::1] node_domains not None,
    ):
        """Draw pods to full domains; call it before the first shape, with groups that are rings; ``used`` is copied."""
        cdef size_t cells = used.shape[0] * self.r * sizeof(int64_t)
        cdef const int32_t* holders = NULL
        if column.shape[0] == 0 or self.c == 0 or self.r == 0:
            return
        self.keep_of_fading = (ring_of, around, column, by_tier, packing, allocatable, node_start, node_domains)
        if node_domains.shape[0]:
            holders = &node_domains[0]
        self.fading.totals = Totals(
            self.r, used.shape[0] - 1, <int64_t*>grab(cells), &allocatable[0, 0], &node_start[0], holders
        )
        memcpy(self.fading.totals.used, &used[0, 0], cells)
        fade(&self.fading, ring_of, around, column, by_tier, packing, scale)

    def place(self, int32_t shape_number, int64_t count, bint sole_unscored):
        """Place up to ``count`` pods one after another; return positions, scores and the sum of scores."""
        cdef Shape* shape = &self.shapes[shape_number]
        cdef int64_t done = 0
        cdef double total = 0.0
        self.reserve(self.placed + count)
        positions_array = np.empty(count, dtype=np.int32)
        scores_array = np.empty(count, dtype=np.float64)
        cdef int32_t[::1] positions = positions_array
        cdef double[::1] scores = scores_array
        with nogil:
            self.catch_up(shape)
            while done < count and shape.nodes.n_fitting > 0:
                scores[done] = 0.0 if sole_unscored and shape.nodes.n_fitting == 1 else shape.nodes.outer[1].total
                total += scores[done]
                positions[done] = self.put(shape, shape_number)
                done += 1
        if done < count:
            positions_array = positions_array[:done].copy()
            scores_array = scores_array[:done].copy()
        return positions_array, scores_array, total

    def place_each(self, const int32_t[::1] shape_numbers not None, bint sole_unscored):
        """Place one pod of each shape named, in that order; position -1 and score 0 if no node fits."""
        cdef int64_t count = shape_numbers.shape[0], i
        cdef Shape* shape
        cdef double total = 0.0
        self.reserve(self.placed + count)
        positions_array = np.full(count, -1, dtype=np.int32)
        scores_array = np.zeros(count, dtype=np.float64)
        cdef int32_t[::1] positions = positions_array
        cdef double[::1] scores = scores_array
        with nogil:
            for i in range(count):
                shape = &self.shapes[shape_numbers[i]]
                self.catch_up(shape)
                if shape.nodes.n_fitting == 0:
                    continue
                if not (sole_unscored and shape.nodes.n_fitting == 1):
                    scores[i] = shape.nodes.outer[1].total
                    total += scores[i]
                positions[i] = self.put(shape, shape_numbers[i])
        return positions_array, scores_array, total

    cdef int32_t put(self, Shape* shape, int32_t shape_number) noexcept nogil:
        """Place one pod on the winner; return its position."""
        cdef int32_t position = <int32_t>shape.nodes.outer[1].key  # the low half of the key
        cdef int64_t slot = self.slot_of[position], g = self.group_of[slot], k
        cdef int64_t* idle = self.rows + slot * 3 * self.r
        cdef int32_t wider
        cdef bint stale = False
        for k in range(self.r):
            idle[k] -= shape.request[k]
            idle[self.r + k] += shape.request[k]
        if self.fading.n_tiers:
            use_path(&self.fading.totals, self.node_of[slot], shape.request, 1)
        self.undo_slot[self.placed] = <int32_t>slot
        self.undo_shape[self.placed] = shape_number
        self.undo_record[self.placed] = self.record
        self.placed += 1
        self.note(slot)
        shape.seen = self.log_end
        if self.topology and self.by_leaf.domain_of[g] >= 0:
            stale = self.count_task(slot, 1)
            if self.update_record:
                if self.record == NO_RECORD:
                    wider = self.by_leaf.domain_of[g]
                else:
                    wider = lca(&self.closeness, self.by_leaf.domain_of[g], self.record)
                    if wider < 0 and not self.roots_meet:
                        wider = NO_RECORD
                if wider != self.record:
                    self.widen(wider)
                    stale = True
        if self.refresh(shape, slot) or stale:
            self.regroup(shape)
        else:
            lift(&self.by_leaf, &self.closeness, &shape.nodes, g)
        return position

    cdef int reserve(self, int64_t wanted) except -1:
        cdef int64_t capacity
        if wanted <= self.capacity:
            return 0
        capacity = max(wanted, 2 * self.capacity)
        self.undo_slot = <int32_t*>regrow(self.undo_slot, capacity * sizeof(int32_t))
        self.undo_shape = <int32_t*>regrow(self.undo_shape, capacity * sizeof(int32_t))
        self.undo_record = <int32_t*>regrow(self.undo_record, capacity * sizeof(int32_t))
        self.capacity = capacity
        return 0

    def rollback(self, int64_t mark):
        """Undo every placement after the first ``mark``."""
        cdef int64_t i, slot, k
        cdef int64_t* idle
        cdef const int64_t* request
        cdef int32_t g, record = self.record
        with nogil:
            for i in range(self.placed - 1, mark - 1, -1):
                slot = self.undo_slot[i]
                request = self.shapes[self.undo_shape[i]].request
                idle = self.rows + slot * 3 * self.r
                for k in range(self.r):
                    idle[k] += request[k]
                    idle[self.r + k] -= request[k]
                if self.fading.n_tiers:
                    use_path(&self.fading.totals, self.node_of[slot], request, -1)
                g = self.group_of[slot]
                if self.topology and self.by_leaf.domain_of[g] >= 0:
                    self.count_task(slot, -1)
                record = self.undo_record[i]
                self.note(slot)
            self.placed = mark
            if record != self.record:
                self.widen(record)

    def n_fitting(self, int32_t shape_number):
        """Number of candidates that take one more pod of the shape."""
        with nogil:
            self.catch_up(&self.shapes[shape_number])
        return self.shapes[shape_number].nodes.n_fitting

    def node_scores(self, int32_t shape_number):
        """Node part and total of each candidate's score by position; -inf where the pod does not fit."""
        cdef Shape* shape = &self.shapes[shape_number]
        cdef int64_t s, g, n
        cdef const Inner* leaf
        node_array = np.empty(self.c, dtype=np.float64)
        total_array = np.empty(self.c, dtype=np.float64)
        cdef double[::1] node = node_array
        cdef double[::1] total = total_array
        with nogil:
            self.catch_up(shape)
            for s in range(self.c):
                g = self.group_of[s]
                n = self.by_leaf.first[g + 1] - self.by_leaf.first[g]
                leaf = shape.nodes.inner + 2 * self.by_leaf.first[g] + n + s - self.by_leaf.first[g]
                node[self.position_of[s]] = leaf.node
                total[self.position_of[s]] = leaf.node + offset(&self.by_leaf, &self.closeness, &shape.nodes, g)
        return node_array, total_array

    def idle(self):
        """Copy of the present idle amounts by position."""
        cdef int64_t s, k
        out_array = np.empty((self.c, self.r), dtype=np.int64)
        cdef int64_t[:, ::1] out = out_array
        for s in range(self.c):
            for k in range(self.r):
                out[self.position_of[s], k] = self.rows[s * 3 * self.r + k]
        return out_array

    def tasks_in_group(self):
        """Copy of the job's tasks per group, including the pods placed here."""
        out_array = np.empty(self.g, dtype=np.int64)
        cdef int64_t g
        for g in range(self.g):
            out_array[g] = self.by_leaf.tasks[g]
        return out_array


cdef void free_shape(Shape* shape) noexcept nogil:
    free(shape.request)
    free(shape.feasible)
    free(shape.extra)
    free(shape.nodes.inner)
    free(shape.nodes.outer)
    free(shape.nodes.fitting)
    free(shape.nodes.gain)
    free(shape.full.share)
    free(shape.full.known)
