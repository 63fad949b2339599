"""Scores of HyperNodes for a sub-job (a Volcano subGroup), computed from counts of fitting pods without placing a pod.

For pods of one role the count is exact. For several roles, too small a count rules a HyperNode out. Upper bounds tell
beforehand how much a HyperNode for the whole job can score.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from workbench._core.contest cimport NO_RECORD
from workbench._core.domain_counts cimport DomainCounts
from workbench._core.fading cimport packing_score
from workbench._core.hypernode_tree cimport Walk
from workbench._core.job_state cimport JobState, Sub
from workbench._core.memory cimport free, grab
from workbench._core.progress cimport Entry, Progress, missing_of, until_ready
from workbench._core.tournament cimport Tournament


@cython.final
@cython.auto_pickle(False)
cdef class SubJobScores:
    """Scores of HyperNodes for a sub-job of which no pod is placed, from counts of fitting pods and used totals."""

    def __cinit__(self, DomainCounts counts not None):
        self.counts = counts
        self.states = counts.states
        self.hypernodes = counts.hypernodes
        self.r = counts.r
        self.used_here = <int64_t*>grab(self.r * sizeof(int64_t))

    def __dealloc__(self):
        free(self.used_here)

    @cython.final
    cdef double packed(self, const Sub* sub, int32_t domain) noexcept nogil:
        """How full a HyperNode would be with the sub-job's pods: weighted mean of the used fractions, 0 to 1."""
        cdef int64_t at = self.hypernodes.at(domain) * self.r
        if self.counts.scale == 0.0:
            return 0.0
        return packing_score(
            self.counts.packing,
            sub.request,
            sub.weights,
            self.counts.domain_used + at,
            self.counts.domain_allocatable + at,
            self.r,
        )

    @cython.final
    cdef double key_of(self, const Sub* sub, int32_t domain) noexcept nogil:
        """Score of a HyperNode for a sub-job; -inf if too few of the sub-job's pods fit there."""
        cdef const Progress* now = &sub.progress
        cdef const Entry* entry
        cdef int64_t missing = missing_of(now), here, held = 0, x = self.hypernodes.where(domain)
        cdef bint together = missing >= now.rest
        cdef int32_t e
        for e in range(now.n):
            entry = &now.entries[e]
            if entry.left == 0:
                continue
            here = self.counts.of_shape[entry.shape].held[x]
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
        """Score of a HyperNode for a sub-job, even if too few of the sub-job's pods fit there."""
        if sub.limited and sub.record == NO_RECORD and not self.counts.large(domain, sub.request + self.r):
            return -INFINITY
        return self.packed(sub, domain)

    cdef int64_t least(self, const Sub* sub, const Entry** entry) noexcept nogil:
        """Fewest pods of one entry (role) that must fit in a HyperNode for the sub-job to become ready there.

        ``entry`` receives the entry.
        """
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

    cdef void grow(self, Tournament* tree, const Sub* sub, const int32_t* domains) noexcept nogil:
        """Compute the score of each HyperNode of a tournament tree for a sub-job, and find the best.

        The pods that fit in the HyperNodes must be counted before (`count_for`).
        """
        cdef int64_t i, m = tree.m, found = 0
        cdef const Entry* entry
        cdef int64_t least = self.least(sub, &entry)
        cdef const int64_t* held = NULL
        cdef double* keys = tree.key
        cdef double key, best = 0.0
        if entry != NULL:
            # The domains of a tree follow one another in the counts, too.
            held = self.counts.of_shape[entry.shape].held + self.hypernodes.where(domains[0])
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
        tree.empty = found == 0
        tree.played = False

    cdef void count_for(self, const Sub* sub, const int32_t* domains, int64_t m, int32_t outer) noexcept nogil:
        """Count the sub-job's pods that fit in each of ``m`` neighbouring HyperNodes of one tier, inside ``outer``."""
        cdef int32_t e
        for e in range(sub.progress.n):
            if sub.progress.entries[e].left:
                self.counts.count_shape(sub.progress.entries[e].shape, domains, m, outer)

    cdef bint too_small(self, const Sub* sub, int64_t t) noexcept nogil:
        """True if even the largest HyperNode of the ``t``-th tier, if fully idle, is too small for the sub-job."""
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
            if self.hypernodes.largest[t] * self.counts.of_shape[entry.shape].most < wanted:
                return True
        return False

    cdef double most_of(self, const Sub* sub, int64_t times, int32_t given) noexcept nogil:
        """Upper bound on the summed scores of ``times`` sub-jobs like this one, placed inside HyperNode ``given``.

        None of them has pods placed or running, and each is placed all at once. -inf: not even one fits. inf: no bound
        is known, because one of several might go to a HyperNode of a lower tier.
        """
        cdef int64_t i
        cdef int32_t domain
        cdef double most = -INFINITY, key
        cdef Walk walk = self.hypernodes.walk(given, sub.record, sub.limited, sub.limit)
        while self.hypernodes.step(&walk):
            if walk.alone:
                key = self.most_here(sub, times, walk.start)
                return key if key > most else most
            if self.too_small(sub, walk.tier):
                continue
            self.count_for(sub, self.hypernodes.tier_domains + walk.first, walk.end - walk.first, walk.start)
            for i in range(walk.first, walk.end):
                domain = self.hypernodes.tier_domains[i]
                if times > 1 and domain == given:
                    key = self.most_here(sub, times, given)
                else:
                    key = self.key_of(sub, domain)
                    if times > 1 and key > -INFINITY:
                        return INFINITY
                most = key if key > most else most
            # Of one role the counts are exact: it goes to this tier.
            if sub.n_roles == 1 and most > -INFINITY:
                return most
        return most

    cdef double most_here(self, const Sub* sub, int64_t times, int32_t domain) noexcept nogil:
        """Summed scores of ``times`` equal sub-jobs, placed in the HyperNode ``domain`` itself one after another."""
        cdef int64_t at = self.hypernodes.at(domain) * self.r, i, k
        cdef const int64_t* request
        cdef int32_t e
        cdef double total = 0.0
        self.count_for(sub, &domain, 1, domain)
        if times == 1 or self.key_of(sub, domain) == -INFINITY:
            return self.key_of(sub, domain)
        for k in range(self.r):
            self.used_here[k] = self.counts.domain_used[at + k]
        for i in range(times):
            total += packing_score(
                self.counts.packing,
                sub.request,
                sub.weights,
                self.used_here,
                self.counts.domain_allocatable + at,
                self.r,
            )
            for e in range(sub.progress.n):
                if sub.progress.entries[e].left:
                    request = self.states.shapes[sub.progress.entries[e].shape].request
                    for k in range(self.r):
                        self.used_here[k] += sub.progress.entries[e].left * request[k]
        return total

    # ---- asked from Python, of a sub-job in the attempt at hand ----

    def key(self, JobState job not None, int32_t number, int32_t domain):
        """Score of HyperNode ``domain`` for sub-job ``number``; -inf if too few of the sub-job's pods fit there."""
        self.count_for(&job.subs[number], &domain, 1, domain)
        return self.key_of(&job.subs[number], domain)

    def bound(self, JobState job not None, int32_t number, int64_t times, int32_t domain):
        """Upper bound on the summed scores of ``times`` sub-jobs like ``number`` inside HyperNode ``domain``.

        -inf: not even one fits; inf: no bound is known.
        """
        return self.most_of(&job.subs[number], times, domain)

    def leaves_out(self, JobState job not None, int32_t number, int64_t t):
        """Whether no HyperNode of the ``t``-th tier could hold sub-job ``number`` even if all its nodes were idle."""
        return self.too_small(&job.subs[number], t)
