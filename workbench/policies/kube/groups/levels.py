"""Levels: what stands for a topology key where a gang names a tier of HyperNodes instead of a label of nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.model.gang import TopologyConstraint
from workbench.model.notice import Notice
from workbench.model.topology import NO_DOMAIN, Topology
from workbench.policies.kube.cluster import KubeNodes

__all__ = ["Levels", "level_key"]

Ints = npt.NDArray[np.int32]

#: Key of a tier of HyperNodes; no label key has a blank.
_TIER = "tier "


def level_key(constraint: TopologyConstraint | None, topology: Topology) -> tuple[str, tuple[Notice, ...]]:
    """The topology key that a constraint means, with notices about what kube-scheduler cannot express.

    A hard constraint with highest tier t is the tier t, or the next lower one that has HyperNodes: all pods share one
    of its HyperNodes, of which any will do. Without a tier, and soft, it means nothing.

    Returns
    -------
    key : str
        Key for `Levels`; empty: no constraint.
    notices : tuple of Notice
    """
    if constraint is None:
        return "", ()
    if constraint.mode == "soft":
        text = "kube-scheduler knows no soft topology: the constraint has no effect"
        return "", (Notice("not-expressed", text),)
    tiers = list(topology.tiers)
    if constraint.highest_tier is not None:
        inside = [tier for tier in tiers if tier <= constraint.highest_tier]
        if tiers and constraint.highest_tier >= topology.top_tier:
            return "", ()
        return f"{_TIER}{max(inside, default=constraint.highest_tier)}", ()
    name = constraint.highest_tier_name
    named = [tier for tier in tiers if name and name in {topology.tier_names[j] for j in topology.domains_at(tier)}]
    if named:
        return f"{_TIER}{max(named)}", ()
    what = f"the tier name {name} is unknown" if name else "a hard topology names no tier"
    return "", (Notice("constraint-without-effect", f"{what}: the constraint restricts nothing here"),)


class Levels:
    """Values of topology keys on the nodes: labels, and tiers of HyperNodes.

    `topology`: topology of the same nodes; None: there are labels only.
    """

    def __init__(self, nodes: KubeNodes, topology: Topology | None = None) -> None:
        self._nodes = nodes
        self._topology = topology

    def values(self, key: str) -> tuple[Ints, Sequence[str]]:
        """Value of a key on each node: int32 of shape (n,), -1 for nodes without it, as positions in the names."""
        if (tier := self.tier(key)) is not None and self._topology is not None:
            codes = self._topology.domain_of_node(tier)
            return np.where(codes == NO_DOMAIN, -1, codes).astype(np.int32), self._topology.domain_names
        column = self._nodes.labels.columns.get(key)
        if column is None:
            return np.full(self._nodes.n, -1, dtype=np.int32), ()
        return column

    def missing(self, key: str) -> str:
        """That no node has a value of a key, in words; empty: some node has one."""
        if (self.values(key)[0] >= 0).any():
            return ""
        tier = self.tier(key)
        return f"no node has the label {key}" if tier is None else f"no node is in a HyperNode of tier {tier}"

    def tier(self, key: str) -> int | None:
        """The tier of HyperNodes that a key stands for; None for a label key."""
        return int(key.removeprefix(_TIER)) if key.startswith(_TIER) else None
