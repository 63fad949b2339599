"""A machine on which MAPA was evaluated, as GPU bandwidth matrix with link types.

Source: MAPA (Ranganath et al., SC21), its repository's src/GpuTopology.hh, GPUs numbered from 0. NVLinks as there
(nominal GB/s per direction, 50 or 25; 20 on Pascal); every other pair has PCIe, 10 GB/s.
"""

from __future__ import annotations

import numpy as np

from workbench.model.bandwidth import BandwidthMatrix

__all__ = ["cube_mesh_16", "machine_of_links"]

Pairs = tuple[tuple[int, int], ...]

_PCIE_GB_S = 10.0


def cube_mesh_16() -> BandwidthMatrix:
    """A hypothetical cube mesh of 16 GPUs ("cubeMesh-16"), as published: four of its double links have 25 GB/s.

    Upstream's code overwrites the pairs 4-5 and 12-13 with PCIe, because its table lists them in reverse order; here
    they are the double links of that table.
    """
    two: Pairs = ((0, 3), (1, 2), (4, 5), (6, 7), (4, 15), (7, 12), (8, 10), (9, 10), (12, 13), (12, 15), (14, 15))
    slow_two: Pairs = ((0, 11), (1, 5), (3, 8), (9, 13))
    one: Pairs = ((0, 1), (0, 2), (1, 3), (2, 9), (2, 6), (5, 6), (5, 7), (4, 7), (4, 6), (6, 13), (8, 9), (8, 11))
    one += ((9, 11), (10, 14), (13, 14), (13, 15), (12, 14))
    return machine_of_links("cubeMesh-16", 16, (two, "NV2", 50.0), (slow_two, "NV2", 25.0), (one, "NV1", 25.0))


def machine_of_links(name: str, n: int, *links: tuple[Pairs, str, float]) -> BandwidthMatrix:
    """The matrix of `n` GPUs from groups of pairs with their link type and GB/s; PCIe joins all others."""
    gb_s = np.full((n, n), _PCIE_GB_S)
    types = [["SYS"] * n for _ in range(n)]
    for pairs, link_type, speed in links:
        for a, b in pairs:
            gb_s[a, b] = gb_s[b, a] = speed
            types[a][b] = types[b][a] = link_type
    return BandwidthMatrix(gb_s, source=f"MAPA {name}", link_types=tuple(tuple(row) for row in types))
