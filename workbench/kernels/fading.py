"""Weights of the score by which pods without a topology constraint prefer HyperNodes that are already full."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.rows import unique_rows

__all__ = ["MAX_WEIGHT", "Fading", "Rings"]

MAX_WEIGHT = 1_000_000
"""Of a resource or a part of a score."""


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """Nodes grouped into rings: the nodes of a ring lie in the same domain (HyperNode) of every tier.

    `of_node` (ndarray of shape (n,), int32): ring of each node. `around` (ndarray of shape (rings, tiers + 1), int32):
    domain of each tier that holds the nodes of a ring: the smallest number if several do, -1 if none does. The last
    column, for the virtual top, is the number of domains.
    """

    of_node: NDArray[np.int32]
    around: NDArray[np.int32]

    @classmethod
    def of(
        cls, node_start: NDArray[np.int64], node_domains: NDArray[np.int32], tier_of: NDArray[np.int32], n_tiers: int
    ) -> Rings:
        """Group nodes into rings, given the domains (HyperNodes) that hold each node and the tier of each domain.

        Parameters
        ----------
        node_start : ndarray of shape (n + 1,), int64
            Offsets into ``node_domains``, ascending from 0.
        node_domains : ndarray of shape (m,), int32
            Domains that hold node i: ``node_domains[node_start[i]:node_start[i + 1]]``.
        tier_of : ndarray of shape (d,), int32
            Column of each domain's tier, from 0.
        n_tiers : int
            Number of tiers.
        """
        n, d = len(node_start) - 1, len(tier_of)
        around = np.full((n, n_tiers + 1), -1, dtype=np.int32)
        around[:, -1] = d
        # Assigned in falling order: the last assignment, of the smallest number, stays.
        backwards = np.argsort(-node_domains, kind="stable")
        node = np.repeat(np.arange(n), np.diff(node_start))[backwards]
        around[node, tier_of[node_domains[backwards]]] = node_domains[backwards]
        rings, of_node = unique_rows(around)
        return cls(of_node.astype(np.int32), np.ascontiguousarray(rings))


@dataclass(frozen=True, slots=True, eq=False)
class Fading:
    """Weights of the score by which pods without a topology constraint prefer nodes in full HyperNodes.

    Parameters
    ----------
    column : ndarray of shape (t,), int32
        Column in ``rings.around`` of each tier number, closest first; -1 for a tier number without a domain.
    by_tier : ndarray of shape (t,), float64
        Weight of each tier number; not negative.
    packing : ndarray of shape (r,), float64
        Weight of each resource in the fullness of a domain. 0: the resource adds nothing, but a domain in which it
        would overflow counts as empty; negative: the resource is ignored.
    scale : float
        The gain, 0 to 1, is multiplied by 100 and by this scale.

    Notes
    -----
    **Gain** of a node, added to the node's own score: the fullness that the domain of each tier around the node would
    have with the pod, averaged over the tier numbers with the weights ``by_tier`` and summed in their order; the
    fullness is 1 at a tier where no domain holds the node. **Fullness** of a domain: weighted mean of ``(used +
    request) / allocatable`` over the resources that are requested and have a weight; 0 if one of them would overflow.
    Source: docs/reference/volcano-topology.md, section 7.3.
    """

    rings: Rings
    column: NDArray[np.int32]
    by_tier: NDArray[np.float64]
    packing: NDArray[np.float64]
    scale: float

    def arguments(
        self, n: int, d: int, r: int
    ) -> tuple[
        NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], float
    ]:
        """Check rings and weights against the cluster's size; return them as arguments of a kernel's ``set_fading``.

        `n`, `d`, `r`: number of nodes, domains and resources. Raises InputError: wrong dtype or shape, a number out of
        range.
        """
        ring = as_array("rings", self.rings.of_node, np.int32, 1)
        around = as_array("around", self.rings.around, np.int32, 2)
        check_range("around", around, -1, d)
        check_length("rings", ring, n)
        check_range("rings", ring, 0, around.shape[0] - 1)
        column = as_array("column", self.column, np.int32, 1)
        check_range("column", column, -1, around.shape[1] - 1)
        by_tier = as_array("by_tier", self.by_tier, np.float64, 1)
        check_length("by_tier", by_tier, column.shape[0])
        if not bool((np.isfinite(by_tier) & (by_tier >= 0)).all()):
            raise InputError("negative or not finite", source="by_tier", expected="0 or more")
        packing = as_array("packing", self.packing, np.float64, 1)
        check_length("packing", packing, r)
        check_range("packing", packing, -1, MAX_WEIGHT)
        if not abs(self.scale) <= MAX_WEIGHT:
            raise InputError("not finite or too large", source="scale", expected=f"-{MAX_WEIGHT:g}..{MAX_WEIGHT:g}")
        return ring, around, column, by_tier, packing, float(self.scale)
