"""Declarations of ``job_state.pyx``: counts of pods of a job and its sub-jobs during the two-level search.

`reset` begins an attempt (the placement of the sub-jobs in one HyperNode) from the state after the last finished turn;
`note_sub` counts placed pods; `settle` makes the attempt final. Placed pods are appended to a log (`log_sub` and the
arrays beside it, `n_log` entries).
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from workbench._core.progress cimport Entry, Progress, Run


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


cdef struct Bounds:
    int64_t n              # nodes
    int64_t d              # domains
    int64_t n_shapes
    # the largest quantity, the largest sum of quantities, the most pods of a job
    int64_t quantity, sum, pods


@cython.final
cdef class JobState:
    cdef int64_t r                     # resources
    # the job
    cdef bint grouped, limited, has_minimum
    cdef int64_t limit
    cdef int64_t* minimum
    cdef Progress progress, progress_settled
    cdef Entry* job_entries            # settled, then of the attempt
    cdef int32_t record
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
    cdef int64_t* again                # of those that wait again in the attempt, the next one last
    cdef int64_t n_again
    cdef int64_t next_in_queue         # of the attempt
    cdef uint8_t* is_first
    cdef int64_t* kind_size
    # pods placed
    cdef int32_t* log_sub
    cdef int32_t* log_shape
    cdef int32_t* log_node
    cdef int32_t* log_pod
    cdef int64_t n_log, log_settled
    cdef double score                  # of the attempt
    cdef readonly int32_t stuck                 # first sub-job that found no place in the attempt
    cdef double last_score    # of the last turn

    cpdef bint give_up(self, int32_t number) noexcept nogil
    cdef void choose_first(self) noexcept nogil
    cdef bint alike(self, const Sub* a, const Sub* b) noexcept nogil
    cdef int64_t find_kinds(self) except -1
    cpdef void reset(self) noexcept nogil
    cdef void hold_entries(self, Sub* sub, bint save) noexcept nogil
    cpdef bint job_ready(self) noexcept nogil
    cpdef int64_t queue_key(self, int64_t i, bint ready) noexcept nogil
    cdef int64_t key_now(self, int64_t i) noexcept nogil
    cdef void push(self, int64_t key) noexcept nogil
    cpdef void line_up(self) noexcept nogil
    cdef void drop(self, Sub* sub) noexcept nogil
    cdef void note_sub(self, int32_t number, const Progress* now, int64_t placed) noexcept nogil
    cpdef void settle(self, int32_t record) noexcept nogil
    cdef tuple left(self)
    cdef int cap(self, const int64_t[::1] left) except -1
    cdef bint set_job(
        self, const Bounds* bounds, bint grouped, bint limited, int64_t limit, const int64_t[::1] minimum, const int64_t[::1] left, const
        int64_t[::1] present, const int64_t[::1] minimums, const int32_t[::1] names, int32_t rule, int64_t
        min_available, int64_t counted, int32_t record, const int64_t[::1] wanted
    ) except -1
    cdef bint set_subs(
        self, const Bounds* bounds, const int64_t[::1] entry_start, const int32_t[::1] shapes, const int64_t[::1] left, const int64_t[::1]
        min_available, const int64_t[::1] counted, const int64_t[::1] total, const uint8_t[::1] stop, const int64_t[::1]
        limit, const uint8_t[::1] limited, const uint8_t[::1] scored, const int32_t[::1] policy, const int32_t[::1]
        rank, const int32_t[::1] grade, const int32_t[::1] record, const int64_t[:, ::1] request, const int64_t[:, ::1]
        pending, const int64_t[::1] running_start, const int32_t[::1] running, const int64_t[::1] run_start, const
        int32_t[::1] run_shape, const int64_t[::1] run_upto
    ) except -1
    cpdef int32_t next_sub(self) noexcept nogil
