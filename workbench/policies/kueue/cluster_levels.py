"""`ClusterLevels`: the HyperNode tiers of a cluster as levels of a Kueue topology, with the nodes as lowest level.

Kueue's tree is strict: every node has one value per level. HyperNodes that overlap have no such levels, nor has a node
without a HyperNode of some tier.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from workbench.model.kueue_names import level_names
from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.topology import Topology
from workbench.model.value import Value
from workbench.policies.kueue.leaves import Leaves
from workbench.policies.kueue.level_tree import LevelTree, Path

__all__ = ["ClusterLevels", "cluster_levels"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClusterLevels(Value):
    """The open nodes of a cluster as leaves below the HyperNodes of each tier.

    Attributes
    ----------
    tiers : tuple of int
        Tier of each level but the last, widest first.
    domains : tuple of ndarray of int32
        Per level but the last, the HyperNode of each of its domains.
    nodes : ndarray of int32
        Node of each leaf.
    outside : ndarray of int32
        Open nodes without a HyperNode in every tier, which are no leaves.
    problem : str
        Why the HyperNodes are no levels; empty: they are.
    """

    leaves: Leaves
    tiers: tuple[int, ...]
    domains: tuple[Ints, ...]
    nodes: Ints
    outside: Ints
    problem: str

    def level_of(self, tier: int) -> str:
        """Name of the level of a tier."""
        return self.leaves.levels[self.tiers.index(tier)]


#: Levels of the topologies in use, each with the nodes that were closed then.
_KNOWN: WeakKeyDictionary[Topology, tuple[bytes, ClusterLevels]] = WeakKeyDictionary()


def cluster_levels(topology: Topology, closed: Mask) -> ClusterLevels:
    """The levels of a topology over the nodes that are not closed; remembered, because they rarely change."""
    key, known = closed.tobytes(), _KNOWN.get(topology)
    if known is None or known[0] != key:
        known = _KNOWN[topology] = key, _levels(topology, closed)
    return known[1]


def _levels(topology: Topology, closed: Mask) -> ClusterLevels:
    tiers = topology.tiers[::-1]
    of_tier = [topology.domain_of_node(tier) for tier in tiers]
    inside = ~closed
    for domain in of_tier:
        inside = inside & (domain >= 0)
    nodes: Ints = np.flatnonzero(inside).astype(np.int32)
    # HyperNodes are numbered by name, so that this is the order of the paths.
    order = np.lexsort([topology.node_rank[nodes], *(domain[nodes] for domain in of_tier[::-1])])
    nodes = nodes[order]
    names = (*level_names(topology, tiers), HOSTNAME_LABEL)
    paths: list[tuple[Path, ...]] = []
    parents: list[Longs] = []
    domains: list[Ints] = []
    problem = "" if topology.laminar else "HyperNodes overlap"
    above = np.zeros(len(nodes), dtype=np.int64)
    path: list[Path] = [()] * len(nodes)
    for level, domain in enumerate(of_tier):
        here = domain[nodes]
        new = np.append(True, (here[1:] != here[:-1]) | (above[1:] != above[:-1]))[: len(nodes)]
        first = np.flatnonzero(new)
        if len(np.unique(here)) != len(first) and not problem:
            problem = f"a HyperNode of tier {tiers[level]} has nodes in several of a higher tier"
        chosen = here[first]
        heads = [
            (*path[leaf], topology.domain_names[d]) for leaf, d in zip(first.tolist(), chosen.tolist(), strict=True)
        ]
        parents.append(above[first])
        above = np.cumsum(new) - 1
        path = [heads[i] for i in above.tolist()]
        paths.append(tuple(heads))
        domains.append(chosen.astype(np.int32))
    parents.append(above)
    paths.append(tuple([(*head, topology.node_names[node]) for head, node in zip(path, nodes.tolist(), strict=True)]))
    tree = LevelTree(tuple(paths), tuple(parents), tuple([np.arange(len(level)) for level in paths]))
    leaf_of = {leaf[-1]: i for i, leaf in enumerate(paths[-1])}
    outside = np.flatnonzero(~closed & ~inside).astype(np.int32)
    return ClusterLevels(Leaves(names, tree, leaf_of), tuple(tiers), tuple(domains), nodes, outside, problem)
