"""Placement of one gang's pods in domains (HyperNodes), as a trial or for good."""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from workbench._core.contest cimport Inner, offset
from workbench._core.fading cimport Totals, use_path
from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.memory cimport free, grab, regrow
from workbench._core.progress cimport Entry, Progress, Run, below_minimum, is_ready, missing_of
from workbench._core.search_parts cimport SearchParts
from workbench._core.trial_fill cimport N_KEPT

import numpy as np


@cython.final
@cython.auto_pickle(False)
cdef class DryRuns(SearchParts):
    """Places a gang's pods on the nodes of a domain (HyperNode), as a trial or for good; arguments are trusted.

    The contract is in ``workbench.kernels.dry_runs.DryRuns``.
    """

    # what is asked by `ask`
    cdef Progress question
    cdef Run* question_runs
    cdef bint asked_scored
    cdef int32_t asked_record
    cdef int64_t* domain_used     # of each domain, the virtual top last, where pods are drawn to full domains
    cdef object keep_of_totals

    def __cinit__(
        self,
        const int64_t[:, ::1] idle not None,
        const int64_t[:, ::1] used not None,
        const int64_t[:, ::1] allocatable not None,
        const int32_t[::1] rank not None,
        const int32_t[::1] leaf not None,
        const int64_t[::1] start not None,
        const int32_t[::1] members not None,
        double binpack,
        const double[::1] binpack_by not None,
        double least,
        double most,
        const int64_t[::1] request_by not None,
        double balanced,
        const uint8_t[::1] balanced_by not None,
    ):
        cdef HyperNodeTree hypernodes = HyperNodeTree()
        hypernodes.open(leaf, start, members)
        self.open(
            idle, used, allocatable, rank, hypernodes, binpack, binpack_by, least, most, request_by, balanced,
            balanced_by,
        )

    def __dealloc__(self):
        free(self.question.entries)
        free(self.question_runs)
        free(self.domain_used)

    def set_leaves(self, const int64_t[::1] start not None, const int32_t[::1] leaves not None):
        """Set the leaf domains (lowest HyperNodes) that hold each node, for topologies where a node may have several.

        Node i has ``leaves[start[i]:start[i + 1]]``; both arrays are kept, not copied.
        """
        self.hypernodes.set_leaves(start, leaves)
        self.fill.open_leaves()

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
        """Set the score by which pods without a topology constraint prefer full domains (HyperNodes).

        The arguments are explained in ``workbench.kernels.fading.Fading``; ``used`` is copied, other arrays are not.
        """
        cdef size_t cells = used.shape[0] * self.r * sizeof(int64_t)
        cdef const int32_t* holders = NULL
        if self.n == 0 or self.r == 0:
            return
        self.keep_of_totals = allocatable, node_start, node_domains
        self.domain_used = <int64_t*>grab(cells)
        memcpy(self.domain_used, &used[0, 0], cells)
        if node_domains.shape[0]:
            holders = &node_domains[0]
        self.fill.fading.totals = Totals(
            self.r, self.d, self.domain_used, &allocatable[0, 0], &node_start[0], holders
        )
        self.fill.set_fading(ring_of, around, column, by_tier, packing, scale)

    def ask(
        self,
        const int32_t[::1] shapes not None,
        const int32_t[::1] names,
        const int64_t[::1] left not None,
        const int64_t[::1] present,
        const int64_t[::1] minimums,
        int32_t rule,
        int64_t min_available,
        int64_t counted,
        bint every,
        bint scored,
        int32_t record,
        bint update_record,
        const int64_t[::1] tasks_on_leaf,
        int64_t total_tasks,
        const int32_t[::1] run_entry,
        const int64_t[::1] run_upto,
    ):
        """Set the pods that the next trials place, and the rules by which a trial ends.

        An entry is one role of the gang. The runs (entry, pods up to the end of the run) give the order of the pods.
        None stands for: every role has a name of its own; no pods are present; no minimums; no leaf domain (lowest
        HyperNode) holds tasks.
        """
        cdef int32_t n = <int32_t>shapes.shape[0], e
        cdef int64_t minimum, wanted = 0
        cdef Entry* entry
        cdef Progress* fresh = &self.question
        fresh.entries = <Entry*>regrow(fresh.entries, (2 * n + 1) * sizeof(Entry))
        fresh.n = n
        fresh.rule = rule
        fresh.every = every
        fresh.min_available = min_available
        fresh.counted = counted
        fresh.short_of = fresh.rest = 0
        for e in range(n):
            entry = &fresh.entries[e]
            minimum = 0 if minimums is None else minimums[e]
            entry[0] = Entry(
                shapes[e], e if names is None else names[e], left[e], 0 if present is None else present[e], minimum, 0, 0
            )
            fresh.short_of += below_minimum(entry)
            fresh.rest += left[e]
            wanted += minimum
        fresh.minimums_count = min_available >= wanted
        fresh.runs = NULL
        fresh.n_runs = 0
        if run_entry is not None:
            fresh.n_runs = <int32_t>run_entry.shape[0]
            self.question_runs = <Run*>regrow(self.question_runs, (fresh.n_runs + 1) * sizeof(Run))
            for e in range(fresh.n_runs):
                self.question_runs[e] = Run(run_entry[e], run_upto[e])
            fresh.runs = self.question_runs
            self.fill.keep_contests(n)
        self.states.reserved = fresh.rest
        self.fill.make_room(fresh.rest)
        self.find_states(False)
        self.asked_scored = scored
        self.asked_record = record
        self.fill.update_record = update_record
        self.fill.closeness.total_tasks = <double>total_tasks
        if self.d and tasks_on_leaf is None:
            memset(self.fill.tasks_on_leaf, 0, self.d * sizeof(int64_t))
        elif self.d:
            memcpy(self.fill.tasks_on_leaf, &tasks_on_leaf[0], self.d * sizeof(int64_t))

    cdef int make_states(self) except -1:
        """Reserve memory for the groups of equal nodes ("states") that one more fill may create."""
        cdef int64_t rest = self.question.rest
        if self.states.n_remembered != self.states.n_shapes or not self.states.has_room(rest):
            self.states.open_states(rest + max(rest, 256))
        return 0

    cdef int find_states(self, bint trials) except -1:
        """Group nodes with equal amounts ("states"), if not done yet and if there are many ``trials`` or shapes."""
        if trials or self.states.table != NULL or self.states.known_states != NULL or self.states.n_shapes > N_KEPT:
            self.make_states()
        else:
            memset(self.states.state_of, 0xFF, self.n * sizeof(int32_t))
        return 0

    cdef Progress attempt(self) noexcept nogil:
        cdef Progress now = self.question
        now.entries = self.question.entries + now.n
        memcpy(now.entries, self.question.entries, now.n * sizeof(Entry))
        return now

    def try_each(
        self,
        const int32_t[::1] domains not None,
        double[::1] sums not None,
        double[::1] first not None,
        int64_t[::1] placed not None,
        int64_t[::1] missing not None,
        uint8_t[::1] ready not None,
    ):
        """Place the asked pods in each of k domains (HyperNodes, -1: all nodes) as a trial; no node changes.

        Writes one number per domain: the scores of the chosen nodes are added to ``sums``; ``first`` is the score of
        the first pod; ``placed`` the pods placed; ``missing`` the pods the gang still needs; ``ready`` 1 if the gang
        can start.
        """
        cdef int64_t i, k
        cdef Progress now
        cdef double total
        self.find_states(True)
        with nogil:
            for i in range(domains.shape[0]):
                now = self.attempt()
                self.fill.run(domains[i], self.asked_scored, self.asked_record, &now)
                total = sums[i]
                for k in range(self.fill.n_run):
                    total += self.fill.run_score[k]
                sums[i] = total
                first[i] = self.fill.run_score[0] if self.fill.n_run else 0.0
                placed[i] = self.fill.n_run
                missing[i] = missing_of(&now)
                ready[i] = is_ready(&now)
                self.fill.take_back_run(&now)

    def settle(self, int32_t domain):
        """Place the asked pods in one domain (HyperNode, -1: all nodes) for good and return the result as a tuple.

        In order: role, node and score of each placed pod, and its number among the pods of the role; pods placed and
        pods left of each role; the first role of which a pod fitted nowhere in the last turn, -1: none; the domain in
        which the job is allocated now (its record).
        """
        cdef int64_t i
        cdef Progress now = self.attempt()
        self.find_states(False)
        with nogil:
            self.fill.run(domain, self.asked_scored, self.asked_record, &now)
            for i in range(self.fill.n_run):
                if self.states.table != NULL:
                    self.states.state_of[self.fill.run_node[i]] = self.states.find_state(self.fill.run_node[i])
                if self.fill.fades:
                    use_path(
                        &self.fill.fading.totals,
                        self.fill.run_node[i],
                        self.states.shapes[now.entries[self.fill.run_entry[i]].shape].request,
                        1,
                    )
        entries_array = np.empty(self.fill.n_run, dtype=np.int32)
        nodes_array = np.empty(self.fill.n_run, dtype=np.int32)
        scores_array = np.empty(self.fill.n_run, dtype=np.float64)
        pods_array = np.empty(self.fill.n_run, dtype=np.int64)
        placed_array = np.zeros(now.n, dtype=np.int64)
        left_array = np.empty(now.n, dtype=np.int64)
        cdef int32_t[::1] entries = entries_array
        cdef int32_t[::1] nodes = nodes_array
        cdef double[::1] scores = scores_array
        cdef int64_t[::1] pods = pods_array
        cdef int64_t[::1] placed = placed_array
        cdef int64_t[::1] left = left_array
        for i in range(self.fill.n_run):
            entries[i] = self.fill.run_entry[i]
            nodes[i] = self.fill.run_node[i]
            scores[i] = self.fill.run_score[i]
            pods[i] = self.fill.run_pod[i]
            placed[entries[i]] += 1
        for i in range(now.n):
            left[i] = now.entries[i].left
        return (
            entries_array,
            nodes_array,
            scores_array,
            pods_array,
            placed_array,
            left_array,
            self.fill.first_failed,
            self.fill.record,
        )

    def node_scores(self, int32_t domain, int32_t shape):
        """Score of each node of a HyperNode for the next pod of a shape (equal requests), without and with topology.

        Two arrays, float64 (n,); -inf where the node is outside the domain or the pod does not fit. ``domain`` -1: all
        nodes.
        """
        cdef int64_t s, g, n
        cdef const Inner* leaf
        self.find_states(False)
        node_array = np.full(self.n, -np.inf)
        total_array = np.full(self.n, -np.inf)
        cdef double[::1] node = node_array
        cdef double[::1] total = total_array
        with nogil:
            self.fill.look(domain, self.asked_scored, self.asked_record, shape)
            for s in range(self.fill.c):
                g = self.fill.group_of[s]
                n = self.fill.by_leaf.first[g + 1] - self.fill.by_leaf.first[g]
                leaf = self.fill.nodes.inner + 2 * self.fill.by_leaf.first[g] + n + s - self.fill.by_leaf.first[g]
                if leaf.node != -INFINITY:
                    node[self.fill.node_of[s]] = leaf.node
                    total[self.fill.node_of[s]] = leaf.node + offset(
                        &self.fill.by_leaf, &self.fill.closeness, &self.fill.nodes, g
                    )
        return node_array, total_array
