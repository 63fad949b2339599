"""The newest Volcano's two-level search: HyperNodes for a job, and inside each of them HyperNodes for its sub-jobs.

What makes an exhaustive search cheap:

- pods of one shape that each HyperNode holds are counted once and corrected along the path of every node that changed,
  so that a HyperNode without room costs one comparison, and pods of one role need no trial at all: the count is exact;
- HyperNodes are tried in the order of their scores, so that for several roles the trials end with the first that has
  a solution; the rest cannot win;
- sub-jobs that ask for the same share one tournament tree per tier of a job's HyperNode; a placement changes its path;
- a log of changed nodes lets counts and trees look only at what changed since they were last asked, and takes an
  attempt back.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memcpy

from workbench._core.dry_runs cimport (
    NO_RECORD, DryRuns, Entry, Progress, is_ready, missing_of, note_placed, until_ready
)
from workbench._core.node_score cimport grab

import numpy as np

cdef enum:
    NOWHERE = -3       # no HyperNode is left after the record
    NOT_TRIED = -2     # a HyperNode that holds too few pods


cdef struct Sub:
    Progress progress
    int32_t record
    int64_t placed         # its pods placed so far
    # fixed
    int64_t first_entry
    int32_t policy         # -1: none
    int32_t kind           # sub-jobs of one kind ask for the same
    int32_t rank           # order among sub-jobs
    int32_t n_roles        # roles with pending pods
    bint scored, limited
    int64_t limit, total
    int64_t* request       # r numbers, then r of `pending`
    double weights         # of the requested resources
    int32_t* running
    int64_t n_running


cdef struct Tree:
    int64_t attempt, seen, first, m
    bint empty             # no leaf has a solution: counts only sink within an attempt
    double* key            # of each leaf
    int32_t* best          # leaf that wins below each inner node


cdef struct Count:
    int32_t* per_node
    int64_t* per_domain    # the virtual top last
    int64_t cap
    int64_t seen


cdef int compare_keys(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const int64_t*>a)[0], y = (<const int64_t*>b)[0]
    return (x > y) - (x < y)


@cython.final
@cython.auto_pickle(False)
cdef class TwoLevel(DryRuns):
    """See ``workbench.kernels.two_level.TwoLevel`` for the contract; arguments are trusted."""

    # the tree
    cdef int64_t n_tiers
    cdef const int64_t* tiers
    cdef const int64_t* tier_start
    cdef const int32_t* tier_domains   # of each tier in the order of the walk
    cdef const int32_t* place_of       # of each domain in the walk, and where its subtree ends
    cdef const int32_t* end_of
    cdef const int32_t* tier_of        # number of the tier of each domain
    cdef int32_t* spot                 # of each domain among those of its tier
    cdef const int64_t* node_start
    cdef const int32_t* node_domains
    cdef int64_t top_tier
    cdef bint nested
    # totals per domain, the virtual top last
    cdef int64_t* domain_used
    cdef const int64_t* domain_allocatable
    cdef const int64_t* idle_at_open
    cdef double* packing               # weight of each resource
    cdef double scale
    cdef Count* counts
    # the job
    cdef bint grouped, job_limited, has_minimum
    cdef int64_t job_limit
    cdef int64_t* minimum
    cdef Progress job, job_settled
    cdef Entry* job_entries            # settled, then of the attempt
    cdef int32_t job_record
    cdef int64_t n_policies
    cdef int64_t* wanted
    cdef int64_t* ready_of
    cdef int64_t* alive_of
    cdef int64_t policies_short, pods_alive
    # its sub-jobs
    cdef int64_t n_subs, n_entries, n_kinds
    cdef Sub* subs
    cdef Sub* settled
    cdef Entry* entries
    cdef Entry* entries_settled
    cdef Entry* held               # of one sub-job, during a trial
    cdef int32_t* by_rank
    cdef int64_t* queue
    cdef int64_t n_queue
    cdef int64_t* heap
    cdef int64_t n_heap
    cdef uint8_t* is_first
    cdef int64_t* kind_size
    cdef int64_t* kind_failed
    cdef Tree* trees                   # per kind and tier, the virtual top's last
    cdef Tree scratch
    cdef int64_t attempt_number, commits
    # nodes changed by pods that stay or belong to the attempt
    cdef int32_t* changed
    cdef int64_t n_changed, changed_capacity
    # pods placed
    cdef int32_t* log_sub
    cdef int32_t* log_shape
    cdef int32_t* log_node
    cdef int64_t n_log, log_settled, log_capacity
    cdef double score                  # of the attempt
    cdef readonly double last_score    # of the last turn
    cdef int32_t stuck
    # HyperNodes tried in the last turn
    cdef int64_t n_rows
    cdef int32_t* row_domain
    cdef int32_t* row_stuck
    cdef int64_t* row_holds
    cdef double* row_score
    cdef uint8_t* row_kept

    def __dealloc__(self):
        cdef int64_t i
        if self.counts != NULL:
            for i in range(self.n_shapes):
                free(self.counts[i].per_node)
                free(self.counts[i].per_domain)
        free(self.counts)
        if self.settled != NULL:
            for i in range(self.n_subs):
                free(self.settled[i].request)
                free(self.settled[i].running)
        free(self.settled)
        if self.trees != NULL:
            for i in range(self.n_kinds * (self.n_tiers + 1)):
                free(self.trees[i].key)
                free(self.trees[i].best)
        free(self.trees)
        free(self.scratch.key)
        free(self.scratch.best)
        free(self.spot)
        free(self.domain_used)
        free(self.packing)
        free(self.minimum)
        free(self.job_entries)
        free(self.wanted)
        free(self.ready_of)
        free(self.alive_of)
        free(self.subs)
        free(self.entries)
        free(self.entries_settled)
        free(self.held)
        free(self.by_rank)
        free(self.queue)
        free(self.heap)
        free(self.is_first)
        free(self.kind_size)
        free(self.kind_failed)
        free(self.changed)
        free(self.log_sub)
        free(self.log_shape)
        free(self.log_node)
        free(self.row_domain)
        free(self.row_stuck)
        free(self.row_holds)
        free(self.row_score)
        free(self.row_kept)

    # ---- set-up, each once and in this order ----

    def set_tree(
        self,
        const int32_t[::1] parent not None,
        const int64_t[::1] tiers not None,
        const int64_t[::1] tier_start not None,
        const int32_t[::1] tier_domains not None,
        const int32_t[::1] tier_of not None,
        const int32_t[::1] place_of not None,
        const int32_t[::1] end_of not None,
        const int64_t[::1] node_start not None,
        const int32_t[::1] node_domains not None,
        int64_t top_tier,
        bint nested,
    ):
        """The HyperNodes; the memoryviews are kept, not copied."""
        cdef int64_t i, t
        self.keep += [parent, tiers, tier_start, tier_domains, tier_of, place_of, end_of, node_start, node_domains]
        self.n_tiers = tiers.shape[0]
        self.tier_start = &tier_start[0]
        self.node_start = &node_start[0]
        if self.d:
            self.parent = &parent[0]
            self.tiers = &tiers[0]
            self.tier_domains = &tier_domains[0]
            self.tier_of = &tier_of[0]
            self.place_of = &place_of[0]
            self.end_of = &end_of[0]
        if node_domains.shape[0]:
            self.node_domains = &node_domains[0]
        self.top_tier = top_tier
        self.nested = nested
        self.spot = <int32_t*>grab(self.d * sizeof(int32_t))
        for t in range(self.n_tiers):
            for i in range(self.tier_start[t], self.tier_start[t + 1]):
                self.spot[self.tier_domains[i]] = <int32_t>(i - self.tier_start[t])
        self.row_domain = <int32_t*>grab((self.d + 1) * sizeof(int32_t))
        self.row_stuck = <int32_t*>grab((self.d + 1) * sizeof(int32_t))
        self.row_holds = <int64_t*>grab((self.d + 1) * sizeof(int64_t))
        self.row_score = <double*>grab((self.d + 1) * sizeof(double))
        self.row_kept = <uint8_t*>grab(self.d + 1)

    def set_totals(
        self,
        const int64_t[:, ::1] used not None,
        const int64_t[:, ::1] allocatable not None,
        const int64_t[:, ::1] idle_at_open not None,
        const double[::1] packing not None,
        double scale,
        const int64_t[::1] caps not None,
        const int32_t[:, ::1] spans,
    ):
        """Sums over the nodes of each domain; ``caps``: pods of each shape that are looked for at most."""
        cdef int64_t k, s
        cdef size_t cells = (self.d + 1) * self.r * sizeof(int64_t)
        self.keep += [allocatable, idle_at_open]
        self.domain_used = <int64_t*>grab(cells)
        if self.r:
            memcpy(self.domain_used, &used[0, 0], cells)
            self.domain_allocatable = &allocatable[0, 0]
            self.idle_at_open = &idle_at_open[0, 0]
        self.packing = <double*>grab(self.r * sizeof(double))
        for k in range(self.r):
            self.packing[k] = packing[k]
        self.scale = scale
        prefix_array = np.empty(self.n + 1, dtype=np.int64)
        cdef int64_t[::1] prefix = prefix_array
        cdef double[::1] idle_of = np.empty(self.n * self.r + 1, dtype=np.float64)
        cdef double[::1] fit = np.empty(self.n + 1, dtype=np.float64)
        for s in range(self.n):
            for k in range(self.r):
                idle_of[k * self.n + s] = <double>self.idle[s * self.r + k]
        self.counts = <Count*>grab(self.n_shapes * sizeof(Count))
        for s in range(self.n_shapes):
            self.counts[s].cap = caps[s]
            self.counts[s].per_node = <int32_t*>grab(self.n * sizeof(int32_t))
            self.counts[s].per_domain = <int64_t*>grab((self.d + 1) * sizeof(int64_t))
            with nogil:
                self.count_all(s, &idle_of[0], &fit[0], &prefix[0], &spans[0, 0] if spans is not None and self.d else NULL)

    cdef int32_t holds(self, int64_t s, int64_t node) noexcept nogil:
        """Pods of a shape that a node holds."""
        cdef const int64_t* request = self.shapes[s].request
        cdef const int64_t* idle = self.idle + node * self.r
        cdef int64_t fit = self.counts[s].cap, k
        cdef double quotient
        if self.shapes[s].feasible != NULL and not self.shapes[s].feasible[node]:
            return 0
        for k in range(self.r):
            if request[k] > 0:
                if idle[k] < request[k]:
                    return 0
                # Below 2**53 the rounded quotient never reaches the next integer; dividing integers takes far longer.
                quotient = <double>idle[k] / <double>request[k]
                if quotient < <double>fit:
                    fit = <int64_t>quotient
        return <int32_t>fit

    cdef void count_all(
        self, int64_t s, const double* idle_of, double* fit, int64_t* prefix, const int32_t* spans
    ) noexcept nogil:
        """The same as `holds` for every node, resource by resource, which the compiler turns into vectors."""
        cdef Count* count = &self.counts[s]
        cdef const uint8_t* feasible = self.shapes[s].feasible
        cdef int64_t i, k, total
        cdef int32_t held
        cdef double request
        cdef const double* idle
        for i in range(self.n):
            fit[i] = <double>count.cap
        for k in range(self.r):
            if self.shapes[s].request[k] > 0:
                request = <double>self.shapes[s].request[k]
                idle = idle_of + k * self.n
                for i in range(self.n):
                    fit[i] = idle[i] / request if idle[i] / request < fit[i] else fit[i]
        prefix[0] = 0
        for i in range(self.n):
            held = <int32_t>fit[i] if fit[i] > 0.0 else 0
            if feasible != NULL and not feasible[i]:
                held = 0
            count.per_node[i] = held
            prefix[i + 1] = prefix[i] + held
        for i in range(self.d):
            if spans != NULL:
                count.per_domain[i] = prefix[spans[2 * i + 1]] - prefix[spans[2 * i]]
            else:
                total = 0
                for k in range(self.start[i], self.start[i + 1]):
                    total += count.per_node[self.members[k]]
                count.per_domain[i] = total
        count.per_domain[self.d] = prefix[self.n]

    def set_job(
        self,
        bint grouped,
        bint limited,
        int64_t limit,
        const int64_t[::1] minimum,
        const int32_t[::1] names not None,
        const int64_t[:, ::1] counts not None,
        int32_t rule,
        int64_t min_available,
        int64_t counted,
        bint minimums_count,
        int32_t record,
        const int64_t[::1] wanted not None,
    ):
        """``counts`` has left, present, minimum of each role; the first ``n_shapes`` are the shapes."""
        cdef int64_t i, n = names.shape[0]
        self.grouped = grouped
        self.job_limited = limited
        self.job_limit = limit
        self.has_minimum = minimum is not None
        self.minimum = <int64_t*>grab(self.r * sizeof(int64_t))
        if minimum is not None:
            for i in range(self.r):
                self.minimum[i] = minimum[i]
        self.job_entries = <Entry*>grab(2 * n * sizeof(Entry))
        self.job_settled = Progress(self.job_entries, <int32_t>n, rule, minimums_count, min_available, counted, 0, 0)
        for i in range(n):
            self.job_entries[i] = Entry(<int32_t>i, names[i], counts[i, 0], counts[i, 1], counts[i, 2])
            if counts[i, 2] > counts[i, 1]:
                self.job_settled.short_of += counts[i, 2] - counts[i, 1]
            self.job_settled.rest += counts[i, 0]
        self.job_record = record
        self.n_policies = wanted.shape[0]
        self.wanted = <int64_t*>grab(self.n_policies * sizeof(int64_t))
        self.ready_of = <int64_t*>grab(self.n_policies * sizeof(int64_t))
        self.alive_of = <int64_t*>grab(self.n_policies * sizeof(int64_t))
        for i in range(self.n_policies):
            self.wanted[i] = wanted[i]

    def set_subs(
        self,
        const int64_t[::1] entry_start not None,
        const int32_t[::1] shapes not None,
        const int64_t[::1] left not None,
        const int32_t[:, ::1] fixed not None,
        const int64_t[:, ::1] numbers not None,
        const int64_t[:, :, ::1] amounts not None,
        const int64_t[::1] running_start not None,
        const int32_t[::1] running not None,
    ):
        """``fixed``: policy, kind, rank, scored, limited, record, rule; ``numbers``: limit, total, min_available,
        counted; ``amounts``: request and pending. Not grouped: one sub-job, whose progress is the job's."""
        cdef int64_t s = fixed.shape[0], i, k, t, e, kinds = 0, size
        cdef Sub* sub
        cdef Tree* tree
        self.n_entries = entry_start[s] if self.grouped else self.job_settled.n
        self.subs = <Sub*>grab(s * sizeof(Sub))
        self.settled = <Sub*>grab(s * sizeof(Sub))
        self.n_subs = s
        self.entries = <Entry*>grab(self.n_entries * sizeof(Entry))
        self.entries_settled = <Entry*>grab(self.n_entries * sizeof(Entry))
        self.held = <Entry*>grab(self.n_entries * sizeof(Entry))
        self.by_rank = <int32_t*>grab(s * sizeof(int32_t))
        self.queue = <int64_t*>grab(s * sizeof(int64_t))
        self.heap = <int64_t*>grab((s + 1) * sizeof(int64_t))
        self.is_first = <uint8_t*>grab(s)
        for i in range(s):
            kinds = max(kinds, fixed[i, 1] + 1)
        self.kind_size = <int64_t*>grab(kinds * sizeof(int64_t))
        self.kind_failed = <int64_t*>grab(kinds * sizeof(int64_t))
        for i in range(s):
            sub = &self.settled[i]
            sub.request = <int64_t*>grab(2 * self.r * sizeof(int64_t))
            for k in range(self.r):
                sub.request[k] = amounts[i, 0, k]
                sub.request[self.r + k] = amounts[i, 1, k]
                if amounts[i, 0, k] > 0 and self.packing[k] > 0.0:
                    sub.weights += self.packing[k]
            sub.policy = fixed[i, 0]
            sub.kind = fixed[i, 1]
            sub.rank = fixed[i, 2]
            sub.scored = fixed[i, 3]
            sub.limited = fixed[i, 4]
            sub.record = fixed[i, 5]
            sub.limit = numbers[i, 0]
            sub.total = numbers[i, 1]
            self.by_rank[sub.rank] = <int32_t>i
            self.kind_size[sub.kind] += 1
            sub.n_running = running_start[i + 1] - running_start[i]
            sub.running = <int32_t*>grab(sub.n_running * sizeof(int32_t))
            for k in range(sub.n_running):
                sub.running[k] = running[running_start[i] + k]
            if self.grouped:
                sub.first_entry = entry_start[i]
                sub.progress = Progress(
                    NULL, <int32_t>(entry_start[i + 1] - entry_start[i]), fixed[i, 6], True,
                    numbers[i, 2], numbers[i, 3], 0, 0,
                )
                for e in range(entry_start[i], entry_start[i + 1]):
                    self.entries_settled[e] = Entry(shapes[e], self.job_entries[shapes[e]].name, left[e], 0, 0)
                    sub.progress.rest += left[e]
                    sub.n_roles += left[e] > 0
            else:
                sub.progress = self.job_settled
                for e in range(self.n_entries):
                    self.entries_settled[e] = self.job_entries[e]
                    sub.n_roles += self.job_entries[e].left > 0
        self.trees = <Tree*>grab(kinds * (self.n_tiers + 1) * sizeof(Tree))
        self.n_kinds = kinds
        for k in range(kinds):
            for t in range(self.n_tiers):
                size = self.tier_start[t + 1] - self.tier_start[t]
                tree = &self.trees[k * (self.n_tiers + 1) + t]
                if self.kind_size[k] > 1:
                    tree.key = <double*>grab(size * sizeof(double))
                    tree.best = <int32_t*>grab(size * sizeof(int32_t))
        size = 1
        for t in range(self.n_tiers):
            size = max(size, self.tier_start[t + 1] - self.tier_start[t])
        self.scratch.key = <double*>grab(size * sizeof(double))
        self.scratch.best = <int32_t*>grab(size * sizeof(int32_t))
        k = 0
        for i in range(s):
            k += self.settled[i].progress.rest
        self.make_room(k)
        self.changed_capacity = k
        self.changed = <int32_t*>grab(k * sizeof(int32_t))
        self.log_capacity = k
        self.log_sub = <int32_t*>grab(k * sizeof(int32_t))
        self.log_shape = <int32_t*>grab(k * sizeof(int32_t))
        self.log_node = <int32_t*>grab(k * sizeof(int32_t))

    # ---- counts ----

    cdef void recount(self, int64_t s, int32_t node) noexcept nogil:
        cdef Count* count = &self.counts[s]
        cdef int32_t now = self.holds(s, node)
        cdef int64_t change = now - count.per_node[node], k
        if change == 0:
            return
        count.per_node[node] = now
        for k in range(self.node_start[node], self.node_start[node + 1]):
            count.per_domain[self.node_domains[k]] += change
        count.per_domain[self.d] += change

    cdef void catch_up(self, int64_t s) noexcept nogil:
        cdef int64_t i
        for i in range(self.counts[s].seen, self.n_changed):
            self.recount(s, self.changed[i])
        self.counts[s].seen = self.n_changed

    cdef void stay(self, int32_t number) noexcept nogil:
        """The pods of the last run stay, for this attempt at least."""
        cdef Sub* sub = &self.subs[number]
        cdef int64_t i, k, j
        cdef int32_t node, shape
        cdef const int64_t* request
        cdef int64_t* used
        for i in range(self.n_run):
            node = self.run_node[i]
            shape = sub.progress.entries[self.run_entry[i]].shape
            request = self.shapes[shape].request
            self.version[node] += 1
            for j in range(self.node_start[node], self.node_start[node + 1]):
                used = self.domain_used + self.node_domains[j] * self.r
                for k in range(self.r):
                    used[k] += request[k]
            used = self.domain_used + self.d * self.r
            for k in range(self.r):
                used[k] += request[k]
            self.log_sub[self.n_log] = number
            self.log_shape[self.n_log] = shape
            self.log_node[self.n_log] = node
            self.n_log += 1
            if i == 0 or self.run_node[i - 1] != node:
                self.changed[self.n_changed] = node
                self.n_changed += 1
        self.commits += 1

    cdef void shift(self, int32_t node, const int64_t* row, int64_t sign) noexcept nogil:
        """Take a row from a node and its domains, or with sign -1 give it back; counts of pods are left to others."""
        cdef int64_t k, j
        cdef int64_t* used
        for k in range(self.r):
            self.idle[node * self.r + k] -= sign * row[k]
            self.used[node * self.r + k] += sign * row[k]
        self.version[node] += 1
        for j in range(self.node_start[node], self.node_start[node + 1]):
            used = self.domain_used + self.node_domains[j] * self.r
            for k in range(self.r):
                used[k] += sign * row[k]
        used = self.domain_used + self.d * self.r
        for k in range(self.r):
            used[k] += sign * row[k]

    cdef void take_back(self, int64_t log_mark, int64_t changed_mark) noexcept nogil:
        cdef int64_t i, s
        for i in range(self.n_log - 1, log_mark - 1, -1):
            self.shift(self.log_node[i], self.shapes[self.log_shape[i]].request, -1)
        self.n_log = log_mark
        for s in range(self.n_shapes):
            for i in range(changed_mark, self.counts[s].seen):
                self.recount(s, self.changed[i])
            if self.counts[s].seen > changed_mark:
                self.counts[s].seen = changed_mark
        self.n_changed = changed_mark
        self.commits += 1

    # ---- which HyperNodes ----

    cdef int64_t at(self, int32_t domain) noexcept nogil:
        return domain if domain >= 0 else self.d

    cdef int64_t domain_tier(self, int32_t domain) noexcept nogil:
        return self.tiers[self.tier_of[domain]] if domain >= 0 else self.top_tier

    cdef bint contains(self, int32_t outer, int32_t inner) noexcept nogil:
        if outer < 0 or inner < 0:
            return outer < 0
        return self.place_of[outer] <= self.place_of[inner] < self.end_of[outer]

    cdef int32_t start_of(self, int32_t given, int32_t record, int64_t limit) noexcept nogil:
        """Where the walk begins: the lower one of the given HyperNode and the highest that the record allows."""
        cdef int32_t allowed = record
        if record == NO_RECORD:
            return given
        if self.domain_tier(record) > limit:
            return NOWHERE
        while allowed >= 0 and self.domain_tier(self.parent[allowed]) <= limit:
            allowed = self.parent[allowed]
        if self.contains(allowed, given):
            return given
        return allowed if self.contains(given, allowed) else NOWHERE

    cdef int64_t first_of(self, int64_t t, int64_t place) noexcept nogil:
        """Of the domains of a tier in the order of the walk the first that is not before a place."""
        cdef int64_t low = self.tier_start[t], high = self.tier_start[t + 1], middle
        while low < high:
            middle = (low + high) >> 1
            if self.place_of[self.tier_domains[middle]] < place:
                low = middle + 1
            else:
                high = middle
        return low

    cdef bint large(self, int32_t domain, const int64_t* amount) noexcept nogil:
        cdef const int64_t* idle = self.idle_at_open + self.at(domain) * self.r
        cdef int64_t k
        for k in range(self.r):
            if idle[k] < amount[k]:
                return False
        return True

    cdef double packed(self, const Sub* sub, int32_t domain) noexcept nogil:
        """How full a HyperNode is with the sub-job's pods."""
        cdef const int64_t* used = self.domain_used + self.at(domain) * self.r
        cdef const int64_t* allocatable = self.domain_allocatable + self.at(domain) * self.r
        cdef double score = 0.0
        cdef int64_t k, after
        if sub.weights == 0.0:
            return 0.0
        for k in range(self.r):
            if sub.request[k] > 0 and self.packing[k] > 0.0:
                after = used[k] + sub.request[k]
                if after > allocatable[k]:
                    return 0.0
                score += self.packing[k] * <double>after / <double>(allocatable[k] if allocatable[k] > 1 else 1)
        return score / sub.weights

    cdef double key_of(self, const Sub* sub, int32_t domain) noexcept nogil:
        """The score of a HyperNode; -inf where the counts tell that it has no solution."""
        cdef const Progress* now = &sub.progress
        cdef const Entry* entry
        cdef int64_t missing = missing_of(now), here, held = 0, x = self.at(domain)
        cdef bint together = missing >= now.rest
        cdef int32_t e
        for e in range(now.n):
            entry = &now.entries[e]
            if entry.left == 0:
                continue
            here = self.counts[entry.shape].per_domain[x]
            if here > entry.left:
                here = entry.left
            held += here
            if together and here < entry.left:
                return -INFINITY
            if sub.n_roles == 1 and here < until_ready(now, entry):
                return -INFINITY
        if held < (missing if missing > 1 else 1):
            return -INFINITY
        if sub.limited and sub.record == NO_RECORD and not self.large(domain, sub.request + self.r):
            return -INFINITY
        return self.packed(sub, domain)

    # ---- the tournament over the HyperNodes of one tier ----

    cdef inline int32_t winner(self, const Tree* tree, int64_t i) noexcept nogil:
        return tree.best[i] if i < tree.m else <int32_t>(i - tree.m)

    cdef inline int32_t play(self, const Tree* tree, const int32_t* domains, int64_t i) noexcept nogil:
        cdef int32_t a = self.winner(tree, 2 * i), b = self.winner(tree, 2 * i + 1)
        if tree.key[a] != tree.key[b]:
            return a if tree.key[a] > tree.key[b] else b
        return a if domains[a] < domains[b] else b

    cdef int64_t least(self, const Sub* sub, const Entry** entry) noexcept nogil:
        """A number of pods of one entry that every HyperNode with a solution holds."""
        cdef const Progress* now = &sub.progress
        cdef int64_t missing = missing_of(now), wanted = 0
        cdef int32_t e
        entry[0] = NULL
        for e in range(now.n):
            if now.entries[e].left > 0:
                entry[0] = &now.entries[e]
                break
        if entry[0] == NULL:
            return 0
        if missing >= now.rest:
            wanted = entry[0].left
        if sub.n_roles == 1:
            wanted = max(wanted, until_ready(now, entry[0]), missing)
        return wanted

    cdef void grow(self, Tree* tree, const Sub* sub, const int32_t* domains) noexcept nogil:
        cdef int64_t i, found = 0
        cdef const Entry* entry
        cdef const int64_t* held = NULL
        cdef int64_t least = self.least(sub, &entry)
        if entry != NULL:
            held = self.counts[entry.shape].per_domain
        for i in range(tree.m):
            # Most fail already here.
            if held != NULL and held[self.at(domains[i])] < least:
                tree.key[i] = -INFINITY
                continue
            tree.key[i] = self.key_of(sub, domains[i])
            found += tree.key[i] != -INFINITY
        tree.attempt = self.attempt_number
        tree.empty = found == 0
        if found:
            for i in range(tree.m - 1, 0, -1):
                tree.best[i] = self.play(tree, domains, i)
            tree.seen = self.n_changed

    cdef void set_key(self, Tree* tree, const int32_t* domains, int64_t i, double key) noexcept nogil:
        tree.key[i] = key
        i += tree.m
        while i > 1:
            i >>= 1
            tree.best[i] = self.play(tree, domains, i)

    cdef void refresh(self, Tree* tree, const Sub* sub, int64_t t, const int32_t* domains) noexcept nogil:
        cdef int64_t i, k, leaf
        cdef int32_t node, domain
        for i in range(tree.seen, self.n_changed):
            node = self.changed[i]
            for k in range(self.node_start[node], self.node_start[node + 1]):
                domain = self.node_domains[k]
                if self.tier_of[domain] == t:
                    leaf = self.tier_start[t] + self.spot[domain] - tree.first
                    if 0 <= leaf < tree.m:
                        self.set_key(tree, domains, leaf, self.key_of(sub, domain))
        tree.seen = self.n_changed

    # ---- one sub-job ----

    cdef void weigh(self, int32_t number, int64_t change) noexcept nogil:
        """Count the sub-job's pods on their leaves, or forget them again."""
        cdef const Sub* sub = &self.subs[number]
        cdef int64_t i
        cdef int32_t node
        for i in range(sub.n_running):
            node = sub.running[i]
            if node >= 0 and self.leaf[node] >= 0:
                self.tasks_on_leaf[self.leaf[node]] += change
        if sub.placed:
            for i in range(self.n_log):
                if self.log_sub[i] == number and self.leaf[self.log_node[i]] >= 0:
                    self.tasks_on_leaf[self.leaf[self.log_node[i]]] += change

    cdef bint holds_node(self, int32_t domain, int32_t node) noexcept nogil:
        cdef int64_t k
        if domain < 0:
            return True
        for k in range(self.node_start[node], self.node_start[node + 1]):
            if self.node_domains[k] == domain:
                return True
        return False

    cdef int64_t inside(self, int32_t number, int32_t domain) noexcept nogil:
        """Pods of the sub-job in a HyperNode."""
        cdef const Sub* sub = &self.subs[number]
        cdef int64_t i, found = 0
        for i in range(sub.n_running):
            if sub.running[i] >= 0:
                found += self.holds_node(domain, sub.running[i])
        for i in range(self.n_log):
            if self.log_sub[i] == number:
                found += self.holds_node(domain, self.log_node[i])
        return found

    cdef Progress try_in(self, int32_t number, int32_t domain) noexcept nogil:
        """The pass over the sub-job's pods in a HyperNode; its entries are the attempt's own and change."""
        cdef Sub* sub = &self.subs[number]
        cdef Progress now = sub.progress
        cdef bint weighty = sub.scored and (sub.n_running > 0 or sub.placed > 0)
        if weighty:
            self.weigh(number, 1)
        self.total_tasks = <double>sub.total
        self.run(domain, sub.scored, sub.record, &now)
        if weighty:
            self.weigh(number, -1)
        return now

    cdef bint solves(self, int32_t number, int32_t domain) noexcept nogil:
        """A trial for sub-jobs of several roles; everything is as before."""
        cdef Sub* sub = &self.subs[number]
        cdef Progress now
        cdef bint answer
        self.hold_entries(sub, True)
        now = self.try_in(number, domain)
        answer = self.n_run > 0 and is_ready(&now)
        self.take_back_run(&now)
        self.hold_entries(sub, False)
        return answer

    cdef void hold_entries(self, Sub* sub, bint save) noexcept nogil:
        if save:
            memcpy(self.held, sub.progress.entries, sub.progress.n * sizeof(Entry))
        else:
            memcpy(sub.progress.entries, self.held, sub.progress.n * sizeof(Entry))

    cdef bint enter_in(self, int32_t number, int32_t domain, double score) noexcept nogil:
        """Place the sub-job in a HyperNode; False: it does not become ready there, and everything is as before."""
        cdef Sub* sub = &self.subs[number]
        cdef Progress now
        cdef int64_t i
        cdef bint was_ready = is_ready(&sub.progress)
        self.hold_entries(sub, True)
        now = self.try_in(number, domain)
        if self.n_run == 0 or not is_ready(&now):
            self.take_back_run(&now)
            self.hold_entries(sub, False)
            return False
        self.pods_alive += now.rest - sub.progress.rest
        sub.progress = now
        self.stay(number)
        sub.placed += self.n_run
        if self.grouped:
            for i in range(self.n_run):
                note_placed(&self.job, &self.job.entries[now.entries[self.run_entry[i]].shape], 1)
        else:
            self.job = now
        if not was_ready and sub.policy >= 0:
            if self.ready_of[sub.policy] < self.wanted[sub.policy]:
                self.policies_short -= 1
            self.ready_of[sub.policy] += 1
            self.alive_of[sub.policy] -= 1
        if sub.record == NO_RECORD:
            sub.record = domain
        else:
            sub.record = self.meet(sub.record, domain)
        self.score += score * 100.0 * self.scale
        return True

    cdef int pick(self, int32_t number, Tree* tree, const int32_t* domains) noexcept nogil:
        """Place the sub-job in the best HyperNode of a tournament: 1 done, 0 none will do, -1 give the sub-job up."""
        cdef Sub* sub = &self.subs[number]
        cdef bint follows = sub.n_running > 0 or sub.placed > 0
        cdef int64_t i, n_best
        cdef int32_t leaf, best
        cdef double key, share, best_share
        while True:
            leaf = self.winner(tree, 1)
            key = tree.key[leaf]
            if key == -INFINITY:
                return 0
            if not follows:
                if self.enter_in(number, domains[leaf], key):
                    return 1
                if sub.n_roles == 1:
                    return -1
                self.set_key(tree, domains, leaf, -INFINITY)
                continue
            # Of several that share the greatest score each counts the pods that it holds already.
            n_best = 0
            best = -1
            best_share = -1.0
            for i in range(tree.m):
                if tree.key[i] != key:
                    continue
                if sub.n_roles > 1 and not self.solves(number, domains[i]):
                    tree.key[i] = -INFINITY
                    continue
                n_best += 1
                share = <double>self.inside(number, domains[i]) / <double>sub.total
                if key + share > best_share or (key + share == best_share and domains[i] < domains[best]):
                    best = <int32_t>i
                    best_share = key + share
            if n_best:
                return 1 if self.enter_in(number, domains[best], best_share if n_best > 1 else key) else -1
            for i in range(tree.m - 1, 0, -1):
                tree.best[i] = self.play(tree, domains, i)

    cdef int pick_one(self, int32_t number, int32_t domain) noexcept nogil:
        """The same for one HyperNode alone."""
        self.scratch.m = 1
        self.grow(&self.scratch, &self.subs[number], &domain)
        if self.scratch.empty:
            return 0
        return self.pick(number, &self.scratch, &domain)

    cdef bint place_sub(self, int32_t number, int32_t given) noexcept nogil:
        """Place one sub-job inside a HyperNode: in the best of the closest tier that has a solution."""
        cdef Sub* sub = &self.subs[number]
        cdef bint shared = (
            self.kind_size[sub.kind] > 1 and sub.record == NO_RECORD and sub.n_running == 0 and sub.placed == 0
        )
        cdef int64_t t, first, end
        cdef int32_t e, start
        cdef int done
        cdef Tree* tree
        cdef const int32_t* domains
        if shared and self.kind_failed[sub.kind] == self.commits:
            return False
        for e in range(sub.progress.n):
            if sub.progress.entries[e].left:
                self.catch_up(sub.progress.entries[e].shape)
        if not sub.limited:
            done = self.pick_one(number, given)
            if done != 1 and shared:
                self.kind_failed[sub.kind] = self.commits
            return done == 1
        start = self.start_of(given, sub.record, sub.limit)
        if start == NOWHERE:
            return False
        for t in range(self.n_tiers):
            if self.tiers[t] > sub.limit:
                break
            first = self.tier_start[t] if start < 0 else self.first_of(t, self.place_of[start])
            end = self.tier_start[t + 1] if start < 0 else self.first_of(t, self.end_of[start])
            if first == end:
                continue
            domains = self.tier_domains + first
            tree = &self.trees[sub.kind * (self.n_tiers + 1) + t] if shared else &self.scratch
            if shared and tree.attempt == self.attempt_number:
                if tree.empty:
                    continue
                self.refresh(tree, sub, t, domains)
            else:
                tree.first = first
                tree.m = end - first
                self.grow(tree, sub, domains)
                if tree.empty:
                    continue
            done = self.pick(number, tree, domains)
            if done:
                if done < 0 and shared:
                    self.kind_failed[sub.kind] = self.commits
                return done == 1
        if start < 0 and self.top_tier <= sub.limit and self.pick_one(number, -1) == 1:
            return True
        if shared:
            self.kind_failed[sub.kind] = self.commits
        return False

    # ---- one HyperNode for the job ----

    cdef bint job_ready(self) noexcept nogil:
        return is_ready(&self.job) and self.policies_short == 0

    cdef int64_t queue_key(self, int64_t i) noexcept nogil:
        cdef bint now = is_ready(&self.subs[i].progress)
        cdef bint first = self.is_first[i] and not now
        return (<int64_t>(not first)) << 41 | (<int64_t>now) << 40 | self.subs[i].rank

    cdef void push(self, int64_t key) noexcept nogil:
        cdef int64_t i = self.n_heap
        self.n_heap += 1
        while i > 0 and self.heap[(i - 1) >> 1] > key:
            self.heap[i] = self.heap[(i - 1) >> 1]
            i = (i - 1) >> 1
        self.heap[i] = key

    cdef int64_t pop(self) noexcept nogil:
        cdef int64_t top = self.heap[0], last, i = 0, child
        self.n_heap -= 1
        last = self.heap[self.n_heap]
        while 2 * i + 1 < self.n_heap:
            child = 2 * i + 1
            if child + 1 < self.n_heap and self.heap[child + 1] < self.heap[child]:
                child += 1
            if self.heap[child] >= last:
                break
            self.heap[i] = self.heap[child]
            i = child
        self.heap[i] = last
        return top

    cdef void reset(self) noexcept nogil:
        """Everything but the nodes as after the last turn."""
        cdef int64_t i
        memcpy(self.entries, self.entries_settled, self.n_entries * sizeof(Entry))
        memcpy(self.subs, self.settled, self.n_subs * sizeof(Sub))
        self.pods_alive = 0
        self.policies_short = 0
        for i in range(self.n_policies):
            self.ready_of[i] = self.alive_of[i] = 0
        for i in range(self.n_subs):
            self.subs[i].progress.entries = self.entries + self.subs[i].first_entry
            self.pods_alive += self.subs[i].progress.rest
            if self.subs[i].policy >= 0:
                if is_ready(&self.subs[i].progress):
                    self.ready_of[self.subs[i].policy] += 1
                elif self.subs[i].progress.rest:
                    self.alive_of[self.subs[i].policy] += 1
        for i in range(self.n_policies):
            if self.ready_of[i] < self.wanted[i]:
                self.policies_short += self.wanted[i] - self.ready_of[i]
        if self.grouped:
            self.job = self.job_settled
            self.job.entries = self.job_entries + self.job.n
            memcpy(self.job.entries, self.job_entries, self.job.n * sizeof(Entry))
        else:
            self.job = self.subs[0].progress
        self.score = 0.0
        self.stuck = -1

    cdef void line_up(self) noexcept nogil:
        """The order of the sub-jobs at the beginning of an attempt; the same for all attempts of a turn."""
        cdef int64_t i, p
        cdef int32_t number
        for p in range(self.n_policies):
            i = self.wanted[p] - self.ready_of[p]
            self.alive_of[p] = i if i > 0 else 0
        for i in range(self.n_subs):
            number = self.by_rank[i]
            p = self.subs[number].policy
            self.is_first[number] = False
            if p >= 0 and self.alive_of[p] and self.subs[number].progress.rest:
                if not is_ready(&self.subs[number].progress):
                    self.is_first[number] = True
                    self.alive_of[p] -= 1
        self.n_queue = 0
        for i in range(self.n_subs):
            if self.subs[i].progress.rest:
                self.queue[self.n_queue] = self.queue_key(i)
                self.n_queue += 1
        qsort(self.queue, self.n_queue, sizeof(int64_t), compare_keys)

    cdef bint attempt_in(self, int32_t domain) noexcept nogil:
        """Place sub-jobs inside a HyperNode until the job is ready; the pods stay."""
        cdef int64_t next_one = 0, key, before = self.n_log
        cdef int32_t number, p
        cdef Sub* sub
        self.reset()
        self.attempt_number += 1
        self.commits += 1
        self.n_heap = 0
        while next_one < self.n_queue or self.n_heap:
            if self.n_heap and (next_one == self.n_queue or self.heap[0] < self.queue[next_one]):
                key = self.pop()
            else:
                key = self.queue[next_one]
                next_one += 1
            number = self.by_rank[<int32_t>key]  # the low half
            sub = &self.subs[number]
            if not self.place_sub(number, domain):
                if self.stuck < 0:
                    self.stuck = number
                self.pods_alive -= sub.progress.rest
                p = sub.policy
                if p >= 0 and not is_ready(&sub.progress):
                    self.alive_of[p] -= 1
                    if self.ready_of[p] + self.alive_of[p] < self.wanted[p]:
                        return False
                self.drop(sub)
                if self.job.counted + self.pods_alive < self.job.min_available:
                    return False
                continue
            if sub.progress.rest:
                self.push(self.queue_key(number))
            if self.job_ready():
                break
        return self.n_log > before and self.job_ready()

    cdef void drop(self, Sub* sub) noexcept nogil:
        cdef int32_t e
        for e in range(sub.progress.n):
            sub.progress.entries[e].left = 0
        sub.progress.rest = 0

    cdef int64_t holds_of_job(self, int32_t domain, const int64_t* left) noexcept nogil:
        """Pods that a HyperNode holds at most of those left."""
        cdef int64_t s, here, held = 0, x = self.at(domain if self.nested else -1)
        for s in range(self.n_shapes):
            here = self.counts[s].per_domain[x]
            held += here if here < left[s] else left[s]
        return held

    cdef void settle_turn(self, int32_t domain) noexcept nogil:
        cdef int64_t i
        memcpy(self.settled, self.subs, self.n_subs * sizeof(Sub))
        memcpy(self.entries_settled, self.entries, self.n_entries * sizeof(Entry))
        if self.grouped:
            memcpy(self.job_entries, self.job.entries, self.job.n * sizeof(Entry))
            self.job_settled = self.job
            self.job_settled.entries = self.job_entries
        if self.job_record == NO_RECORD:
            self.job_record = domain
        else:
            self.job_record = self.meet(self.job_record, domain)
        self.last_score = self.score
        self.log_settled = self.n_log
        # What was logged stays: nothing will be taken back before this point.
        for i in range(self.n_shapes):
            self.catch_up(i)
            self.counts[i].seen = 0
        self.n_changed = 0

    def turn(self):
        """One turn; whether a HyperNode had a solution. Without one everything is as before."""
        cdef int64_t s, i, t, needs, most, first, end
        cdef int32_t domain, start, best = NOWHERE, last = NOWHERE
        cdef double best_score = 0.0
        cdef bint kept
        left_array = np.zeros(self.n_shapes + 1, dtype=np.int64)
        cdef int64_t[::1] left = left_array
        with nogil:
            self.n_rows = 0
            self.reset()
            self.line_up()
            for i in range(self.n_entries):
                if self.entries[i].shape < self.n_shapes:
                    left[self.entries[i].shape] += self.entries[i].left
            needs = missing_of(&self.job)
            if needs < 1:
                needs = 1
            start = -1
            if self.job_limited:
                start = self.start_of(-1, self.job_record, self.job_limit)
            for t in range(self.n_tiers + 1):
                if start == NOWHERE or best != NOWHERE:
                    break
                if t == self.n_tiers:
                    # The virtual top, which a job without a limit tries alone.
                    if start >= 0 or (self.job_limited and self.top_tier > self.job_limit):
                        break
                    first, end = 0, 1
                elif not self.job_limited or self.tiers[t] > self.job_limit:
                    continue
                else:
                    first = self.tier_start[t] if start < 0 else self.first_of(t, self.place_of[start])
                    end = self.tier_start[t + 1] if start < 0 else self.first_of(t, self.end_of[start])
                for i in range(first, end):
                    domain = self.tier_domains[i] if t < self.n_tiers else -1
                    if self.job_limited and self.has_minimum and self.job_record == NO_RECORD:
                        if not self.large(domain, self.minimum):
                            continue
                    if last != NOWHERE:
                        self.take_back(self.log_settled, 0)
                        last = NOWHERE
                    most = self.holds_of_job(domain, &left[0])
                    self.row_domain[self.n_rows] = domain
                    self.row_holds[self.n_rows] = most
                    kept = False
                    if most < needs:
                        self.row_stuck[self.n_rows] = NOT_TRIED
                    else:
                        kept = self.attempt_in(domain)
                        last = domain
                        self.row_stuck[self.n_rows] = self.stuck
                    self.row_kept[self.n_rows] = kept
                    self.row_score[self.n_rows] = self.score if kept else 0.0
                    self.n_rows += 1
                    if kept and (
                        best == NOWHERE
                        or self.score > best_score
                        or (self.score == best_score and domain < best)
                    ):
                        best = domain
                        best_score = self.score
            if best == NOWHERE or best != last:
                self.take_back(self.log_settled, 0)
                self.reset()
            if best != NOWHERE:
                if best != last:
                    self.attempt_in(best)
                self.settle_turn(best)
        return best != NOWHERE

    # ---- answers ----

    @property
    def ready(self):
        """May the job start?"""
        self.reset()
        return bool(self.job_ready())

    @property
    def pods_left(self):
        """Pods that a further turn would try."""
        cdef int64_t i, left = 0
        for i in range(self.n_subs):
            left += self.settled[i].progress.rest
        return left

    @property
    def record(self):
        return self.job_record

    @property
    def n_placed(self):
        return self.log_settled

    def fit_in(self, int32_t domain):
        """A trial of the first sub-job with pods left: shape that failed first, -1 for none; shapes and nodes placed."""
        cdef int64_t i
        cdef int32_t number = 0, failed = -1
        cdef Progress now
        cdef Sub* sub
        self.reset()
        while number < self.n_subs and self.subs[number].progress.rest == 0:
            number += 1
        if number == self.n_subs:
            return -1, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        sub = &self.subs[number]
        self.hold_entries(sub, True)
        now = self.try_in(number, domain)
        shapes_array = np.empty(self.n_run, dtype=np.int32)
        nodes_array = np.empty(self.n_run, dtype=np.int32)
        cdef int32_t[::1] shapes = shapes_array
        cdef int32_t[::1] nodes = nodes_array
        for i in range(self.n_run):
            shapes[i] = now.entries[self.run_entry[i]].shape
            nodes[i] = self.run_node[i]
        if self.first_failed >= 0:
            failed = now.entries[self.first_failed].shape
        self.take_back_run(&now)
        self.hold_entries(sub, False)
        if failed < 0:
            for i in range(now.n - 1, -1, -1):
                if sub.progress.entries[i].left:
                    failed = sub.progress.entries[i].shape
        return failed, shapes_array, nodes_array

    def room(self):
        """Pods of each shape that all nodes hold, each node at most as many as the shape has."""
        out_array = np.empty(self.n_shapes, dtype=np.int64)
        cdef int64_t[::1] out = out_array
        cdef int64_t i
        for i in range(self.n_shapes):
            self.catch_up(i)
            out[i] = self.counts[i].per_domain[self.d]
        return out_array

    def records(self):
        """Record of each sub-job."""
        out_array = np.empty(self.n_subs, dtype=np.int32)
        cdef int32_t[::1] out = out_array
        cdef int64_t i
        for i in range(self.n_subs):
            out[i] = self.settled[i].record
        return out_array

    def placed(self, int64_t first):
        """Sub-job, shape and node of each pod from the ``first``-th on, in the order of placement."""
        cdef int64_t n = self.log_settled - first, i
        subs_array = np.empty(n, dtype=np.int32)
        shapes_array = np.empty(n, dtype=np.int32)
        nodes_array = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] subs = subs_array
        cdef int32_t[::1] shapes = shapes_array
        cdef int32_t[::1] nodes = nodes_array
        for i in range(n):
            subs[i] = self.log_sub[first + i]
            shapes[i] = self.log_shape[first + i]
            nodes[i] = self.log_node[first + i]
        return subs_array, shapes_array, nodes_array

    def rows(self):
        """Of the last turn: domain, pods held at most, whether kept, score, sub-job that found no place."""
        cdef int64_t i, n = self.n_rows
        domain_array = np.empty(n, dtype=np.int32)
        holds_array = np.empty(n, dtype=np.int64)
        kept_array = np.empty(n, dtype=np.bool_)
        score_array = np.empty(n, dtype=np.float64)
        stuck_array = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] domain = domain_array
        cdef int64_t[::1] holds = holds_array
        cdef uint8_t[::1] kept = kept_array.view(np.uint8)
        cdef double[::1] score = score_array
        cdef int32_t[::1] stuck = stuck_array
        for i in range(n):
            domain[i] = self.row_domain[i]
            holds[i] = self.row_holds[i]
            kept[i] = self.row_kept[i]
            score[i] = self.row_score[i]
            stuck[i] = self.row_stuck[i]
        return domain_array, holds_array, kept_array, score_array, stuck_array


include "two_level_again.pxi"
