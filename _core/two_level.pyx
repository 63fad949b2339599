"""The newest Volcano's two-level search: HyperNodes for a job, and inside each of them HyperNodes for its sub-jobs.

What makes an exhaustive search cheap:

- pods of one shape that each HyperNode holds are counted once and corrected along the path of every node that changed,
  so that a HyperNode without room costs one comparison, and pods of one role need no trial at all: the count is exact;
- HyperNodes are tried in the order of their scores, so that for several roles the trials end with the first that has
  a solution; the rest cannot win; so are those for the job where it is known before what they can score at most;
- a shape that one sub-job alone asks for is counted when its turn comes, where it looks;
- sub-jobs that ask for the same share one tournament tree per tier of a job's HyperNode; a placement changes its path;
- where all pods are alike, counts and totals tell where sub-jobs go and what that scores: an attempt is planned without
  placing a pod, and only the HyperNode that wins is filled;
- a log of changed nodes lets counts and trees look only at what changed since they were last asked, and takes an
  attempt back.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy

from workbench._core.contest cimport NO_RECORD, meet
from workbench._core.fading cimport Totals, how_full, use_path
from workbench._core.hypernode_tree cimport NOWHERE
from workbench._core.memory cimport claim, free, grab, regrow
from workbench._core.node_score cimport packing_sum
from workbench._core.progress cimport (
    GO_ON, STOP, Entry, Progress, Run, is_ready, missing_of, note_placed, until_ready
)
from workbench._core.search_parts cimport SearchParts

import numpy as np

cdef enum:
    NOT_TRIED = -2     # a HyperNode that holds too few pods
    MANY_STATES = 1024
    # what an explanation says of a HyperNode for a sub-job
    TOO_SMALL = 0      # less was idle when the session began than its pods ask for
    TOO_FEW = 1        # by the counts
    NO_FIT = 2         # by a trial
    SOLVES = 3


include "two_level_counts.pxi"
include "two_level_state.pxi"
include "two_level_between.pxi"
include "two_level_sub_job.pxi"
include "two_level_told.pxi"
include "two_level_best.pxi"


cdef struct Row:
    # a HyperNode that a turn looked at
    int32_t domain, stuck
    int64_t place, holds
    double bound           # what its score cannot exceed
    double score
    bint kept


cdef int compare_bounds(const void* a, const void* b) noexcept nogil:
    cdef const Row* x = <const Row*>a
    cdef const Row* y = <const Row*>b
    if x.bound != y.bound:
        return -1 if x.bound > y.bound else 1
    return (x.place > y.place) - (x.place < y.place)


cdef int compare_places(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const Row*>a).place, y = (<const Row*>b).place
    return (x > y) - (x < y)


cdef int compare_keys(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const int64_t*>a)[0], y = (<const int64_t*>b)[0]
    return (x > y) - (x < y)


@cython.final
@cython.auto_pickle(False)
cdef class TwoLevel(BestAttempt):
    """See ``workbench.kernels.two_level.TwoLevel`` for the contract; arguments are trusted.

    Set up by `set_tree`, `set_totals`, `set_job`, `set_subs`, each once and in this order.
    """

    cdef Row* rows_of_turn
    cdef int64_t n_rows

    def __dealloc__(self):
        free(self.rows_of_turn)

    cdef int open_rows(self) except -1:
        if self.rows_of_turn == NULL:
            self.states_settled = self.states.n_states
            self.open_bounds()
            self.open_best()
            # Last: its being there says that all of it is.
            self.rows_of_turn = <Row*>claim((self.d + 1) * sizeof(Row))
        return 0

    # ---- one HyperNode for the job ----

    cdef bint job_ready(self) noexcept nogil:
        return is_ready(&self.job) and self.policies_short == 0

    cdef int64_t queue_key(self, int64_t i) noexcept nogil:
        cdef bint now = is_ready(&self.subs[i].progress), later = not self.is_first[i]
        return (<int64_t>later) << 62 | <int64_t>self.subs[i].grade << 33 | (<int64_t>now) << 32 | self.subs[i].rank

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

    cdef void line_up(self) noexcept nogil:
        """The order of the sub-jobs at the beginning of an attempt; the same for all attempts of a turn."""
        cdef int64_t i
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
        self.leave_states()
        self.n_heap = 0
        while next_one < self.n_queue or self.n_heap:
            if self.n_heap and (next_one == self.n_queue or self.heap[0] < self.queue[next_one]):
                key = self.pop()
            else:
                key = self.queue[next_one]
                next_one += 1
            number = self.by_rank[<int32_t>key]  # the low half
            sub = &self.subs[number]
            if not (self.tell_sub(number, domain) if self.telling else self.place_sub(number, domain)):
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
        return (self.n_log > before or self.n_plan > 0) and self.job_ready()

    cdef void drop(self, Sub* sub) noexcept nogil:
        cdef int32_t e
        for e in range(sub.progress.n):
            sub.progress.entries[e].left = 0
        sub.progress.rest = 0

    cdef int64_t holds_of_job(self, int32_t domain, const int64_t* left) noexcept nogil:
        """Pods that a HyperNode holds at most of those left."""
        cdef int32_t counted = domain if self.hypernodes.nested else -1
        cdef int64_t s, here, held = self.holds_together(counted, left), x = self.hypernodes.where(counted)
        for s in range(self.states.n_shapes):
            if left[s] == 0 or not self.counts[s].followed:
                continue
            self.count_shape(s, &counted, 1, counted)
            here = self.counts[s].held[x]
            held += here if here < left[s] else left[s]
        return held

    cdef void settle_turn(self, int32_t domain) noexcept nogil:
        memcpy(self.settled, self.subs, self.n_subs * sizeof(Sub))
        memcpy(self.entries_settled, self.entries, self.n_entries * sizeof(Entry))
        if self.grouped:
            memcpy(self.job_entries, self.job.entries, self.job.n * sizeof(Entry))
            self.job_settled = self.job
            self.job_settled.entries = self.job_entries
        if self.job_record == NO_RECORD:
            self.job_record = domain
        else:
            self.job_record = meet(&self.fill.closeness, self.job_record, domain)
        self.last_score = self.score
        self.log_settled = self.n_log
        # What was logged stays: nothing will be taken back before this point.
        self.changed_settled = self.n_changed
        self.states_settled = self.states.n_states

    cdef bint all_alike(self, Sub* first) noexcept nogil:
        """Whether all sub-jobs with pods ask for the same, are placed at one stroke and scored by the HyperNode alone.

        A copy of the first.
        """
        cdef int64_t i
        cdef const Sub* sub
        if self.n_queue == 0 or self.scale <= 0.0 or not (self.hypernodes.nested or self.n_queue == 1):
            return False
        for i in range(self.n_queue):
            sub = &self.subs[self.by_rank[<int32_t>self.queue[i]]]
            if i == 0:
                first[0] = sub[0]
                first.progress.entries = self.entries_settled + first.first_entry
            if (
                sub.kind != first.kind or sub.alone or sub.n_running or sub.placed
                or sub.record != first.record or missing_of(&sub.progress) < sub.progress.rest
            ):
                return False
        return True

    cdef void open_tier(self, int64_t first, int64_t end, const int64_t* left, int64_t needs, const Sub* alike) noexcept nogil:
        """Rows for the HyperNodes of a tier that may hold the job; ``alike``: all its sub-jobs are, NULL: they are not."""
        cdef int64_t i
        cdef int32_t domain
        cdef Row* row
        for i in range(first, end):
            # The virtual top comes alone.
            domain = self.hypernodes.tier_domains[i] if i >= 0 else -1
            if self.job_limited and self.has_minimum and self.job_record == NO_RECORD:
                if not self.large(domain, self.minimum):
                    continue
            row = &self.rows_of_turn[self.n_rows]
            row[0] = Row(domain, NOT_TRIED, i, self.holds_of_job(domain, left), INFINITY, 0.0, False)
            if row.holds >= needs and alike != NULL:
                # Sums of several scores are rounded in the order in which they are added up.
                row.bound = self.most_of(alike, self.n_queue, domain) * 100.0 * self.scale
                row.bound *= 1.0 + <double>(self.n_queue - 1) * 4e-15
            self.n_rows += 1

    def turn(self, bint every):
        """One turn; whether a HyperNode had a solution. Without one everything is as before.

        ``every``: HyperNodes that cannot win are tried, too.
        """
        cdef int64_t i, t, needs, first, end, before, tried
        cdef int32_t start, best = NOWHERE, last = NOWHERE, kept = NOWHERE
        cdef double best_score = 0.0
        cdef bint plan, bounded
        cdef Sub alike
        cdef Row* row
        left_array = np.zeros(self.states.n_shapes + 1, dtype=np.int64)
        cdef int64_t[::1] left = left_array
        self.open_rows()
        with nogil:
            self.n_rows = 0
            self.reset()
            self.line_up()
            plan = self.may_plan()
            # A planned attempt costs hardly more than the bound of many scores.
            bounded = not every and self.all_alike(&alike) and (self.n_queue == 1 or not plan)
            for i in range(self.n_entries):
                if self.entries[i].shape < self.states.n_shapes:
                    left[self.entries[i].shape] += self.entries[i].left
            needs = missing_of(&self.job)
            if needs < 1:
                needs = 1
            start = -1
            if self.job_limited:
                start = self.hypernodes.start_of(-1, self.job_record, self.job_limit)
            for t in range(self.hypernodes.n_tiers + 1):
                if start == NOWHERE or best != NOWHERE:
                    break
                if t == self.hypernodes.n_tiers:
                    # The virtual top, which a job without a limit tries alone.
                    if start >= 0 or (self.job_limited and self.hypernodes.top_tier > self.job_limit):
                        break
                    first, end = -1, 0
                elif not self.job_limited or self.hypernodes.tiers[t] > self.job_limit:
                    continue
                else:
                    first = self.hypernodes.tier_start[t] if start < 0 else self.hypernodes.first_of(t, self.hypernodes.place_of[start])
                    end = self.hypernodes.tier_start[t + 1] if start < 0 else self.hypernodes.first_of(t, self.hypernodes.end_of[start])
                if last != NOWHERE:
                    self.take_back(self.log_settled, self.changed_settled)
                    last = NOWHERE
                before = tried = self.n_rows
                self.open_tier(first, end, &left[0], needs, &alike if bounded else NULL)
                if bounded:
                    qsort(self.rows_of_turn + before, self.n_rows - before, sizeof(Row), compare_bounds)
                for i in range(before, self.n_rows):
                    row = &self.rows_of_turn[i]
                    if best != NOWHERE and (row.bound < best_score or (row.bound == best_score and row.domain > best)):
                        continue
                    if row.holds >= needs:
                        if last != NOWHERE:
                            self.take_back(self.log_settled, self.changed_settled)
                            last = NOWHERE
                        if plan:
                            self.planning, self.unplanned = True, False
                            row.kept = self.attempt_in(row.domain)
                            self.take_plan_back()
                            self.planning = False
                            plan = not self.unplanned
                        if not plan:
                            row.kept = self.attempt_in(row.domain)
                            last = row.domain
                        row.stuck = self.stuck
                    if row.kept:
                        row.score = self.score
                        if best == NOWHERE or row.score > best_score or (row.score == best_score and row.domain < best):
                            best = row.domain
                            best_score = row.score
                            if last == best and i + 1 < self.n_rows:
                                self.keep_attempt()
                                kept = best
                    self.rows_of_turn[tried] = row[0]
                    tried += 1
                self.n_rows = tried
                if bounded:
                    qsort(self.rows_of_turn + before, tried - before, sizeof(Row), compare_places)
            if best == NOWHERE or best != last:
                self.take_back(self.log_settled, self.changed_settled)
                self.reset()
            if best != NOWHERE:
                if best != last and best == kept:
                    self.repeat_attempt()
                elif best != last:
                    self.attempt_in(best)
                self.settle_turn(best)
        return best != NOWHERE

    # ---- answers ----

    def explain_in(self, int32_t domain, bint inner):
        """An attempt in one HyperNode, told; nothing stays. ``inner``: with every HyperNode that a step looked at."""
        cdef bint kept
        self.open_rows()
        self.n_steps = self.n_looked = 0
        self.telling, self.inner, self.forgot = True, inner, False
        with nogil:
            self.reset()
            self.line_up()
            kept = self.attempt_in(domain)
            self.take_back(self.log_settled, self.changed_settled)
            self.reset()
        self.telling = False
        if self.forgot:
            raise MemoryError
        return kept, *self.told()

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
        shapes_array = np.empty(self.fill.n_run, dtype=np.int32)
        nodes_array = np.empty(self.fill.n_run, dtype=np.int32)
        cdef int32_t[::1] shapes = shapes_array
        cdef int32_t[::1] nodes = nodes_array
        for i in range(self.fill.n_run):
            shapes[i] = now.entries[self.fill.run_entry[i]].shape
            nodes[i] = self.fill.run_node[i]
        if self.fill.first_failed >= 0:
            failed = now.entries[self.fill.first_failed].shape
        self.fill.take_back_run(&now)
        self.hold_entries(sub, False)
        if failed < 0:
            for i in range(now.n - 1, -1, -1):
                if sub.progress.entries[i].left:
                    failed = sub.progress.entries[i].shape
        return failed, shapes_array, nodes_array

    def room(self, const int32_t[::1] domains not None):
        """Pods of the job that each of some domains holds, shape by shape at most those that are left."""
        cdef int64_t m = domains.shape[0], i, s, here, left
        out_array = np.zeros(m, dtype=np.int64)
        cdef int64_t[::1] out = out_array
        with nogil:
            for s in range(self.states.n_shapes):
                left = 0
                for i in range(self.n_entries):
                    if self.entries_settled[i].shape == s:
                        left += self.entries_settled[i].left
                for i in range(m):
                    self.count_shape(s, &domains[i], 1, domains[i])
                    here = self.counts[s].held[self.hypernodes.where(domains[i])]
                    out[i] += here if here < left else left
        return out_array

    def takes_one(self):
        """Whether some node takes a pod, by shape."""
        out_array = np.zeros(self.states.n_shapes, dtype=np.bool_)
        cdef uint8_t[::1] out = out_array.view(np.uint8)
        cdef int64_t i, node
        # No run is at hand.
        self.states.stamp += 1
        for i in range(self.states.n_shapes):
            for node in range(self.n):
                # Counts stop at the pods that there are to place: of none they say nothing.
                if self.counts[i].cap > 0:
                    out[i] = self.holds(i, node) > 0
                else:
                    out[i] = self.states.score_now(&self.states.shapes[i], <int32_t>node) != -INFINITY
                if out[i]:
                    break
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

    def enter_nodes(
        self,
        const int64_t[::1] start not None,
        const int32_t[::1] shapes not None,
        const int64_t[::1] first not None,
        const int64_t[::1] positions not None,
        int32_t[::1] node not None,
    ):
        """Write the node of each pod placed at its position: entry e of a sub-job has those from ``first[e]`` on.

        Pods beyond the positions of their entry are left out.
        """
        cdef int64_t i, e, place
        for i in range(self.log_settled):
            for e in range(start[self.log_sub[i]], start[self.log_sub[i] + 1]):
                if shapes[e] == self.log_shape[i]:
                    place = first[e] + self.log_pod[i]
                    if place < first[e + 1]:
                        node[positions[place]] = self.log_node[i]
                    break

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
            domain[i] = self.rows_of_turn[i].domain
            holds[i] = self.rows_of_turn[i].holds
            kept[i] = self.rows_of_turn[i].kept
            score[i] = self.rows_of_turn[i].score
            stuck[i] = self.rows_of_turn[i].stuck
        return domain_array, holds_array, kept_array, score_array, stuck_array


include "two_level_again.pxi"
