"""Bus bandwidth and efficiency as SimAI's analytical mode computes them.

The efficiencies are relative to huge messages on the same number of nodes, not to the wire: multiplying them on a
measured bandwidth would count the effect of size twice. The tables stay with the caller.
"""

from __future__ import annotations

import csv
from bisect import bisect_left
from dataclasses import dataclass

#: In the tool's GB, which are 2**30 bytes when it computes times.
NVLINK_GB = {"A100": 240.0, "A800": 160.0, "H100": 370.8, "H800": 164.8, "H20": 370.8}
NIC_GB = {"CX6": 23.5, "CX7": 48.5, "BF3": 48.5}

_NODE_COLUMNS = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4, 32: 5, 64: 6, 128: 7}
_PARALLEL_GROUPS = 8


def bus_bandwidth(gpu: str, nic: str, gpus_per_node: int, nics_per_node: int, nodes: int, collective: str) -> float:
    """Theoretical bus bandwidth in the tool's GB/s.

    Parameters
    ----------
    gpu, nic : str
        Keys of `NVLINK_GB` and `NIC_GB`.
    gpus_per_node, nics_per_node, nodes : int
    collective : str
        "all-to-all"; every other one is priced as a ring.
    """
    link, card = NVLINK_GB[gpu], NIC_GB[nic]
    g, k = gpus_per_node, nodes
    cards = nics_per_node * card
    if k == 1:
        return link
    if collective == "all-to-all":
        return cards / g * (g * k - 1) / ((k - 1) * g)
    if g == 1:
        return cards
    return min(link * g / (g - 1) if cards > link else link, cards)


@dataclass(frozen=True)
class RatioTable:
    """One of SimAI's tables of efficiency.

    Attributes
    ----------
    sizes : tuple of int
        Bytes of each row, ascending.
    rows : tuple of tuple of float
        Efficiency by column: 1, 2, 4 ... 128 nodes, then many parallel groups.
    """

    sizes: tuple[int, ...]
    rows: tuple[tuple[float, ...], ...]

    @classmethod
    def parse(cls, text: str) -> RatioTable:
        """Read a table from CSV text: a header row, then bytes and efficiencies; an empty cell is 1."""
        lines = [line for line in csv.reader(text.splitlines()) if line]
        sizes = tuple(int(line[0]) for line in lines[1:])
        rows = tuple(tuple(float(cell) if cell.strip() else 1.0 for cell in line[1:]) for line in lines[1:])
        return cls(sizes, rows)

    def ratio(self, size: int, nodes: int | None) -> float | None:
        """Efficiency relative to the largest message of the column.

        Parameters
        ----------
        size : int
            Bytes of the message.
        nodes : int, optional
            A number without a column reads that of 16 nodes; None: many parallel groups.

        Returns
        -------
        float or None
            1 for size 0; None above the last row, where the tool stops.
        """
        if size == 0:
            return 1.0
        if size > self.sizes[-1]:
            return None
        column = _PARALLEL_GROUPS if nodes is None else _NODE_COLUMNS.get(nodes, _NODE_COLUMNS[16])
        at = bisect_left(self.sizes, size)
        value = self.rows[at][column]
        if at and self.sizes[at] != size:
            below, before = self.sizes[at - 1], self.rows[at - 1][column]
            value = before + (value - before) * (size - below) / (self.sizes[at] - below)
        return value / self.rows[-1][column]
