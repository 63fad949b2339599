"""The nodes of each domain (HyperNode), checked once per topology and shared by all kernels that place pods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench._core.ranges import is_offsets
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.domains import checked_leaves

__all__ = ["DomainNodes"]


class DomainNodes:
    """The nodes of each domain (HyperNode), the lowest domain of each node, and the rank of each node's name.

    The name ranks break ties between equally good nodes. Any number of `workbench.kernels.dry_runs.DryRuns` can share
    one object. An array that is not read-only is copied.

    Raises InputError: wrong dtype or shape, an index out of range, offsets that do not ascend.

    `n`, `d`: number of nodes and of domains.

    Parameters
    ----------
    name_rank : ndarray of shape (n,), int32
        Rank of the node's name.
    leaf : ndarray of shape (n,), int32
        Leaf domain of each node, -1 for none.
    start : ndarray of shape (d + 1,), int64
        Offsets into ``members``, ascending from 0.
    members : ndarray of shape (start[d],), int32
        Nodes of domain j, each once, ascending: ``members[start[j]:start[j + 1]]``.
    leaves : tuple of (ndarray of shape (n + 1,), int64, ndarray of shape (m,), int32), optional
        Every leaf domain that holds node i, if leaves overlap: ``leaves[1][leaves[0][i]:leaves[0][i + 1]]``. None: no
        node is in two.
    """

    def __init__(
        self,
        name_rank: NDArray[np.int32],
        leaf: NDArray[np.int32],
        start: NDArray[np.int64],
        members: NDArray[np.int32],
        *,
        leaves: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
    ) -> None:
        self.name_rank = _kept(as_array("name_rank", name_rank, np.int32, 1))
        self.n = n = self.name_rank.shape[0]
        check_range("name_rank", self.name_rank, 0, max(n - 1, 0))
        self.start = _kept(as_array("start", start, np.int64, 1))
        self.members = _kept(as_array("members", members, np.int32, 1))
        # A domain of more nodes than there are would not fit into what a fill allocates.
        if not is_offsets(self.start, self.members.shape[0]) or bool((np.diff(self.start) > n).any()):
            expected = f"ascending from 0 to {self.members.shape[0]}, at most {n} nodes per domain"
            raise InputError("no CSR offsets", source="start", expected=expected)
        check_range("members", self.members, 0, n - 1)
        self.d = d = self.start.shape[0] - 1
        self.leaf = _kept(as_array("leaf", leaf, np.int32, 1))
        check_length("leaf", self.leaf, n)
        check_range("leaf", self.leaf, -1, d - 1)
        self.leaves = None
        if leaves is not None:
            leaf_start, holders = checked_leaves(leaves, n, d)
            self.leaves = _kept(leaf_start), _kept(holders)


def _kept(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if it is read-only, else a read-only copy."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
