"""The state that dry runs share, for kernels that search with them; the rules stand in ``dry_runs.pyx``."""

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t

from workbench._core.contest cimport Closeness, Contest, Groups
from workbench._core.fading cimport Fading, Fullness
from workbench._core.node_score cimport Weights

cdef enum:
    NO_RECORD = -2

    # What happens after a pod that fits nowhere.
    BY_MINIMUMS = 0
    STOP = 1
    GO_ON = 2

    N_KEPT = 4


cdef struct Kept:
    # the contest of one shape, kept while pods of others are placed in the same run
    Contest nodes
    int64_t* level_fitting
    int64_t stamp          # the run
    int64_t seen           # pods of the run that it knows
    int64_t version        # of the bases that it knows
    int32_t shape


cdef struct Shape:
    int64_t* request
    const uint8_t* feasible   # by node; NULL: all
    const double* extra       # by node; NULL: none
    double binpack_weights
    # by state of a node
    double* score             # -inf: does not fit
    uint8_t* scored           # whether that is known
    int32_t* fit              # pods that a node holds, plus one; 0: not known
    int32_t* next             # state with one pod more, plus one; 0: not known


cdef struct Entry:
    int32_t shape
    int32_t name           # entries of one name fail together
    int64_t left, present, minimum
    int64_t given          # pods taken from the queue: placed, or skipped
    int64_t dropped        # pods that were left when one of the name failed in this pass


cdef struct Run:
    # pods of one entry that are tried one after another
    int32_t entry
    int64_t upto           # pods of the entry up to the run's last, from the first on


cdef struct Progress:
    Entry* entries
    const Run* runs        # in the order in which pods are tried; NULL: entry by entry
    int32_t n, n_runs
    int32_t rule
    bint minimums_count
    int64_t min_available, counted
    int64_t short_of       # pods missing for the minimums
    int64_t rest           # sum of left


cdef inline bint is_ready(const Progress* p) noexcept nogil:
    return p.counted >= p.min_available and (not p.minimums_count or p.short_of == 0)


cdef inline int64_t missing_of(const Progress* p) noexcept nogil:
    cdef int64_t missing = p.min_available - p.counted
    if p.minimums_count and p.short_of > missing:
        missing = p.short_of
    return missing if missing > 0 else 0


cdef inline int64_t below_minimum(const Entry* e) noexcept nogil:
    return e.minimum - e.present if e.minimum > e.present else 0


cdef inline int64_t until_ready(const Progress* p, const Entry* e) noexcept nogil:
    """Pods of an entry to place before looking again: up to the pod that makes the gang ready, at least one."""
    cdef int64_t wanted = p.min_available - p.counted
    if p.minimums_count:
        if p.short_of > below_minimum(e):
            return e.left
        if e.minimum - e.present > wanted:
            wanted = e.minimum - e.present
    if wanted < 1:
        wanted = 1
    return wanted if wanted < e.left else e.left


cdef inline void note_placed(Progress* p, Entry* e, int64_t count) noexcept nogil:
    p.short_of -= below_minimum(e)
    e.present += count
    e.given += count
    p.short_of += below_minimum(e)
    e.left -= count
    p.rest -= count
    p.counted += count


cdef class NodesByState:
    cdef readonly int64_t n, r, d
    cdef readonly int32_t n_shapes
    cdef Weights weights
    cdef Shape* shapes
    cdef int64_t* idle
    cdef int64_t* used
    cdef const int64_t* allocatable
    cdef list keep                # owners of the memory that is only borrowed
    # states: what is idle, used and allocatable on a node; most nodes share one with others
    cdef int32_t* state_of        # of each node, but for what the run at hand changed
    cdef int64_t* states          # 3 r numbers each
    cdef int32_t* slots           # hash table of states; -1: free
    cdef uint64_t slot_mask
    cdef int32_t n_states, state_capacity, n_remembered
    cdef const int32_t* known_states     # NULL: to be found
    cdef const int32_t* first_in_state
    cdef int64_t n_known
    cdef double* scores_of        # of all shapes
    cdef uint8_t* scored_of
    cdef int32_t* fits_of
    cdef int32_t* nexts_of
    cdef int64_t reserved         # states that stay free for pods that stay
    cdef int32_t* run_state       # of each node that the run at hand changed; -1: there was no room for it
    cdef int64_t stamp            # number of the run at hand, and of the run that changed each node
    cdef int64_t* touched

    cdef int open_states(self, int64_t more) except -1
    cdef int claim_states(self, int64_t more) except -1
    cdef void keep_states(self, int32_t count) noexcept nogil
    cdef uint64_t hash_of(self, const int64_t* idle, const int64_t* used, const int64_t* allocatable) noexcept nogil
    cdef int32_t find_state(self, int64_t node) noexcept nogil
    cdef int32_t next_state(self, Shape* shape, int32_t state, int32_t node) noexcept nogil
    cdef double rate(self, const Shape* shape, const int64_t* idle, const int64_t* used, const int64_t* allocatable) noexcept nogil
    cdef double score_now(self, Shape* shape, int32_t node) noexcept nogil


