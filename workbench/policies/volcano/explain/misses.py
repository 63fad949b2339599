"""Nearest misses of a job that stays pending: per tier, the HyperNode with room for most of the job's pods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
import numpy.typing as npt

from workbench.model.placement import NearestMiss
from workbench.policies.base import Request

__all__ = ["RoomIn", "best_of", "nearest_misses"]

RoomIn = Callable[[npt.NDArray[np.int32]], npt.NDArray[np.int64]]


def nearest_misses(
    request: Request,
    known: Mapping[int, NearestMiss],
    allowed: npt.NDArray[np.bool_] | None = None,
    room: RoomIn | None = None,
) -> tuple[NearestMiss, ...]:
    """Nearest miss (HyperNode with room for most of the job's pods) of each tier that the job may use, closest first.

    Tiers where no HyperNode was tried are included.

    Parameters
    ----------
    request : Request
        The request before a pod of the job is placed.
    known : mapping of int to NearestMiss
        Misses that a search found, by tier; returned unchanged.
    allowed : ndarray of shape (d + 1,), bool, optional
        Whether the job's highest tier and record allow each HyperNode, the virtual top last; None: all are allowed.
    room : callable, optional
        Function from HyperNodes (-1: the virtual top) to the number of the job's pods that fit in each, as a search
        counted them; None: pods are counted here.

    Returns
    -------
    tuple of NearestMiss
        For a tier that is not in `known`, the HyperNode with room for most of the needed pods; ties: the smallest name.
        Room is exact for identical pods, an upper bound for several roles.
    """
    topology = request.snapshot.topology
    tier_of = np.append(topology.tier, topology.top_tier)
    usable = np.ones(len(tier_of), dtype=np.bool_) if allowed is None else allowed
    per_tier = {
        tier: domains
        for tier in (*topology.tiers, topology.top_tier)
        if tier not in known and len(domains := np.flatnonzero(usable & (tier_of == tier)).astype(np.int32))
    }
    found = dict(known)
    if per_tier:
        needs = max(request.progress().missing, 1)
        room = room or _room_by_roles(request)
        domains = np.concatenate(list(per_tier.values()))
        domains[domains == topology.n_domains] = -1
        # All at once: what a search looks up for one tier serves the others, too.
        held = np.minimum(room(domains), needs)
        first = 0
        for tier, mine in per_tier.items():
            best = first + int(np.argmax(held[first : first + len(mine)]))
            found[tier] = NearestMiss(tier, topology.domain_name(int(domains[best])), int(held[best]), needs)
            first += len(mine)
    return tuple(found[tier] for tier in sorted(found))


def _room_by_roles(request: Request) -> RoomIn:
    """Make a function that bounds the number of the job's pods that fit in each HyperNode, counted role by role."""
    topology, demand = request.snapshot.topology, request.demand
    progress = request.progress()
    held = np.zeros(topology.n_domains + 1, dtype=np.int64)
    for role in demand.order:
        left = progress.left[role]
        if left:
            room = demand.capacity(role, demand.idle, left)
            held += np.minimum(topology.domain_sums(room[:, None])[:, 0], left)
    return held.__getitem__


def best_of(misses: Collection[NearestMiss]) -> NearestMiss:
    """The miss whose HyperNode has room for most of the pods; ties: the closest tier.

    There must be at least one miss.
    """
    return max(misses, key=lambda miss: (miss.holds, -miss.tier))
