"""`level_names`: the names that tiers of HyperNodes have as levels of a Kueue topology."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.topology import Topology

__all__ = ["level_names"]


def level_names(topology: Topology, tiers: Sequence[int]) -> list[str]:
    """Name of each tier as a level: the one that its HyperNodes share, else ``tier-2``; no name twice.

    Parameters
    ----------
    tiers : sequence of int
        Widest first.
    """
    found: list[str] = []
    for tier in tiers:
        names = {topology.tier_names[domain] for domain in topology.domains_at(tier)}
        name = names.pop() if len(names) == 1 else ""
        found.append(name if name and name not in (*found, HOSTNAME_LABEL) else f"tier-{tier}")
    return found
