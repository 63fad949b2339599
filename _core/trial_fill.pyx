"""Places pods one by one on the nodes of a domain (HyperNode), each on the node with the best score, and can undo it.

The order of choice is that of ``workbench.kernels.dry_runs``. Hundreds of trials are cheap: nodes with equal amounts
share their score (``state_table.pxd``), and no trial makes an object. A tournament tree per pod shape (``contest.pxd``)
finds the best node. A placed pod touches only the groups of nodes whose topology score it changes.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t

from workbench._core.contest cimport (
    NO_RECORD, Contest, Inner, Outer, base_of, lca, lift, lift_inner, lift_range, play_inner, play_outer
)
from workbench._core.fading cimport fade, find_gains, forget_path, use_path
from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.levels cimport count_groups, find_best, level_of, recount, set_base
from workbench._core.memory cimport claim, free, grab, regrow
from workbench._core.progress cimport (
    Entry, Progress, is_ready, leave_rest, may_go_on, note_placed, skip_name, until_ready
)
from workbench._core.sorting cimport sort_numbers
from workbench._core.state_table cimport Shape, StateTable


@cython.final
@cython.auto_pickle(False)
cdef class TrialFill:
    """Places pods on the nodes of one domain (HyperNode) as a trial, and holds what was placed until the next trial."""

    cdef int open(self, StateTable states, HyperNodeTree hypernodes, const int32_t[::1] rank) except -1:
        cdef int64_t n = states.n, d = hypernodes.d
        self.states, self.hypernodes = states, hypernodes
        self.n = n
        self.r = states.r
        self.d = d
        self.record = NO_RECORD
        self.update_record = True
        self.keep = [rank]
        self.rank = &rank[0] if n else NULL
        self.tasks_on_leaf = <int64_t*>grab(d * sizeof(int64_t))
        self.met = <int64_t*>grab((d + 1) * sizeof(int64_t))
        self.floor = <int64_t*>claim(self.r * sizeof(int64_t))
        self.sort_keys = <int64_t*>claim(n * sizeof(int64_t))
        self.node_of = <int32_t*>claim(n * sizeof(int32_t))
        self.slot_of = <int32_t*>claim(n * sizeof(int32_t))
        self.group_of = <int32_t*>claim(n * sizeof(int32_t))
        self.by_leaf.first = <int64_t*>claim((n + 1) * sizeof(int64_t))
        self.by_leaf.domain_of = <int32_t*>claim(n * sizeof(int32_t))
        self.by_leaf.tasks = <int64_t*>claim(n * sizeof(int64_t))
        self.by_leaf.base = <double*>claim(n * sizeof(double))
        self.with_tasks = <int32_t*>claim(n * sizeof(int32_t))
        self.levels.of = <int32_t*>claim(n * sizeof(int32_t))
        # One for each group, one more each time that a record widens, and what every group may be worth.
        self.levels.base = <double*>claim((n + 2 * d + 4) * sizeof(double))
        self.keep_contests(1)
        self.nodes, self.levels.fitting = self.kept[0].nodes, self.kept[0].level_fitting
        return 0

    def __dealloc__(self):
        free(self.tasks_on_leaf)
        free(self.met)
        free(self.fullness.share)
        free(self.fullness.known)
        free(self.gain)
        free(self.floor)
        free(self.sort_keys)
        free(self.node_of)
        free(self.slot_of)
        free(self.group_of)
        free(self.by_leaf.first)
        free(self.by_leaf.domain_of)
        free(self.by_leaf.tasks)
        free(self.by_leaf.base)
        for k in range(N_KEPT):
            free(self.kept[k].nodes.inner)
            free(self.kept[k].nodes.outer)
            free(self.kept[k].nodes.fitting)
            free(self.kept[k].level_fitting)
        free(self.with_tasks)
        free(self.leaf_group)
        free(self.levels.of)
        free(self.levels.base)
        free(self.run_node)
        free(self.run_entry)
        free(self.run_pod)
        free(self.run_score)

    cdef int set_topology(
        self,
        const int32_t[::1] parent,
        const int32_t[::1] depth,
        const double[::1] value,
        double top_value,
        double own_value,
        double weight,
        bint roots_meet,
    ) except -1:
        """Set the scores of leaf domains (lowest HyperNodes) by closeness to the HyperNode of the job so far.

        The arguments are explained in ``workbench.kernels.domains.TopologyScores``; the arrays are kept, not copied.
        """
        self.keep += [parent, depth, value]
        self.closeness.parent = &parent[0] if parent.shape[0] else NULL
        self.closeness.depth = &depth[0] if depth.shape[0] else NULL
        self.closeness.value = &value[0] if value.shape[0] else NULL
        self.closeness.top_value = top_value
        self.closeness.own_value = own_value
        self.closeness.weight = weight
        self.roots_meet = roots_meet
        return 0

    cdef int open_leaves(self) except -1:
        """Allocate memory for nodes that lie in several leaf domains (lowest HyperNodes).

        Call this after the leaves were set.
        """
        if self.hypernodes.leaf_start != NULL:
            self.leaf_group = <int32_t*>grab(self.d * sizeof(int32_t))
        return 0

    cdef int set_fading(
        self,
        const int32_t[::1] ring_of,
        const int32_t[:, ::1] around,
        const int32_t[::1] column,
        const double[::1] by_tier,
        const double[::1] packing,
        double scale,
    ) except -1:
        """Set the score by which pods without a topology constraint prefer full domains (HyperNodes).

        The arguments are explained in ``workbench.kernels.fading.Fading``; the arrays are kept, not copied.
        """
        cdef int64_t rings = around.shape[0]
        if column.shape[0] == 0 or self.n == 0 or self.r == 0:
            return 0
        self.keep += [ring_of, around, column, by_tier, packing]
        if rings > self.d:
            free(self.met)
            self.met = NULL
            self.met = <int64_t*>grab((rings + 1) * sizeof(int64_t))
        self.fullness.share = <double*>claim((self.d + 1) * sizeof(double))
        self.fullness.known = <int64_t*>grab((self.d + 1) * sizeof(int64_t))
        self.gain = <double*>claim(self.n * sizeof(double))
        fade(&self.fading, ring_of, around, column, by_tier, packing, scale)
        return 0

    cdef int make_room(self, int64_t pods) except -1:
        if pods <= self.run_capacity:
            return 0
        self.run_node = <int32_t*>regrow(self.run_node, pods * sizeof(int32_t))
        self.run_entry = <int32_t*>regrow(self.run_entry, pods * sizeof(int32_t))
        self.run_pod = <int32_t*>regrow(self.run_pod, pods * sizeof(int32_t))
        self.run_score = <double*>regrow(self.run_score, pods * sizeof(double))
        self.run_capacity = pods
        return 0

    cdef void find_floor(self, const Progress* now) noexcept nogil:
        """Compute the least idle amounts with which a node can hold a pod of any shape that is left.

        Nodes below are skipped.
        """
        cdef const int64_t* request
        cdef int64_t k
        cdef int32_t e
        for k in range(self.r):
            self.floor[k] = INT64_MAX
        for e in range(now.n):
            if now.entries[e].left:
                request = self.states.shapes[now.entries[e].shape].request
                for k in range(self.r):
                    # Of what a pod does not ask for even a negative amount will do.
                    self.floor[k] = min(self.floor[k], request[k] if request[k] > 0 else INT64_MIN)

    cdef void enter(self, int32_t domain, bint scored) noexcept nogil:
        """Collect the nodes of a domain (HyperNode) that may hold a pod, grouped by leaf domain.

        ``scored``: pods are scored by closeness to where the job is; if not, and full domains are preferred, the groups
        are rings (nodes with the same domain in every tier).
        """
        cdef int64_t i, g = -1, c, m
        cdef const int32_t* nodes = NULL
        cdef const int32_t* by = self.fading.ring_of if self.fades else self.hypernodes.leaf
        cdef int32_t node, leaf, last = -2
        cdef bint scattered = False, grouped = scored or self.fades
        self.states.stamp += 1
        if domain < 0:
            m = self.n
        else:
            nodes = self.hypernodes.members + self.hypernodes.start[domain]
            m = self.hypernodes.start[domain + 1] - self.hypernodes.start[domain]
        self.n_with_tasks = 0
        self.first_node = self.end_node = -1
        if m and (nodes == NULL or nodes[m - 1] - nodes[0] == m - 1):
            self.first_node = 0 if nodes == NULL else nodes[0]
            self.end_node = self.first_node + <int32_t>m
        c = 0
        for i in range(m):
            node = <int32_t>i if nodes == NULL else nodes[i]
            self.slot_of[node] = <int32_t>c
            # Placing only consumes, so a node that fits no pod now never will.
            if not self.states.holds_at_least(node, self.floor):
                continue
            self.node_of[c] = node
            if grouped:
                leaf = by[node]
                if leaf != last:
                    last = leaf
                    scattered |= self.met[leaf + 1] == self.states.stamp
                    self.met[leaf + 1] = self.states.stamp
            else:
                self.group_of[c] = 0
            c += 1
        self.c = c
        if not grouped:
            self.by_leaf.g = 1 if c else 0
            self.by_leaf.first[0] = 0
            self.by_leaf.first[self.by_leaf.g] = c
            if c:
                self.by_leaf.domain_of[0] = -1
                self.by_leaf.tasks[0] = 0
            return
        if scattered:
            self.first_node = -1
            for i in range(c):
                self.sort_keys[i] = (<int64_t>by[self.node_of[i]] + 1) << 32 | self.node_of[i]
            sort_numbers(self.sort_keys, c)
            for i in range(c):
                self.node_of[i] = <int32_t>self.sort_keys[i]
                self.slot_of[self.node_of[i]] = <int32_t>i
        last = -2
        for i in range(c):
            leaf = by[self.node_of[i]]
            if leaf != last:
                last = leaf
                g += 1
                self.by_leaf.first[g] = i
                self.by_leaf.domain_of[g] = leaf
                self.by_leaf.tasks[g] = self.tasks_on_leaf[leaf] if scored and leaf >= 0 else 0
                if self.by_leaf.tasks[g]:
                    self.with_tasks[self.n_with_tasks] = <int32_t>g
                    self.n_with_tasks += 1
                if self.hypernodes.leaf_start != NULL and scored and leaf >= 0:
                    self.leaf_group[leaf] = <int32_t>g
            self.group_of[i] = <int32_t>g
        self.by_leaf.g = g + 1
        self.by_leaf.first[self.by_leaf.g] = c

    cdef int keep_contests(self, int32_t count) except -1:
        """Allocate tournament trees of nodes for up to ``count`` pod shapes.

        If there are more shapes than trees are kept, some trees are built again each time.
        """
        cdef int32_t k
        cdef Contest* nodes
        for k in range(self.n_kept, min(count, <int32_t>N_KEPT)):
            nodes = &self.kept[k].nodes
            nodes.inner = <Inner*>claim(2 * self.n * sizeof(Inner))
            nodes.outer = <Outer*>claim(2 * self.n * sizeof(Outer))
            nodes.fitting = <int64_t*>grab(self.n * sizeof(int64_t))
            self.kept[k].level_fitting = <int64_t*>claim((self.n + 2 * self.d + 4) * sizeof(int64_t))
            self.n_kept += 1
        return 0

    cdef bint widen(self, int32_t record, int64_t* low, int64_t* high) noexcept nogil:
        """Set the HyperNode in which the job is allocated, and the closeness score of each group of nodes to it.

        Scores may have changed only for groups from ``low`` to ``high``.
        """
        cdef int64_t g, from_group, to_group
        cdef int32_t outer, inner
        cdef double base
        cdef bint every = not (self.by_leaf.scored and self.nested_groups(record, low, high))
        self.record = record
        self.version += 1
        self.by_leaf.scored = self.topology and record != NO_RECORD
        if every:
            low[0], high[0] = 0, self.by_leaf.g
        if not self.by_leaf.scored:
            return True
        if not every:
            # Outside the wider record nothing changes: a leaf there meets both records in the same place.
            count_groups(&self.levels, &self.nodes, low[0], high[0], -1)
            self.spread(record, low[0], high[0])
        else:
            self.levels.n = 0
            if self.nested_groups(record, &from_group, &to_group):
                self.spread(-1, 0, self.by_leaf.g)
                # The record's ancestors from the root down: each but repeats the walk up, trees are shallow.
                outer = -1
                while outer != record:
                    inner = record
                    while self.closeness.parent[inner] != outer:
                        inner = self.closeness.parent[inner]
                    outer = inner
                    if self.nested_groups(outer, &from_group, &to_group):
                        self.spread(outer, from_group, to_group)
            else:
                for g in range(self.by_leaf.g):
                    base = base_of(&self.closeness, self.by_leaf.domain_of[g], record)
                    set_base(&self.levels, &self.by_leaf, g, base)
        count_groups(&self.levels, &self.nodes, low[0], high[0], 1)
        return every

    cdef bint nested_groups(self, int32_t domain, int64_t* low, int64_t* high) noexcept nogil:
        """Write the range of groups of nodes that lie inside a domain (HyperNode); False if that range is unknown."""
        cdef int64_t first, last
        if not self.hypernodes.contained or self.first_node < 0:
            return False
        if domain < 0:
            low[0], high[0] = 0, self.by_leaf.g
            return True
        if not self.hypernodes.interval(domain, &first, &last):
            return False
        low[0] = high[0] = 0
        first = max(first, self.first_node)
        last = min(last, self.end_node)
        if first >= last:
            return True
        # A node without a slot of its own has that of the next one that has.
        first = self.slot_of[first]
        last = self.slot_of[last] if last < self.end_node else self.c
        if first < last:
            low[0], high[0] = self.group_of[first], self.group_of[last - 1] + 1
        return True

    cdef void spread(self, int32_t common, int64_t low, int64_t high) noexcept nogil:
        """Set the closeness score of the groups whose lowest common ancestor with the job's HyperNode is ``common``."""
        cdef double value = self.closeness.value[common] if common >= 0 else self.closeness.top_value
        cdef int32_t level = level_of(&self.levels, value), domain
        cdef int64_t g
        for g in range(low, high):
            domain = self.by_leaf.domain_of[g]
            self.by_leaf.base[g] = value
            self.levels.of[g] = level
            if domain < 0 or domain == self.record:
                set_base(&self.levels, &self.by_leaf, g, 0.0 if domain < 0 else self.closeness.own_value)

    cdef void turn_to(self, int32_t number) noexcept nogil:
        """Select the tournament tree of shape ``number``: the one kept from this fill, or a new one."""
        cdef Kept* one = &self.kept[self.at_hand]
        cdef int32_t k, free_one = -1
        cdef bint known
        if one.stamp == self.states.stamp and one.shape == number:
            return
        one.nodes = self.nodes
        one.seen, one.version = self.n_run, self.version
        for k in range(self.n_kept):
            if self.kept[k].stamp != self.states.stamp:
                free_one = k
            elif self.kept[k].shape == number:
                break
        else:
            k = free_one if free_one >= 0 else number % self.n_kept
        one = &self.kept[k]
        known = one.stamp == self.states.stamp and one.shape == number
        one.stamp, one.shape = self.states.stamp, number
        self.at_hand = k
        self.nodes, self.levels.fitting = one.nodes, one.level_fitting
        self.nodes.gain = self.gain if self.fades else NULL
        if known:
            self.catch_up_run(&self.states.shapes[number], one.seen, one.version != self.version)
        else:
            self.build(&self.states.shapes[number])

    cdef void catch_up_run(self, Shape* shape, int64_t seen, bint stale) noexcept nogil:
        """Update the tournament tree of a shape for nodes on which pods of other shapes were placed in between.

        ``seen``: number of pods placed when the tree was last right; ``stale``: topology scores changed, too.
        """
        cdef int64_t i, g, n, slot
        cdef double best_base = self.nodes.best_base
        cdef bint shared = self.nodes.n_best >= 2, fitted, fits
        cdef Inner* tree
        for i in range(seen, self.n_run):
            slot = self.slot_of[self.run_node[i]]
            g = self.group_of[slot]
            tree = self.nodes.inner + 2 * self.by_leaf.first[g]
            n = self.by_leaf.first[g + 1] - self.by_leaf.first[g]
            slot += n - self.by_leaf.first[g]
            fitted = tree[slot].key != INT64_MAX
            tree[slot].node = self.states.score_now(shape, self.run_node[i])
            # A pod only takes: what did not fit before does not now.
            fits = fitted and tree[slot].node != -INFINITY
            if fitted and not fits:
                tree[slot].key = INT64_MAX
                self.nodes.fitting[g] -= 1
                self.nodes.n_fitting -= 1
                if self.by_leaf.scored and not stale:
                    self.levels.fitting[self.levels.of[g]] -= 1
            lift_inner(tree, slot)
        if self.by_leaf.scored and stale:
            recount(&self.levels, &self.by_leaf, &self.nodes)
        if self.fades:
            self.fullness.time += 1
            find_gains(&self.fading, &self.by_leaf, shape.request, &self.fullness, self.gain)
        find_best(&self.levels, &self.by_leaf, &self.nodes)
        if stale or self.fades:
            play_outer(&self.by_leaf, &self.closeness, &self.nodes)
            return
        if best_base != self.nodes.best_base or shared != (self.nodes.n_best >= 2):
            for i in range(self.n_with_tasks):
                lift(&self.by_leaf, &self.closeness, &self.nodes, self.with_tasks[i])
        for i in range(seen, self.n_run):
            lift(&self.by_leaf, &self.closeness, &self.nodes, self.group_of[self.slot_of[self.run_node[i]]])

    cdef void build(self, Shape* shape) noexcept nogil:
        cdef int64_t g, i, n
        cdef int32_t node
        cdef Inner* tree
        self.nodes.n_fitting = 0
        for g in range(self.by_leaf.g):
            n = self.by_leaf.first[g + 1] - self.by_leaf.first[g]
            tree = self.nodes.inner + 2 * self.by_leaf.first[g]
            self.nodes.fitting[g] = 0
            for i in range(n):
                node = self.node_of[self.by_leaf.first[g] + i]
                tree[n + i].node = self.states.score_now(shape, node)
                if tree[n + i].node == -INFINITY:
                    tree[n + i].key = INT64_MAX
                else:
                    tree[n + i].key = <int64_t>self.rank[node] << 32 | node
                    self.nodes.fitting[g] += 1
            self.nodes.n_fitting += self.nodes.fitting[g]
            play_inner(tree, n)
        if self.by_leaf.scored:
            recount(&self.levels, &self.by_leaf, &self.nodes)
        if self.fades:
            self.fullness.time += 1
            find_gains(&self.fading, &self.by_leaf, shape.request, &self.fullness, self.gain)
        find_best(&self.levels, &self.by_leaf, &self.nodes)
        play_outer(&self.by_leaf, &self.closeness, &self.nodes)

    @property
    def best(self):
        """Best closeness score among the nodes that the next pod fits on, and the number of nodes that have it.

        Closeness is the score of a node by its distance to the domain (HyperNode) of the job. (-inf, 0) if pods are not
        scored by it or the pod fits nowhere.
        """
        return self.nodes.best_base, self.nodes.n_best

    cdef void count_in(self, int64_t g) noexcept nogil:
        if self.by_leaf.tasks[g] == 0:
            self.with_tasks[self.n_with_tasks] = <int32_t>g
            self.n_with_tasks += 1
        self.by_leaf.tasks[g] += 1

    cdef bint count_task(self, int32_t node, int64_t g) noexcept nogil:
        """Count a placed pod on every leaf HyperNode that holds its node, group ``g`` being the node's own.

        True if another leaf domain of the node is among the groups of nodes.
        """
        cdef int64_t k
        cdef int32_t leaf
        cdef bint others = False
        self.count_in(g)
        if self.hypernodes.leaf_start == NULL:
            return False
        for k in range(self.hypernodes.leaf_start[node], self.hypernodes.leaf_start[node + 1]):
            leaf = self.hypernodes.leaves[k]
            if leaf != self.by_leaf.domain_of[g] and self.met[leaf + 1] == self.states.stamp:
                self.count_in(self.leaf_group[leaf])
                others = True
        self.version += others
        return others

    cdef void put(self, Shape* shape, int32_t entry) noexcept nogil:
        """Place one pod of a shape (equal requests) on the best node; ``entry`` is the pod's role."""
        cdef int32_t node = <int32_t>self.nodes.outer[1].key  # the low half of the key
        cdef int64_t slot = self.slot_of[node], g = self.group_of[slot], i, n
        cdef int64_t low = 0, high = 0
        cdef int32_t wider
        cdef Inner* tree = self.nodes.inner + 2 * self.by_leaf.first[g]
        cdef double best_base = self.nodes.best_base
        cdef bint shared = self.nodes.n_best >= 2, every = False, others = False
        self.states.take(node, shape.request)
        self.states.run_state[node] = self.states.next_state(shape, self.states.state_now(node), node)
        self.states.touched[node] = self.states.stamp
        self.run_node[self.n_run] = node
        self.run_entry[self.n_run] = entry
        self.n_run += 1
        n = self.by_leaf.first[g + 1] - self.by_leaf.first[g]
        i = n + slot - self.by_leaf.first[g]
        tree[i].node = self.states.score_now(shape, node)
        if tree[i].node == -INFINITY:
            tree[i].key = INT64_MAX
            self.nodes.fitting[g] -= 1
            self.nodes.n_fitting -= 1
            if self.by_leaf.scored:
                self.levels.fitting[self.levels.of[g]] -= 1
        lift_inner(tree, i)
        if self.fades:
            use_path(&self.fading.totals, node, shape.request, 1)
            forget_path(&self.fading.totals, node, &self.fullness)
            find_gains(&self.fading, &self.by_leaf, shape.request, &self.fullness, self.gain)
            play_outer(&self.by_leaf, &self.closeness, &self.nodes)
            return
        if self.topology and self.by_leaf.domain_of[g] >= 0:
            others = self.count_task(node, g)
            if self.update_record:
                if self.record == NO_RECORD:
                    wider = self.by_leaf.domain_of[g]
                else:
                    wider = lca(&self.closeness, self.by_leaf.domain_of[g], self.record)
                    if wider < 0 and not self.roots_meet:
                        wider = NO_RECORD
                if wider != self.record:
                    every = self.widen(wider, &low, &high)
        find_best(&self.levels, &self.by_leaf, &self.nodes)
        if every or others:
            play_outer(&self.by_leaf, &self.closeness, &self.nodes)
            return
        # Where the best base or its being shared changed, so did the share of tasks.
        if best_base != self.nodes.best_base or shared != (self.nodes.n_best >= 2):
            for i in range(self.n_with_tasks):
                if self.nodes.fitting[self.with_tasks[i]]:
                    lift(&self.by_leaf, &self.closeness, &self.nodes, self.with_tasks[i])
        lift(&self.by_leaf, &self.closeness, &self.nodes, g)
        lift_range(&self.by_leaf, &self.closeness, &self.nodes, low, high)

    cdef int64_t place(self, Progress* now, int32_t entry, int64_t count) noexcept nogil:
        """Place up to ``count`` pods of an entry (role), each on its best node; return how many were placed."""
        cdef Shape* shape = &self.states.shapes[now.entries[entry].shape]
        cdef int64_t done = 0
        self.turn_to(now.entries[entry].shape)
        while done < count and self.nodes.n_fitting > 0:
            # Volcano takes the only fitting node without scoring it.
            self.run_score[self.n_run] = 0.0 if self.nodes.n_fitting == 1 else self.nodes.outer[1].total
            self.run_pod[self.n_run] = <int32_t>(now.entries[entry].given + done)
            self.put(shape, entry)
            done += 1
        return done

    cdef bint try_entry(self, Progress* now, int32_t i, int64_t upto) noexcept nogil:
        """Place pods of entry ``i`` (a role) until ``upto`` of its pods have been tried.

        False if the fill ends here.
        """
        cdef Entry* entry = &now.entries[i]
        cdef int64_t wanted, found
        # Turns without a failure are one pass; after one, the turn is over with the pod that leaves the gang ready.
        wanted = entry.left if now.every and self.first_failed < 0 else until_ready(now, entry)
        wanted = min(wanted, upto - entry.given)
        if wanted <= 0:
            return True
        found = self.place(now, i, wanted)
        note_placed(now, entry, found)
        if found == wanted:
            return not is_ready(now) or (now.every and self.first_failed < 0)
        if self.first_failed < 0:
            self.first_failed = i
            if is_ready(now):
                self.turn_start = self.n_run
        skip_name(now, i)
        return may_go_on(now, i)

    cdef void take_turn(self, Progress* now) noexcept nogil:
        """Try the pods in their order until the gang is ready, which ends a turn of the job in Volcano.

        If later turns are to be taken together with it, go on to the end of the last one.
        """
        cdef int32_t i
        self.first_failed = -1
        self.turn_start = self.n_run
        if now.runs == NULL:
            for i in range(now.n):
                if not self.try_entry(now, i, INT64_MAX):
                    break
            return
        for i in range(now.n):
            now.entries[i].dropped = 0
        for i in range(now.n_runs):
            if not self.try_entry(now, now.runs[i].entry, now.runs[i].upto):
                if self.first_failed >= 0 and is_ready(now) and now.entries[now.runs[i].entry].dropped == 0:
                    leave_rest(now, i)
                break

    cdef void begin(self, int32_t domain, bint scored, int32_t record) noexcept nogil:
        """Prepare the nodes of a domain (HyperNode) for a fill.

        ``record`` is the domain in which the job is allocated so far.
        """
        cdef int64_t low, high
        self.n_run = 0
        self.topology = scored
        self.fades = not scored and self.fading.n_tiers > 0
        self.nodes.gain = self.gain if self.fades else NULL
        self.enter(domain, scored)
        self.record = NO_RECORD
        self.by_leaf.scored = False
        self.levels.n = 0
        if scored:
            self.widen(record, &low, &high)

    cdef void look(self, int32_t domain, bint scored, int32_t record, int32_t shape) noexcept nogil:
        """Build the tournament tree that ranks the nodes of a domain (HyperNode) for a pod of ``shape``.

        No pod is placed.
        """
        cdef const int64_t* request = self.states.shapes[shape].request
        cdef int64_t k
        for k in range(self.r):
            self.floor[k] = request[k] if request[k] > 0 else INT64_MIN
        self.begin(domain, scored, record)
        self.turn_to(shape)

    cdef void run(self, int32_t domain, bint scored, int32_t record, Progress* now) noexcept nogil:
        """Place pods in a domain (HyperNode) one by one until the gang is ready or a failure ends the fill.

        The pods stay on the nodes. ``record`` is the domain in which the job is allocated so far; ``now`` holds the
        pods left and is updated.
        """
        cdef int64_t i
        cdef const int64_t* request
        self.find_floor(now)
        self.begin(domain, scored, record)
        self.take_turn(now)
        while now.every and self.n_run > self.turn_start and now.rest > 0 and is_ready(now):
            # Names that were given up in one turn are tried again in the next.
            self.take_turn(now)
        if self.fades:
            # The totals of domains are those without the run, which may yet be taken back.
            for i in range(self.n_run):
                request = self.states.shapes[now.entries[self.run_entry[i]].shape].request
                use_path(&self.fading.totals, self.run_node[i], request, -1)

    cdef void take_back_run(self, const Progress* now) noexcept nogil:
        cdef int64_t i
        cdef const int64_t* request
        for i in range(self.n_run - 1, -1, -1):
            request = self.states.shapes[now.entries[self.run_entry[i]].shape].request
            self.states.give_back(self.run_node[i], request)
        self.n_run = 0

    cdef void weigh_node(self, int32_t node, int64_t change) noexcept nogil:
        cdef int64_t k
        if self.hypernodes.leaf_start == NULL:
            if self.hypernodes.leaf[node] >= 0:
                self.tasks_on_leaf[self.hypernodes.leaf[node]] += change
            return
        for k in range(self.hypernodes.leaf_start[node], self.hypernodes.leaf_start[node + 1]):
            self.tasks_on_leaf[self.hypernodes.leaves[k]] += change
