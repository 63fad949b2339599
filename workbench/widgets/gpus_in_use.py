"""`GpusInUse`: how many GPUs of a drawn node running pods hold."""

from __future__ import annotations

import numpy as np

from workbench.model.snapshot import ClusterSnapshot
from workbench.topology.draft import Item

__all__ = ["GpusInUse"]


class GpusInUse:
    """GPUs that running pods hold on the nodes of a drawing.

    Parameters
    ----------
    before : ClusterSnapshot, optional
        The cluster from which the drawing was made; None: nothing runs.
    """

    def __init__(self, before: ClusterSnapshot | None) -> None:
        #: All GPUs and those in use, of each node that has any in use.
        self._of: dict[str, tuple[int, int]] = {}
        if before is not None:
            total = np.bitwise_count(before.gpu_total).sum(axis=1).tolist()
            used = np.bitwise_count(before.gpu_total & ~before.gpu_free).sum(axis=1).tolist()
            names = before.topology.node_names
            self._of = {name: (n, u) for name, n, u in zip(names, total, used, strict=True) if u}

    def of(self, item: Item) -> int:
        """GPUs in use on a node; 0 for a switch, and for a node whose number of GPUs was changed: all of it is free."""
        total, used = self._of.get(item.name, (0, 0))
        return used if item.kind == "node" and total == item.gpus else 0
