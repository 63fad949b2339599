"""Finds the HyperNode in which one sub-job of a job is placed, by trial placements or by counts of fitting pods alone.

HyperNodes are tried in the order of their scores; with several roles, trials end with the first HyperNode where the
sub-job fits. Equal sub-jobs share one tournament tree of scores per tier. If all pods of the job are alike, counts and
totals tell where each sub-job goes, and the placement is only planned: no pod is placed on a node.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from workbench._core.contest cimport NO_RECORD, lca
from workbench._core.domain_counts cimport DomainCounts
from workbench._core.hypernode_tree cimport Walk
from workbench._core.job_state cimport JobState, Sub
from workbench._core.memory cimport claim, free, grab
from workbench._core.node_score cimport packing_sum
from workbench._core.progress cimport Progress, is_ready, note_placed, until_ready
from workbench._core.sub_job_scores cimport SubJobScores
from workbench._core.tournament cimport Tournament, play_all, set_key
from workbench._core.trial_fill cimport TrialFill


@cython.final
@cython.auto_pickle(False)
cdef class SubJobSearch:
    """Chooses a HyperNode for a sub-job and places the sub-job's pods there.

    Keeps the HyperNodes of each tier by score.
    """

    def __cinit__(self, TrialFill fill not None, SubJobScores scores not None, JobState job not None):
        self.fill = fill
        self.states = fill.states
        self.hypernodes = fill.hypernodes
        self.scores = scores
        self.counts = scores.counts
        self.job = job
        self.n = self.states.n
        self.r = self.states.r
        self.d = self.hypernodes.d

    def __dealloc__(self):
        cdef int64_t i
        if self.trees != NULL:
            for i in range(self.n_trees):
                free(self.trees[i].key)
                free(self.trees[i].best)
        free(self.trees)
        free(self.scratch.key)
        free(self.scratch.best)
        free(self.plan_domain)
        free(self.plan_pods)

    cdef int open(self) except -1:
        """Allocate the arrays of this search; the sub-jobs must be set before."""
        cdef int64_t i, k, t, e, size, s = self.job.n_subs, kinds = self.job.n_kinds
        cdef Sub* sub
        cdef Tournament* tree
        for i in range(s):
            self.job.settled[i].weights = packing_sum(self.counts.packing, self.job.settled[i].request, self.r)
        if self.job.runs != NULL:
            self.fill.keep_contests(self.states.n_shapes)
        for i in range(s):
            sub = &self.job.settled[i]
            # Counting in one job's HyperNode costs less than following every change there and back.
            if self.job.kind_size[sub.kind] > 1 or kinds == 1:
                for e in range(sub.first_entry, sub.first_entry + sub.progress.n):
                    if self.job.entries_settled[e].left:
                        self.counts.of_shape[self.job.entries_settled[e].shape].followed = True
        self.trees = <Tournament*>grab(kinds * (self.hypernodes.n_tiers + 1) * sizeof(Tournament))
        self.n_trees = kinds * (self.hypernodes.n_tiers + 1)
        for k in range(kinds):
            for t in range(self.hypernodes.n_tiers):
                size = self.hypernodes.tier_start[t + 1] - self.hypernodes.tier_start[t]
                tree = &self.trees[k * (self.hypernodes.n_tiers + 1) + t]
                if self.job.kind_size[k] > 1:
                    tree.key = <double*>grab(size * sizeof(double))
                    tree.best = <int32_t*>grab(size * sizeof(int32_t))
        size = 1
        for t in range(self.hypernodes.n_tiers):
            size = max(size, self.hypernodes.tier_start[t + 1] - self.hypernodes.tier_start[t])
        self.scratch.key = <double*>grab(size * sizeof(double))
        self.scratch.best = <int32_t*>grab(size * sizeof(int32_t))
        self.fill.make_room(self.job.n_pods)
        self.states.reserved = self.job.n_pods
        self.counts.open_changes(self.job.n_pods)
        self.plan_domain = <int32_t*>claim(s * sizeof(int32_t))
        self.plan_pods = <int64_t*>claim(s * sizeof(int64_t))
        self.states.make_room(self.job.n_pods, self.job.n_pods)
        self.counts.find_most()
        return 0

    cdef void grow(self, Tournament* tree, const Sub* sub, const int32_t* domains) noexcept nogil:
        """Compute the scores of HyperNodes for a sub-job and build the tournament tree that finds the best.

        Pods are counted.
        """
        self.scores.grow(tree, sub, domains)
        tree.attempt = self.attempt_number
        if not tree.empty:
            tree.seen = self.n_plan if self.planning else self.counts.n_changed

    cdef void refresh(self, Tournament* tree, const Sub* sub, int64_t t, const int32_t* domains) noexcept nogil:
        cdef int64_t i, k, leaf
        cdef int32_t node, domain
        if self.planning:
            for i in range(tree.seen, self.n_plan):
                domain = self.plan_domain[i]
                while domain >= 0 and self.hypernodes.tier_of[domain] < t:
                    domain = self.hypernodes.parent[domain]
                if domain >= 0 and self.hypernodes.tier_of[domain] == t:
                    leaf = self.hypernodes.place_in_tier[domain] - tree.first
                    set_key(tree, domains, leaf, self.scores.key_of(sub, domain))
            tree.seen = self.n_plan
            return
        for i in range(tree.seen, self.counts.n_changed):
            node = self.counts.changed[i].node
            for k in range(self.hypernodes.node_start[node], self.hypernodes.node_start[node + 1]):
                domain = self.hypernodes.node_domains[k]
                if self.hypernodes.tier_of[domain] == t:
                    leaf = self.hypernodes.place_in_tier[domain] - tree.first
                    if 0 <= leaf < tree.m:
                        set_key(tree, domains, leaf, self.scores.key_of(sub, domain))
        tree.seen = self.counts.n_changed

    cdef void weigh(self, int32_t number, int64_t change) noexcept nogil:
        """Add the placed and running pods of sub-job ``number`` to the counts of their leaf HyperNodes.

        ``change`` -1: subtract.
        """
        cdef const Sub* sub = &self.job.subs[number]
        cdef int64_t i
        for i in range(sub.n_running):
            if sub.running[i] >= 0:
                self.fill.weigh_node(sub.running[i], change)
        if sub.placed:
            for i in range(self.job.n_log):
                if self.job.log_sub[i] == number:
                    self.fill.weigh_node(self.job.log_node[i], change)

    cdef int64_t inside(self, int32_t number, int32_t domain) noexcept nogil:
        """Number of the pods of sub-job ``number``, running or placed, that lie in a HyperNode."""
        cdef const Sub* sub = &self.job.subs[number]
        cdef int64_t i, found = 0
        for i in range(sub.n_running):
            if sub.running[i] >= 0:
                found += self.hypernodes.holds_node(domain, sub.running[i])
        for i in range(self.job.n_log):
            if self.job.log_sub[i] == number:
                found += self.hypernodes.holds_node(domain, self.job.log_node[i])
        return found

    cdef Progress try_in(self, int32_t number, int32_t domain) noexcept nogil:
        """Place pods of sub-job ``number`` on the nodes of a HyperNode and return the sub-job's progress after it.

        The pods stay on the nodes; the progress refers to the sub-job's own entries, which change.
        """
        cdef Sub* sub = &self.job.subs[number]
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
        """Whether sub-job ``number`` becomes ready in a HyperNode, found by a trial placement that is undone."""
        cdef Sub* sub = &self.job.subs[number]
        cdef Progress now
        cdef bint answer
        self.job.hold_entries(sub, True)
        now = self.try_in(number, domain)
        answer = self.fill.n_run > 0 and is_ready(&now)
        self.fill.take_back_run(&now)
        self.job.hold_entries(sub, False)
        return answer

    cdef bint enter_in(self, int32_t number, int32_t domain, double score) noexcept nogil:
        """Place sub-job ``number`` in a HyperNode.

        Return False, with nothing changed, if it does not become ready there. ``score`` is the HyperNode's score for
        the sub-job and is added to the job's.
        """
        cdef Sub* sub = &self.job.subs[number]
        cdef Progress now
        cdef int64_t i
        if self.planning:
            return self.plan_in(number, domain, score)
        self.job.hold_entries(sub, True)
        now = self.try_in(number, domain)
        if self.fill.n_run == 0 or not is_ready(&now):
            self.fill.take_back_run(&now)
            self.job.hold_entries(sub, False)
            return False
        self.stay(number)
        if self.job.grouped:
            for i in range(self.fill.n_run):
                note_placed(
                    &self.job.progress, &self.job.progress.entries[now.entries[self.fill.run_entry[i]].shape], 1
                )
        self.note_sub(number, &now, self.fill.n_run, domain, score)
        return True

    cdef bint plan_in(self, int32_t number, int32_t domain, double score) noexcept nogil:
        """Place a sub-job with equal pods in counts and totals only, without choosing nodes.

        Parameters as for `enter_in`. Return False, with nothing changed, if the sub-job does not become ready in the
        HyperNode.
        """
        cdef Sub* sub = &self.job.subs[number]
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
        if self.job.grouped:
            note_placed(&self.job.progress, &self.job.progress.entries[self.plan_shape], wanted)
        self.plan_domain[self.n_plan] = domain
        self.plan_pods[self.n_plan] = wanted
        self.n_plan += 1
        self.count_plan(domain, wanted)
        self.note_sub(number, &now, wanted, domain, score)
        return True

    cdef void count_plan(self, int32_t domain, int64_t pods) noexcept nogil:
        cdef const int64_t* request = self.states.shapes[self.plan_shape].request
        cdef int64_t* held = self.counts.of_shape[self.plan_shape].held
        cdef int64_t* used
        cdef int64_t k
        while True:
            held[self.hypernodes.where(domain)] -= pods
            used = self.counts.domain_used + self.hypernodes.at(domain) * self.r
            for k in range(self.r):
                used[k] += pods * request[k]
            if domain < 0:
                break
            domain = self.hypernodes.parent[domain]
        self.counts.commits += 1

    cpdef void take_plan_back(self) noexcept nogil:
        """Undo the placements made by `plan_in`: subtract their pods from counts and totals."""
        cdef int64_t i
        for i in range(self.n_plan):
            self.count_plan(self.plan_domain[i], -self.plan_pods[i])
        self.n_plan = 0

    cdef inline int32_t widened(self, int32_t record, int32_t domain) noexcept nogil:
        """Smallest HyperNode that holds both ``record``, where the job is allocated so far, and ``domain``."""
        return domain if record == NO_RECORD else lca(&self.fill.closeness, record, domain)

    cdef void note_sub(
        self, int32_t number, const Progress* now, int64_t placed, int32_t domain, double score
    ) noexcept nogil:
        """Update a sub-job's counts after ``placed`` of its pods were placed in HyperNode ``domain`` with a score."""
        cdef Sub* sub = &self.job.subs[number]
        self.job.note_sub(number, now, placed)
        sub.record = self.widened(sub.record, domain)
        self.job.score += score * 100.0 * self.counts.scale
        self.chosen, self.chosen_score = domain, score

    cpdef bint may_plan(self) noexcept nogil:
        """Whether counts of fitting pods alone tell in which HyperNode each sub-job is placed.

        So it is if all sub-jobs are alike, none has pods placed, each has one role, and the HyperNodes form a proper
        tree. A sub-job placed in a HyperNode of the closest tier then changes only the counts of that HyperNode and its
        ancestors.
        """
        cdef int64_t i, t
        cdef int32_t e
        cdef const Sub* sub
        cdef const Sub* first = NULL
        cdef const int32_t* lowest
        cdef int32_t top = -1
        if not self.hypernodes.proper or self.job.n_queue == 0:
            return False
        for i in range(self.job.n_queue):
            sub = &self.job.subs[self.job.by_rank[<int32_t>self.job.queue[i]]]
            if first == NULL:
                first = sub
            if (
                sub.kind != first.kind or sub.alone or sub.n_roles != 1
                or sub.record != NO_RECORD or sub.n_running or sub.placed
            ):
                return False
        for e in range(first.progress.n):
            if first.progress.entries[e].left:
                if not self.counts.of_shape[first.progress.entries[e].shape].followed:
                    return False
                for t in range(self.hypernodes.n_tiers):
                    if self.hypernodes.tier_start[t] < self.hypernodes.tier_start[t + 1]:
                        lowest = self.hypernodes.tier_domains + self.hypernodes.tier_start[t]
                        self.counts.count_shape(first.progress.entries[e].shape, lowest, 1, -1)
                self.counts.count_shape(first.progress.entries[e].shape, &top, 1, -1)
        return True

    cdef int pick(self, int32_t number, Tournament* tree, const int32_t* domains) noexcept nogil:
        """Place sub-job ``number`` in the HyperNode with the best score among ``domains``.

        Return 1 if placed, 0 if it fits in none of them, -1 if the sub-job is to be given up.
        """
        cdef Sub* sub = &self.job.subs[number]
        cdef bint follows = (sub.n_running > 0 or sub.placed > 0) and self.counts.scale != 0.0
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
                set_key(tree, domains, leaf, -INFINITY)
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
            play_all(tree, domains)

    cdef int pick_one(self, int32_t number, int32_t domain) noexcept nogil:
        """Place sub-job ``number`` in the HyperNode ``domain``.

        Return 1 if placed, 0 if it does not fit, -1 to give it up.
        """
        self.scores.count_for(&self.job.subs[number], &domain, 1, domain)
        self.scratch.m = 1
        self.grow(&self.scratch, &self.job.subs[number], &domain)
        if self.scratch.empty:
            return 0
        return self.pick(number, &self.scratch, &domain)

    cpdef bint place_sub(self, int32_t number, int32_t given) noexcept nogil:
        """Place sub-job ``number`` inside HyperNode ``given``: in the best HyperNode of the lowest tier where it fits.

        Return False if it fits nowhere.
        """
        cdef Sub* sub = &self.job.subs[number]
        cdef bint shared = (
            self.job.kind_size[sub.kind] > 1 and not sub.alone
            and sub.record == NO_RECORD and sub.n_running == 0 and sub.placed == 0
        )
        cdef int32_t e
        cdef int done
        cdef Walk walk
        cdef Tournament* tree
        cdef const int32_t* domains
        for e in range(sub.progress.n):
            if sub.progress.entries[e].left:
                self.counts.catch_up(sub.progress.entries[e].shape)
        walk = self.hypernodes.walk(given, sub.record, sub.limited, sub.limit)
        while self.hypernodes.step(&walk):
            if walk.alone:
                if self.pick_one(number, walk.start) == 1:
                    return True
                break
            domains = self.hypernodes.tier_domains + walk.first
            tree = &self.trees[sub.kind * (self.hypernodes.n_tiers + 1) + walk.tier] if shared else &self.scratch
            if shared and tree.attempt == self.attempt_number:
                if tree.empty:
                    continue
                self.refresh(tree, sub, walk.tier, domains)
            else:
                if self.scores.too_small(sub, walk.tier):
                    continue
                self.scores.count_for(sub, domains, walk.end - walk.first, walk.start)
                tree.first = walk.first
                tree.m = walk.end - walk.first
                self.grow(tree, sub, domains)
                if tree.empty:
                    continue
            done = self.pick(number, tree, domains)
            if done == 1:
                return True
            if done < 0:
                break
        return False

    cdef void stay(self, int32_t number) noexcept nogil:
        """Append the pods just placed for sub-job ``number`` to the list of placed pods, so that they stay for now."""
        cdef Sub* sub = &self.job.subs[number]
        cdef int64_t i
        cdef int32_t node, state
        for i in range(self.fill.n_run):
            node = self.fill.run_node[i]
            self.job.log_sub[self.job.n_log] = number
            self.job.log_shape[self.job.n_log] = sub.progress.entries[self.fill.run_entry[i]].shape
            self.job.log_node[self.job.n_log] = node
            self.job.log_pod[self.job.n_log] = self.fill.run_pod[i]
            self.job.n_log += 1
            # A node that comes again is in its last state already.
            state = self.states.run_state[node] if self.states.run_state[node] >= 0 else self.states.find_state(node)
            self.counts.change_state(node, state)
        self.counts.commits += 1

    cpdef void take_back(self, int64_t log_mark, int64_t changed_mark) noexcept nogil:
        """Remove the pods placed since the list of placed pods had ``log_mark`` entries.

        ``changed_mark``: entries that the log of changed nodes had then.
        """
        self.job.n_log = log_mark
        self.counts.undo(changed_mark)

    cpdef void begin(self, bint planning) noexcept nogil:
        """Begin placing the job's sub-jobs in another HyperNode, from the state after the last finished turn.

        With ``planning``, pods are only counted and no nodes are chosen.
        """
        self.job.reset()
        self.attempt_number += 1
        self.counts.commits += 1
        self.states.leave_states(self.job.pods_alive)
        self.planning, self.unplanned = planning, False
