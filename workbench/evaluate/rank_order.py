"""`rank_order`: number the pods of a placed job along the tree of HyperNodes, so that a ring leaves few of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.evaluate.closeness import SAME_NODE, Closeness
from workbench.evaluate.facts import tier_keys
from workbench.model.arrays import Longs
from workbench.model.placement import Placement

__all__ = ["RankOrder", "rank_order"]


@dataclass(frozen=True)
class RankOrder:
    """New ranks for the pods of a placed job, with the steps of the ring from rank i to rank i + 1 before and after.

    Attributes
    ----------
    job : str
        ``namespace/name``.
    pods : tuple of str
        Names of the placed pods in the order of their new ranks, from 0.
    nodes : tuple of str
        Node of each of these pods.
    ranks_before : tuple of int
        Old rank of each of these pods, counted among the placed pods of the job.
    before, after : mapping of str to int
        Number of steps of the ring with the old and the new ranks, by the closest tier that both ends share: ``node``
        (the same node), a tier of HyperNodes, or the virtual top's. The last step leads back to rank 0.
    """

    job: str
    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    ranks_before: tuple[int, ...]
    before: Mapping[str, int]
    after: Mapping[str, int]

    @property
    def changed(self) -> bool:
        """Whether any pod gets another rank."""
        return self.ranks_before != tuple(range(len(self.pods)))

    def to_dict(self) -> dict[str, Any]:
        """The order as a JSON-ready dict."""
        pods = [
            {"name": name, "node": node, "rank_before": was, "rank": rank}
            for rank, (name, node, was) in enumerate(zip(self.pods, self.nodes, self.ranks_before, strict=True))
        ]
        return {"crossings_before": dict(self.before), "crossings_after": dict(self.after), "pods": pods}


def rank_order(placement: Placement) -> RankOrder:
    """Number the placed pods of a job node by node along the tree of HyperNodes.

    The pod of rank 0 keeps its rank, because the other pods know its address. The nodes follow in the order of the
    topology (depth first if HyperNodes nest), beginning with the node of rank 0; pods of one node keep their order. If
    the HyperNodes form a tree, no other order of ranks crosses the border of a HyperNode less often: the ring leaves
    each once and enters it once, if the job has pods inside and outside.
    """
    topology, n = placement.topology, placement.gang.n_pods
    placed = np.flatnonzero(placement.node >= 0)
    rank = np.arange(n) if placement.rank is None else placement.rank
    ring = placed[np.argsort(rank[placed], kind="stable")]
    nodes = placement.node[ring].astype(np.int64)
    if len(ring):
        # Nodes before that of rank 0 come after all others: the ring is the same, begun at another place.
        around = (nodes - nodes[0]) % topology.n_nodes
        order = np.argsort(around, kind="stable")
    else:
        order = np.zeros(0, dtype=np.int64)
    return RankOrder(
        placement.gang.key,
        tuple(placement.gang.pod(int(position)).name for position in ring[order]),
        tuple(topology.node_names[node] for node in nodes[order]),
        tuple(order.tolist()),
        _crossings(placement, nodes),
        _crossings(placement, nodes[order]),
    )


def _crossings(placement: Placement, ring: Longs) -> dict[str, int]:
    """Steps between neighbours of a closed ring of nodes, by the key of the closest level that both ends share."""
    keys = tier_keys(placement.topology)
    distinct, index = np.unique(ring, return_inverse=True)
    if len(ring) < 2:
        return dict.fromkeys(keys, 0)
    levels = Closeness(placement.topology, distinct.astype(np.int32)).pair_levels(index, np.roll(index, -1))
    counts = np.bincount(levels - SAME_NODE, minlength=len(keys)).tolist()
    return dict(zip(keys, counts, strict=True))
