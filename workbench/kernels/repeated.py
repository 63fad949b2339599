"""Place one job again and again while the nodes change in between (checked interface of ``_core.repeated``).

The costly preparation of a search (checking and copying the nodes, counting the pods that fit) is done once; afterwards
only the nodes that changed are looked at.
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
    """Places one job on the present nodes any number of times; each run is undone before the call returns.

    Raises InputError: a position out of range or named twice, or not one for each pod of the search.

    `score`: sum of the turns' scores of the last run, added up in their order. `record`: HyperNode in which the job was
    allocated in the last run; -1: the virtual top.

    Parameters
    ----------
    search : TwoLevel
        A search before its first turn. This object owns it from now on: do not use it elsewhere.
    positions : sequence of ndarray of shape (pods,), int64
        Entry ``i * shapes + s`` lists the pods of sub-job i and shape s in their order, as positions among the n_pods
        of the gang.
    n_pods : int
        Number of pods of the gang.

    Notes
    -----
    A run gives exactly the answer of a new `TwoLevel` over the current nodes after all its turns. Cost: the
    search itself, and O(shapes) for every node that changed since the last run.

    An object must not be used by several threads at once.
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
        """Take amounts from the idle resources of nodes, or give them back, before the next `run`.

        `nodes` (ndarray of shape (m,), int32): a node may appear several times. `rows` (ndarray of shape (m, r),
        int64): amounts taken from each node in base units; negative: given back. Raises InputError: wrong dtype or
        shape, a node out of range, an amount beyond 2**53; then nothing has changed.
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
        """Find a node for each of the job's pods on the present nodes, without keeping the pods there.

        Returns: ndarray of shape (n_pods,), int32, or None: the node of each pod, -1 for a pod without a node; None if
        too few pods fit for the job to start.
        """
        node = np.empty(self._n_pods, dtype=np.int32)
        return node if self._c.run(node) else None

    @property
    def score(self) -> float:
        return self._c.score

    @property
    def record(self) -> int:
        return self._c.record