cdef class NodeContests(NodesByState):
    cdef const int32_t* rank
    cdef const int32_t* leaf
    cdef const int64_t* start
    cdef const int32_t* members
    # topology scores
    cdef Closeness closeness
    cdef bint topology, roots_meet, update_record
    cdef bint contained           # a leaf is below a domain if its nodes are in it
    # what pods gain that are not scored by the record
    cdef Fading fading
    cdef Fullness fullness
    cdef double* gain
    cdef bint fades               # whether those of the run do
    # the run
    cdef int32_t record
    cdef int64_t* tasks_on_leaf   # of the sub-job before the run
    # where leaves overlap: every leaf that holds a node, and the group of each leaf that the run saw; NULL: none has two
    cdef const int64_t* leaf_start
    cdef const int32_t* leaves
    cdef int32_t* leaf_group
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
    # the distinct bases of groups, and how many nodes fit in groups of each
    cdef int32_t* level_of
    cdef double* level_base
    cdef int64_t* level_fitting
    cdef int32_t n_levels
    # what the run placed
    cdef int64_t n_run, run_capacity
    cdef int32_t* run_node
    cdef int32_t* run_entry
    cdef int32_t* run_pod         # its number among the pods of the entry
    cdef double* run_score

    cdef int make_room(self, int64_t pods) except -1
    cdef void find_floor(self, const Progress* now) noexcept nogil
    cdef bint above_floor(self, int32_t node) noexcept nogil
    cdef void enter(self, int32_t domain, bint scored) noexcept nogil
    cdef bint widen(self, int32_t record, int64_t* low, int64_t* high) noexcept nogil
    cdef bint nested_groups(self, int32_t domain, int64_t* low, int64_t* high) noexcept nogil
    cdef void spread(self, int32_t common, int64_t low, int64_t high) noexcept nogil
    cdef int32_t level(self, double base) noexcept nogil
    cdef void find_best(self) noexcept nogil
    cdef void lift_some(self, int64_t low, int64_t high) noexcept nogil
    cdef void find_gains(self, const Shape* shape) noexcept nogil
    cdef int keep_contests(self, int32_t count) except -1
    cdef void turn_to(self, int32_t number) noexcept nogil
    cdef void catch_up_run(self, Shape* shape, int64_t seen, bint stale) noexcept nogil
    cdef void build(self, Shape* shape) noexcept nogil
    cdef void count_in(self, int64_t g) noexcept nogil
    cdef bint count_task(self, int32_t node, int64_t g) noexcept nogil
    cdef void put(self, Shape* shape, int32_t entry) noexcept nogil


cdef class DryRuns(NodeContests):
    # what is asked by `ask`
    cdef Progress question
    cdef Run* question_runs
    cdef bint asked_scored
    cdef int32_t asked_record
    cdef int32_t first_failed     # entry of which first a pod fitted nowhere; -1: none

    cdef int make_states(self) except -1
    cdef int64_t place(self, Progress* now, int32_t entry, int64_t count) noexcept nogil
    cdef bint may_go_on(self, const Progress* now, int32_t failed) noexcept nogil
    cdef void leave_rest(self, Progress* now, int32_t last) noexcept nogil
    cdef bint try_entry(self, Progress* now, int32_t i, int64_t upto) noexcept nogil
    cdef void run(self, int32_t domain, bint scored, int32_t record, Progress* now) noexcept nogil
    cdef void take_back_run(self, const Progress* now) noexcept nogil
    cdef Progress attempt(self) noexcept nogil
