"""Repeats the placement of a job's sub-jobs in one HyperNode and records each step, for an explanation.

The search itself never uses this module.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
# Rows grow without the GIL: these two by name, whatever the rest of the package frees with.
from libc.stdlib cimport free as free_rows, realloc

from workbench._core.contest cimport NO_RECORD
from workbench._core.hypernode_tree cimport NOWHERE, Walk
from workbench._core.job_state cimport Sub
from workbench._core.progress cimport missing_of
from workbench._core.sub_job_search cimport SubJobSearch

import numpy as np

cdef enum:
    # what an explanation says of a HyperNode for a sub-job
    TOO_SMALL = 0      # less was idle when the session began than its pods ask for
    TOO_FEW = 1        # by the counts
    NO_FIT = 2         # by a trial
    SOLVES = 3


@cython.final
@cython.auto_pickle(False)
cdef class AttemptTrace:
    """Records how a job's sub-jobs are placed in one HyperNode, step by step (a step is one sub-job tried once).

    For each step also the HyperNodes that were considered for the sub-job are recorded, in the order in which they were
    considered.
    """

    def __cinit__(self, SubJobSearch search not None):
        self.search = search
        self.states = search.states
        self.hypernodes = search.hypernodes
        self.fill = search.fill
        self.counts = search.counts
        self.scores = search.scores
        self.job = search.job
        self.r = self.states.r

    def __dealloc__(self):
        free_rows(self.looked)
        free_rows(self.steps)
        free_rows(self.step_parts)

    cdef void note_look(self, int32_t domain, int64_t held, int32_t verdict, double score) noexcept nogil:
        cdef int64_t room = 2 * self.room_looked + 64
        cdef void* grown
        if self.n_looked == self.room_looked:
            grown = realloc(self.looked, room * sizeof(Looked))
            if grown == NULL:
                self.forgot = True
                return
            self.looked = <Looked*>grown
            self.room_looked = room
        self.looked[self.n_looked] = Looked(self.n_steps, held, domain, verdict, score, 0.0)
        self.n_looked += 1

    cdef void note_step(self, int32_t number, bint placed, int64_t needs) noexcept nogil:
        """Record one step: whether sub-job ``number`` was placed, where, with which score.

        ``needs``: pods it lacked before. Call this right after `SubJobSearch.place_sub`, while the pods that it placed
        are still known.
        """
        cdef const Sub* sub = &self.job.subs[number]
        cdef int64_t room = 2 * self.room_steps + 64, at, i, k
        cdef const int64_t* allocatable
        cdef const int64_t* request
        cdef double* parts
        cdef void* grown
        if self.n_steps == self.room_steps:
            grown = realloc(self.steps, room * sizeof(Step))
            if grown != NULL:
                self.steps = <Step*>grown
                grown = realloc(self.step_parts, room * (self.r + 1) * sizeof(double))
            if grown == NULL:
                self.forgot = True
                return
            self.step_parts = <double*>grown
            self.room_steps = room
        self.steps[self.n_steps] = Step(
            number,
            self.search.chosen if placed else NOWHERE,
            self.fill.n_run if placed else 0,
            needs,
            self.search.chosen_score,
        )
        parts = self.step_parts + self.n_steps * self.r
        self.n_steps += 1
        for k in range(self.r):
            parts[k] = 0.0
        if not placed or self.search.chosen_score <= 0.0:
            return
        at = self.hypernodes.at(self.search.chosen) * self.r
        allocatable = self.counts.domain_allocatable + at
        for k in range(self.r):
            if sub.request[k] > 0 and self.counts.packing[k] > 0.0:
                parts[k] = <double>(self.counts.domain_used[at + k] + sub.request[k])
        # As it was before the pods of this step came.
        for i in range(self.fill.n_run):
            request = self.states.shapes[sub.progress.entries[self.fill.run_entry[i]].shape].request
            for k in range(self.r):
                if parts[k] > 0.0:
                    parts[k] -= <double>request[k]
        for k in range(self.r):
            if parts[k] > <double>allocatable[k]:
                # One that overflows makes the packing of the HyperNode worth nothing.
                for i in range(self.r):
                    parts[i] = 0.0
                return
        for k in range(self.r):
            if parts[k] > 0.0:
                parts[k] = self.counts.packing[k] * parts[k] / <double>max(allocatable[k], 1) / sub.weights

    cdef void look_at_all(self, int32_t number, int32_t given) noexcept nogil:
        """Record the HyperNodes inside HyperNode ``given`` that are compared for sub-job ``number``.

        These are all of them, tier by tier, up to the first tier in which the sub-job fits.
        """
        cdef Sub* sub = &self.job.subs[number]
        cdef Walk walk = self.hypernodes.walk(given, sub.record, sub.limited, sub.limit)
        cdef bint solved = False
        while not solved and self.hypernodes.step(&walk):
            if walk.alone:
                solved = self.look_at_tier(number, &walk.start, 1, walk.start)
            else:
                solved = self.look_at_tier(
                    number, self.hypernodes.tier_domains + walk.first, walk.end - walk.first, walk.start
                )

    cdef bint look_at_tier(self, int32_t number, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil:
        """Record for sub-job ``number`` each of ``m`` HyperNodes of one tier.

        Return True if the sub-job fits in one of them. ``outer`` is a HyperNode that holds all of ``domains``.
        """
        cdef Sub* sub = &self.job.subs[number]
        cdef int64_t i, held, here, x, before = self.n_looked
        cdef int32_t e, verdict
        cdef double score
        self.scores.count_for(sub, domains, m, outer)
        for i in range(m):
            x = self.hypernodes.where(domains[i])
            held = 0
            for e in range(sub.progress.n):
                if sub.progress.entries[e].left:
                    here = self.counts.of_shape[sub.progress.entries[e].shape].held[x]
                    held += min(here, sub.progress.entries[e].left)
            score = 0.0
            if sub.limited and sub.record == NO_RECORD and not self.counts.large(domains[i], sub.request + self.r):
                verdict = TOO_SMALL
            elif self.scores.key_of(sub, domains[i]) == -INFINITY:
                verdict = TOO_FEW
            elif not self.search.solves(number, domains[i]):
                verdict = NO_FIT
            else:
                verdict = SOLVES
                score = self.scores.packed(sub, domains[i])
            self.note_look(domains[i], held, verdict, score)
        return self.add_shares(number, before)

    cdef bint add_shares(self, int32_t number, int64_t first) noexcept nogil:
        """Break a tie for sub-job ``number`` by the share of its tasks that each HyperNode already holds.

        Looks at the recorded HyperNodes from index ``first`` on and changes those with the greatest score. Return False
        if the sub-job fits in none.
        """
        cdef const Sub* sub = &self.job.subs[number]
        cdef double greatest = -INFINITY
        cdef int64_t i, n_best = 0
        for i in range(first, self.n_looked):
            if self.looked[i].verdict == SOLVES:
                if self.looked[i].score > greatest:
                    greatest = self.looked[i].score
                    n_best = 0
                n_best += self.looked[i].score == greatest
        if n_best > 1 and (sub.n_running > 0 or sub.placed > 0) and self.counts.scale != 0.0:
            for i in range(first, self.n_looked):
                if self.looked[i].verdict == SOLVES and self.looked[i].score == greatest:
                    self.looked[i].share = <double>self.search.inside(number, self.looked[i].domain) / <double>sub.total
        return n_best > 0

    cdef scores_of(self, int32_t number, const int32_t[::1] domains):
        """Packing score of sub-job ``number`` in each of some HyperNodes, and the share of its tasks inside.

        Returns float64 (m, 2), computed as if the sub-job fitted in every one.
        """
        cdef int64_t i, m = domains.shape[0]
        out_array = np.empty((m, 2), dtype=np.float64)
        cdef double[:, ::1] out = out_array
        self.job.reset()
        self.n_looked = 0
        self.forgot = False
        for i in range(m):
            self.note_look(domains[i], 0, SOLVES, self.scores.packed(&self.job.subs[number], domains[i]))
        if self.forgot:
            raise MemoryError
        self.add_shares(number, 0)
        for i in range(m):
            out[i, 0] = self.looked[i].score
            out[i, 1] = self.looked[i].share
        return out_array

    cpdef bint tell_sub(self, int32_t number, int32_t given) noexcept nogil:
        """Place sub-job ``number`` inside HyperNode ``given`` and record the step; True if the sub-job was placed."""
        cdef int64_t needs = missing_of(&self.job.subs[number].progress)
        cdef bint placed
        cdef int32_t e
        if self.inner:
            for e in range(self.job.subs[number].progress.n):
                self.counts.catch_up(self.job.subs[number].progress.entries[e].shape)
            self.look_at_all(number, given)
        placed = self.search.place_sub(number, given)
        self.note_step(number, placed, needs if needs > 1 else 1)
        return placed

    cpdef tuple told(self):
        """Return the recorded steps, and the HyperNodes considered in them, as a tuple of arrays.

        Of each step: sub-job, HyperNode, pods placed and pods needed, int64 (steps, 4); score; score part per resource.
        Of each HyperNode considered: its step, number, pods that fit and verdict, int64 (m, 4); packing score and share
        of tasks.
        """
        cdef int64_t i, k
        steps_array = np.empty((self.n_steps, 4), dtype=np.int64)
        scores_array = np.empty(self.n_steps, dtype=np.float64)
        parts_array = np.empty((self.n_steps, self.r), dtype=np.float64)
        looked_array = np.empty((self.n_looked, 4), dtype=np.int64)
        looked_scores_array = np.empty((self.n_looked, 2), dtype=np.float64)
        cdef int64_t[:, ::1] steps = steps_array
        cdef double[::1] scores = scores_array
        cdef double[:, ::1] parts = parts_array
        cdef int64_t[:, ::1] looked = looked_array
        cdef double[:, ::1] looked_scores = looked_scores_array
        for i in range(self.n_steps):
            steps[i, 0] = self.steps[i].sub
            steps[i, 1] = self.steps[i].domain
            steps[i, 2] = self.steps[i].pods
            steps[i, 3] = self.steps[i].needs
            scores[i] = self.steps[i].score
            for k in range(self.r):
                parts[i, k] = self.step_parts[i * self.r + k]
        for i in range(self.n_looked):
            looked[i, 0] = self.looked[i].step
            looked[i, 1] = self.looked[i].domain
            looked[i, 2] = self.looked[i].held
            looked[i, 3] = self.looked[i].verdict
            looked_scores[i, 0] = self.looked[i].score
            looked_scores[i, 1] = self.looked[i].share
        return steps_array, scores_array, parts_array, looked_array, looked_scores_array

    cpdef void begin(self, bint inner) noexcept nogil:
        """Forget all recorded steps; ``inner``: record from now on also the HyperNodes that each step compares."""
        self.n_steps = self.n_looked = 0
        self.telling, self.inner, self.forgot = True, inner, False
