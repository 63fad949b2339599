"""GPU and NPU links inside well-known machines, as bandwidth matrices with link types.

The bandwidths are nominal, per direction, as published for the link; `with_noise` adds the noise of measurements,
`with_degraded_links` slows some links down. The diagonal (a device's own memory, never used) is 0 if no source gives a
value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError, UnknownNameError, named_arguments
from workbench.model.bandwidth import BandwidthMatrix

__all__ = [
    "MACHINES",
    "ascend_910b",
    "ascend_910c",
    "cube_mesh_16",
    "dgx1_v100",
    "dgx2",
    "dgx_a100",
    "hgx_h100",
    "machine",
    "machine_of_links",
    "mi300x",
    "nvl72",
    "pcie_one_socket",
    "pcie_two_sockets",
    "resource_of",
    "supernode_384",
    "with_degraded_links",
    "with_noise",
]

Pairs = tuple[tuple[int, int], ...]
_PCIE_GB_S = 10.0


def cube_mesh_16() -> BandwidthMatrix:
    """A hypothetical cube mesh of 16 GPUs ("cubeMesh-16"), as published: four of its double links have 25 GB/s.

    Source: MAPA (Ranganath et al., SC21), its repository's src/GpuTopology.hh, GPUs numbered from 0; NVLinks as there,
    50 or 25 GB/s per direction; every other pair has PCIe, 10 GB/s.

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


#: GB/s of a GPU's own memory, which measuring tools print on the diagonal; never used.
LOCAL_V100_GB_S = 750.0
LOCAL_H100_GB_S = 2600.0
#: Pairs of the hybrid cube mesh joined by two NVLinks and by one.
TWO_LINKS = ((0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7))
ONE_LINK = ((0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7))
#: One level of a machine: number of devices per group, type and GB/s of a link inside a group.
Level = tuple[int, str, float]


def dgx1_v100() -> BandwidthMatrix:
    """DGX-1 with eight V100 in a hybrid cube mesh: 50, 25 or 10 GB/s for two NVLinks, one, or PCIe.

    Source: MAPA (Ranganath et al., SC21), machine "dgx-v" of its repository, nominal GB/s per direction.
    """
    gb_s = np.full((8, 8), 10.0)
    types = np.full((8, 8), "SYS", dtype=object)
    for pairs, speed, kind in ((TWO_LINKS, 50.0, "NV2"), (ONE_LINK, 25.0, "NV1")):
        for a, b in pairs:
            gb_s[a, b] = gb_s[b, a] = speed
            types[a, b] = types[b, a] = kind
    return _matrix("dgx1-v100", gb_s, types, LOCAL_V100_GB_S)


def dgx2() -> BandwidthMatrix:
    """DGX-2 with sixteen V100 behind NVSwitch: 150 GB/s between any two (six NVLinks of 25 GB/s).

    Source: NVIDIA DGX-2 datasheet; ``nvidia-smi topo -m`` prints NV6 everywhere.
    """
    return _levels("dgx2", (16, "NV6", 150.0))


def dgx_a100() -> BandwidthMatrix:
    """DGX A100 with eight GPUs behind NVSwitch: 300 GB/s between any two (twelve NVLinks of 25 GB/s).

    Source: NVIDIA DGX A100 datasheet (600 GB/s both ways).
    """
    return _levels("dgx-a100", (8, "NV12", 300.0))


def hgx_h100() -> BandwidthMatrix:
    """HGX with eight H100 behind NVSwitch: 450 GB/s between any two (18 NVLinks of 25 GB/s per direction).

    Source: NVIDIA H100 datasheet (900 GB/s both ways).
    """
    return _levels("hgx-h100", (8, "NV18", 450.0), local_gb_s=LOCAL_H100_GB_S)


def pcie_one_socket() -> BandwidthMatrix:
    """Eight GPUs without NVLink on one processor: four on each of two PCIe 3.0 switches.

    14.8 GB/s under one switch and 12.1 over the host bridge: the project's figures, see datasets/link-speeds.
    """
    return _levels("pcie-1-socket", (4, "PIX", 14.8), (8, "PHB", 12.1))


