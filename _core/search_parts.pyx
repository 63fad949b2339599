"""Base of the kernels ``DryRuns`` and ``TwoLevel``, which place pods: node amounts, HyperNodes and pod shapes."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.state_table cimport StateTable
from workbench._core.trial_fill cimport TrialFill


@cython.auto_pickle(False)
cdef class SearchParts:
    """Base class of the kernels that place pods; holds node amounts, HyperNodes, pod shapes and scores."""

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
        """Set amounts of the nodes, ranks of their names, HyperNodes and score weights; comes before all other methods.

        ``hypernodes`` is only read, so that several searches can share it.
        """
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
        """Number of pod shapes (pods with equal request and allowed nodes) registered so far."""
        return self.states.n_shapes

    def add_shape(self, const int64_t[::1] request not None, const uint8_t[::1] feasible, const double[::1] extra):
        """Register a pod shape (pods with equal request and allowed nodes) and return its number.

        ``feasible`` and ``extra`` have an entry per node, or are None, and are kept, not copied.
        """
        return self.states.add_shape(request, feasible, extra)

    def know_states(self, const int32_t[::1] state_of not None, const int32_t[::1] first not None):
        """Set the groups (states) of nodes with equal amounts: the group of each node, the first node of each group.

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
        """Set the scores of leaf domains (lowest HyperNodes) by closeness to the HyperNode of the job so far.

        The arguments are explained in ``workbench.kernels.domains.TopologyScores``; the arrays are kept, not copied.
        """
        self.fill.set_topology(parent, depth, value, top_value, own_value, weight, roots_meet)
