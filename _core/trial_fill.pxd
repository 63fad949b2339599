"""Declarations of ``trial_fill.pyx``, which places pods one by one on the nodes of a HyperNode.

`run` places pods and leaves them on the nodes (`StateTable.idle`, `used`); `run_node` and the arrays beside it list
them until the next run. `take_back_run` removes them. `look` ranks the nodes for one shape and places nothing.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from workbench._core.contest cimport Closeness, Contest, Groups
from workbench._core.fading cimport Fading, Fullness
from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.levels cimport Levels
from workbench._core.progress cimport Progress
from workbench._core.state_table cimport Shape, StateTable

cdef enum:
    N_KEPT = 16


cdef struct Kept:
    # the contest of one shape, kept while pods of others are placed in the same run
    Contest nodes
    int64_t* level_fitting
    int64_t stamp          # the run
    int64_t seen           # pods of the run that it knows
    int64_t version        # of the bases that it knows
    int32_t shape


@cython.final
cdef class TrialFill:
    cdef StateTable states
    cdef HyperNodeTree hypernodes
    cdef int64_t n, r, d
    cdef list keep                # owners of the memory that is only borrowed
    cdef const int32_t* rank
    # topology scores
    cdef Closeness closeness
    cdef bint topology, roots_meet
    cdef bint update_record       # a placed pod widens the record
    # what pods gain that are not scored by the record
    cdef Fading fading
    cdef Fullness fullness
    cdef double* gain
    cdef bint fades               # whether those of the run do
    # the run
    cdef int32_t record
    cdef int64_t* tasks_on_leaf   # of the sub-job before the run
    cdef int32_t* leaf_group      # where leaves overlap: the group of each leaf that the run saw
    cdef int64_t c                # nodes that take part in the run
    cdef int64_t* met             # by leaf or ring: the run that saw it
    cdef int64_t* floor           # by resource: of a node with less no shape of the run holds a pod
    cdef int64_t* sort_keys
    cdef int32_t* node_of         # by slot
    cdef int32_t* slot_of         # by node
    cdef int32_t* group_of
    cdef Groups by_leaf
    cdef Contest nodes
    cdef Kept kept[N_KEPT]
    cdef int32_t n_kept, at_hand  # contests that have memory; whose contest `nodes` is
    cdef int64_t version          # of the bases and of the tasks that a placed pod does not tell
    cdef int32_t first_node       # of a domain that is an interval of nodes in their order; -1: it is none
    cdef int32_t end_node         # one past its last
    cdef int32_t* with_tasks      # groups that hold tasks
    cdef int64_t n_with_tasks
    cdef Levels levels            # of `by_leaf`; `fitting` is that of the contest at hand
    # what the run placed
    cdef int64_t n_run, run_capacity
    cdef int32_t* run_node
    cdef int32_t* run_entry
    cdef int32_t* run_pod         # its number among the pods of the entry
    cdef double* run_score
    cdef int64_t turn_start       # pods placed before the last turn
    cdef int32_t first_failed     # entry of which first a pod fitted nowhere in the last turn; -1: none

    cdef int open_leaves(self) except -1
    cdef int make_room(self, int64_t pods) except -1
    cdef void find_floor(self, const Progress* now) noexcept nogil
    cdef void enter(self, int32_t domain, bint scored) noexcept nogil
    cdef int keep_contests(self, int32_t count) except -1
    cdef bint widen(self, int32_t record, int64_t* low, int64_t* high) noexcept nogil
    cdef bint nested_groups(self, int32_t domain, int64_t* low, int64_t* high) noexcept nogil
    cdef void spread(self, int32_t common, int64_t low, int64_t high) noexcept nogil
    cdef void turn_to(self, int32_t number) noexcept nogil
    cdef void catch_up_run(self, Shape* shape, int64_t seen, bint stale) noexcept nogil
    cdef void build(self, Shape* shape) noexcept nogil
    cdef void count_in(self, int64_t g) noexcept nogil
    cdef bint count_task(self, int32_t node, int64_t g) noexcept nogil
    cdef void put(self, Shape* shape, int32_t entry) noexcept nogil
    cdef int64_t place(self, Progress* now, int32_t entry, int64_t count) noexcept nogil
    cdef bint try_entry(self, Progress* now, int32_t i, int64_t upto) noexcept nogil
    cdef void take_turn(self, Progress* now) noexcept nogil
    cdef void begin(self, int32_t domain, bint scored, int32_t record) noexcept nogil
    cdef void look(self, int32_t domain, bint scored, int32_t record, int32_t shape) noexcept nogil
    cdef void run(self, int32_t domain, bint scored, int32_t record, Progress* now) noexcept nogil
    cdef void take_back_run(self, const Progress* now) noexcept nogil
    cdef void weigh_node(self, int32_t node, int64_t change) noexcept nogil
    cdef int open(self, StateTable states, HyperNodeTree hypernodes, const int32_t[::1] rank) except -1
    cdef int set_topology(
        self, const int32_t[::1] parent, const int32_t[::1] depth, const double[::1] value, double top_value, double
        own_value, double weight, bint roots_meet
    ) except -1
    cdef int set_fading(
        self, const int32_t[::1] ring_of, const int32_t[:, ::1] around, const int32_t[::1] column, const double[::1]
        by_tier, const double[::1] packing, double scale
    ) except -1
