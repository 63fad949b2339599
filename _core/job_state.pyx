"""Counts of a job and its sub-jobs during the two-level search: pods placed and missing, and which sub-job comes next.

Two copies are kept: one after the last finished turn (settled), and one of the attempt under way, the placement of the
sub-jobs in one HyperNode. Nodes appear as numbers only.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from workbench._core.contest cimport NO_RECORD
from workbench._core.memory cimport claim, free, grab
from workbench._core.progress cimport GO_ON, STOP, Entry, Progress, Run, is_ready, note_placed
from workbench._core.sorting cimport sort_numbers
from workbench._core.within cimport amounts_within, ints_within, longs_within, offsets_to

import numpy as np


@cython.final
@cython.auto_pickle(False)
cdef class JobState:
    """Counts of pods of a job and its sub-jobs, the queue of the sub-jobs, and the list of placed pods.

    The counts exist twice: after the last finished turn, and during the placement that is tried at present. A turn
    places the job's sub-jobs in one HyperNode until the job is ready.
    """

    def __cinit__(self, int64_t r):
        self.r = r

    def __dealloc__(self):
        free(self.settled)
        free(self.sub_rows)
        free(self.sub_running)
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
        free(self.again)
        free(self.is_first)
        free(self.kind_size)
        free(self.log_sub)
        free(self.log_shape)
        free(self.log_node)
        free(self.log_pod)

    cdef bint set_job(
        self,
        const Bounds* bounds,
        bint grouped,
        bint limited,
        int64_t limit,
        const int64_t[::1] minimum,
        const int64_t[::1] left,
        const int64_t[::1] present,
        const int64_t[::1] minimums,
        const int32_t[::1] names,
        int32_t rule,
        int64_t min_available,
        int64_t counted,
        int32_t record,
        const int64_t[::1] wanted,
    ) except -1:
        """Set the job's limits, minimums and pods by role; the first ``n_shapes`` roles are the pod shapes.

        None: no pods are present, there are no minimums, every role has a name of its own. False, with nothing set, if
        columns differ in length or a number is out of range.
        """
        cdef int64_t i, here, minimum_of_role, wanted_by_role = 0, n = left.shape[0], pods = 0
        if n < bounds.n_shapes or not (
            longs_within(left, n, 0, bounds.quantity)
            and longs_within(present, n, 0, bounds.quantity)
            and longs_within(minimums, n, 0, bounds.quantity)
            and longs_within(minimum, self.r, 0, bounds.sum)
            and longs_within(wanted, wanted.shape[0], 0, bounds.quantity)
            and (names is None or names.shape[0] == n)
            and 0 <= min_available <= bounds.quantity
            and 0 <= counted <= bounds.quantity
            and NO_RECORD <= record < bounds.d
        ):
            return False
        for i in range(n):
            if i >= bounds.n_shapes and left[i]:
                return False
            pods += left[i]
            if pods > bounds.pods:
                return False
        self.grouped = grouped
        self.limited = limited
        self.limit = limit
        self.has_minimum = minimum is not None
        self.minimum = <int64_t*>grab(self.r * sizeof(int64_t))
        if minimum is not None:
            for i in range(self.r):
                self.minimum[i] = minimum[i]
        self.job_entries = <Entry*>grab(2 * n * sizeof(Entry))
        self.progress_settled = Progress(
            self.job_entries, NULL, <int32_t>n, 0, rule, False, False, min_available, counted, 0, 0
        )
        for i in range(n):
            here = 0 if present is None else present[i]
            minimum_of_role = 0 if minimums is None else minimums[i]
            self.job_entries[i] = Entry(
                <int32_t>i, <int32_t>i if names is None else names[i], left[i], here, minimum_of_role, 0, 0
            )
            self.progress_settled.short_of += max(minimum_of_role - here, 0)
            self.progress_settled.rest += left[i]
            wanted_by_role += minimum_of_role
        self.progress_settled.minimums_count = min_available >= wanted_by_role
        self.record = record
        self.n_policies = wanted.shape[0]
        self.wanted = <int64_t*>grab(self.n_policies * sizeof(int64_t))
        self.ready_of = <int64_t*>grab(self.n_policies * sizeof(int64_t))
        self.alive_of = <int64_t*>grab(self.n_policies * sizeof(int64_t))
        for i in range(self.n_policies):
            self.wanted[i] = wanted[i]
        return True

    cdef bint set_subs(
        self,
        const Bounds* bounds,
        const int64_t[::1] entry_start,
        const int32_t[::1] shapes,
        const int64_t[::1] left,
        const int64_t[::1] min_available,
        const int64_t[::1] counted,
        const int64_t[::1] total,
        const uint8_t[::1] stop,
        const int64_t[::1] limit,
        const uint8_t[::1] limited,
        const uint8_t[::1] scored,
        const int32_t[::1] policy,
        const int32_t[::1] rank,
        const int32_t[::1] grade,
        const int32_t[::1] record,
        const int64_t[:, ::1] request,
        const int64_t[:, ::1] pending,
        const int64_t[::1] running_start,
        const int32_t[::1] running,
        const int64_t[::1] run_start,
        const int32_t[::1] run_shape,
        const int64_t[::1] run_upto,
    ) except -1:
        """Set the sub-jobs, one array per property.

        None: every sub-job has a limit, they are ranked in the order given, their grades are equal, they have no record
        and no running pods. False, with nothing set, if columns differ in length or a number is out of range.
        """
        cdef int64_t s = entry_start.shape[0] - 1, i, k, e, kinds
        cdef Sub* sub
        if s < 0 or not (self.grouped or s == 1) or not (
            offsets_to(entry_start, s, shapes.shape[0])
            and ints_within(shapes, shapes.shape[0], 0, bounds.n_shapes - 1)
            and longs_within(left, shapes.shape[0], 0, bounds.quantity)
            and longs_within(min_available, s, 0, bounds.quantity)
            and longs_within(counted, s, 0, bounds.quantity)
            and longs_within(total, s, 1, bounds.quantity)
            and limit.shape[0] == s and stop.shape[0] == s and scored.shape[0] == s
            and (limited is None or limited.shape[0] == s)
            and ints_within(policy, s, -1, self.n_policies - 1)
            and ints_within(rank, s, 0, s - 1)
            and ints_within(grade, s, 0, s - 1)
            and ints_within(record, s, NO_RECORD, bounds.d - 1)
            and amounts_within(request, s, self.r, 0, bounds.sum)
            and amounts_within(pending, s, self.r, 0, bounds.sum)
        ):
            return False
        if running is not None and not (
            offsets_to(running_start, s, running.shape[0]) and ints_within(running, running.shape[0], -1, bounds.n - 1)
        ):
            return False
        if run_start is not None and not (
            offsets_to(run_start, s, run_shape.shape[0])
            and ints_within(run_shape, run_shape.shape[0], 0, bounds.n_shapes - 1)
            and longs_within(run_upto, run_shape.shape[0], 0, bounds.quantity)
        ):
            return False
        k = 0
        for e in range(shapes.shape[0] if self.grouped else 0):
            k += left[e]
            if k > bounds.pods:
                return False
        self.by_rank = <int32_t*>claim(s * sizeof(int32_t))
        for i in range(s):
            self.by_rank[i] = -1
        for i in range(s):
            self.by_rank[i if rank is None else rank[i]] = <int32_t>i
        for i in range(s):
            if self.by_rank[i] < 0:
                free(self.by_rank)
                self.by_rank = NULL
                return False
        self.n_entries = entry_start[s] if self.grouped else self.progress_settled.n
        self.subs = <Sub*>grab(s * sizeof(Sub))
        self.settled = <Sub*>grab(s * sizeof(Sub))
        self.n_subs = s
        self.entries = <Entry*>grab(self.n_entries * sizeof(Entry))
        self.entries_settled = <Entry*>grab(self.n_entries * sizeof(Entry))
        self.held = <Entry*>grab(self.n_entries * sizeof(Entry))
        self.queue = <int64_t*>grab(s * sizeof(int64_t))
        self.again = <int64_t*>grab((s + 1) * sizeof(int64_t))
        self.is_first = <uint8_t*>grab(s)
        self.sub_rows = <int64_t*>claim(2 * s * self.r * sizeof(int64_t))
        if running is not None:
            self.sub_running = <int32_t*>claim(running.shape[0] * sizeof(int32_t))
            for i in range(running.shape[0]):
                self.sub_running[i] = running[i]
        for i in range(s):
            sub = &self.settled[i]
            sub.request = self.sub_rows + 2 * i * self.r
            for k in range(self.r):
                sub.request[k] = request[i, k]
                sub.request[self.r + k] = pending[i, k]
            sub.policy = policy[i]
            sub.rank = <int32_t>i if rank is None else rank[i]
            sub.grade = 0 if grade is None else grade[i]
            sub.scored = scored[i]
            sub.limited = limited is None or limited[i]
            sub.record = NO_RECORD if record is None else record[i]
            sub.limit = limit[i]
            sub.total = total[i]
            if running is not None:
                sub.n_running = running_start[i + 1] - running_start[i]
                sub.running = self.sub_running + running_start[i]
            if self.grouped:
                sub.first_entry = entry_start[i]
                sub.progress = Progress(
                    NULL, NULL, <int32_t>(entry_start[i + 1] - entry_start[i]), 0, STOP if stop[i] else GO_ON, True,
                    False, min_available[i], counted[i], 0, 0,
                )
                for e in range(entry_start[i], entry_start[i + 1]):
                    self.entries_settled[e] = Entry(shapes[e], self.job_entries[shapes[e]].name, left[e], 0, 0, 0, 0)
                    sub.progress.rest += left[e]
                    sub.n_roles += left[e] > 0
            else:
                sub.progress = self.progress_settled
                for e in range(self.n_entries):
                    self.entries_settled[e] = self.job_entries[e]
                    sub.n_roles += self.job_entries[e].left > 0
        if run_start is not None:
            self.runs = <Run*>claim(run_shape.shape[0] * sizeof(Run))
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
        self.n_kinds = kinds = self.find_kinds()
        self.kind_size = <int64_t*>grab(kinds * sizeof(int64_t))
        for i in range(s):
            self.kind_size[self.settled[i].kind] += 1
        for i in range(s):
            self.n_pods += self.settled[i].progress.rest
        self.log_sub = <int32_t*>claim(self.n_pods * sizeof(int32_t))
        self.log_shape = <int32_t*>claim(self.n_pods * sizeof(int32_t))
        self.log_node = <int32_t*>claim(self.n_pods * sizeof(int32_t))
        self.log_pod = <int32_t*>claim(self.n_pods * sizeof(int32_t))
        return True

    cpdef bint give_up(self, int32_t number) noexcept nogil:
        """Drop sub-job ``number``, which found no place; return whether the job can still become ready without it."""
        cdef Sub* sub = &self.subs[number]
        cdef int32_t p = sub.policy
        if self.stuck < 0:
            self.stuck = number
        self.pods_alive -= sub.progress.rest
        if p >= 0 and not is_ready(&sub.progress):
            self.alive_of[p] -= 1
            if self.ready_of[p] + self.alive_of[p] < self.wanted[p]:
                return False
        self.drop(sub)
        return self.progress.counted + self.pods_alive >= self.progress.min_available

    cdef void choose_first(self) noexcept nogil:
        """Choose which sub-jobs are tried first: for each sub-group policy as many as the policy needs ready."""
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
        """Whether two sub-jobs agree in every number that the search reads.

        Their rank and sub-group policy may differ.
        """
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
            if a.progress.runs[e].entry != b.progress.runs[e].entry:
                return False
            if a.progress.runs[e].upto != b.progress.runs[e].upto:
                return False
        for e in range(a.progress.n):
            if x[e].shape != y[e].shape or x[e].left != y[e].left:
                return False
        return True

    cdef int64_t find_kinds(self) except -1:
        """Number the kinds of sub-jobs (sub-jobs that agree in all that the search reads).

        Return how many kinds there are.
        """
        cdef int64_t i, k, kinds = 0
        # The first sub-job of each. A job has few kinds: the subgroup policies of its PodGroup, and their remainders.
        cdef int32_t* firsts = <int32_t*>grab(self.n_subs * sizeof(int32_t))
        for i in range(self.n_subs):
            k = 0
            while k < kinds and not self.alike(&self.settled[firsts[k]], &self.settled[i]):
                k += 1
            if k == kinds:
                firsts[k] = <int32_t>i
                kinds += 1
            self.settled[i].kind = <int32_t>k
        free(firsts)
        return kinds

    cpdef void reset(self) noexcept nogil:
        """Set all counts back to the state after the last finished turn; the nodes are not changed.

        A turn places the job's sub-jobs in one HyperNode until the job is ready.
        """
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
            self.progress = self.progress_settled
            self.progress.entries = self.job_entries + self.progress.n
            memcpy(self.progress.entries, self.job_entries, self.progress.n * sizeof(Entry))
        else:
            self.progress = self.subs[0].progress
        self.score = 0.0
        self.stuck = -1
        self.n_again = self.next_in_queue = 0

    cdef void hold_entries(self, Sub* sub, bint save) noexcept nogil:
        if save:
            memcpy(self.held, sub.progress.entries, sub.progress.n * sizeof(Entry))
        else:
            memcpy(sub.progress.entries, self.held, sub.progress.n * sizeof(Entry))

    cpdef bint job_ready(self) noexcept nogil:
        """Whether the job has its minimum of pods, and each sub-group policy its minimum of ready sub-jobs."""
        return is_ready(&self.progress) and self.policies_short == 0

    cpdef int64_t queue_key(self, int64_t i, bint ready) noexcept nogil:
        """Sort key of the ``i``-th sub-job in the queue, as if it had its minimum of pods (``ready``) or not.

        Smallest first.
        """
        cdef bint later = not self.is_first[i]
        cdef const Sub* sub = &self.settled[i]
        return (<int64_t>later) << 62 | <int64_t>sub.grade << 33 | (<int64_t>ready) << 32 | sub.rank

    cdef int64_t key_now(self, int64_t i) noexcept nogil:
        return self.queue_key(i, is_ready(&self.subs[i].progress))

    cdef void push(self, int64_t key) noexcept nogil:
        """Put a sub-job with pods left back into the queue, under its present sort key."""
        cdef int64_t i = self.n_again
        self.n_again += 1
        while i > 0 and self.again[i - 1] < key:
            self.again[i] = self.again[i - 1]
            i -= 1
        self.again[i] = key

    cpdef int32_t next_sub(self) noexcept nogil:
        """Remove the sub-job with the smallest sort key from the queue and return its number.

        -1 if the queue is empty.
        """
        cdef int64_t key
        if self.n_again and (
            self.next_in_queue == self.n_queue or self.again[self.n_again - 1] < self.queue[self.next_in_queue]
        ):
            self.n_again -= 1
            key = self.again[self.n_again]
        elif self.next_in_queue < self.n_queue:
            key = self.queue[self.next_in_queue]
            self.next_in_queue += 1
        else:
            return -1
        return self.by_rank[<int32_t>key]  # the low half

    cpdef void line_up(self) noexcept nogil:
        """Sort the sub-jobs that have pods left into the queue, before the job is tried in one HyperNode after another.

        The order is the same for all these HyperNodes.
        """
        cdef int64_t i
        self.n_queue = 0
        for i in range(self.n_subs):
            if self.subs[i].progress.rest:
                self.queue[self.n_queue] = self.key_now(i)
                self.n_queue += 1
        sort_numbers(self.queue, self.n_queue)

    cdef void drop(self, Sub* sub) noexcept nogil:
        cdef int32_t e
        for e in range(sub.progress.n):
            sub.progress.entries[e].left = 0
        sub.progress.rest = 0

    cdef void note_sub(self, int32_t number, const Progress* now, int64_t placed) noexcept nogil:
        """Update the counts after ``placed`` pods of sub-job ``number`` got a node.

        ``now`` is the sub-job's new progress.
        """
        cdef Sub* sub = &self.subs[number]
        cdef bint was_ready = is_ready(&sub.progress)
        self.pods_alive += now.rest - sub.progress.rest
        sub.progress = now[0]
        sub.placed += placed
        if not self.grouped:
            self.progress = now[0]
        if not was_ready and sub.policy >= 0:
            if self.ready_of[sub.policy] < self.wanted[sub.policy]:
                self.policies_short -= 1
            self.ready_of[sub.policy] += 1
            self.alive_of[sub.policy] -= 1

    cpdef void settle(self, int32_t record) noexcept nogil:
        """Make the counts of the current placement final.

        ``record`` is the HyperNode in which the job is allocated from now on.
        """
        memcpy(self.settled, self.subs, self.n_subs * sizeof(Sub))
        memcpy(self.entries_settled, self.entries, self.n_entries * sizeof(Entry))
        if self.grouped:
            memcpy(self.job_entries, self.progress.entries, self.progress.n * sizeof(Entry))
            self.progress_settled = self.progress
            self.progress_settled.entries = self.job_entries
        self.record = record
        self.last_score = self.score
        self.log_settled = self.n_log

    cdef tuple left(self):
        """Pods still to place, by entry (a role of a sub-job): arrays of sub-job, shape and number of pods."""
        sub_array = np.empty(self.n_entries, dtype=np.int32)
        shape_array = np.empty(self.n_entries, dtype=np.int32)
        left_array = np.empty(self.n_entries, dtype=np.int64)
        cdef int32_t[::1] sub = sub_array
        cdef int32_t[::1] shape = shape_array
        cdef int64_t[::1] left = left_array
        cdef int64_t i, e
        for i in range(self.n_subs):
            for e in range(self.settled[i].first_entry, self.settled[i].first_entry + self.settled[i].progress.n):
                sub[e] = <int32_t>i
                shape[e] = self.entries_settled[e].shape
                left[e] = self.entries_settled[e].left
        return sub_array, shape_array, left_array

    cdef int cap(self, const int64_t[::1] left) except -1:
        """Give up, for good, the pods of each entry (a role of a sub-job) beyond ``left``."""
        cdef int64_t i, e, fewer
        for i in range(self.n_subs):
            for e in range(self.settled[i].first_entry, self.settled[i].first_entry + self.settled[i].progress.n):
                fewer = self.entries_settled[e].left - left[e]
                if fewer > 0:
                    self.entries_settled[e].left -= fewer
                    self.settled[i].progress.rest -= fewer
                    # It no longer asks for the same as others of its kind.
                    self.settled[i].alone = True
        return 0

    # ---- asked from Python ----

    def kinds(self):
        """Kind of each sub-job, as a number; sub-jobs of one kind agree in all that the search reads."""
        return [self.settled[i].kind for i in range(self.n_subs)]

    def place(self, int32_t number, const int64_t[::1] pods not None):
        """Count pods of a sub-job as placed, without a node; ``pods`` is their number by role of the sub-job.

        If the sub-job has pods left, it is queued again.
        """
        cdef Sub* sub = &self.subs[number]
        cdef Progress now = sub.progress
        cdef int64_t placed = 0
        cdef int32_t e
        for e in range(now.n):
            note_placed(&now, &now.entries[e], pods[e])
            if self.grouped:
                note_placed(&self.progress, &self.progress.entries[now.entries[e].shape], pods[e])
            placed += pods[e]
        self.note_sub(number, &now, placed)
        if sub.progress.rest:
            self.push(self.key_now(number))

    def placed_on(self):
        """Node of each pod placed so far, in the order of placement; pods of the present attempt are included."""
        return [self.log_node[i] for i in range(self.n_log)]
