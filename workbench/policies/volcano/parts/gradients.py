"""Gradients: lists of HyperNodes that Volcano tries one after another, a list per tier, closest tier first.

HyperNodes are not tried if they are above the highest tier, too far from the record, or if their nodes together were
too small when the session began. The walk over the tree is the compiled search's own (`DomainTree.compiled`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD
from workbench.model.arrays import Ints, Longs
from workbench.model.topology import Topology

__all__ = ["V1_13", "V1_15", "GradientRule", "Gradients", "large_enough"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class GradientRule:
    """How a release of Volcano decides which HyperNodes are tried for a job.

    Attributes
    ----------
    virtual_top : bool
        One HyperNode above all others holds every node, and is tried if its tier is allowed.
    climbs : bool
        Which HyperNodes are near the record (the HyperNode in which the job is allocated so far). True: those inside
        the highest HyperNode reached by going up from the record as long as the tier is allowed. False: those whose
        lowest common ancestor with the record has an allowed tier. The two differ only if some HyperNode is inside
        another one of an equal or lower tier.
    """

    virtual_top: bool
    climbs: bool


V1_15 = GradientRule(virtual_top=True, climbs=True)
V1_13 = GradientRule(virtual_top=False, climbs=False)


def large_enough(idle: Longs, minimum: Longs) -> Flags:
    """Whether the amounts in ``minimum`` (r,) are idle in each HyperNode, for every resource: bool (d + 1,).

    ``idle`` has shape (d + 1, r), the virtual top last.
    """
    enough = np.ones(len(idle), dtype=np.bool_)
    # Column by column: numpy is slow along an axis as short as the resources.
    for column, amount in enumerate(minimum.tolist()):
        enough &= idle[:, column] >= amount
    return enough


class Gradients:
    """Finds the HyperNodes that Volcano tries for a job in one topology.

    HyperNodes are indices of the topology; -1 is the virtual top, which holds every node.
    """

    def __init__(self, topology: Topology, rule: GradientRule = V1_15) -> None:
        self.topology = topology
        self.rule = rule

    def of(self, given: int, record: int, highest: int | None, large: Flags | None = None) -> list[tuple[int, Ints]]:
        """HyperNodes that are tried for a job, or for a sub-job inside a HyperNode: one list (gradient) per tier.

        Returns list of (int, ndarray of int32): tier and HyperNodes of each gradient, the closest tier first,
        HyperNodes in byte order of their names; tiers without a HyperNode to try are left out.

        Parameters
        ----------
        given : int
            HyperNode inside which the search stays; -1: the virtual top.
        record : int
            HyperNode in which the job or sub-job is allocated so far; `NO_RECORD`: none.
        highest : int, optional
            Highest tier allowed; None: no hard limit, and the given HyperNode alone is tried.
        large : ndarray of shape (d + 1,), bool, optional
            Whether each HyperNode was large enough when the session began, the virtual top last; ignored if there is a
            record. None: all were.
        """
        tree = self.topology.domain_tree.compiled
        found = tree.gradients(given, record if self.rule.climbs else NO_RECORD, highest)
        for domains in found:
            domains.sort()
        if not self.rule.virtual_top:
            found = [domains for domains in found if domains[0] >= 0]
        if highest is not None:
            kept = large
            if record != NO_RECORD:
                kept = None if self.rule.climbs else self._meets(record, highest)
            if kept is not None:
                found = [domains[kept[domains]] for domains in found]
        return [(self.topology.domain_tier(int(domains[0])), domains) for domains in found if len(domains)]

    def _meets(self, record: int, highest: int) -> Flags:
        """Whether the LCA of each domain and ``record`` (the job's HyperNode so far) has an allowed tier: bool (d,)."""
        common = self.topology.forest.lca_against(record)
        meets: Flags = (common >= 0) & (self.topology.tier[common] <= highest)
        return meets
