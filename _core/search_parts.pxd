"""What ``DryRuns`` and ``TwoLevel`` have in common: their parts, and how Python sets them up. No rule stands here."""

from libc.stdint cimport int64_t

from workbench._core.hypernode_tree cimport HyperNodeTree
from workbench._core.state_table cimport StateTable
from workbench._core.trial_fill cimport TrialFill


cdef class SearchParts:
    cdef StateTable states
    cdef HyperNodeTree hypernodes
    cdef TrialFill fill
    cdef readonly int64_t n, r, d
