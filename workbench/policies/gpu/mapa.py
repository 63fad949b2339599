"""`gpu-mapa`: MAPA's policy "preserve", which gives bandwidth to jobs that need it and keeps NVLinks for later jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from math import comb, factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.kernels.subsets import DEFAULT_LIMIT, device_lists, enumerate_masks
from workbench.model.arrays import Floats
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.notice import Notice
from workbench.policies.gpu.base import NodeGpus, PerPodGpuPolicy, lowest_indices, unlooked_notices
from workbench.policies.gpu.link_scores import NVLINK_SCORE, LastPairScores
from workbench.policies.parameters import parameter

__all__ = ["GpuMapa", "MapaParameters", "predicted_bandwidth_gb_s"]

Ints = npt.NDArray[np.intp]

#: Sets times orders of a ring that one answer may look at: all of them up to 8 GPUs, 6 of 16, about 4 of 72.
_MOST_RINGS = 2_000_000


@dataclass(frozen=True)
class MapaParameters:
    """Parameters of `gpu-mapa`."""

    pattern: str = parameter(
        "ring", "which GPUs of the job talk to each other", choices=("ring", "all"), source="MAPA, job file"
    )
    bandwidth_sensitive: bool = parameter(
        True, "the job needs bandwidth; else it leaves the NVLinks to others", source="MAPA, job file"
    )


class GpuMapa(PerPodGpuPolicy):
    """GPU policy that predicts the bandwidth of sets of GPUs; jobs that need no bandwidth leave the NVLinks to others.

    A job that needs bandwidth gets the set, and the order of its GPUs in a ring, with the highest
    `predicted_bandwidth_gb_s`. Any other job, and a pod of one GPU, gets the set that leaves the largest sum of NVLink
    bandwidth among the remaining free GPUs; ties: the largest sum of bandwidth along the pattern in which the job
    communicates. Last tie: lowest indices (upstream: the order of its graph miner).

    Notes
    -----
    Source: MAPA (Ranganath et al., SC21) and its repository, src/MapaPolicies.hh (preserve), src/TopoUtils.hh. The
    model was fitted on a DGX-1 V100; link types are read as in `link_scores`, two NVLinks or more count as two. On a
    node without a matrix, or with too many sets and rings to try them all, the pod gets the lowest indices. Not ported:
    upstream compares each set with an empty one, for which it predicts 12.3 GB/s, and so never places a pod for which
    only a pair without NVLink is free.
    """

    name = "gpu-mapa"

    def __init__(self, parameters: MapaParameters) -> None:
        self._parameters = parameters
        self._scores = LastPairScores()

    def choose_one(self, gpus: NodeGpus, count: int) -> int:
        if gpus.matrix is None or _n_rings(gpus.free.bit_count(), count) > _MOST_RINGS:
            return lowest_indices(gpus.free, count)
        free = np.array(indices_of(gpus.free), dtype=np.intp)
        sets = _sets(gpus.free, count)
        nvlinks = np.minimum(self._scores(gpus.matrix) // NVLINK_SCORE, 2)
        edges = _edges(count, self._parameters.pattern) if count > 1 else None
        if edges is not None and self._parameters.bandwidth_sensitive:
            best = int(np.argmax(_predicted_of_orders(sets, edges, nvlinks).max(axis=1)))
        else:
            best = self._preserving(gpus.matrix, nvlinks, free, sets, edges)
        return mask_of(sets[best].tolist())

    def _preserving(
        self, matrix: BandwidthMatrix, nvlinks: npt.NDArray[np.int64], free: Ints, sets: Ints, edges: Ints | None
    ) -> int:
        weights = np.where(np.eye(len(matrix), dtype=np.bool_), 0.0, matrix.pair_weights_gb_s())
        kept = np.where(nvlinks > 0, weights, 0.0)
        chosen = np.zeros((len(sets), len(matrix)))
        np.put_along_axis(chosen, sets, 1.0, axis=1)
        left = np.zeros(len(matrix))
        left[free] = 1.0
        outside = left - chosen
        left_gb_s = np.einsum("si,ij,sj->s", outside, kept, outside)
        own = _along(sets, edges, weights).max(axis=1) if edges is not None else np.zeros(len(sets))
        # Sums of the same numbers in another order may differ in the last digit.
        return int(np.lexsort((np.arange(len(sets)), -np.round(own, 6), -np.round(left_gb_s, 6)))[0])

    def warnings(self, questions: Sequence[tuple[NodeGpus, Sequence[int], int]]) -> list[Notice]:
        blind = sum(nodes for gpus, _, nodes in questions if gpus.matrix is None)
        large = sum(
            nodes
            for gpus, requests, nodes in questions
            if gpus.matrix is not None and _n_rings(gpus.free.bit_count(), max(requests)) > _MOST_RINGS
        )
        return unlooked_notices(self.name, blind, large, "too many rings to look at")


def predicted_bandwidth_gb_s(double: Floats, single: Floats, pcie: Floats) -> Floats:
    """Predicted bandwidth in GB/s of a collective, given the number of links of each type among its GPUs.

    `double`, `single`, `pcie`: ndarray of shape (m,), float64; double NVLinks, single NVLinks and PCIe paths of each
    set of GPUs. Returns ndarray of shape (m,), float64: may be negative: the formula is a fit, meant for comparing
    sets. Source: MAPA, src/Props.hh (getPredictedBW), 14 terms of the three counts.
    """
    x, y, z = (np.asarray(count, dtype=np.float64) for count in (double, single, pcie))
    terms = (
        (16.39670455, x),
        (4.536821878, y),
        (1.55623404, z),
        (-20.69484581, 1 / (x + 1)),
        (-9.467461958, 1 / (y + 1)),
        (7.615106783, 1 / (z + 1)),
        (-7.973335727, x * y),
        (12.73323772, y * z),
        (-4.195655221, x * z),
        (-8.413419363, 1 / (x * y + 1)),
        (62.85125807, 1 / (y * z + 1)),
        (27.41832588, 1 / (x * z + 1)),
        (-5.114108079, x * y * z),
        (-46.97390071, 1 / (x * y * z + 1)),
    )
    total: Floats = np.sum([factor * term for factor, term in terms], axis=0)
    return total


def _n_rings(n_free: int, count: int) -> int:
    return comb(n_free, count) * (factorial(count - 1) // 2 if count > 2 else 1)


def _sets(free: int, count: int) -> Ints:
    """Every set of `count` GPUs out of the mask `free`, in lexicographic order: intp (sets, count)."""
    starts = range(0, comb(free.bit_count(), count), DEFAULT_LIMIT)
    return np.concatenate([device_lists(enumerate_masks(free, count, start=start)) for start in starts])


def _predicted_of_orders(sets: Ints, edges: Ints, nvlinks: npt.NDArray[np.int64]) -> Floats:
    """Predicted bandwidth (GB/s) of each set of GPUs for each order in which they communicate: float64 (sets, orders).

    ``edges`` has the pairs of positions that communicate in each order; ``nvlinks`` (n, n) the NVLinks of each
    pair, 0 to 2. The model depends only on the numbers of links, and few different numbers occur, so it is
    evaluated once for each.
    """
    n_edges = edges.shape[1]
    double, single = np.indices((n_edges + 1, n_edges + 1))
    table = predicted_bandwidth_gb_s(double, single, np.maximum(n_edges - double - single, 0)).ravel()
    # A double NVLink counts n_edges + 1, so that one sum tells both counts.
    found: Floats = table[_along(sets, edges, np.array([0, 1, n_edges + 1])[nvlinks])]
    return found


def _along(sets: Ints, edges: Ints, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sum of ``values`` (n, n) over the communicating pairs of each set of GPUs in each order: (sets, orders)."""
    total = np.zeros((len(sets), len(edges)), dtype=values.dtype)
    for edge in range(edges.shape[1]):
        total += values[sets[:, edges[:, edge, 0]], sets[:, edges[:, edge, 1]]]
    return total


@lru_cache(maxsize=32)
def _edges(count: int, pattern: str) -> Ints:
    """Pairs of positions that communicate in a pattern ("ring" or "all"): intp (orders, edges, 2).

    A ring of ``count`` GPUs has several different orders; "all" has one. A ring of two is one pair used both ways,
    so that its link counts twice, as upstream counts it.
    """
    if pattern == "all":
        orders = [list(combinations(range(count), 2))]
    else:
        rings = [(0, *order) for order in permutations(range(1, count)) if order[0] <= order[-1]]
        orders = [list(zip(ring, (*ring[1:], ring[0]), strict=True)) for ring in rings]
    edges: Ints = np.array(orders, dtype=np.intp)
    return edges
