"""Base of the searches ``DryRuns`` and ``TwoLevel``: builds the states of nodes and the trial fill over the HyperNodes."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.state_table cimport StateTable
from workbench._core.trial_fill cimport TrialFill


@cython.auto_pickle(False)
cdef class SearchParts:
    """Parts that both searches use, with the methods by which Python sets them up; arguments are trusted."""

    cdef int open(
        self,
        const int64_t[:, ::1] idle,
        const int64_t[:, ::1] used,
        const int64_t[:, ::1] allocatable,
        const int32_t[::1] rank,
        HyperNodeTree hypernodes,
        double binpack,
        const double[::1] binpack_by,
        double least,
        double most,
        const int64_t[::1] request_by,
        double balanced,
        const uint8_t[::1] balanced_by,
    ) except -1:
        """Make the parts; comes first. The HyperNodes are not changed."""
        self.states = StateTable()
        self.states.open(
            idle, used, allocatable, binpack, binpack_by, least, most, request_by, balanced, balanced_by
        )
        self.hypernodes = hypernodes
        self.fill = TrialFill()
        self.fill.open(self.states, self.hypernodes, rank)
        self.n = self.states.n
        self.r = self.states.r
        self.d = self.hypernodes.d
        return 0

    @property
    def n_shapes(self):
        return self.states.n_shapes

    def add_shape(self, const int64_t[::1] request not None, const uint8_t[::1] feasible, const double[::1] extra):
        """Add a shape and return its number; ``feasible`` and ``extra`` are by node and kept, not copied."""
        return self.states.add_shape(request, feasible, extra)

    def know_states(self, const int32_t[::1] state_of not None, const int32_t[::1] first not None):
        """Set the groups of nodes with equal amounts: group (state) of each node, and first node of each group.

        Call this before the first trial.
        """
        self.states.know_states(state_of, first)

    def set_topology(
        self,
        const int32_t[::1] parent not None,
        const int32_t[::1] depth not None,
        const double[::1] value not None,
        double top_value,
        double own_value,
        double weight,
        bint roots_meet,
    ):
        """Set the scores of leaf domains by closeness to a job's record; the memoryviews are kept, not copied."""
        self.fill.set_topology(parent, depth, value, top_value, own_value, weight, roots_meet)
