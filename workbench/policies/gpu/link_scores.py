"""Points that NVIDIA's device plugin gives for the links between two GPUs, derived from a bandwidth matrix.

Owns the points and the reading of links from a matrix; `best_effort` adds the points up.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from workbench.model.bandwidth import BandwidthMatrix

__all__ = ["NVLINK_SCORE", "PCIE_SCORES", "LastPairScores", "link_score", "pair_scores"]

#: Points for the nearest thing on the way that two GPUs share, by the names of `nvidia-smi topo -m`.
PCIE_SCORES = {"SYS": 10, "NODE": 20, "PHB": 30, "PXB": 40, "PIX": 50, "PSB": 60}

#: Points for each bonded NVLink.
NVLINK_SCORE = 100

#: More NVLinks than a pair of GPUs has, by name or guessed.
_MOST_NVLINKS = 99

_NVLINKS = re.compile(r"NV(\d{1,2})")


def link_score(link_type: str) -> int:
    """NVIDIA's points for a link type as printed by `nvidia-smi topo -m`.

    0 for a type that the allocator does not know. Several links between two GPUs are joined by plus signs and add
    up: ``NV2+NODE`` has 220 points.
    """
    score = 0
    for part in link_type.split("+"):
        nvlinks = _NVLINKS.fullmatch(part)
        score += NVLINK_SCORE * int(nvlinks.group(1)) if nvlinks else PCIE_SCORES.get(part, 0)
    return score


def pair_scores(matrix: BandwidthMatrix) -> npt.NDArray[np.int64]:
    """NVIDIA's points for the links of each pair of GPUs of a machine.

    `matrix`: its link types give the points if `link_score` knows at least one of them; otherwise the points are
    guessed from its bandwidths (see Notes).

    Returns ndarray of shape (n, n), int64: symmetric: if the link types of the two directions differ, the one with more
    points counts. 0 on the diagonal and for pairs without a link.

    Notes
    -----
    The guess reads the faster direction of each pair, so that a link that is slow one way still counts. The slowest
    link class is taken for PCIe across sockets and the next one for a single NVLink; a faster class counts as several
    NVLinks, as many as its mean bandwidth is times that of the single one. With one link class every pair has a single
    NVLink.

    Source: NVIDIA go-gpuallocator, besteffort_policy.go. Upstream adds the points of the PCIe path (at most 60) to
    those of the NVLinks; `nvidia-smi topo -m` prints no PCIe path for pairs with NVLinks, so that these points are
    missing here, and upstream may choose differently among sets with equal sums of NVLinks. A table with types such as
    ``NV2+NODE`` has both.
    """
    n = len(matrix)
    scores: npt.NDArray[np.int64] = np.zeros((n, n), dtype=np.int64)
    if matrix.link_types:
        scores[:] = [[link_score(name) for name in row] for row in matrix.link_types]
        np.fill_diagonal(scores, 0)
        scores = np.maximum(scores, scores.T)
    return scores if scores.any() else _guessed(matrix)


class LastPairScores:
    """Cache of `pair_scores` for the last matrix, because computing them costs more than many choices."""

    def __init__(self) -> None:
        self._last: tuple[BandwidthMatrix, npt.NDArray[np.int64]] | None = None

    def __call__(self, matrix: BandwidthMatrix) -> npt.NDArray[np.int64]:
        # By identity: equal matrices may have other link types.
        if self._last is None or self._last[0] is not matrix:
            self._last = matrix, pair_scores(matrix)
        return self._last[1]


def _guessed(matrix: BandwidthMatrix) -> npt.NDArray[np.int64]:
    n = len(matrix)
    weights = matrix.pair_weights_gb_s("max")
    healthy = BandwidthMatrix(np.where(np.eye(n, dtype=np.bool_), 0.0, weights))
    classes = healthy.link_classes("max")
    off_diagonal = ~np.eye(n, dtype=np.bool_)
    linked = sorted({int(c) for c in classes[off_diagonal & (weights > 0)]})
    means = {c: float(weights[off_diagonal & (classes == c)].mean()) for c in linked}
    scores: npt.NDArray[np.int64] = np.zeros((n, n), dtype=np.int64)
    for place, c in enumerate(linked):
        times = means[c] / means[linked[min(1, len(linked) - 1)]]
        points = NVLINK_SCORE * max(1, round(min(times, _MOST_NVLINKS)))
        scores[off_diagonal & (classes == c)] = PCIE_SCORES["SYS"] if place == 0 and len(linked) > 1 else points
    return scores
