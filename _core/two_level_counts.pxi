# Part of two_level.pyx: the pods of each shape that every domain holds, and what follows when nodes change.

cdef struct Count:
    int64_t* held          # pods in each domain by its place among those of its tier, the virtual top last
    uint8_t* counted       # whether the domains of a tier are counted yet, the virtual top's last
    int64_t cap            # pods that are looked for at most
    int64_t most           # pods that one node holds at most
    int64_t seen           # changes that the counts know
    bint followed          # False: of one sub-job alone, which counts anew where it looks


cdef struct Change:
    int32_t node
    int32_t before, after  # its state


@cython.auto_pickle(False)
cdef class DomainCounts(SearchParts):
    """The tree, the totals of its domains, and counts of pods that are made when they are first asked for."""

    cdef list keep                     # owners of the memory that is only borrowed
    # totals per domain, the virtual top last
    cdef int64_t* domain_used
    cdef const int64_t* domain_allocatable
    cdef const int64_t* idle_at_open
    cdef double* packing               # weight of each resource
    cdef double scale
    cdef Count* counts
    cdef int64_t* counts_held
    cdef int64_t* prefix               # pods of one shape on the nodes before each
    cdef int64_t prefix_shape, prefix_time, prefix_first, prefix_end
    # nodes changed by pods that stay or belong to the attempt
    cdef Change* changed
    cdef int64_t n_changed
    cdef int64_t commits               # counts everything that changes nodes, for good or for the attempt

    def __dealloc__(self):
        cdef int64_t i
        if self.counts != NULL:
            for i in range(self.states.n_shapes):
                free(self.counts[i].counted)
        free(self.counts)
        free(self.counts_held)
        free(self.prefix)
        free(self.domain_used)
        free(self.packing)
        free(self.changed)

    def set_tree(
        self,
        const int32_t[::1] parent not None,
        const int64_t[::1] tiers not None,
        const int64_t[::1] tier_start not None,
        const int32_t[::1] tier_domains not None,
        const int32_t[::1] tier_of not None,
        const int32_t[::1] place_of not None,
        const int32_t[::1] end_of not None,
        const int32_t[::1] place_in_tier not None,
        const int64_t[::1] largest not None,
        const int64_t[::1] node_start not None,
        const int32_t[::1] node_domains not None,
        const int32_t[:, ::1] spans,
        int64_t top_tier,
        bint nested,
        bint proper,
        bint contained,
    ):
        """The HyperNodes; the memoryviews are kept, not copied."""
        self.hypernodes.set_tree(
            parent, tiers, tier_start, tier_domains, tier_of, place_of, end_of, place_in_tier,
            largest, node_start, node_domains, spans, top_tier, nested, proper, contained
        )

    def set_totals(
        self,
        const int64_t[:, ::1] used not None,
        const int64_t[:, ::1] allocatable not None,
        const int64_t[:, ::1] idle_at_open not None,
        const double[::1] packing not None,
        double scale,
        const int64_t[::1] caps not None,
    ):
        """Sums over the nodes of each domain; ``caps``: pods of each shape that are looked for at most."""
        cdef int64_t k, s
        cdef size_t cells = (self.d + 1) * self.r * sizeof(int64_t)
        self.keep = [allocatable, idle_at_open]
        self.domain_used = <int64_t*>claim(cells)
        if self.r:
            memcpy(self.domain_used, &used[0, 0], cells)
            self.domain_allocatable = &allocatable[0, 0]
            self.idle_at_open = &idle_at_open[0, 0]
        self.fill.fading.totals = Totals(
            self.r, self.d, self.domain_used, self.domain_allocatable, self.hypernodes.node_start, self.hypernodes.node_domains
        )
        self.packing = <double*>grab(self.r * sizeof(double))
        for k in range(self.r):
            self.packing[k] = packing[k]
        self.scale = scale
        self.prefix = <int64_t*>claim((self.n + 1) * sizeof(int64_t))
        self.prefix_shape = -1
        self.counts_held = <int64_t*>claim(<int64_t>self.states.n_shapes * (self.d + 1) * sizeof(int64_t))
        self.counts = <Count*>grab(self.states.n_shapes * sizeof(Count))
        for s in range(self.states.n_shapes):
            self.counts[s].cap = caps[s]
            self.counts[s].held = self.counts_held + s * (self.d + 1)
            self.counts[s].counted = <uint8_t*>grab(self.hypernodes.n_tiers + 1)

    def set_fading(
        self,
        const int32_t[::1] ring_of not None,
        const int32_t[:, ::1] around not None,
        const int32_t[::1] column not None,
        const double[::1] by_tier not None,
        const double[::1] packing not None,
        double scale,
    ):
        """Draw pods without a topology to full domains, after `set_totals`; the memoryviews are kept, not copied."""
        self.fill.set_fading(ring_of, around, column, by_tier, packing, scale)

    # ---- counts ----

    @cython.final
    cdef int32_t fit_in_state(self, int64_t s, int32_t state) noexcept nogil:
        """Pods of a shape that a node in a state holds, were it feasible."""
        cdef int32_t* known = &self.states.shapes[s].fit[state]
        cdef const int64_t* request
        cdef const int64_t* idle
        cdef int64_t fit, k
        cdef double quotient
        if known[0]:
            return known[0] - 1
        request = self.states.shapes[s].request
        idle = self.states.table + 3 * <int64_t>state * self.r
        fit = self.counts[s].cap
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
        """Pods of a shape that a node holds."""
        if self.states.shapes[s].feasible != NULL and not self.states.shapes[s].feasible[node]:
            return 0
        return self.fit_in_state(s, self.states.state_of[node])

    cdef void count_shape(self, int64_t s, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil:
        """See to it that a shape's pods are counted in domains that follow one another in a tier, all inside ``outer``."""
        cdef int64_t t = self.hypernodes.tier_of[domains[0]] if domains[0] >= 0 else self.hypernodes.n_tiers
        cdef Count* count = &self.counts[s]
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
        cdef int64_t* held = self.counts[s].held + self.hypernodes.where(domains[0])
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
        """Pods on the nodes before each of an interval, counted from its first."""
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
        """Pods that a domain holds of the shapes whose counts are not followed, of each at most so many.

        Many nodes share few states, so that the nodes are looked at once for all shapes that may run on all of them.
        """
        cdef int64_t s, i, m = self.n, n_met = -1, here, held = 0
        cdef const int32_t* nodes = NULL
        cdef int32_t* with_state = self.states.with_state
        cdef int32_t* met_states = self.states.met_states
        cdef int32_t state
        if domain >= 0:
            nodes = self.hypernodes.members + self.hypernodes.start[domain]
            m = self.hypernodes.start[domain + 1] - self.hypernodes.start[domain]
        for s in range(self.states.n_shapes):
            if left[s] == 0 or self.counts[s].followed:
                continue
            here = 0
            if self.states.shapes[s].feasible != NULL:
                for i in range(m):
                    here += self.holds(s, i if nodes == NULL else nodes[i])
            else:
                if n_met < 0:
                    n_met = 0
                    for i in range(m):
                        state = self.states.state_of[i if nodes == NULL else nodes[i]]
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
        """Follow one change of a node in the counts of a shape."""
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
        """So many pods more on a node in the counts that there are."""
        cdef Count* count = &self.counts[s]
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
        if not self.counts[s].followed:
            return
        for i in range(self.counts[s].seen, self.n_changed):
            self.correct(s, &self.changed[i], False)
        self.counts[s].seen = self.n_changed

    cdef void take_row(self, int32_t node, const int64_t* row) noexcept nogil:
        """Take amounts from a node for good, or give them back where they are negative; `follow` must come next."""
        self.states.take(node, row)
        use_path(&self.fill.fading.totals, node, row, 1)

    cdef void follow(self, int32_t node) noexcept nogil:
        """Bring state and counts up to date after rows were taken from a node; nothing may be logged."""
        cdef int32_t before = self.states.state_of[node], after = self.states.find_state(node)
        cdef int64_t s
        if after == before:
            return
        self.states.state_of[node] = after
        for s in range(self.states.n_shapes):
            if self.holds(s, node) > self.counts[s].most:
                self.counts[s].most = self.holds(s, node)
            self.add(s, node, self.fit_in_state(s, after) - self.fit_in_state(s, before))
        self.commits += 1

    cdef bint large(self, int32_t domain, const int64_t* amount) noexcept nogil:
        cdef const int64_t* idle = self.idle_at_open + self.hypernodes.at(domain) * self.r
        cdef int64_t k
        for k in range(self.r):
            if idle[k] < amount[k]:
                return False
        return True
