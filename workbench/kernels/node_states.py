"""Groups of nodes with equal idle, used and allocatable amounts, found once per set of arrays (kernel ``states``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench._core import states as kernel
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.domains import MAX_QUANTITY

__all__ = ["NodeStates"]


class NodeStates:
    """Groups of nodes that agree in their idle, used and allocatable amounts; such a group is called a state.

    A caller that passes these very arrays together with their states need not have them checked again.

    `idle`, `used`, `allocatable` (ndarray of shape (n, r), int64, read-only): at most `MAX_QUANTITY`; only idle may be
    negative. Raises InputError: wrong dtype or shape, an amount out of range, or an array may still be changed.

    Attributes
    ----------
    arrays : tuple of ndarray of shape (n, r), int64
        The arrays given, by which a kernel recognises them: the same objects, not equal ones.
    state_of : ndarray of shape (n,), int32
        Number of each node's state; states are numbered by their first node.
    first : ndarray of shape (states,), int32
        First node of each state.
    index : ndarray of shape (n,), int64
        `state_of` as numpy takes indices.
    """

    def __init__(self, idle: NDArray[np.int64], used: NDArray[np.int64], allocatable: NDArray[np.int64]) -> None:
        self.arrays = idle, used, allocatable
        for name, array in (("idle", idle), ("used", used), ("allocatable", allocatable)):
            checked = as_array(name, array, np.int64, 2)
            if array.shape != idle.shape:
                raise InputError("wrong shape", source=name, got=str(array.shape), expected=str(idle.shape))
            if array.flags.writeable:
                raise InputError("it may be changed", source=name, expected="a read-only array")
            check_range(name, checked, -MAX_QUANTITY if name == "idle" else 0, MAX_QUANTITY)
        self.state_of, self.first = kernel.states_of_nodes(*map(np.ascontiguousarray, self.arrays))
        # What numpy would make of it at every use.
        self.index = self.state_of.astype(np.int64)

    def kinds_of_spans(
        self, spans: NDArray[np.int32], marks: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Group node intervals whose nodes, compared position by position, are in equal states.

        `spans` (ndarray of shape (m, 2), int32): first node and one past the last. `marks` (ndarray of shape (m, w),
        uint64): further bits by which intervals are told apart: those of one group have equal bits.

        Returns
        -------
        first : ndarray of shape (groups,), int64
            First interval of each group.
        kind : ndarray of shape (m,), int32
            Group of each interval, as an index in `first`.
        """
        spans, marks = as_array("spans", spans, np.int32, 2), as_array("marks", marks, np.uint64, 2)
        check_length("marks", marks, len(spans))
        check_range("spans", spans, 0, len(self.state_of))
        begin = spans[:, 0].astype(np.int64)
        count = spans[:, 1] - begin
        check_range("spans", count, 0, len(self.state_of))
        kind, first = kernel.kinds_of_nodes(np.zeros(len(spans), dtype=np.int32), marks, self.index, begin, count)
        return first, kind
