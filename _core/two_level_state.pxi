# Part of two_level.pyx: how far a job and its sub-jobs are, and the pods placed so far.

cdef struct Sub:
    Progress progress
    int32_t record
    int64_t placed         # its pods placed so far
    # fixed
    int64_t first_entry
    int32_t policy         # -1: none
    int32_t kind           # sub-jobs of one kind ask for the same
    int32_t rank           # order among sub-jobs
    int32_t grade          # comes before whether it is ready, rank after that
    int32_t n_roles        # roles with pending pods
    bint scored, limited
    bint alone             # it was capped
    int64_t limit, total
    int64_t* request       # r numbers, then r of `pending`
    double weights         # of the requested resources
    int32_t* running
    int64_t n_running


cdef struct Tree:
    int64_t attempt, seen, first, m
    bint empty             # no leaf has a solution: counts only sink within an attempt
    bint played            # whether `best` is known; until a leaf changes its winner is enough
    int32_t winner
    double* key            # of each leaf
    int32_t* best          # leaf that wins below each inner node


@cython.auto_pickle(False)
cdef class JobState(DomainCounts):
    """A job and its sub-jobs; settled, and as they are in the attempt at hand."""

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
    cdef int64_t n_pods                # to place when it began
    # its sub-jobs
    cdef int64_t n_subs, n_entries, n_kinds
    cdef Sub* subs
    cdef Sub* settled
    cdef int64_t* sub_rows             # request and pending of each
    cdef int32_t* sub_running
    cdef Entry* entries
    cdef Entry* entries_settled
    cdef Run* runs
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
    cdef int64_t attempt_number
    # pods that a planned attempt counts in a domain
    cdef bint planning, unplanned
    cdef int32_t* plan_domain
    cdef int64_t* plan_pods
    cdef int64_t n_plan
    cdef int32_t plan_shape
    # pods placed
    cdef int32_t* log_sub
    cdef int32_t* log_shape
    cdef int32_t* log_node
    cdef int32_t* log_pod
    cdef int64_t n_log, log_settled
    cdef int64_t* more_used            # by resource, of one change
    cdef int64_t changed_settled
    cdef int32_t states_settled
    cdef double score                  # of the attempt
    cdef int32_t stuck                 # first sub-job that found no place in the attempt
    cdef readonly double last_score    # of the last turn

    def __dealloc__(self):
        cdef int64_t i
        free(self.settled)
        free(self.sub_rows)
        free(self.sub_running)
        if self.trees != NULL:
            for i in range(self.n_kinds * (self.hypernodes.n_tiers + 1)):
                free(self.trees[i].key)
                free(self.trees[i].best)
        free(self.trees)
        free(self.scratch.key)
        free(self.scratch.best)
        free(self.minimum)
        free(self.job_entries)
        free(self.wanted)
        free(self.ready_of)
        free(self.alive_of)
        free(self.subs)
        free(self.entries)
        free(self.entries_settled)
        free(self.held)
        free(self.runs)
        free(self.by_rank)
        free(self.queue)
        free(self.heap)
        free(self.is_first)
        free(self.kind_size)
        free(self.kind_failed)
        free(self.plan_domain)
        free(self.plan_pods)
        free(self.more_used)
        free(self.log_sub)
        free(self.log_shape)
        free(self.log_node)
        free(self.log_pod)

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
        self.job_settled = Progress(
            self.job_entries, NULL, <int32_t>n, 0, rule, minimums_count, min_available, counted, 0, 0
        )
        for i in range(n):
            self.job_entries[i] = Entry(<int32_t>i, names[i], counts[i, 0], counts[i, 1], counts[i, 2], 0, 0)
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
        const int64_t[::1] min_available not None,
        const int64_t[::1] counted not None,
        const int64_t[::1] total not None,
        const uint8_t[::1] stop not None,
        const int64_t[::1] limit not None,
        const uint8_t[::1] limited not None,
        const uint8_t[::1] scored not None,
        const int32_t[::1] policy not None,
        const int32_t[::1] rank not None,
        const int32_t[::1] grade not None,
        const int32_t[::1] record not None,
        const int64_t[:, ::1] request not None,
        const int64_t[:, ::1] pending not None,
        const int64_t[::1] running_start not None,
        const int32_t[::1] running not None,
        const int64_t[::1] run_start,
        const int32_t[::1] run_shape,
        const int64_t[::1] run_upto,
    ):
        """The columns of the sub-jobs. Not grouped: one sub-job, whose progress is the job's."""
        cdef int64_t s = rank.shape[0], i, k, t, e, kinds, size
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
        self.sub_rows = <int64_t*>claim(2 * s * self.r * sizeof(int64_t))
        self.sub_running = <int32_t*>claim(running.shape[0] * sizeof(int32_t))
        for i in range(running.shape[0]):
            self.sub_running[i] = running[i]
        for i in range(s):
            sub = &self.settled[i]
            sub.request = self.sub_rows + 2 * i * self.r
            for k in range(self.r):
                sub.request[k] = request[i, k]
                sub.request[self.r + k] = pending[i, k]
            sub.weights = packing_sum(self.packing, sub.request, self.r)
            sub.policy = policy[i]
            sub.rank = rank[i]
            sub.grade = grade[i]
            sub.scored = scored[i]
            sub.limited = limited[i]
            sub.record = record[i]
            sub.limit = limit[i]
            sub.total = total[i]
            self.by_rank[sub.rank] = <int32_t>i
            sub.n_running = running_start[i + 1] - running_start[i]
            sub.running = self.sub_running + running_start[i]
            if self.grouped:
                sub.first_entry = entry_start[i]
                sub.progress = Progress(
                    NULL, NULL, <int32_t>(entry_start[i + 1] - entry_start[i]), 0, STOP if stop[i] else GO_ON, True,
                    min_available[i], counted[i], 0, 0,
                )
                for e in range(entry_start[i], entry_start[i + 1]):
                    self.entries_settled[e] = Entry(shapes[e], self.job_entries[shapes[e]].name, left[e], 0, 0, 0, 0)
                    sub.progress.rest += left[e]
                    sub.n_roles += left[e] > 0
            else:
                sub.progress = self.job_settled
                for e in range(self.n_entries):
                    self.entries_settled[e] = self.job_entries[e]
                    sub.n_roles += self.job_entries[e].left > 0
        if run_start is not None:
            self.runs = <Run*>claim(run_shape.shape[0] * sizeof(Run))
            self.fill.keep_contests(self.states.n_shapes)
            for i in range(s):
                sub = &self.settled[i]
                sub.progress.n_runs = <int32_t>(run_start[i + 1] - run_start[i])
                sub.progress.runs = self.runs + run_start[i]
                for k in range(run_start[i], run_start[i + 1]):
                    self.runs[k] = Run(0, run_upto[k])
                    for e in range(sub.progress.n):
                        if self.entries_settled[sub.first_entry + e].shape == run_shape[k]:
                            self.runs[k].entry = <int32_t>e
        self.choose_first()
        kinds = self.find_kinds()
        self.kind_size = <int64_t*>grab(kinds * sizeof(int64_t))
        self.kind_failed = <int64_t*>grab(kinds * sizeof(int64_t))
        for i in range(s):
            self.kind_size[self.settled[i].kind] += 1
        for i in range(s):
            sub = &self.settled[i]
            # Counting in one job's HyperNode costs less than following every change there and back.
            if self.kind_size[sub.kind] > 1 or kinds == 1:
                for e in range(sub.first_entry, sub.first_entry + sub.progress.n):
                    if self.entries_settled[e].left:
                        self.counts[self.entries_settled[e].shape].followed = True
        self.trees = <Tree*>grab(kinds * (self.hypernodes.n_tiers + 1) * sizeof(Tree))
        self.n_kinds = kinds
        for k in range(kinds):
            for t in range(self.hypernodes.n_tiers):
                size = self.hypernodes.tier_start[t + 1] - self.hypernodes.tier_start[t]
                tree = &self.trees[k * (self.hypernodes.n_tiers + 1) + t]
                if self.kind_size[k] > 1:
                    tree.key = <double*>grab(size * sizeof(double))
                    tree.best = <int32_t*>grab(size * sizeof(int32_t))
        size = 1
        for t in range(self.hypernodes.n_tiers):
            size = max(size, self.hypernodes.tier_start[t + 1] - self.hypernodes.tier_start[t])
        self.scratch.key = <double*>grab(size * sizeof(double))
        self.scratch.best = <int32_t*>grab(size * sizeof(int32_t))
        k = 0
        for i in range(s):
            k += self.settled[i].progress.rest
        self.fill.make_room(k)
        self.n_pods = self.states.reserved = k
        self.changed = <Change*>claim(k * sizeof(Change))
        self.plan_domain = <int32_t*>claim(s * sizeof(int32_t))
        self.plan_pods = <int64_t*>claim(s * sizeof(int64_t))
        self.more_used = <int64_t*>grab(self.r * sizeof(int64_t))
        self.log_sub = <int32_t*>claim(k * sizeof(int32_t))
        self.log_shape = <int32_t*>claim(k * sizeof(int32_t))
        self.log_node = <int32_t*>claim(k * sizeof(int32_t))
        self.log_pod = <int32_t*>claim(k * sizeof(int32_t))
        self.make_room_for_states(k)
        for i in range(self.states.n_shapes):
            # Where nearly every node is in a state of its own, looking at all would cost as much as counting.
            self.counts[i].most = self.counts[i].cap
            if self.states.n_states <= MANY_STATES:
                self.counts[i].most = 0
                for k in range(self.states.n_states):
                    self.counts[i].most = max(self.counts[i].most, self.fit_in_state(i, <int32_t>k))

    cdef void choose_first(self) noexcept nogil:
        """The sub-jobs that each policy needs before it has as many ready ones as it wants; they stay the first."""
        cdef int64_t i, p
        cdef int32_t number
        for p in range(self.n_policies):
            self.ready_of[p] = 0
        for i in range(self.n_subs):
            if self.settled[i].policy >= 0 and is_ready(&self.settled[i].progress):
                self.ready_of[self.settled[i].policy] += 1
        for i in range(self.n_subs):
            number = self.by_rank[i]
            p = self.settled[number].policy
            self.is_first[number] = False
            if p >= 0 and self.ready_of[p] < self.wanted[p] and not is_ready(&self.settled[number].progress):
                self.is_first[number] = True
                self.ready_of[p] += 1

    cdef bint alike(self, const Sub* a, const Sub* b) noexcept nogil:
        """Whether two sub-jobs agree in every number that the search reads, rank and policy apart."""
        cdef int64_t e
        cdef const Entry* x = self.entries_settled + a.first_entry
        cdef const Entry* y = self.entries_settled + b.first_entry
        if (
            a.limit != b.limit or a.total != b.total or a.record != b.record
            or a.scored != b.scored or a.limited != b.limited
            or a.progress.n != b.progress.n or a.progress.rule != b.progress.rule
            or a.progress.min_available != b.progress.min_available or a.progress.counted != b.progress.counted
            or (self.r and memcmp(a.request, b.request, 2 * self.r * sizeof(int64_t)) != 0)
        ):
            return False
        if a.progress.n_runs != b.progress.n_runs:
            return False
        for e in range(a.progress.n_runs):
            if a.progress.runs[e].entry != b.progress.runs[e].entry or a.progress.runs[e].upto != b.progress.runs[e].upto:
                return False
        for e in range(a.progress.n):
            if x[e].shape != y[e].shape or x[e].left != y[e].left:
                return False
        return True

    cdef uint64_t hash_sub(self, const Sub* sub) noexcept nogil:
        """Equal for sub-jobs that are alike."""
        cdef uint64_t h = <uint64_t>sub.limit * 31 + <uint64_t>sub.progress.min_available
        cdef int64_t k
        for k in range(2 * self.r):
            h = (h ^ <uint64_t>sub.request[k]) * <uint64_t>0x9E3779B97F4A7C15
            h ^= h >> 29
        for k in range(sub.first_entry, sub.first_entry + sub.progress.n):
            h = (h ^ (<uint64_t>self.entries_settled[k].left << 32 | <uint64_t>self.entries_settled[k].shape))
            h = h * <uint64_t>0x9E3779B97F4A7C15
            h ^= h >> 29
        return h

    cdef int64_t find_kinds(self) except -1:
        """Number the kinds of the sub-jobs; answers how many there are."""
        cdef int64_t i, kinds = 0, n_slots = 4
        cdef uint64_t slot
        cdef int32_t* slots
        while n_slots < 2 * self.n_subs:
            n_slots *= 2
        slots = <int32_t*>grab(n_slots * sizeof(int32_t))
        for i in range(self.n_subs):
            slot = self.hash_sub(&self.settled[i]) & <uint64_t>(n_slots - 1)
            # One more than the number of the first sub-job of a kind; 0: free.
            while slots[slot] and not self.alike(&self.settled[slots[slot] - 1], &self.settled[i]):
                slot = (slot + 1) & <uint64_t>(n_slots - 1)
            if slots[slot]:
                self.settled[i].kind = self.settled[slots[slot] - 1].kind
            else:
                self.settled[i].kind = <int32_t>kinds
                slots[slot] = <int32_t>i + 1
                kinds += 1
        free(slots)
        return kinds

    cdef int make_room_for_states(self, int64_t more) except -1:
        """So many further states; more than one attempt needs, so that not every one begins by forgetting."""
        if self.states.table == NULL or self.states.n_states + more > self.states.state_capacity:
            self.states.open_states(self.n_pods + more + self.n // 4 + 256)
        return 0

    cdef void leave_states(self) noexcept nogil:
        """Forget those of earlier attempts where the pods of one more might not find room; none may be in use."""
        if self.states.n_states + self.pods_alive > self.states.state_capacity:
            self.states.keep_states(self.states_settled)

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

    # ---- pods that stay, and their way back ----

    cdef void stay(self, int32_t number) noexcept nogil:
        """The pods of the last run stay, for this attempt at least."""
        cdef Sub* sub = &self.subs[number]
        cdef int64_t i
        cdef int32_t node, state
        for i in range(self.fill.n_run):
            node = self.fill.run_node[i]
            self.log_sub[self.n_log] = number
            self.log_shape[self.n_log] = sub.progress.entries[self.fill.run_entry[i]].shape
            self.log_node[self.n_log] = node
            self.log_pod[self.n_log] = self.fill.run_pod[i]
            self.n_log += 1
            # A node that comes again is in its last state already.
            state = self.states.run_state[node] if self.states.run_state[node] >= 0 else self.states.find_state(node)
            self.change_state(node, state)
        self.commits += 1

    cdef void change_state(self, int32_t node, int32_t state) noexcept nogil:
        """Log the state of a node with pods that stay, once for all of them."""
        if state == self.states.state_of[node]:
            return
        self.changed[self.n_changed] = Change(node, self.states.state_of[node], state)
        self.use_change(&self.changed[self.n_changed], 1)
        self.n_changed += 1
        self.states.state_of[node] = state

    cdef void use_change(self, const Change* change, int64_t times) noexcept nogil:
        """Add to the domains of a node what its pods use more."""
        cdef const int64_t* before = self.states.table + (3 * <int64_t>change.before + 1) * self.r
        cdef const int64_t* after = self.states.table + (3 * <int64_t>change.after + 1) * self.r
        cdef int64_t k
        for k in range(self.r):
            self.more_used[k] = after[k] - before[k]
        use_path(&self.fill.fading.totals, change.node, self.more_used, times)

    cdef void take_back(self, int64_t log_mark, int64_t changed_mark) noexcept nogil:
        cdef int64_t i, k, s
        cdef const int64_t* before
        cdef const Change* change
        self.n_log = log_mark
        for s in range(self.states.n_shapes):
            for i in range(changed_mark, self.counts[s].seen):
                self.correct(s, &self.changed[i], True)
            if self.counts[s].seen > changed_mark:
                self.counts[s].seen = changed_mark
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
