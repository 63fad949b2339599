"""Gradients: HyperNodes that the newest Volcano tries, in order (docs/reference/volcano-topology.md, section 5.6).

HyperNodes are not tried if they are above the highest tier, outside the subtree that the record allows, or if their
nodes together were too small when the session began.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD
from workbench.model.topology import Topology

__all__ = ["Gradients", "large_enough", "reverse_and_cap"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
T = TypeVar("T")


def large_enough(idle: Longs, minimum: Longs) -> Flags:
    """Whether a request fits the idle resources of each HyperNode, resource by resource; idle of shape (d + 1, r)."""
    enough = np.ones(len(idle), dtype=np.bool_)
    # Column by column: numpy is slow along an axis as short as the resources.
    for column, amount in enumerate(minimum.tolist()):
        enough &= idle[:, column] >= amount
    return enough


class Gradients:
    """The gradients of one topology, found by walking down the HyperNodes; -1 is the virtual top throughout."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    @cached_property
    def _by_tier(self) -> list[tuple[int, Ints]]:
        """Domains of each tier in preorder of the forest, closest tier first."""
        tree = self.topology.domain_tree
        return list(zip(tree.tiers.tolist(), np.split(tree.tier_domains, tree.tier_start[1:-1]), strict=True))

    def start(self, given: int, record: int, highest: int) -> int | None:
        """HyperNode where the walk begins: the lower of the given one and the highest one that the record allows.

        Parameters
        ----------
        given : int
        record : int
            `NO_RECORD` where there is none.
        highest : int
            Highest tier allowed.

        Returns
        -------
        int or None
            None: the record itself is too high, or neither of the two contains the other.
        """
        if record == NO_RECORD:
            return given
        topology = self.topology
        if topology.domain_tier(record) > highest:
            return None
        allowed = record
        while allowed >= 0:
            above = int(topology.parent[allowed])
            if topology.domain_tier(above) > highest:
                break
            allowed = above
        if self.contains(allowed, given):
            return given
        return allowed if self.contains(given, allowed) else None

    def contains(self, outer: int, inner: int) -> bool:
        """Whether `outer` is `inner` or one of its ancestors."""
        if outer < 0 or inner < 0:
            return outer < 0
        place, end = self.topology.preorder
        return bool(place[outer] <= place[inner] < end[outer])

    def below(self, start: int, highest: int) -> list[tuple[int, Ints]]:
        """HyperNodes from `start` downwards by tier, closest first, each tier in byte order of the names."""
        topology = self.topology
        if start < 0:
            found = [(tier, topology.domains_at(tier)) for tier in topology.tiers if tier <= highest]
            if topology.top_tier <= highest:
                found.append((topology.top_tier, np.array([-1], dtype=np.int32)))
            return found
        place, end = topology.preorder
        found = []
        for tier, domains in self._by_tier:
            if tier <= highest:
                first, last = np.searchsorted(place[domains], [place[start], end[start]])
                if last > first:
                    found.append((tier, np.sort(domains[first:last])))
        return found

    def of(self, given: int, record: int, highest: int | None, large: Flags | None = None) -> list[tuple[int, Ints]]:
        """Gradients of a job, or of a sub-job inside a HyperNode.

        Parameters
        ----------
        given : int
        record : int
            `NO_RECORD` where there is none.
        highest : int, optional
            Highest tier allowed; None: not hard, the given HyperNode alone is tried.
        large : ndarray of shape (d + 1,), bool, optional
            Whether each HyperNode was large enough when the session began; not asked where there is a record.

        Returns
        -------
        list of (tier, domains)
        """
        if highest is None:
            return [(self.topology.domain_tier(given), np.array([given], dtype=np.int32))]
        start = self.start(given, record, highest)
        if start is None:
            return []
        found = self.below(start, highest)
        if record == NO_RECORD and large is not None:
            found = [(tier, domains[large[domains]]) for tier, domains in found]
        return [(tier, domains) for tier, domains in found if len(domains)]


def reverse_and_cap(gradients: Sequence[Sequence[T]], most: int) -> list[list[T]]:
    """Gradients for eviction: widest first, at most `most` HyperNodes; a gradient that is cut keeps its tail.

    `most` <= 0 leaves them as they are.
    """
    if most <= 0:
        return [list(gradient) for gradient in gradients]
    found = []
    for gradient in reversed(gradients):
        kept = list(gradient)[-most:] if most else []
        if not kept:
            break
        found.append(kept)
        most -= len(kept)
    return found
