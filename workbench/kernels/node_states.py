"""Nodes that look alike to a search: found once for all searches on the same arrays (kernel ``states``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench._core import states as kernel
from workbench.errors import InputError
from workbench.kernels.checks import as_array

__all__ = ["NodeStates"]


class NodeStates:
    """Which nodes agree in all that is idle, used and allocatable.

    Parameters
    ----------
    idle, used, allocatable : ndarray of shape (n, r), int64, read-only

    Attributes
    ----------
    state_of : ndarray of shape (n,), int32
        Number of each node's state, in the order in which states come first.
    first : ndarray of int32
        First node of each state.

    Raises
    ------
    InputError
        Wrong dtype or shape, or an array may still be changed.
    """

    def __init__(self, idle: NDArray[np.int64], used: NDArray[np.int64], allocatable: NDArray[np.int64]) -> None:
        self._arrays = idle, used, allocatable
        for name, array in (("idle", idle), ("used", used), ("allocatable", allocatable)):
            as_array(name, array, np.int64, 2)
            if array.shape != idle.shape:
                raise InputError("wrong shape", source=name, got=str(array.shape), expected=str(idle.shape))
            if array.flags.writeable:
                raise InputError("it may be changed", source=name, expected="a read-only array")
        n = len(idle)
        none = np.zeros(max(n, 1), dtype=np.int64)
        rows = np.concatenate(self._arrays, axis=1).view(np.uint64)
        self.state_of, n_states = kernel.kinds_of_nodes(none[:n].astype(np.int32), rows, none, none[:n], none[:n])
        self.first = np.empty(n_states, dtype=np.int32)
        # From the last node on, so that the first stays.
        self.first[self.state_of[::-1]] = np.arange(n - 1, -1, -1, dtype=np.int32)

    def are_of(self, idle: NDArray[np.int64], used: NDArray[np.int64], allocatable: NDArray[np.int64]) -> bool:
        """Whether they were found in these very arrays."""
        return all(a is b for a, b in zip(self._arrays, (idle, used, allocatable), strict=True))
