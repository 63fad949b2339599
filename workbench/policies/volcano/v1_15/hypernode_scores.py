"""Scores of Volcano 1.15: fullness of HyperNodes, closeness of nodes to the job's HyperNode.

Pods without a topology constraint are scored by the fullness of the HyperNodes around a node.

Source: docs/reference/volcano-topology.md, sections 7.1 to 7.3. All are sums and quotients of float64, taken in the
order of the snapshot's resources; final values are times 100 and the plugin's weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.errors import CapacityError, InputError
from workbench.kernels.domains import TopologyScores
from workbench.kernels.fading import Fading
from workbench.kernels.tiers import tier_scores
from workbench.model.arrays import Floats
from workbench.model.resources import CPU, MEMORY
from workbench.model.topology import Topology
from workbench.policies.parameters import parameter, weight_parameter
from workbench.policies.volcano.parts.scores import TopologyParameters

__all__ = ["HyperNodeParameters", "fading_of", "fading_weights", "topology_scores_1_15", "weights_of_resources"]


_PLUGIN = "Volcano plugin network-topology-aware"

_MOST_TIERS = 100_000


@dataclass(frozen=True)
class HyperNodeParameters(TopologyParameters):
    """Parameters of `volcano-1.15`: those of the plugins binpack, nodeorder and network-topology-aware."""

    hypernode_binpack_cpu: int = weight_parameter(1, "weight of cpu in the packing of HyperNodes", source=_PLUGIN)
    hypernode_binpack_memory: int = weight_parameter(1, "weight of memory in the packing of HyperNodes", source=_PLUGIN)
    hypernode_binpack_resources: Mapping[str, int] = weight_parameter(
        {}, "weights of other resources in the packing of HyperNodes", source=_PLUGIN
    )
    normal_pod_enable: bool = parameter(True, "pack pods without a topology into full HyperNodes", source=_PLUGIN)
    normal_pod_fading: float = parameter(
        0.8, "how much less each wider tier counts for pods without a topology", low=0, source=_PLUGIN
    )


def weights_of_resources(parameters: HyperNodeParameters, resources: tuple[str, ...]) -> Floats:
    """Weight of each resource column in the packing (fullness) score of HyperNodes.

    -1 if the resource is not configured.
    """
    by_name = {
        CPU: parameters.hypernode_binpack_cpu,
        MEMORY: parameters.hypernode_binpack_memory,
        **parameters.hypernode_binpack_resources,
    }
    return np.array([by_name.get(name, -1) for name in resources], dtype=np.float64)


def topology_scores_1_15(topology: Topology, weight: float) -> TopologyScores:
    """Closeness scores: each HyperNode's score if it is the LCA of a node's leaf and the job's HyperNode so far.

    The virtual top counts as the highest tier.
    """
    known, key = topology.closeness_scores, (True, weight)
    if key not in known:
        lowest = topology.tiers[0] if topology.tiers else topology.top_tier
        known[key] = TopologyScores(
            topology.forest,
            tier_scores(topology.tier, lowest, topology.top_tier, flat=1.0),
            own=1.0,
            top=0.0,
            weight=weight,
            roots_meet=True,
        )
    return known[key]


def fading_of(parameters: HyperNodeParameters, topology: Topology, resources: tuple[str, ...]) -> Fading | None:
    """Make the score by which pods without a topology constraint prefer full HyperNodes; closer tiers count more.

    Returns None if the plugin does not score such pods.

    `resources`: columns of the scored amounts.
    """
    if not parameters.normal_pod_enable:
        return None
    tiers, by_tier = zip(*fading_weights(topology, parameters.normal_pod_fading), strict=True)
    column = {tier: i for i, tier in enumerate((*topology.tiers, topology.top_tier))}
    return Fading(
        topology.domain_tree.rings,
        np.array([column.get(tier, -1) for tier in tiers], dtype=np.int32),
        np.array(by_tier, dtype=np.float64),
        weights_of_resources(parameters, resources),
        float(parameters.weight),
    )


def fading_weights(topology: Topology, fading: float) -> list[tuple[int, float]]:
    """Weight of every tier number from the lowest tier to the virtual top, including tiers without a HyperNode.

    The weight is ``fading ** (tier - 1)``. With fading 0 only tier 1 counts, or the lowest tier if that is below 1
    (upstream divides by zero there). Wider tiers whose weight is exactly 0 are left out, except one, because they
    change no sum.

    Raises InputError: the weights have no finite sum; CapacityError: more than 100,000 tier numbers count.
    """
    lowest, top = topology.tiers[0] if topology.tiers else topology.top_tier, topology.top_tier
    if fading == 0.0:
        return [(lowest, float(lowest <= 1))]
    found: list[tuple[int, float]] = []
    total = 0.0
    for tier in range(lowest, top + 1):
        try:
            counts = fading ** (tier - 1)
        except OverflowError:
            counts = math.inf
        if found and fading < 1 and counts == 0.0:
            break
        total += counts
        if total == math.inf:
            raise InputError(
                "not a value for these tiers",
                source="normal_pod_fading",
                got=f"{fading:g}",
                expected=f"one whose powers from {lowest - 1} to {top - 1} have a finite sum",
            )
        if len(found) == _MOST_TIERS:
            raise CapacityError(
                f"normal_pod_fading: {top + 1 - lowest} tier numbers from {lowest} to the virtual top's {top}, "
                f"at most {_MOST_TIERS} can count"
            )
        found.append((tier, counts))
    return found
