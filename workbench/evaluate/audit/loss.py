"""Whether a running gang sits farther apart than necessary: where its pods meet now, and where they could meet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.evaluate.closeness import Closeness
from workbench.model.counted import counted
from workbench.model.topology import TOP, Topology, place_name

if TYPE_CHECKING:
    from workbench.evaluate.audit.observed import Audit

__all__ = ["MeetingPlace", "by_loss", "loss_sentence", "meeting_place", "node_indices", "pairs_beyond"]

#: Gangs that a sentence names; the rest is counted.
_NAMED = 5


class MeetingPlace(NamedTuple):
    """The closest HyperNode that holds all pods of a gang.

    Attributes
    ----------
    hypernode : str
        The name of the virtual top (`VIRTUAL_TOP`) where no HyperNode holds all the pods.
    tier : int
        Smaller is closer.
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

    Parameters
    ----------
    topology : Topology
    nodes : ndarray of shape (p,), int32
        A node's index per pod; -1 for a node outside the topology, with which everything meets in the whole cluster.

    Returns
    -------
    MeetingPlace or None
        None without nodes.
    """
    if not len(nodes):
        return None
    domain = TOP if (nodes < 0).any() else Closeness(topology, np.unique(nodes)).common_domain()
    return MeetingPlace(topology.domain_name(domain), topology.domain_tier(domain))


def pairs_beyond(topology: Topology, nodes: npt.NDArray[np.int32], tier: int) -> int:
    """Number of pairs of pods whose nodes meet only above a tier.

    Parameters
    ----------
    topology : Topology
    nodes : ndarray of shape (p,), int32
        A node's index per pod; -1 for a node outside the topology, which meets every other pod's in the whole cluster.
    tier : int
    """
    known, weights = np.unique(nodes[nodes >= 0], return_counts=True)
    closeness = Closeness(topology, known)
    _, by_level = closeness.pair_counts(weights.astype(np.int64))
    beyond = sum(int(count) for at, count in zip(closeness.tiers, by_level, strict=True) if at > tier)
    outside = len(nodes) - int(weights.sum())
    if topology.top_tier > tier:
        beyond += outside * int(weights.sum()) + outside * (outside - 1) // 2
    return beyond


def by_loss(audits: Collection[Audit]) -> list[Audit]:
    """Gangs with the largest loss first: by pairs beyond, then by tiers lost, then by ``namespace/name``."""

    def loss(told: Audit) -> tuple[bool, int, int, bytes]:
        tiers = told.is_in.tier - told.could_be_in.tier if told.is_in and told.could_be_in else 0
        return not told.could_be_closer, -told.pairs_beyond, -max(tiers, 0), told.gang.key.encode()

    return sorted(audits, key=loss)


def loss_sentence(audits: Collection[Audit]) -> str:
    """How many running gangs could be closer by one policy, and which, the largest loss first.

    Parameters
    ----------
    audits : collection of Audit
        Of gangs that run, all by one policy.
    """
    closer = [told for told in by_loss(audits) if told.could_be_closer]
    of = counted(len(audits), "running gang")
    if not closer:
        return f"none of {of} could be closer"
    moves = [f"{told.gang.key} {_name(told.is_in)} → {_name(told.could_be_in)}" for told in closer[:_NAMED]]
    more = f" and {len(closer) - _NAMED:,} more" if len(closer) > _NAMED else ""
    return f"{len(closer)} of {of} could be closer: {', '.join(moves)}{more}"


def _name(place: MeetingPlace | None) -> str:
    return "" if place is None else place.name
