"""Filling domain after domain as a trial, pod by pod in score order.

The order of choice is that of ``domains.Fill``. What makes hundreds of trials cheap: nodes with the same
resources idle, used and allocatable share one state, a shape's score and what a pod of it makes of the state are
computed once per state, and no trial makes an object. Of the shapes that take turns in one trial a few keep their trees
(``contest.pxd``). A placed pod touches the groups whose offset it changes: those inside the HyperNode to which the
record widened, and those with tasks where the best group changed.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

from workbench._core.contest cimport Inner, Outer, base_of, lift, lift_inner, meet, play_inner, play_outer
from workbench._core.fading cimport find_gains, forget_path, use_path
from workbench._core.memory cimport claim, free, grab, regrow
from workbench._core.node_score cimport fits, node_score, packing_sum

import numpy as np

include "dry_runs_states.pxi"
include "dry_runs_contests.pxi"


@cython.auto_pickle(False)
cdef class DryRuns(NodeContests):
    """See ``workbench.kernels.dry_runs.DryRuns`` for the contract; arguments are trusted."""

    def __dealloc__(self):
        free(self.question.entries)
        free(self.question_runs)

    cdef int64_t place(self, Progress* now, int32_t entry, int64_t count) noexcept nogil:
        """Place up to ``count`` pods of an entry; answers how many."""
        cdef Shape* shape = &self.shapes[now.entries[entry].shape]
        cdef int64_t done = 0
        self.turn_to(now.entries[entry].shape)
        while done < count and self.nodes.n_fitting > 0:
            # Volcano takes the only fitting node without scoring it.
            self.run_score[self.n_run] = 0.0 if self.nodes.n_fitting == 1 else self.nodes.outer[1].total
            self.run_pod[self.n_run] = <int32_t>(now.entries[entry].given + done)
            self.put(shape, entry)
            done += 1
        return done

    cdef bint may_go_on(self, const Progress* now, int32_t failed) noexcept nogil:
        """Whether to try further pods after one of an entry fitted nowhere (volcano-topology.md 5.1, step 5)."""
        cdef int32_t i
        if now.rule != BY_MINIMUMS:
            return now.rule == GO_ON
        if not now.minimums_count:
            return now.counted + now.rest >= now.min_available
        # Those that failed before were asked for then, and their counts have not sunk since.
        for i in range(now.n):
            if now.entries[i].name == now.entries[failed].name and below_minimum(&now.entries[i]) > 0:
                return False
        return True

    cdef bint try_entry(self, Progress* now, int32_t i, int64_t upto) noexcept nogil:
        """Place pods of an entry up to one of them; False: the pass is over."""
        cdef Entry* entry = &now.entries[i]
        cdef int64_t wanted = min(until_ready(now, entry), upto - entry.given), found
        cdef int32_t other
        if wanted <= 0:
            return True
        found = self.place(now, i, wanted)
        note_placed(now, entry, found)
        if found == wanted:
            return not is_ready(now)
        if self.first_failed < 0:
            self.first_failed = i
        # The role cache: pods of the same name are taken from the queue and skipped.
        for other in range(now.n):
            if now.entries[other].name == entry.name:
                now.rest -= now.entries[other].left
                now.entries[other].dropped = now.entries[other].left
                now.entries[other].left = 0
        return self.may_go_on(now, i)

    cdef void leave_rest(self, Progress* now, int32_t last) noexcept nogil:
        """Of names that failed, skip what stands up to the run that ended the pass; later pods stay in the queue."""
        cdef Entry* entry
        cdef int32_t i, k
        cdef int64_t passed
        for i in range(now.n):
            entry = &now.entries[i]
            if entry.dropped == 0:
                continue
            passed = entry.given
            for k in range(last):
                if now.runs[k].entry == i and now.runs[k].upto > passed:
                    passed = now.runs[k].upto
            if passed - entry.given < entry.dropped:
                entry.left = entry.dropped - (passed - entry.given)
                now.rest += entry.left
            entry.given = passed

    cdef void run(self, int32_t domain, bint scored, int32_t record, Progress* now) noexcept nogil:
        """One pass over the pods in a domain, ending with the pod that makes the gang ready; pods stay."""
        cdef int32_t i
        cdef int64_t low, high
        self.n_run = 0
        self.first_failed = -1
        self.topology = scored
        self.fades = not scored and self.fading.n_tiers > 0
        self.nodes.gain = self.gain if self.fades else NULL
        self.find_floor(now)
        self.enter(domain, scored)
        self.record = NO_RECORD
        self.by_leaf.scored = False
        self.n_levels = 0
        if scored:
            self.widen(record, &low, &high)
        if now.runs == NULL:
            for i in range(now.n):
                if not self.try_entry(now, i, INT64_MAX):
                    break
        else:
            for i in range(now.n):
                now.entries[i].dropped = 0
            for i in range(now.n_runs):
                if not self.try_entry(now, now.runs[i].entry, now.runs[i].upto):
                    if self.first_failed >= 0 and is_ready(now) and now.entries[now.runs[i].entry].dropped == 0:
                        self.leave_rest(now, i)
                    break
        if self.fades:
            # The totals of domains are those without the run, which may yet be taken back.
            for i in range(<int32_t>self.n_run):
                use_path(&self.fading.totals, self.run_node[i], self.shapes[now.entries[self.run_entry[i]].shape].request, -1)

    cdef void take_back_run(self, const Progress* now) noexcept nogil:
        cdef int64_t i, k, at
        cdef const int64_t* request
        for i in range(self.n_run - 1, -1, -1):
            request = self.shapes[now.entries[self.run_entry[i]].shape].request
            at = self.run_node[i] * self.r
            for k in range(self.r):
                self.idle[at + k] += request[k]
                self.used[at + k] -= request[k]
        self.n_run = 0

    def ask(
        self,
        const int32_t[::1] shapes not None,
        const int32_t[::1] names not None,
        const int64_t[:, ::1] counts not None,
        int32_t rule,
        int64_t min_available,
        int64_t counted,
        bint minimums_count,
        bint scored,
        int32_t record,
        const int64_t[::1] tasks_on_leaf not None,
        int64_t total_tasks,
        const int32_t[::1] run_entry,
        const int64_t[::1] run_upto,
    ):
        """What the next trials place: ``counts`` has left, present, minimum of each entry, the runs their order."""
        cdef int32_t n = <int32_t>shapes.shape[0], e
        cdef Progress* fresh = &self.question
        fresh.entries = <Entry*>regrow(fresh.entries, (2 * n + 1) * sizeof(Entry))
        fresh.n = n
        fresh.rule = rule
        fresh.minimums_count = minimums_count
        fresh.min_available = min_available
        fresh.counted = counted
        fresh.short_of = fresh.rest = 0
        for e in range(n):
            fresh.entries[e] = Entry(shapes[e], names[e], counts[e, 0], counts[e, 1], counts[e, 2], 0, 0)
            fresh.short_of += below_minimum(&fresh.entries[e])
            fresh.rest += counts[e, 0]
        fresh.runs = NULL
        fresh.n_runs = 0
        if run_entry is not None:
            fresh.n_runs = <int32_t>run_entry.shape[0]
            self.question_runs = <Run*>regrow(self.question_runs, (fresh.n_runs + 1) * sizeof(Run))
            for e in range(fresh.n_runs):
                self.question_runs[e] = Run(run_entry[e], run_upto[e])
            fresh.runs = self.question_runs
            self.keep_contests(n)
        self.reserved = fresh.rest
        self.make_room(fresh.rest)
        self.make_states()
        self.asked_scored = scored
        self.asked_record = record
        self.closeness.total_tasks = <double>total_tasks
        for e in range(self.d):
            self.tasks_on_leaf[e] = tasks_on_leaf[e]

    cdef int make_states(self) except -1:
        """Room for the states of the nodes that one more pass may change."""
        if self.states == NULL or self.n_remembered != self.n_shapes or self.n_states + self.question.rest > self.state_capacity:
            self.open_states(self.question.rest + max(self.question.rest, 256))
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
        """Dry-run each domain; the sum of scores goes on from what ``sums`` holds."""
        cdef int64_t i, k
        cdef Progress now
        cdef double total
        with nogil:
            for i in range(domains.shape[0]):
                now = self.attempt()
                self.run(domains[i], self.asked_scored, self.asked_record, &now)
                total = sums[i]
                for k in range(self.n_run):
                    total += self.run_score[k]
                sums[i] = total
                first[i] = self.run_score[0] if self.n_run else 0.0
                placed[i] = self.n_run
                missing[i] = missing_of(&now)
                ready[i] = is_ready(&now)
                self.take_back_run(&now)

    def settle(self, int32_t domain):
        """The same in one domain, where the pods stay: entry, node and score of each, and what is left of each entry."""
        cdef int64_t i
        cdef Progress now = self.attempt()
        self.make_states()
        with nogil:
            self.run(domain, self.asked_scored, self.asked_record, &now)
            for i in range(self.n_run):
                self.state_of[self.run_node[i]] = self.find_state(self.run_node[i])
        entries_array = np.empty(self.n_run, dtype=np.int32)
        nodes_array = np.empty(self.n_run, dtype=np.int32)
        scores_array = np.empty(self.n_run, dtype=np.float64)
        left_array = np.empty(now.n, dtype=np.int64)
        cdef int32_t[::1] entries = entries_array
        cdef int32_t[::1] nodes = nodes_array
        cdef double[::1] scores = scores_array
        cdef int64_t[::1] left = left_array
        for i in range(self.n_run):
            entries[i] = self.run_entry[i]
            nodes[i] = self.run_node[i]
            scores[i] = self.run_score[i]
        for i in range(now.n):
            left[i] = now.entries[i].left
        return entries_array, nodes_array, scores_array, left_array
