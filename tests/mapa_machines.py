"""The machines on which MAPA was evaluated, by the names that MAPA gives (see `workbench.topology.machines`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.model.bandwidth import BandwidthMatrix
from workbench.topology.machines import ONE_LINK, TWO_LINKS, Pairs, cube_mesh_16, dgx1_v100, machine_of_links


def dgx1_p100() -> BandwidthMatrix:
    """DGX-1 with eight P100 ("dgx-p"): NVLinks between the same pairs as in the DGX-1 with V100, one link each."""
    return machine_of_links("dgx-p", 8, ((*TWO_LINKS, *ONE_LINK), "NV1", 20.0))


def summit() -> BandwidthMatrix:
    """A node of Summit ("summit"): two sockets with three V100 each; two NVLinks between any two GPUs of a socket."""
    return machine_of_links("summit", 6, (((0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)), "NV2", 50.0))


def torus_2d() -> BandwidthMatrix:
    """A hypothetical 4 x 4 torus of GPUs ("torus-2d"), as published: 0-4 has no NVLink and some rings are
    not closed.
    """
    two: Pairs = ((0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (8, 9), (9, 10), (10, 11), (12, 13), (13, 14))
    two += ((14, 15), (0, 12), (3, 15))
    one: Pairs = ((0, 3), (4, 7), (8, 11), (12, 15), (1, 13), (2, 14))
    one += tuple((i, i + 4) for i in range(1, 12))
    return machine_of_links("torus-2d", 16, (two, "NV2", 50.0), (one, "NV1", 25.0))


MAPA_MACHINES: Mapping[str, Callable[[], BandwidthMatrix]] = {
    "dgx-v": dgx1_v100,
    "dgx-p": dgx1_p100,
    "summit": summit,
    "torus-2d": torus_2d,
    "cubeMesh-16": cube_mesh_16,
}
