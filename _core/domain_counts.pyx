"""Counts how many pods of each shape fit in each HyperNode ("domain") and keeps counts and totals true as nodes change.

A shape is a set of pods with equal requests. Pods that fit in a HyperNode are counted when the number is first asked
for, and corrected along the path of every node that changed, so that a full HyperNode costs one comparison. Changes of
nodes are logged: counts look only at what changed since they were last asked, and placed pods can be removed again.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from workbench._core.fading cimport Totals, use_path
from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.memory cimport claim, free, grab
from workbench._core.state_table cimport StateTable

import numpy as np

cdef enum:
    MANY_STATES = 1024


@cython.final
@cython.auto_pickle(False)
cdef class DomainCounts:
    """Counts the pods of each shape (equal requests) that fit in each HyperNode; holds used and allocatable totals."""

    def __cinit__(self, StateTable states not None, HyperNodeTree hypernodes not None):
        self.states = states
        self.hypernodes = hypernodes
        self.n = states.n
        self.r = states.r
        self.d = hypernodes.d

    def __dealloc__(self):
        cdef int64_t i
        if self.of_shape != NULL:
            for i in range(self.n_counts):
                free(self.of_shape[i].counted)
        free(self.of_shape)
        free(self.counts_held)
        free(self.prefix)
        free(self.domain_used)
        free(self.packing)
        free(self.changed)
        free(self.more_used)

    cdef int set_totals(
        self,
        const int64_t[:, ::1] used,
        const int64_t[:, ::1] allocatable,
        const int64_t[:, ::1] idle_at_open,
        const double[::1] packing,
        double scale,
        const int64_t[::1] caps,
    ) except -1:
        """Set the totals of each domain (HyperNode): sums of the amounts over its nodes.

        ``idle_at_open`` is what each domain had idle when the session began; ``packing`` and ``scale`` weigh the score
        of a domain by its fullness; ``caps`` limits, per shape, how many pods are counted.
        """
        cdef int64_t k, s
        cdef size_t cells = (self.d + 1) * self.r * sizeof(int64_t)
        self.keep = [allocatable, idle_at_open]
        self.domain_used = <int64_t*>claim(cells)
        if self.r:
            memcpy(self.domain_used, &used[0, 0], cells)
            self.domain_allocatable = &allocatable[0, 0]
            self.idle_at_open = &idle_at_open[0, 0]
        self.totals = Totals(
            self.r,
            self.d,
            self.domain_used,
            self.domain_allocatable,
            self.hypernodes.node_start,
            self.hypernodes.node_domains,
        )
        self.packing = <double*>grab(self.r * sizeof(double))
        for k in range(self.r):
            self.packing[k] = packing[k]
        self.scale = scale
        self.more_used = <int64_t*>grab(self.r * sizeof(int64_t))
        self.prefix = <int64_t*>claim((self.n + 1) * sizeof(int64_t))
        self.prefix_shape = -1
        self.counts_held = <int64_t*>claim(<int64_t>self.states.n_shapes * (self.d + 1) * sizeof(int64_t))
        self.of_shape = <Count*>grab(self.states.n_shapes * sizeof(Count))
        self.n_counts = self.states.n_shapes
        for s in range(self.states.n_shapes):
            self.of_shape[s].cap = caps[s]
            self.of_shape[s].held = self.counts_held + s * (self.d + 1)
            self.of_shape[s].counted = <uint8_t*>grab(self.hypernodes.n_tiers + 1)
        return 0

    cdef int open_changes(self, int64_t pods) except -1:
        """Reserve memory to log the changes of nodes that placing ``pods`` pods can cause."""
        self.changed = <Change*>claim(pods * sizeof(Change))
        return 0

    cdef void find_most(self) noexcept nogil:
        """Compute, for each shape, the largest number of pods that fit on any one node."""
        cdef int64_t i, k
        for i in range(self.states.n_shapes):
            # Where nearly every node is in a state of its own, looking at all would cost as much as counting.
            self.of_shape[i].most = self.of_shape[i].cap
            if self.states.n_states <= MANY_STATES:
                self.of_shape[i].most = 0
                for k in range(self.states.n_states):
                    self.of_shape[i].most = max(self.of_shape[i].most, self.fit_in_state(i, <int32_t>k))

    @cython.final
    cpdef int32_t fit_in_state(self, int64_t s, int32_t state) noexcept nogil:
        """Number of pods of shape ``s`` (equal requests) that fit on a node in ``state`` (group of equal nodes).

        Whether the shape may run on a given node is not looked at.
        """
        cdef int32_t* known = &self.states.shapes[s].fit[state]
        cdef const int64_t* request
        cdef const int64_t* idle
        cdef int64_t fit, k
        cdef double quotient
        if known[0]:
            return known[0] - 1
        request = self.states.shapes[s].request
        idle = self.states.table + 3 * <int64_t>state * self.r
        fit = self.of_shape[s].cap
        for k in range(self.r):
            if request[k] > 0:
                if idle[k] < request[k]:
                    fit = 0
                    break
                # Below 2**53 the rounded quotient never reaches the next integer; dividing integers takes far longer.
                quotient = <double>idle[k] / <double>request[k]
                if quotient < <double>fit:
                    fit = <int64_t>quotient
        known[0] = <int32_t>fit + 1
        return <int32_t>fit

    @cython.final
    cdef inline int32_t holds(self, int64_t s, int64_t node) noexcept nogil:
        """Number of pods of shape ``s`` (equal requests) that fit on a node now; 0 if the shape may not run there."""
        if self.states.shapes[s].feasible != NULL and not self.states.shapes[s].feasible[node]:
            return 0
        return self.fit_in_state(s, self.states.state_of[node])

    cdef void count_shape(self, int64_t s, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil:
        """Count the pods of shape ``s`` (equal requests) that fit in each of ``m`` neighbouring HyperNodes of a tier.

        ``outer`` is a HyperNode that holds all of ``domains``; those counted already are skipped.
        """
        cdef int64_t t = self.hypernodes.tier_of[domains[0]] if domains[0] >= 0 else self.hypernodes.n_tiers
        cdef Count* count = &self.of_shape[s]
        if count.followed:
            self.catch_up(s)
            if count.counted[t]:
                return
            # From now on the counts of the tier follow every change.
            count.counted[t] = True
            if t < self.hypernodes.n_tiers:
                domains = self.hypernodes.tier_domains + self.hypernodes.tier_start[t]
                m = self.hypernodes.tier_start[t + 1] - self.hypernodes.tier_start[t]
            outer = -1
        self.count_now(s, domains, m, outer)

    cdef void count_now(self, int64_t s, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil:
        cdef int64_t* held = self.of_shape[s].held + self.hypernodes.where(domains[0])
        cdef const int64_t* prefix = self.prefix
        cdef const int32_t* spans = self.hypernodes.spans
        cdef int64_t i, k, total
        if domains[0] >= 0 and spans == NULL:
            for i in range(m):
                total = 0
                for k in range(self.hypernodes.start[domains[i]], self.hypernodes.start[domains[i] + 1]):
                    total += self.holds(s, self.hypernodes.members[k])
                held[i] = total
            return
        if outer >= 0 and self.hypernodes.nested:
            self.sum_nodes(s, spans[2 * outer], spans[2 * outer + 1])
        else:
            self.sum_nodes(s, 0, self.n)
        if domains[0] < 0:
            held[0] = prefix[self.n]
            return
        for i in range(m):
            held[i] = prefix[spans[2 * domains[i] + 1]] - prefix[spans[2 * domains[i]]]

    cdef void sum_nodes(self, int64_t s, int64_t first, int64_t end) noexcept nogil:
        """Compute running sums over the nodes ``first`` to ``end`` (excluded) of the pods of shape ``s`` that fit.

        The sum of a node counts the nodes before it; a shape stands for pods with equal requests."""
        cdef int64_t i, total = 0
        cdef int64_t* prefix = self.prefix
        cdef const uint8_t* feasible = self.states.shapes[s].feasible
        cdef const int32_t* fit = self.states.shapes[s].fit
        cdef const int32_t* state_of = self.states.state_of
        cdef int32_t here
        if (
            self.prefix_shape == s and self.prefix_time == self.commits
            and self.prefix_first <= first and end <= self.prefix_end
        ):
            return
        self.prefix_shape = s
        self.prefix_time = self.commits
        self.prefix_first, self.prefix_end = first, end
        prefix[first] = 0
        for i in range(first, end):
            if feasible == NULL or feasible[i]:
                here = fit[state_of[i]]
                total += here - 1 if here else self.fit_in_state(s, state_of[i])
            prefix[i + 1] = total

    cdef int64_t holds_together(self, int32_t domain, const int64_t* left) noexcept nogil:
        """Upper bound on the pods that fit in a HyperNode, over the shapes whose counts are not kept up to date.

        ``left`` limits the pods counted per shape. Nodes share few states, so that all shapes are counted in one walk.
        A state is a group of nodes with equal amounts.
        """
        cdef int64_t s, i, m = self.n, n_met = -1, here, held = 0
        cdef const int32_t* nodes = NULL
        cdef int32_t* with_state = self.states.with_state
        cdef int32_t* met_states = self.states.met_states
        cdef const int32_t* state_of = self.states.state_of
        cdef int32_t state
        if domain >= 0:
            nodes = self.hypernodes.members + self.hypernodes.start[domain]
            m = self.hypernodes.start[domain + 1] - self.hypernodes.start[domain]
        for s in range(self.states.n_shapes):
            if left[s] == 0 or self.of_shape[s].followed:
                continue
            here = 0
            if self.states.shapes[s].feasible != NULL:
                for i in range(m):
                    here += self.holds(s, i if nodes == NULL else nodes[i])
            else:
                if n_met < 0:
                    n_met = 0
                    for i in range(m):
                        state = state_of[i if nodes == NULL else nodes[i]]
                        if with_state[state] == 0:
                            met_states[n_met] = state
                            n_met += 1
                        with_state[state] += 1
                for i in range(n_met):
                    here += with_state[met_states[i]] * <int64_t>self.fit_in_state(s, met_states[i])
            held += here if here < left[s] else left[s]
        for i in range(n_met):
            with_state[met_states[i]] = 0
        return held

    cdef void correct(self, int64_t s, const Change* change, bint back) noexcept nogil:
        """Correct the counts of shape ``s`` in the domains (HyperNodes) around a node by one logged change.

        ``back`` undoes the change.
        """
        cdef const uint8_t* feasible = self.states.shapes[s].feasible
        cdef int64_t more
        if feasible != NULL and not feasible[change.node]:
            return
        more = -self.fit_in_state(s, change.before)
        # What is idle has sunk.
        if more == 0:
            return
        more += self.fit_in_state(s, change.after)
        self.add(s, change.node, -more if back else more)

    cdef void add(self, int64_t s, int32_t node, int64_t more) noexcept nogil:
        """Add ``more`` pods of shape ``s`` (equal requests) on a node to the counts of its HyperNodes."""
        cdef Count* count = &self.of_shape[s]
        cdef int64_t k
        cdef int32_t domain
        if more == 0 or (self.states.shapes[s].feasible != NULL and not self.states.shapes[s].feasible[node]):
            return
        for k in range(self.hypernodes.node_start[node], self.hypernodes.node_start[node + 1]):
            domain = self.hypernodes.node_domains[k]
            if count.counted[self.hypernodes.tier_of[domain]]:
                count.held[self.hypernodes.place_in_tier[domain]] += more
        if count.counted[self.hypernodes.n_tiers]:
            count.held[self.d] += more

    cdef void catch_up(self, int64_t s) noexcept nogil:
        cdef int64_t i
        if not self.of_shape[s].followed:
            return
        for i in range(self.of_shape[s].seen, self.n_changed):
            self.correct(s, &self.changed[i], False)
        self.of_shape[s].seen = self.n_changed

    cdef void take_row(self, int32_t node, const int64_t* row) noexcept nogil:
        """Subtract the amounts in ``row`` from a node's idle resources for good (negative: give back).

        Call `follow` next.
        """
        self.states.take(node, row)
        use_path(&self.totals, node, row, 1)

    cdef void follow(self, int32_t node) noexcept nogil:
        """Bring a node's state and the counts of its domains (HyperNodes) up to date after `take_row`.

        No change may be logged.

        A state is a group of nodes with equal amounts.
        """
        cdef int32_t before = self.states.state_of[node], after = self.states.find_state(node)
        cdef int64_t s
        if after == before:
            return
        self.states.state_of[node] = after
        for s in range(self.states.n_shapes):
            if self.holds(s, node) > self.of_shape[s].most:
                self.of_shape[s].most = self.holds(s, node)
            self.add(s, node, self.fit_in_state(s, after) - self.fit_in_state(s, before))
        self.commits += 1

    cdef int64_t holds_of_job(self, int32_t domain, const int64_t* left) noexcept nogil:
        """Upper bound on the job's remaining pods, ``left`` per shape, that fit in a HyperNode."""
        cdef int32_t counted = domain if self.hypernodes.nested else -1
        cdef int64_t s, here, held = self.holds_together(counted, left), x = self.hypernodes.where(counted)
        for s in range(self.states.n_shapes):
            if left[s] == 0 or not self.of_shape[s].followed:
                continue
            self.count_shape(s, &counted, 1, counted)
            here = self.of_shape[s].held[x]
            held += here if here < left[s] else left[s]
        return held

    cdef void change_state(self, int32_t node, int32_t state) noexcept nogil:
        """Log the new ``state`` of a node on which pods were placed; call this once for all pods placed together.

        A state is a group of nodes with equal amounts.
        """
        if state == self.states.state_of[node]:
            return
        self.changed[self.n_changed] = Change(node, self.states.state_of[node], state)
        self.use_change(&self.changed[self.n_changed], 1)
        self.n_changed += 1
        self.states.state_of[node] = state

    cdef void use_change(self, const Change* change, int64_t times) noexcept nogil:
        """Add the resources of the pods that a logged change put on a node to the used totals of the node's HyperNodes.

        ``times``: 1, or -1 to subtract.
        """
        cdef const int64_t* before = self.states.table + (3 * <int64_t>change.before + 1) * self.r
        cdef const int64_t* after = self.states.table + (3 * <int64_t>change.after + 1) * self.r
        cdef int64_t k
        for k in range(self.r):
            self.more_used[k] = after[k] - before[k]
        use_path(&self.totals, change.node, self.more_used, times)

    cpdef void undo(self, int64_t changed_mark) noexcept nogil:
        """Undo logged changes of nodes, totals and counts until ``changed_mark`` changes are left in the log."""
        cdef int64_t i, k, s
        cdef const int64_t* before
        cdef const Change* change
        for s in range(self.states.n_shapes):
            for i in range(changed_mark, self.of_shape[s].seen):
                self.correct(s, &self.changed[i], True)
            if self.of_shape[s].seen > changed_mark:
                self.of_shape[s].seen = changed_mark
        for i in range(self.n_changed - 1, changed_mark - 1, -1):
            change = &self.changed[i]
            self.use_change(change, -1)
            before = self.states.table + 3 * <int64_t>change.before * self.r
            for k in range(self.r):
                self.states.idle[change.node * self.r + k] = before[k]
                self.states.used[change.node * self.r + k] = before[self.r + k]
            self.states.state_of[change.node] = change.before
        self.n_changed = changed_mark
        self.commits += 1

    cdef bint differs(self, int64_t node, const int64_t* idle, const int64_t* used, size_t row) noexcept nogil:
        cdef int64_t at = node * self.r
        return memcmp(self.states.idle + at, idle, row) != 0 or memcmp(self.states.used + at, used, row) != 0

    cpdef int update_nodes(self, const int64_t[:, ::1] idle, const int64_t[:, ::1] used, int64_t per_attempt) except -1:
        """Replace the idle and used amounts of all nodes by the present ones and correct the counts.

        The amounts include the pods that this search placed. ``per_attempt``: the most pods placed in one HyperNode.
        """
        cdef int64_t node, k, s, found = 0
        cdef size_t row = self.r * sizeof(int64_t)
        cdef int64_t[::1] more = np.zeros(self.r + 1, dtype=np.int64)
        if self.n == 0 or self.r == 0:
            return 0
        # Nothing is taken back before this point, so that the way back may be forgotten with its old states.
        for s in range(self.states.n_shapes):
            self.catch_up(s)
            self.of_shape[s].seen = 0
        self.n_changed = self.changed_settled = 0
        for node in range(self.n):
            found += self.differs(node, &idle[node, 0], &used[node, 0], row)
        self.states.make_room(found + per_attempt, per_attempt)
        with nogil:
            for node in range(self.n):
                if not self.differs(node, &idle[node, 0], &used[node, 0], row):
                    continue
                for k in range(self.r):
                    more[k] = used[node, k] - self.states.used[node * self.r + k]
                use_path(&self.totals, <int32_t>node, &more[0], 1)
                memcpy(self.states.idle + node * self.r, &idle[node, 0], row)
                memcpy(self.states.used + node * self.r, &used[node, 0], row)
                self.follow(<int32_t>node)
        self.states.n_settled = self.states.n_states
        return 0

    cpdef void forget(self, int64_t s) noexcept nogil:
        """Drop the counts of shape ``s``; they are made again when next asked for."""
        cdef int64_t t
        for t in range(self.hypernodes.n_tiers + 1):
            self.of_shape[s].counted[t] = False
        self.prefix_shape = -1
        self.commits += 1

    # ---- asked from Python ----

    def held(self, int64_t s, int32_t domain):
        """Number of pods of shape ``s`` (equal requests) that fit in a domain (HyperNode)."""
        self.count_shape(s, &domain, 1, domain)
        return self.of_shape[s].held[self.hypernodes.where(domain)]

    def held_of_job(self, int32_t domain, const int64_t[::1] left not None):
        """Upper bound on the pods that fit in a domain (HyperNode), of each shape at most ``left``."""
        return self.holds_of_job(domain, &left[0])

    def used(self, int32_t domain):
        """Used amount of each resource in a domain (HyperNode), as a list."""
        cdef int64_t k
        return [self.domain_used[self.hypernodes.at(domain) * self.r + k] for k in range(self.r)]

    def is_large(self, int32_t domain, const int64_t[::1] amounts not None):
        """Whether a domain (HyperNode) had at least these amounts idle when the session began."""
        return self.large(domain, &amounts[0])

    def place_one(self, int64_t s, int32_t node):
        """Place a pod of shape ``s`` (equal requests) on a node; `undo` removes the pod."""
        self.states.take(node, self.states.shapes[s].request)
        self.change_state(node, self.states.find_state(node))
        self.commits += 1

    def change_node(self, int32_t node, const int64_t[::1] row not None):
        """Subtract amounts, one per resource, from a node's idle resources for good; negative amounts are given back.

        No change that can be undone may be pending.
        """
        self.take_row(node, &row[0])
        self.follow(node)
