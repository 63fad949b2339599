"""Declarations of ``tied_sets.pyx``, the choice among the sets that have the best objective."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t

from workbench._core.clique_search cimport Search

cdef extern from *:
    """
    #define WORKBENCH_COUNT_LIMIT ((uint64_t) 1 << 62)
    """
    # Ties beyond this number are not counted.
    const uint64_t COUNT_LIMIT "WORKBENCH_COUNT_LIMIT"


cdef struct Ties:
    Search* s
    int k
    const uint64_t* free
    uint64_t* require
    int c                  # class of the objective
    uint32_t t             # its weight rank: every tie holds a pair of exactly this rank
    uint64_t* graph        # pairs fast enough for the objective
    uint64_t* high         # those strictly faster than the objective's weight
    uint64_t* top_graph    # pairs fast enough for the best objective that could be left
    uint64_t* scratch      # any other threshold
    uint64_t* stack        # (n + 2, w): devices still open, per depth
    uint64_t* chosen
    int16_t* members
    int n_members
    int32_t* counts        # pairs of `chosen` per weight rank
    int16_t* lack          # per device: how many of k - 1 pairs must be at the objective's weight
    int least_lack
    int total_lack
    int64_t* floor         # per rank: fewest pairs of at most that rank in any tie, where known
    bint floor_known
    bint look_ahead        # are there enough devices left for another k at all?
    int top_class
    uint32_t top_level
    uint64_t* winner
    int32_t* winner_counts
    bint has_winner
    bint closed            # the winner leaves the best that any set could leave
    bint certified         # the winner's vector meets the floor: none is larger
    int left_class
    uint32_t left_level
    uint64_t* listed       # (list_limit, w)
    int64_t list_limit
    int64_t n_listed
    uint64_t total
    uint64_t enough        # stop counting here
    bint saturated


cdef int search(Ties* q, bint* proven) except -2 nogil
cdef int prepare(Ties* q, uint64_t* start, int c) except -2 nogil
cdef int list_ties(Ties* q, int need, bint clique) except -2 nogil
