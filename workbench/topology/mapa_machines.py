"""The machines on which MAPA was evaluated, as GPU bandwidth matrices with link types.

Source: MAPA (Ranganath et al., SC21), its repository's src/GpuTopology.hh, GPUs numbered from 0. NVLinks as there
(nominal GB/s per direction, 50 or 25; 20 on Pascal); every other pair has PCIe, 10 GB/s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from workbench.model.bandwidth import BandwidthMatrix
from workbench.topology.machines import ONE_LINK, TWO_LINKS, dgx1_v100

__all__ = ["MAPA_MACHINES", "cube_mesh_16", "dgx1_p100", "summit", "torus_2d"]

Pairs = tuple[tuple[int, int], ...]

_PCIE_GB_S = 10.0


def dgx1_p100() -> BandwidthMatrix:
    """DGX-1 with eight P100 ("dgx-p"): NVLinks between the same pairs as in the DGX-1 with V100, one link each."""
    return _machine("dgx-p", 8, ((*TWO_LINKS, *ONE_LINK), "NV1", 20.0))


def summit() -> BandwidthMatrix:
    """A node of Summit ("summit"): two sockets with three V100 each; two NVLinks between any two GPUs of a socket."""
    return _machine("summit", 6, (((0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)), "NV2", 50.0))


def torus_2d() -> BandwidthMatrix:
    """A hypothetical 4 x 4 torus of GPUs ("torus-2d"), as published: 0-4 has no NVLink and some rings are
    not closed.
    """
    two: Pairs = ((0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (8, 9), (9, 10), (10, 11), (12, 13), (13, 14))
    two += ((14, 15), (0, 12), (3, 15))
    one: Pairs = ((0, 3), (4, 7), (8, 11), (12, 15), (1, 13), (2, 14))
    one += tuple((i, i + 4) for i in range(1, 12))
    return _machine("torus-2d", 16, (two, "NV2", 50.0), (one, "NV1", 25.0))


def cube_mesh_16() -> BandwidthMatrix:
    """A hypothetical cube mesh of 16 GPUs ("cubeMesh-16"), as published: four of its double links have 25 GB/s.

    Upstream's code overwrites the pairs 4-5 and 12-13 with PCIe, because its table lists them in reverse order; here
    they are the double links of that table.
    """
    two: Pairs = ((0, 3), (1, 2), (4, 5), (6, 7), (4, 15), (7, 12), (8, 10), (9, 10), (12, 13), (12, 15), (14, 15))
    slow_two: Pairs = ((0, 11), (1, 5), (3, 8), (9, 13))
    one: Pairs = ((0, 1), (0, 2), (1, 3), (2, 9), (2, 6), (5, 6), (5, 7), (4, 7), (4, 6), (6, 13), (8, 9), (8, 11))
    one += ((9, 11), (10, 14), (13, 14), (13, 15), (12, 14))
    return _machine("cubeMesh-16", 16, (two, "NV2", 50.0), (slow_two, "NV2", 25.0), (one, "NV1", 25.0))


def _machine(name: str, n: int, *links: tuple[Pairs, str, float]) -> BandwidthMatrix:
    gb_s = np.full((n, n), _PCIE_GB_S)
    types = [["SYS"] * n for _ in range(n)]
    for pairs, link_type, speed in links:
        for a, b in pairs:
            gb_s[a, b] = gb_s[b, a] = speed
            types[a][b] = types[b][a] = link_type
    return BandwidthMatrix(gb_s, source=f"MAPA {name}", link_types=tuple(tuple(row) for row in types))


#: By the name that MAPA gives.
MAPA_MACHINES: Mapping[str, Callable[[], BandwidthMatrix]] = {
    "dgx-v": dgx1_v100,
    "dgx-p": dgx1_p100,
    "summit": summit,
    "torus-2d": torus_2d,
    "cubeMesh-16": cube_mesh_16,
}
