"""The two-level search of one job asked again and again while nodes change in between (face of ``_core.repeated``).

What costs most before a search, checking and copying the nodes and counting what they hold, is done once; afterwards
only the nodes that changed are looked at. Owns the checks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench._core import repeated as _core
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.domains import MAX_QUANTITY
from workbench.kernels.two_level import TwoLevel

__all__ = ["Repeated"]


class Repeated:
    """A job that is placed on the nodes as they are, any number of times; each time its pods are taken back.

    Parameters
    ----------
    search : TwoLevel
        Before its first turn; not to be used by anybody else from now on.
    positions : sequence of ndarray of int64
        Pods of sub-job i and shape s in their order, at ``i * shapes + s``: positions among the n_pods of the gang.
    n_pods : int

    Attributes
    ----------
    score : float
        Of the last run: the sum of its turns' scores, added up in their order.
    record : int
        The job's, after the last run.

    Notes
    -----
    A run answers exactly what a new `TwoLevel` over the nodes as they are would answer after all its turns. Cost: the
    search itself, and O(shapes) for every node that changed since the last run.

    Not for several threads at once.

    Raises
    ------
    InputError
        A position out of range or named twice, or not one for each pod of the search.
    """

    def __init__(self, search: TwoLevel, positions: Sequence[NDArray[np.int64]], n_pods: int) -> None:
        places = np.concatenate([np.zeros(0, dtype=np.int64), *positions])
        check_range("positions", places, 0, n_pods - 1)
        if len(np.unique(places)) != len(places):
            raise InputError("a pod is named twice", source="positions", expected="each position once")
        lengths = [len(mine) for mine in positions]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self._n_pods = n_pods
        self._n_resources = int(search._c.r)
        self._c = _core.Repeated(search._c, start, places.astype(np.int32))
        if (pods := self._c.pods().tolist()) != lengths:
            raise InputError("not one for each pod", source="positions", got=f"{lengths}", expected=f"lengths {pods}")

    def change(self, nodes: NDArray[np.int32], rows: NDArray[np.int64]) -> None:
        """Take amounts from nodes.

        Parameters
        ----------
        nodes : ndarray of shape (m,), int32
            A node may appear several times.
        rows : ndarray of shape (m, r), int64
            What is taken from each in base units; negative: given back.

        Raises
        ------
        InputError
            Wrong dtype or shape, a node out of range, an amount beyond 2**53; then nothing has changed.
        """
        nodes, rows = as_array("nodes", nodes, np.int32, 1), as_array("rows", rows, np.int64, 2)
        check_length("rows", rows, nodes.shape[0])
        if rows.shape[1] != self._n_resources:
            raise InputError("wrong shape", source="rows", got=str(rows.shape), expected=f"(m, {self._n_resources})")
        wrong = self._c.change(nodes, rows, MAX_QUANTITY)
        if wrong >= 0:
            got = f"node {nodes[wrong]}, amounts {rows[wrong].tolist()}"
            raise InputError("out of range", source="nodes, rows", where=f"row {wrong}", got=got)

    def run(self) -> NDArray[np.int32] | None:
        """Node of each pod, -1 for none, of shape (n_pods,); None: the job may not start."""
        node = np.empty(self._n_pods, dtype=np.int32)
        return node if self._c.run(node) else None

    @property
    def score(self) -> float:
        return self._c.score

    @property
    def record(self) -> int:
        return self._c.record