def pcie_two_sockets() -> BandwidthMatrix:
    """Eight GPUs without NVLink on two processors: two PCIe 3.0 switches of two GPUs on each.

    14.8 GB/s under one switch, 11 between the switches of a processor, 10 between processors: the project's figures,
    see datasets/link-speeds.
    """
    return _levels("pcie-2-sockets", (2, "PIX", 14.8), (4, "NODE", 11.0), (8, "SYS", 10.0))


def mi300x() -> BandwidthMatrix:
    """Eight MI300X in a full mesh: one XGMI link of 64 GB/s per direction between any two.

    Source: AMD Instinct MI300X platform datasheet (128 GB/s both ways a link); TransferBench reaches 48.
    """
    return _levels("mi300x", (8, "XGMI", 64.0))


def ascend_910b() -> BandwidthMatrix:
    """Eight Ascend 910B in a full mesh: one HCCS link of 28 GB/s per direction between any two.

    Source: Huawei (392 GB/s both ways over the seven links of an NPU); ``npu-smi info -t topo`` prints HCCS everywhere.
    """
    return _levels("ascend-910b", (8, "HCCS", 28.0))


def ascend_910c() -> BandwidthMatrix:
    """A node of eight Ascend 910C, which the scheduler counts as sixteen dies: SIO in a package, HCCS through switches.

    270 GB/s per direction between the dies of a package, 196 from a die through the switches. Source: CloudMatrix384
    (arXiv 2506.12708), section on the 910C.
    """
    return _levels("ascend-910c", (2, "SIO", 270.0), (16, "HCCS_SW", 196.0))


def nvl72() -> BandwidthMatrix:
    """GB200 NVL72: 72 GPUs behind one NVLink switch system, 900 GB/s between any two (18 NVLinks of 50 GB/s).

    Source: NVIDIA GB200 NVL72 datasheet (1.8 TB/s both ways).
    """
    return _levels("nvl72", (72, "NV18", 900.0))


def supernode_384() -> BandwidthMatrix:
    """A supernode of 384 NPUs, 48 nodes of eight: 392 GB/s inside a node, 3 % less between nodes.

    Source: CloudMatrix384 (arXiv 2506.12708): 392 GB/s per NPU and direction over its scale-up network, and less than
    3 % lost between nodes.
    """
    return _levels("supernode-384", (8, "HCCS_SW", 392.0), (384, "HCCS_SW", 380.0))


#: Machines by the name that presets take.
MACHINES: Mapping[str, Callable[[], BandwidthMatrix]] = {
    "dgx1-v100": dgx1_v100,
    "dgx2": dgx2,
    "dgx-a100": dgx_a100,
    "hgx-h100": hgx_h100,
    "pcie-1-socket": pcie_one_socket,
    "pcie-2-sockets": pcie_two_sockets,
    "mi300x": mi300x,
    "ascend-910b": ascend_910b,
    "ascend-910c": ascend_910c,
    "nvl72": nvl72,
    "supernode-384": supernode_384,
    "cube-mesh-16": cube_mesh_16,
}
_RESOURCES = {
    "mi300x": "amd.com/gpu",
    "ascend-910b": "huawei.com/Ascend910",
    "ascend-910c": "huawei.com/Ascend910",
    "supernode-384": "huawei.com/Ascend910",
}


@named_arguments
def machine(name: str) -> BandwidthMatrix:
    """The bandwidth matrix of a well-known machine by name; raises UnknownNameError for a name not in `MACHINES`.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.machine("dgx1-v100")
    BandwidthMatrix(8 GPUs, 3 link classes, from dgx1-v100)
    """
    if name not in MACHINES:
        raise UnknownNameError("machine", name, MACHINES)
    return MACHINES[name]()


def resource_of(name: str) -> str:
    """Name of the Kubernetes resource for the GPUs or NPUs of a well-known machine."""
    return _RESOURCES.get(name, "nvidia.com/gpu")


