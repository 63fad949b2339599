"""The topology search of Volcano 1.15: HyperNodes for a job, and inside each of them HyperNodes for its sub-jobs.

What makes an exhaustive search cheap:

- pods of one shape (equal requests) that fit in a HyperNode are counted once and corrected when a node changes. A full
  HyperNode costs one comparison, and pods of one role need no trial placement, because the count is exact;
- HyperNodes are tried in the order of their scores or upper bounds, and those that cannot win are not tried;
- a shape of which only one sub-job has pods is counted when the sub-job is tried, in the HyperNodes that are looked at;
- equal sub-jobs share one tournament tree of HyperNodes per tier;
- where all pods are alike, counts tell where each sub-job goes: only the HyperNode that wins is filled with pods;
- a log of changed nodes lets counts and trees look only at what changed, and removes the pods of a trial.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from workbench._core.attempt_trace cimport AttemptTrace
from workbench._core.best_attempt cimport BestAttempt
from workbench._core.contest cimport NO_RECORD
from workbench._core.domain_counts cimport DomainCounts
from workbench._core.hypernode_tree cimport NOWHERE, HyperNodeTree, Walk
from workbench._core.job_state cimport Bounds, JobState, Sub
from workbench._core.memory cimport claim, free
from workbench._core.progress cimport Progress, is_ready, missing_of
from workbench._core.sub_job_scores cimport SubJobScores
from workbench._core.sub_job_search cimport SubJobSearch

import numpy as np

cdef enum:
    NOT_TRIED = -2     # a HyperNode that holds too few pods


cdef int compare_bounds(const void* a, const void* b) noexcept nogil:
    cdef const Row* x = <const Row*>a
    cdef const Row* y = <const Row*>b
    if x.bound != y.bound:
        return -1 if x.bound > y.bound else 1
    return (x.place > y.place) - (x.place < y.place)


cdef int compare_places(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const Row*>a).place, y = (<const Row*>b).place
    return (x > y) - (x < y)


@cython.final
@cython.auto_pickle(False)
cdef class TwoLevel(SearchParts):
    """See ``workbench.kernels.two_level.TwoLevel`` for the contract.

    Set up by `bound`, `set_job`, `set_totals`, `set_subs`, each once and in this order. Arguments are trusted but for
    those of `set_job` and `set_subs`, which check them in the pass that reads them.
    """

    def __cinit__(
        self,
        const int64_t[:, ::1] idle not None,
        const int64_t[:, ::1] used not None,
        const int64_t[:, ::1] allocatable not None,
        const int32_t[::1] rank not None,
        HyperNodeTree hypernodes not None,
        double binpack,
        const double[::1] binpack_by not None,
        double least,
        double most,
        const int64_t[::1] request_by not None,
        double balanced,
        const uint8_t[::1] balanced_by not None,
    ):
        self.open(
            idle, used, allocatable, rank, hypernodes, binpack, binpack_by, least, most, request_by, balanced,
            balanced_by,
        )
        self.fill.open_leaves()
        self.counts = DomainCounts(self.states, self.hypernodes)
        self.job = JobState(self.r)
        self.scores = SubJobScores(self.counts)
        self.search = SubJobSearch(self.fill, self.scores, self.job)
        self.trace = AttemptTrace(self.search)
        self.best = BestAttempt(self.job, self.counts)
        self.found = self.standing = self.kept = NOWHERE

    def __dealloc__(self):
        free(self.rows_of_turn)

    def set_totals(
        self,
        const int64_t[:, ::1] used not None,
        const int64_t[:, ::1] allocatable not None,
        const int64_t[:, ::1] idle_at_open not None,
        const double[::1] packing not None,
        double scale,
        const int64_t[::1] caps not None,
    ):
        """Set the totals of each domain (HyperNode): sums of the amounts over its nodes.

        ``idle_at_open`` is what each domain had idle when the session began; ``packing`` and ``scale`` weigh the score
        of a domain by its fullness; ``caps`` limits, per shape, how many pods are counted; further entries are ignored.
        """
        self.counts.set_totals(used, allocatable, idle_at_open, packing, scale, caps)
        self.fill.fading.totals = self.counts.totals

    def set_fading(
        self,
        const int32_t[::1] ring_of not None,
        const int32_t[:, ::1] around not None,
        const int32_t[::1] column not None,
        const double[::1] by_tier not None,
        const double[::1] packing not None,
        double scale,
    ):
        """Set the score by which pods without a topology constraint prefer full domains (HyperNodes).

        Call `set_totals` before.
        """
        self.fill.set_fading(ring_of, around, column, by_tier, packing, scale)

    def bound(self, int64_t quantity, int64_t sum, int64_t pods):
        """Set the largest quantity, the largest sum of quantities and the most pods that `set_job` and `set_subs` take.

        Call this after the last shape is added.
        """
        self.bounds = Bounds(self.n, self.d, self.states.n_shapes, quantity, sum, pods)

    def set_job(
        self,
        bint grouped,
        bint limited,
        int64_t limit,
        const int64_t[::1] minimum,
        const int64_t[::1] left not None,
        const int64_t[::1] present,
        const int64_t[::1] minimums,
        const int32_t[::1] names,
        int32_t rule,
        int64_t min_available,
        int64_t counted,
        int32_t record,
        const int64_t[::1] wanted not None,
    ):
        """Set the job's limits, minimums and pods by role; the first ``n_shapes`` roles are the pod shapes.

        None: no pods are present, there are no minimums, every role has a name of its own. False, with nothing set, if
        columns differ in length or a number is out of range.
        """
        return self.job.set_job(
            &self.bounds, grouped, limited, limit, minimum, left, present, minimums, names, rule, min_available, counted, record,
            wanted,
        )

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
        const uint8_t[::1] limited,
        const uint8_t[::1] scored not None,
        const int32_t[::1] policy not None,
        const int32_t[::1] rank,
        const int32_t[::1] grade,
        const int32_t[::1] record,
        const int64_t[:, ::1] request not None,
        const int64_t[:, ::1] pending not None,
        const int64_t[::1] running_start,
        const int32_t[::1] running,
        const int64_t[::1] run_start,
        const int32_t[::1] run_shape,
        const int64_t[::1] run_upto,
    ):
        """Set the sub-jobs, one array per property.

        None: every sub-job has a limit, they are ranked in the order given, their grades are equal, they have no record
        and no running pods. False, with nothing set, if columns differ in length or a number is out of range.
        """
        cdef bint sound = self.job.set_subs(
            &self.bounds, entry_start, shapes, left, min_available, counted, total, stop, limit, limited, scored,
            policy, rank, grade, record, request, pending, running_start, running, run_start, run_shape, run_upto
        )
        if sound:
            self.search.open()
        return sound

    def update_nodes(self, const int64_t[:, ::1] idle not None, const int64_t[:, ::1] used not None):
        """Replace the nodes' idle and used amounts by the present ones, which include the pods this search placed."""
        self.counts.update_nodes(idle, used, self.job.n_pods)

    def see_shape(self, int32_t s, const uint8_t[::1] feasible, const double[::1] extra):
        """Replace the allowed nodes and extra scores (arrays over nodes, or None) of shape ``s``.

        Both are kept, not copied.
        """
        self.states.change_shape(s, feasible, extra)
        self.counts.forget(s)

    def left(self):
        """Pods still to place, by entry (a role of a sub-job): arrays of sub-job, shape and number of pods."""
        return self.job.left()

    def cap(self, const int64_t[::1] left not None):
        """Give up, for good, the pods of each entry (a role of a sub-job) beyond ``left``."""
        self.job.cap(left)
        self.counts.commits += 1

    def scores_of(self, int32_t number, const int32_t[::1] domains not None):
        """Packing score of sub-job ``number`` in each of some HyperNodes, and the share of its tasks inside.

        Returns float64 (m, 2), computed as if the sub-job fitted in every one.
        """
        return self.trace.scores_of(number, domains)

    @property
    def last_score(self):
        """Score of the HyperNode chosen in the last turn: the sum of the scores of the sub-jobs placed there.

        A turn places the job's sub-jobs in one HyperNode until the job is ready.
        """
        return self.job.last_score

    # ---- one HyperNode for the job ----

    cdef int open_rows(self) except -1:
        if self.rows_of_turn == NULL:
            self.states.n_settled = self.states.n_states
            self.best.open_best()
            # Last: its being there says that all of it is.
            self.rows_of_turn = <Row*>claim((self.d + 1) * sizeof(Row))
        return 0

    cdef bint attempt_in(self, int32_t domain, bint planning) noexcept nogil:
        """Place the sub-jobs inside one HyperNode until the job is ready; return whether it is.

        The pods stay on the nodes. With ``planning`` pods are only counted, and no nodes are chosen.
        """
        cdef int64_t before = self.job.n_log
        cdef int32_t number
        cdef Sub* sub
        self.search.begin(planning)
        while True:
            number = self.job.next_sub()
            if number < 0:
                break
            sub = &self.job.subs[number]
            if not (
                self.trace.tell_sub(number, domain) if self.trace.telling else self.search.place_sub(number, domain)
            ):
                if not self.job.give_up(number):
                    return False
                continue
            if sub.progress.rest:
                self.job.push(self.job.key_now(number))
            if self.job.job_ready():
                break
        return (self.job.n_log > before or self.search.n_plan > 0) and self.job.job_ready()

    cdef void settle_turn(self, int32_t domain) noexcept nogil:
        self.job.settle(self.search.widened(self.job.record, domain))
        # What was logged stays: nothing will be taken back before this point.
        self.counts.changed_settled = self.counts.n_changed
        self.states.n_settled = self.states.n_states

    cdef bint all_alike(self, Sub* first) noexcept nogil:
        """Whether all sub-jobs with pods left are alike, so that one upper bound of the score serves them all.

        None may have pods placed or running, and each must need all its pods. ``first`` receives a copy of the first
        one.
        """
        cdef int64_t i
        cdef const Sub* sub
        if self.job.n_queue == 0 or self.counts.scale <= 0.0 or not (self.hypernodes.nested or self.job.n_queue == 1):
            return False
        for i in range(self.job.n_queue):
            sub = &self.job.subs[self.job.by_rank[<int32_t>self.job.queue[i]]]
            if i == 0:
                first[0] = sub[0]
                first.progress.entries = self.job.entries_settled + first.first_entry
            if (
                sub.kind != first.kind or sub.alone or sub.n_running or sub.placed
                or sub.record != first.record or missing_of(&sub.progress) < sub.progress.rest
            ):
                return False
        return True

    cdef void open_tier(self, const Walk* walk, const int64_t* left, int64_t needs, const Sub* alike) noexcept nogil:
        """List the HyperNodes of a tier that may hold the job, with the pods that fit and an upper bound of the score.

        ``left`` has the remaining pods per shape, of which ``needs`` must fit; ``alike`` is a sub-job equal to all
        others, or NULL, if there is none, and no bound is computed.
        """
        cdef int64_t i
        cdef int32_t domain
        cdef const int32_t* domains = &walk.start if walk.alone else self.hypernodes.tier_domains + walk.first
        cdef Row* row
        for i in range(1 if walk.alone else walk.end - walk.first):
            domain = domains[i]
            if self.job.limited and self.job.has_minimum and self.job.record == NO_RECORD:
                if not self.counts.large(domain, self.job.minimum):
                    continue
            row = &self.rows_of_turn[self.n_rows]
            row[0] = Row(domain, NOT_TRIED, i, self.counts.holds_of_job(domain, left), INFINITY, 0.0, False)
            if row.holds >= needs and alike != NULL:
                # Sums of several scores are rounded in the order in which they are added up.
                row.bound = self.scores.most_of(alike, self.job.n_queue, domain) * 100.0 * self.counts.scale
                row.bound *= 1.0 + <double>(self.job.n_queue - 1) * 4e-15
            self.n_rows += 1

    def turn(self):
        """Place the job's sub-jobs in the best HyperNode until the job is ready to start.

        Return False, with nothing changed, if the job can start in no HyperNode.
        """
        self.find(False)
        return self.take()

    def look(self):
        """Find the HyperNode in which the next turn would place the job, without placing a pod; False if there is none.

        All HyperNodes are tried, also those that cannot win. Call `take` to place the pods. A turn places the job's
        sub-jobs in one HyperNode until the job is ready.
        """
        self.find(True)
        self.take_back_attempt()
        return self.found != NOWHERE

    def take(self):
        """Place the pods in the HyperNode that was found last, for good; return False if none was found."""
        if self.found == NOWHERE:
            return False
        with nogil:
            if self.found != self.standing and self.found == self.kept:
                self.best.repeat_attempt()
            elif self.found != self.standing:
                self.attempt_in(self.found, False)
            self.settle_turn(self.found)
        self.found = self.standing = NOWHERE
        return True

    cdef void take_back_attempt(self) noexcept nogil:
        """Remove the pods placed since the last finished turn.

        A turn places the job's sub-jobs in one HyperNode until the job is ready.
        """
        self.search.take_back(self.job.log_settled, self.counts.changed_settled)
        self.job.reset()
        # States that the copy of an attempt names may be forgotten before it is repeated.
        self.standing = self.kept = NOWHERE

    cdef int find(self, bint every) except -1:
        """Find the best HyperNode for one turn of the job; ``every``: try also those that cannot win.

        The pods of the HyperNode tried last may still be on the nodes afterwards. A turn places the job's sub-jobs in
        one HyperNode until the job is ready.
        """
        cdef int64_t i, needs, before, tried
        cdef int32_t best = NOWHERE, last = NOWHERE, kept = NOWHERE
        cdef double best_score = 0.0
        cdef bint plan, bounded
        cdef Sub alike
        cdef Walk walk
        cdef Row* row
        left_array = np.zeros(self.states.n_shapes + 1, dtype=np.int64)
        cdef int64_t[::1] left = left_array
        self.open_rows()
        with nogil:
            self.n_rows = 0
            self.job.reset()
            self.job.line_up()
            plan = self.search.may_plan()
            # A planned attempt costs hardly more than the bound of many scores.
            bounded = not every and self.all_alike(&alike) and (self.job.n_queue == 1 or not plan)
            for i in range(self.job.n_entries):
                if self.job.entries[i].shape < self.states.n_shapes:
                    left[self.job.entries[i].shape] += self.job.entries[i].left
            needs = missing_of(&self.job.progress)
            if needs < 1:
                needs = 1
            walk = self.hypernodes.walk(-1, self.job.record, self.job.limited, self.job.limit)
            while best == NOWHERE and self.hypernodes.step(&walk):
                if last != NOWHERE:
                    self.search.take_back(self.job.log_settled, self.counts.changed_settled)
                    last = NOWHERE
                before = tried = self.n_rows
                self.open_tier(&walk, &left[0], needs, &alike if bounded else NULL)
                if bounded:
                    qsort(self.rows_of_turn + before, self.n_rows - before, sizeof(Row), compare_bounds)
                for i in range(before, self.n_rows):
                    row = &self.rows_of_turn[i]
                    if best != NOWHERE and (row.bound < best_score or (row.bound == best_score and row.domain > best)):
                        continue
                    if row.holds >= needs:
                        if last != NOWHERE:
                            self.search.take_back(self.job.log_settled, self.counts.changed_settled)
                            last = NOWHERE
                        if plan:
                            row.kept = self.attempt_in(row.domain, True)
                            self.search.take_plan_back()
                            plan = not self.search.unplanned
                        if not plan:
                            row.kept = self.attempt_in(row.domain, False)
                            last = row.domain
                        row.stuck = self.job.stuck
                    if row.kept:
                        row.score = self.job.score
                        if best == NOWHERE or row.score > best_score or (row.score == best_score and row.domain < best):
                            best = row.domain
                            best_score = row.score
                            if last == best and i + 1 < self.n_rows:
                                self.best.keep_attempt()
                                kept = best
                    self.rows_of_turn[tried] = row[0]
                    tried += 1
                self.n_rows = tried
                if bounded:
                    qsort(self.rows_of_turn + before, tried - before, sizeof(Row), compare_places)
            if best == NOWHERE or best != last:
                self.search.take_back(self.job.log_settled, self.counts.changed_settled)
                self.job.reset()
                last = NOWHERE
            self.found, self.standing, self.kept = best, last, kept
        return 0

    # ---- answers ----

    def explain_in(self, int32_t domain, bint inner):
        """Steps by which the next turn would place the sub-jobs in HyperNode ``domain``; all of it is undone.

        ``inner``: with every HyperNode that was compared for a sub-job. The result is as in `AttemptSteps` of
        ``workbench.kernels.two_level_values``. A turn places the job's sub-jobs in one HyperNode until the job is
        ready.
        """
        cdef bint kept
        self.open_rows()
        self.trace.begin(inner)
        with nogil:
            self.job.reset()
            self.job.line_up()
            kept = self.attempt_in(domain, False)
            self.search.take_back(self.job.log_settled, self.counts.changed_settled)
            self.job.reset()
        self.trace.telling = False
        if self.trace.forgot:
            raise MemoryError
        return kept, *self.trace.told()

    @property
    def ready(self):
        """Whether the job may start: enough of its pods and of its sub-jobs have a node."""
        self.job.reset()
        return bool(self.job.job_ready())

    @property
    def pods_left(self):
        """Number of pods still to place in later turns.

        A turn places the job's sub-jobs in one HyperNode until the job is ready.
        """
        cdef int64_t i, left = 0
        for i in range(self.job.n_subs):
            left += self.job.settled[i].progress.rest
        return left

    @property
    def record(self):
        """HyperNode in which the job is allocated so far; -1: the virtual top; -2: none."""
        return self.job.record

    @property
    def n_placed(self):
        """Number of pods placed in all turns so far."""
        return self.job.log_settled

    def fit_in(self, int32_t domain):
        """Try the first sub-job with pods left in HyperNode ``domain``; no pod stays.

        Returns the shape of the first pod that fits nowhere (else of the first role; -1: no pods are left), and shapes
        and nodes of the pods that fit.
        """
        cdef int64_t i
        cdef int32_t number = 0, failed = -1
        cdef Progress now
        cdef Sub* sub
        self.job.reset()
        while number < self.job.n_subs and self.job.subs[number].progress.rest == 0:
            number += 1
        if number == self.job.n_subs:
            return -1, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        sub = &self.job.subs[number]
        self.job.hold_entries(sub, True)
        now = self.search.try_in(number, domain)
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
        self.job.hold_entries(sub, False)
        if failed < 0:
            for i in range(now.n - 1, -1, -1):
                if sub.progress.entries[i].left:
                    failed = sub.progress.entries[i].shape
        return failed, shapes_array, nodes_array

    def room(self, const int32_t[::1] domains not None):
        """Upper bound on the number of the job's remaining pods that fit in each of some HyperNodes; int64 (m,)."""
        cdef int64_t m = domains.shape[0], i, s, here, left
        out_array = np.zeros(m, dtype=np.int64)
        cdef int64_t[::1] out = out_array
        with nogil:
            for s in range(self.states.n_shapes):
                left = 0
                for i in range(self.job.n_entries):
                    if self.job.entries_settled[i].shape == s:
                        left += self.job.entries_settled[i].left
                for i in range(m):
                    self.counts.count_shape(s, &domains[i], 1, domains[i])
                    here = self.counts.of_shape[s].held[self.hypernodes.where(domains[i])]
                    out[i] += here if here < left else left
        return out_array

    def takes_one(self):
        """For each pod shape, whether at least one node has room for a pod of it; bool."""
        out_array = np.zeros(self.states.n_shapes, dtype=np.bool_)
        cdef uint8_t[::1] out = out_array.view(np.uint8)
        cdef int64_t i, node
        # No run is at hand.
        self.states.stamp += 1
        for i in range(self.states.n_shapes):
            for node in range(self.n):
                # Counts stop at the pods that there are to place: of none they say nothing.
                if self.counts.of_shape[i].cap > 0:
                    out[i] = self.counts.holds(i, node) > 0
                else:
                    out[i] = self.states.score_now(&self.states.shapes[i], <int32_t>node) != -INFINITY
                if out[i]:
                    break
        return out_array

    def records(self):
        """HyperNode in which each sub-job is allocated so far; -1: the virtual top; -2: none; int32."""
        out_array = np.empty(self.job.n_subs, dtype=np.int32)
        cdef int32_t[::1] out = out_array
        cdef int64_t i
        for i in range(self.job.n_subs):
            out[i] = self.job.settled[i].record
        return out_array

    def placed(self, int64_t first):
        """Sub-job, shape and node of each placed pod from the ``first``-th on, in the order of placement.

        Three int32 arrays.
        """
        cdef int64_t n = self.job.log_settled - first, i
        subs_array = np.empty(n, dtype=np.int32)
        shapes_array = np.empty(n, dtype=np.int32)
        nodes_array = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] subs = subs_array
        cdef int32_t[::1] shapes = shapes_array
        cdef int32_t[::1] nodes = nodes_array
        for i in range(n):
            subs[i] = self.job.log_sub[first + i]
            shapes[i] = self.job.log_shape[first + i]
            nodes[i] = self.job.log_node[first + i]
        return subs_array, shapes_array, nodes_array

    def enter_nodes(
        self,
        const int64_t[::1] start not None,
        const int32_t[::1] shapes not None,
        const int64_t[::1] first not None,
        const int64_t[::1] positions not None,
        int32_t[::1] node not None,
    ):
        """Write the node of each placed pod into ``node`` at the position of the pod in the gang.

        Positions of the pods of entry e (a role of a sub-job) begin at ``positions[first[e]]``; pods beyond them are
        left out.
        """
        cdef int64_t i, e, place
        for i in range(self.job.log_settled):
            for e in range(start[self.job.log_sub[i]], start[self.job.log_sub[i] + 1]):
                if shapes[e] == self.job.log_shape[i]:
                    place = first[e] + self.job.log_pod[i]
                    if place < first[e + 1]:
                        node[positions[place]] = self.job.log_node[i]
                    break

    def rows(self):
        """HyperNodes tried in the last turn, as five arrays.

        Domain, upper bound of the pods that fit, whether the job can start there, score, and first sub-job without a
        place. A turn places the job's sub-jobs in one HyperNode until the job is ready.
        """
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
