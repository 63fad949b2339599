# Part of two_level.pyx: where one sub-job goes, by trials or planned by the counts alone.

@cython.auto_pickle(False)
cdef class SubJobSearch(BetweenTurns):
    """The HyperNodes that a sub-job may go to, in the order of their scores."""

    cdef int32_t chosen                # where the last sub-job went, and its score
    cdef double chosen_score
    cdef int64_t* used_here            # of a HyperNode with sub-jobs that may come

    def __dealloc__(self):
        free(self.used_here)

    cdef int open_bounds(self) except -1:
        if self.used_here == NULL:
            self.used_here = <int64_t*>grab(self.r * sizeof(int64_t))
        return 0

    @cython.final
    cdef double packed(self, const Sub* sub, int32_t domain) noexcept nogil:
        """How full a HyperNode is with the sub-job's pods."""
        cdef int64_t at = self.hypernodes.at(domain) * self.r
        if self.scale == 0.0:
            return 0.0
        return how_full(
            self.packing, sub.request, sub.weights, self.domain_used + at, self.domain_allocatable + at, self.r
        )

    @cython.final
    cdef double key_of(self, const Sub* sub, int32_t domain) noexcept nogil:
        """The score of a HyperNode; -inf where the counts tell that it has no solution."""
        cdef const Progress* now = &sub.progress
        cdef const Entry* entry
        cdef int64_t missing = missing_of(now), here, held = 0, x = self.hypernodes.where(domain)
        cdef bint together = missing >= now.rest
        cdef int32_t e
        for e in range(now.n):
            entry = &now.entries[e]
            if entry.left == 0:
                continue
            here = self.counts[entry.shape].held[x]
            if here > entry.left:
                here = entry.left
            held += here
            if together and here < entry.left:
                return -INFINITY
            if sub.n_roles == 1 and here < until_ready(now, entry):
                return -INFINITY
        if held < (missing if missing > 1 else 1):
            return -INFINITY
        return self.worth(sub, domain)

    @cython.final
    cdef inline double worth(self, const Sub* sub, int32_t domain) noexcept nogil:
        """The same, whatever the counts tell."""
        if sub.limited and sub.record == NO_RECORD and not self.large(domain, sub.request + self.r):
            return -INFINITY
        return self.packed(sub, domain)

    # ---- the tournament over the HyperNodes of one tier ----

    @cython.final
    cdef inline int32_t winner_below(self, const Tree* tree, int64_t i) noexcept nogil:
        return tree.best[i] if i < tree.m else <int32_t>(i - tree.m)

    @cython.final
    cdef inline int32_t better(self, const Tree* tree, const int32_t* domains, int32_t a, int32_t b) noexcept nogil:
        if tree.key[a] != tree.key[b]:
            return a if tree.key[a] > tree.key[b] else b
        return a if domains[a] < domains[b] else b

    @cython.final
    cdef inline int32_t play(self, const Tree* tree, const int32_t* domains, int64_t i) noexcept nogil:
        return self.better(tree, domains, self.winner_below(tree, 2 * i), self.winner_below(tree, 2 * i + 1))

    cdef void play_all(self, Tree* tree, const int32_t* domains) noexcept nogil:
        cdef int64_t i
        for i in range(tree.m - 1, 0, -1):
            tree.best[i] = self.play(tree, domains, i)
        tree.played = True
        tree.winner = self.winner_below(tree, 1)

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
        cdef int64_t i, m = tree.m, found = 0
        cdef const Entry* entry
        cdef int64_t least = self.least(sub, &entry)
        cdef const int64_t* held = NULL
        cdef double* keys = tree.key
        cdef double key, best = 0.0
        if entry != NULL:
            # The domains of a tree follow one another in the counts, too.
            held = self.counts[entry.shape].held + self.hypernodes.where(domains[0])
        for i in range(m):
            key = -INFINITY
            # Most fail already here.
            if held == NULL or held[i] >= least:
                # Of one role that number is all that the counts tell.
                key = self.worth(sub, domains[i]) if sub.n_roles == 1 else self.key_of(sub, domains[i])
                if key != -INFINITY:
                    if found == 0 or key > best or (key == best and domains[i] < domains[tree.winner]):
                        tree.winner = <int32_t>i
                        best = key
                    found += 1
            keys[i] = key
        tree.attempt = self.attempt_number
        tree.empty = found == 0
        tree.played = False
        if found:
            tree.seen = self.n_plan if self.planning else self.n_changed

    cdef void set_key(self, Tree* tree, const int32_t* domains, int64_t i, double key) noexcept nogil:
        tree.key[i] = key
        if not tree.played:
            self.play_all(tree, domains)
            return
        i += tree.m
        while i > 1:
            i >>= 1
            tree.best[i] = self.play(tree, domains, i)
        tree.winner = self.winner_below(tree, 1)

    cdef void refresh(self, Tree* tree, const Sub* sub, int64_t t, const int32_t* domains) noexcept nogil:
        cdef int64_t i, k, leaf
        cdef int32_t node, domain
        if self.planning:
            for i in range(tree.seen, self.n_plan):
                domain = self.plan_domain[i]
                while domain >= 0 and self.hypernodes.tier_of[domain] < t:
                    domain = self.hypernodes.parent[domain]
                if domain >= 0 and self.hypernodes.tier_of[domain] == t:
                    self.set_key(tree, domains, self.hypernodes.place_in_tier[domain] - tree.first, self.key_of(sub, domain))
            tree.seen = self.n_plan
            return
        for i in range(tree.seen, self.n_changed):
            node = self.changed[i].node
            for k in range(self.hypernodes.node_start[node], self.hypernodes.node_start[node + 1]):
                domain = self.hypernodes.node_domains[k]
                if self.hypernodes.tier_of[domain] == t:
                    leaf = self.hypernodes.place_in_tier[domain] - tree.first
                    if 0 <= leaf < tree.m:
                        self.set_key(tree, domains, leaf, self.key_of(sub, domain))
        tree.seen = self.n_changed

    # ---- one sub-job ----

    cdef void weigh(self, int32_t number, int64_t change) noexcept nogil:
        """Count the sub-job's pods on their leaves, or forget them again."""
        cdef const Sub* sub = &self.subs[number]
        cdef int64_t i
        for i in range(sub.n_running):
            if sub.running[i] >= 0:
                self.fill.weigh_node(sub.running[i], change)
        if sub.placed:
            for i in range(self.n_log):
                if self.log_sub[i] == number:
                    self.fill.weigh_node(self.log_node[i], change)

    cdef int64_t inside(self, int32_t number, int32_t domain) noexcept nogil:
        """Pods of the sub-job in a HyperNode."""
        cdef const Sub* sub = &self.subs[number]
        cdef int64_t i, found = 0
        for i in range(sub.n_running):
            if sub.running[i] >= 0:
                found += self.hypernodes.holds_node(domain, sub.running[i])
        for i in range(self.n_log):
            if self.log_sub[i] == number:
                found += self.hypernodes.holds_node(domain, self.log_node[i])
        return found

    cdef Progress try_in(self, int32_t number, int32_t domain) noexcept nogil:
        """The pass over the sub-job's pods in a HyperNode; its entries are the attempt's own and change."""
        cdef Sub* sub = &self.subs[number]
        cdef Progress now = sub.progress
        cdef bint weighty = sub.scored and (sub.n_running > 0 or sub.placed > 0)
        if weighty:
            self.weigh(number, 1)
        self.fill.closeness.total_tasks = <double>sub.total
        self.fill.run(domain, sub.scored, sub.record, &now)
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
        answer = self.fill.n_run > 0 and is_ready(&now)
        self.fill.take_back_run(&now)
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
        if self.planning:
            return self.plan_in(number, domain, score)
        self.hold_entries(sub, True)
        now = self.try_in(number, domain)
        if self.fill.n_run == 0 or not is_ready(&now):
            self.fill.take_back_run(&now)
            self.hold_entries(sub, False)
            return False
        self.stay(number)
        if self.grouped:
            for i in range(self.fill.n_run):
                note_placed(&self.job, &self.job.entries[now.entries[self.fill.run_entry[i]].shape], 1)
        self.note_sub(number, &now, self.fill.n_run, domain, score)
        return True

    cdef bint plan_in(self, int32_t number, int32_t domain, double score) noexcept nogil:
        """The same for pods that are all alike, in the counts and totals alone."""
        cdef Sub* sub = &self.subs[number]
        cdef Progress now = sub.progress
        cdef int64_t wanted
        cdef int32_t e = 0
        while now.entries[e].left == 0:
            e += 1
        wanted = until_ready(&now, &now.entries[e])
        note_placed(&now, &now.entries[e], wanted)
        if sub.placed or not is_ready(&now):
            self.unplanned = True
            return False
        self.plan_shape = now.entries[e].shape
        if self.grouped:
            note_placed(&self.job, &self.job.entries[self.plan_shape], wanted)
        self.plan_domain[self.n_plan] = domain
        self.plan_pods[self.n_plan] = wanted
        self.n_plan += 1
        self.count_plan(domain, wanted)
        self.note_sub(number, &now, wanted, domain, score)
        return True

    cdef void count_plan(self, int32_t domain, int64_t pods) noexcept nogil:
        cdef const int64_t* request = self.states.shapes[self.plan_shape].request
        cdef int64_t* used
        cdef int64_t k
        while True:
            self.counts[self.plan_shape].held[self.hypernodes.where(domain)] -= pods
            used = self.domain_used + self.hypernodes.at(domain) * self.r
            for k in range(self.r):
                used[k] += pods * request[k]
            if domain < 0:
                break
            domain = self.hypernodes.parent[domain]
        self.commits += 1

    cdef void take_plan_back(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.n_plan):
            self.count_plan(self.plan_domain[i], -self.plan_pods[i])
        self.n_plan = 0

    cdef void note_sub(
        self, int32_t number, const Progress* now, int64_t placed, int32_t domain, double score
    ) noexcept nogil:
        """Pods of a sub-job that were placed."""
        cdef Sub* sub = &self.subs[number]
        cdef bint was_ready = is_ready(&sub.progress)
        self.pods_alive += now.rest - sub.progress.rest
        sub.progress = now[0]
        sub.placed += placed
        if not self.grouped:
            self.job = now[0]
        if not was_ready and sub.policy >= 0:
            if self.ready_of[sub.policy] < self.wanted[sub.policy]:
                self.policies_short -= 1
            self.ready_of[sub.policy] += 1
            self.alive_of[sub.policy] -= 1
        if sub.record == NO_RECORD:
            sub.record = domain
        else:
            sub.record = meet(&self.fill.closeness, sub.record, domain)
        self.score += score * 100.0 * self.scale
        self.chosen, self.chosen_score = domain, score

    cdef bint may_plan(self) noexcept nogil:
        """Whether counts alone tell where every sub-job goes: all are alike, fresh and of one role, in a proper tree.

        Then pods that go to a HyperNode of the closest tier leave no solution below it that there was not before, so
        that only the counts of that HyperNode and of those above it matter.
        """
        cdef int64_t i, t
        cdef int32_t e
        cdef const Sub* sub
        cdef const Sub* first = NULL
        cdef int32_t top = -1
        if not self.hypernodes.proper or self.n_queue == 0:
            return False
        for i in range(self.n_queue):
            sub = &self.subs[self.by_rank[<int32_t>self.queue[i]]]
            if first == NULL:
                first = sub
            if (
                sub.kind != first.kind or sub.alone or sub.n_roles != 1
                or sub.record != NO_RECORD or sub.n_running or sub.placed
            ):
                return False
        for e in range(first.progress.n):
            if first.progress.entries[e].left:
                if not self.counts[first.progress.entries[e].shape].followed:
                    return False
                for t in range(self.hypernodes.n_tiers):
                    if self.hypernodes.tier_start[t] < self.hypernodes.tier_start[t + 1]:
                        self.count_shape(first.progress.entries[e].shape, self.hypernodes.tier_domains + self.hypernodes.tier_start[t], 1, -1)
                self.count_shape(first.progress.entries[e].shape, &top, 1, -1)
        return True

    cdef int pick(self, int32_t number, Tree* tree, const int32_t* domains) noexcept nogil:
        """Place the sub-job in the best HyperNode of a tournament: 1 done, 0 none will do, -1 give the sub-job up."""
        cdef Sub* sub = &self.subs[number]
        cdef bint follows = (sub.n_running > 0 or sub.placed > 0) and self.scale != 0.0
        cdef int64_t i, n_best
        cdef int32_t leaf, best
        cdef double key, share, best_share
        while True:
            leaf = tree.winner
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
            self.play_all(tree, domains)

    cdef void count_for(self, const Sub* sub, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil:
        """The same for all pods of a sub-job."""
        cdef int32_t e
        for e in range(sub.progress.n):
            if sub.progress.entries[e].left:
                self.count_shape(sub.progress.entries[e].shape, domains, m, outer)

    cdef bint too_small(self, const Sub* sub, int64_t t) noexcept nogil:
        """Whether no domain of a tier has nodes enough, be they as empty as any node."""
        cdef const Progress* now = &sub.progress
        cdef const Entry* entry
        cdef int64_t missing = missing_of(now), wanted
        cdef int32_t e
        for e in range(now.n):
            entry = &now.entries[e]
            if entry.left == 0:
                continue
            wanted = until_ready(now, entry) if sub.n_roles == 1 else 0
            if missing >= now.rest:
                wanted = max(wanted, entry.left)
            if self.hypernodes.largest[t] * self.counts[entry.shape].most < wanted:
                return True
        return False

    cdef int pick_one(self, int32_t number, int32_t domain) noexcept nogil:
        """The same for one HyperNode alone."""
        self.count_for(&self.subs[number], &domain, 1, domain)
        self.scratch.m = 1
        self.grow(&self.scratch, &self.subs[number], &domain)
        if self.scratch.empty:
            return 0
        return self.pick(number, &self.scratch, &domain)

    cdef double most_of(self, const Sub* sub, int64_t times, int32_t given) noexcept nogil:
        """What the scores of sub-jobs like this one inside a HyperNode cannot exceed together.

        All are fresh and placed at one stroke. -inf: there is no place for one; inf: several, for which the counts
        alone do not tell that none goes below the HyperNode.
        """
        cdef int64_t t, i, end
        cdef int32_t start = given
        cdef double most = -INFINITY, key
        if not sub.limited:
            return self.most_here(sub, times, given)
        start = self.hypernodes.start_of(given, sub.record, sub.limit)
        if start == NOWHERE:
            return most
        for t in range(self.hypernodes.n_tiers):
            if self.hypernodes.tiers[t] > sub.limit or (self.hypernodes.proper and start >= 0 and t > self.hypernodes.tier_of[start]):
                break
            if self.hypernodes.proper and start >= 0 and t == self.hypernodes.tier_of[start]:
                # In a proper tree no other domain of its tier is below it.
                i = self.hypernodes.place_in_tier[start]
                end = i + 1
            else:
                i = self.hypernodes.tier_start[t] if start < 0 else self.hypernodes.first_of(t, self.hypernodes.place_of[start])
                end = self.hypernodes.tier_start[t + 1] if start < 0 else self.hypernodes.first_of(t, self.hypernodes.end_of[start])
            if i == end or self.too_small(sub, t):
                continue
            self.count_for(sub, self.hypernodes.tier_domains + i, end - i, start)
            while i < end:
                if times > 1 and self.hypernodes.tier_domains[i] == given:
                    key = self.most_here(sub, times, given)
                else:
                    key = self.key_of(sub, self.hypernodes.tier_domains[i])
                    if times > 1 and key > -INFINITY:
                        return INFINITY
                most = key if key > most else most
                i += 1
            # Of one role the counts are exact: it goes to this tier.
            if sub.n_roles == 1 and most > -INFINITY:
                return most
        if start < 0 and self.hypernodes.top_tier <= sub.limit:
            key = self.most_here(sub, times, given)
            most = key if key > most else most
        return most

    cdef double most_here(self, const Sub* sub, int64_t times, int32_t domain) noexcept nogil:
        """The same where all of them are placed in the HyperNode itself: when the k-th comes, k - 1 are in it."""
        cdef int64_t at = self.hypernodes.at(domain) * self.r, i, k
        cdef const int64_t* request
        cdef int32_t e
        cdef double total = 0.0
        self.count_for(sub, &domain, 1, domain)
        if times == 1 or self.key_of(sub, domain) == -INFINITY:
            return self.key_of(sub, domain)
        for k in range(self.r):
            self.used_here[k] = self.domain_used[at + k]
        for i in range(times):
            total += how_full(
                self.packing, sub.request, sub.weights, self.used_here, self.domain_allocatable + at, self.r
            )
            for e in range(sub.progress.n):
                if sub.progress.entries[e].left:
                    request = self.states.shapes[sub.progress.entries[e].shape].request
                    for k in range(self.r):
                        self.used_here[k] += sub.progress.entries[e].left * request[k]
        return total

    cdef bint place_sub(self, int32_t number, int32_t given) noexcept nogil:
        """Place one sub-job inside a HyperNode: in the best of the closest tier that has a solution."""
        cdef Sub* sub = &self.subs[number]
        cdef bint shared = (
            self.kind_size[sub.kind] > 1 and not sub.alone
            and sub.record == NO_RECORD and sub.n_running == 0 and sub.placed == 0
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
        start = self.hypernodes.start_of(given, sub.record, sub.limit)
        if start == NOWHERE:
            return False
        for t in range(self.hypernodes.n_tiers):
            if self.hypernodes.tiers[t] > sub.limit:
                break
            first = self.hypernodes.tier_start[t] if start < 0 else self.hypernodes.first_of(t, self.hypernodes.place_of[start])
            end = self.hypernodes.tier_start[t + 1] if start < 0 else self.hypernodes.first_of(t, self.hypernodes.end_of[start])
            if first == end:
                continue
            domains = self.hypernodes.tier_domains + first
            tree = &self.trees[sub.kind * (self.hypernodes.n_tiers + 1) + t] if shared else &self.scratch
            if shared and tree.attempt == self.attempt_number:
                if tree.empty:
                    continue
                self.refresh(tree, sub, t, domains)
            else:
                if self.too_small(sub, t):
                    continue
                self.count_for(sub, domains, end - first, start)
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
        if start < 0 and self.hypernodes.top_tier <= sub.limit and self.pick_one(number, -1) == 1:
            return True
        if shared:
            self.kind_failed[sub.kind] = self.commits
        return False