def _levels(name: str, *levels: Level, local_gb_s: float = 0.0) -> BandwidthMatrix:
    """Matrix of GPUs in nested groups, innermost first: a pair has the link of its innermost common group."""
    n = levels[-1][0]
    gb_s = np.zeros((n, n))
    types = np.full((n, n), "", dtype=object)
    for size, kind, speed in reversed(levels):
        group = np.arange(n) // size
        inside = group[:, None] == group[None, :]
        gb_s[inside] = speed
        types[inside] = kind
    return _matrix(name, gb_s, types, local_gb_s)


def _matrix(
    name: str, gb_s: npt.NDArray[np.float64], types: npt.NDArray[np.object_], local_gb_s: float
) -> BandwidthMatrix:
    np.fill_diagonal(gb_s, local_gb_s)
    np.fill_diagonal(types, "")
    return BandwidthMatrix(gb_s, source=name, link_types=tuple(map(tuple, types.tolist())))


@named_arguments
def with_noise(matrix: BandwidthMatrix, noise: float, rng: np.random.Generator) -> BandwidthMatrix:
    """A copy of a bandwidth matrix with random noise, as if a benchmark had measured it.

    Raises InputError: noise out of range.

    `noise`: relative standard deviation, 0 <= noise <= 0.5; each direction of a pair is drawn on its own, so the result
    is asymmetric. Values are cut at three deviations and rounded to 0.01 GB/s like the tools' printouts. `rng`: random
    generator; seed it for reproducible results.

    Examples
    --------
    >>> import numpy
    >>> import workbench as wb
    >>> measured = wb.with_noise(wb.machine("dgx2"), 0.02, numpy.random.default_rng(0))
    >>> float(measured.gb_s[0, 1])
    149.6
    """
    if not 0.0 <= noise <= 0.5:
        raise InputError("noise out of range", source="noise", got=str(noise), expected="0 to 0.5")
    spread = np.clip(rng.standard_normal(matrix.gb_s.shape), -3.0, 3.0) * noise
    measured = np.asarray(np.round(np.maximum(matrix.gb_s * (1.0 + spread), 0.0), 2), dtype=np.float64)
    return replace(matrix, gb_s=measured, source=f"{matrix.source}, noise {noise:g}")


def with_degraded_links(
    matrix: BandwidthMatrix, n_links: int, factor: float, rng: np.random.Generator, directions: int = 1
) -> BandwidthMatrix:
    """A copy of a bandwidth matrix in which random links are slower, as with a bad cable or a link at a lower speed.

    Raises InputError: more links than pairs, or a number out of range.

    Parameters
    ----------
    n_links : int
        Pairs to slow down, at most as many as there are; each is drawn once.
    factor : float
        Remaining part of the speed, 0 <= factor <= 1; the result is rounded to 0.01 GB/s.
    rng : numpy.random.Generator
        Random generator for the pairs and the direction; seed it for reproducible results.
    directions : {1, 2}
        Number of directions in which a link becomes slow.
    """
    rows, columns = np.triu_indices(len(matrix), 1)
    if not 0 <= n_links <= len(rows):
        expected = f"0 to {len(rows)}"
        raise InputError("degraded links out of range", source="n_links", got=str(n_links), expected=expected)
    if not 0.0 <= factor <= 1.0:
        raise InputError("factor out of range", source="factor", got=str(factor), expected="0 to 1")
    if directions not in (1, 2):
        raise InputError("directions out of range", source="directions", got=str(directions), expected="1 or 2")
    drawn = np.sort(rng.choice(len(rows), size=n_links, replace=False))
    turned = rng.random(n_links) < 0.5
    a, b = np.where(turned, columns[drawn], rows[drawn]), np.where(turned, rows[drawn], columns[drawn])
    gb_s = matrix.gb_s.copy()
    gb_s[a, b] = np.round(gb_s[a, b] * factor, 2)
    if directions == 2:
        gb_s[b, a] = np.round(gb_s[b, a] * factor, 2)
    return replace(matrix, gb_s=gb_s, source=f"{matrix.source}, {n_links} degraded links")
