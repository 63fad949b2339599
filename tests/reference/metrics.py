"""Oracle of the metrics: pair by pair, straight from their definitions."""

from __future__ import annotations

from itertools import combinations

from workbench.model.placement import Placement
from workbench.model.topology import Topology


def shared_tier(topology: Topology, a: int, b: int) -> str:
    """``node``, or the smallest tier of a HyperNode that holds both nodes, or the virtual top's."""
    if a == b:
        return "node"
    tiers = [
        int(topology.tier[d])
        for d in range(topology.n_domains)
        if a in topology.nodes_of(d).tolist() and b in topology.nodes_of(d).tolist()
    ]
    return str(min(tiers, default=topology.top_tier))


def pod_pairs(placement: Placement) -> dict[str, int]:
    nodes = [int(n) for n in placement.node if n >= 0]
    counts = _zeros(placement.topology)
    for a, b in combinations(nodes, 2):
        counts[shared_tier(placement.topology, a, b)] += 1
    return counts


def ring_crossings(placement: Placement) -> dict[str, int]:
    ranks = range(len(placement.node)) if placement.rank is None else placement.rank.tolist()
    ring = [int(node) for _, node in sorted(zip(ranks, placement.node.tolist())) if node >= 0]
    counts = _zeros(placement.topology)
    if len(ring) > 1:
        for here, after in zip(ring, ring[1:] + ring[:1]):
            counts[shared_tier(placement.topology, here, after)] += 1
    return counts


def domains_used(placement: Placement) -> dict[int, int]:
    topology = placement.topology
    nodes = {int(n) for n in placement.node if n >= 0}
    counts = dict.fromkeys(topology.tiers, 0)
    for domain in range(topology.n_domains):
        if nodes & set(topology.nodes_of(domain).tolist()):
            counts[int(topology.tier[domain])] += 1
    return counts


def common_tier(placement: Placement) -> int:
    """0 for one node, else the smallest tier of a HyperNode that holds all, else the virtual top's."""
    topology = placement.topology
    nodes = {int(n) for n in placement.node if n >= 0}
    if len(nodes) == 1:
        return 0
    holding = [int(topology.tier[d]) for d in range(topology.n_domains) if nodes <= set(topology.nodes_of(d).tolist())]
    return min(holding, default=topology.top_tier)


def _zeros(topology: Topology) -> dict[str, int]:
    return dict.fromkeys(["node", *map(str, topology.tiers), str(topology.top_tier)], 0)
