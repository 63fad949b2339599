"""Base of the searches ``DryRuns`` and ``TwoLevel``: states of nodes, HyperNodes and the fill, as attributes."""

from libc.stdint cimport int64_t

from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.state_table cimport StateTable
from workbench._core.trial_fill cimport TrialFill


cdef class SearchParts:
    cdef readonly StateTable states
    cdef readonly HyperNodeTree hypernodes
    cdef readonly TrialFill fill
    cdef readonly int64_t n, r, d
