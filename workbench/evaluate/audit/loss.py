"""Whether a running gang sits farther apart than necessary: where its pods meet now, and where they could meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.evaluate.closeness import Closeness
from workbench.model.topology import TOP, Topology, place_name

__all__ = ["MeetingPlace", "meeting_place", "node_indices", "pairs_beyond"]


class MeetingPlace(NamedTuple):
    """The closest HyperNode that holds all pods of a gang.

    `hypernode`: the name of the virtual top (`VIRTUAL_TOP`) where no HyperNode holds all the pods. `tier`: smaller is
    closer.
    """

    hypernode: str
    tier: int

    @property
    def name(self) -> str:
        """The HyperNode as people call it: the virtual top is the whole cluster."""
        return place_name(self.hypernode)

    def __str__(self) -> str:
        return f"{self.name} (tier {self.tier})"

    def to_dict(self) -> dict[str, Any]:
        return {"hypernode": self.hypernode, "tier": self.tier}


def node_indices(topology: Topology, nodes: Sequence[str]) -> npt.NDArray[np.int32]:
    """Indices of nodes, int32 (p,); -1 for a node that the topology does not have."""
    return np.array([topology.node(name) if topology.has_node(name) else -1 for name in nodes], dtype=np.int32)


def meeting_place(topology: Topology, nodes: npt.NDArray[np.int32]) -> MeetingPlace | None:
    """The closest HyperNode that holds all the nodes.

    Returns None without nodes.

    `nodes` (ndarray of shape (p,), int32): a node's index per pod; -1 for a node outside the topology, with which
    everything meets in the whole cluster.
    """
    if not len(nodes):
        return None
    domain = TOP if (nodes < 0).any() else Closeness(topology, np.unique(nodes)).common_domain()
    return MeetingPlace(topology.domain_name(domain), topology.domain_tier(domain))


def pairs_beyond(topology: Topology, nodes: npt.NDArray[np.int32], tier: int) -> int:
    """Number of pairs of pods whose nodes meet only above a tier.

    `nodes` (ndarray of shape (p,), int32): a node's index per pod; -1 for a node outside the topology, which meets
    every other pod's in the whole cluster.
    """
    known, weights = np.unique(nodes[nodes >= 0], return_counts=True)
    closeness = Closeness(topology, known)
    _, by_level = closeness.pair_counts(weights.astype(np.int64))
    beyond = sum(int(count) for at, count in zip(closeness.tiers, by_level, strict=True) if at > tier)
    outside = len(nodes) - int(weights.sum())
    if topology.top_tier > tier:
        beyond += outside * int(weights.sum()) + outside * (outside - 1) // 2
    return beyond
