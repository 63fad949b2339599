"""GPU links inside well-known machines, as bandwidth matrices.

The numbers are nominal, per direction, as published for the link; `with_noise` spreads them as measurements spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from workbench.errors import InputError, UnknownNameError
from workbench.model.bandwidth import BandwidthMatrix

__all__ = ["MACHINES", "dgx1_v100", "hgx_h100", "machine", "with_noise"]

#: GB/s of the GPU's own memory, which measuring tools print on the diagonal; never used.
LOCAL_V100_GB_S = 750.0
LOCAL_H100_GB_S = 2600.0

#: Pairs of the hybrid cube mesh joined by two NVLinks and by one.
TWO_LINKS = ((0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7))
ONE_LINK = ((0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7))


def dgx1_v100() -> BandwidthMatrix:
    """DGX-1 with eight V100 in a hybrid cube mesh: 50, 25 or 10 GB/s for two NVLinks, one, or PCIe.

    Source: MAPA (Ranganath et al., SC21), machine "dgx-v" of its repository, nominal GB/s per direction.
    """
    gb_s = np.full((8, 8), 10.0)
    for pairs, speed in ((TWO_LINKS, 50.0), (ONE_LINK, 25.0)):
        for a, b in pairs:
            gb_s[a, b] = gb_s[b, a] = speed
    np.fill_diagonal(gb_s, LOCAL_V100_GB_S)
    return BandwidthMatrix(gb_s, source="dgx1-v100")


def hgx_h100() -> BandwidthMatrix:
    """HGX with eight H100 behind NVSwitch: 450 GB/s between any two (18 NVLinks of 25 GB/s per direction)."""
    gb_s = np.full((8, 8), 450.0)
    np.fill_diagonal(gb_s, LOCAL_H100_GB_S)
    return BandwidthMatrix(gb_s, source="hgx-h100")


#: Machines by the name that presets take.
MACHINES: Mapping[str, Callable[[], BandwidthMatrix]] = {"dgx1-v100": dgx1_v100, "hgx-h100": hgx_h100}


def machine(name: str) -> BandwidthMatrix:
    """The matrix of a machine by name; UnknownNameError for a name that is not in `MACHINES`."""
    if name not in MACHINES:
        raise UnknownNameError("machine", name, MACHINES)
    return MACHINES[name]()


def with_noise(matrix: BandwidthMatrix, noise: float, rng: np.random.Generator) -> BandwidthMatrix:
    """The matrix as a benchmark might have measured it.

    Parameters
    ----------
    matrix : BandwidthMatrix
    noise : float
        Relative standard deviation, 0 <= noise <= 0.5; each direction of a pair is drawn on its own, so the result is
        asymmetric. Values are cut at three deviations and rounded to 0.01 GB/s like the tools' printouts.
    rng : numpy.random.Generator
        Where the randomness comes from; seed it.

    Raises
    ------
    InputError
        Noise out of range.
    """
    if not 0.0 <= noise <= 0.5:
        raise InputError("noise out of range", source="noise", got=str(noise), expected="0 to 0.5")
    spread = np.clip(rng.standard_normal(matrix.gb_s.shape), -3.0, 3.0) * noise
    measured = np.asarray(np.round(np.maximum(matrix.gb_s * (1.0 + spread), 0.0), 2), dtype=np.float64)
    return BandwidthMatrix(measured, labels=matrix.labels, source=f"{matrix.source}, noise {noise:g}")
