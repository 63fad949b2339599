"""Parameters and weights of node scores, and the score of each tier in 1.13.

The formulas themselves are the kernel's (`workbench.kernels.dry_runs.DryRuns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import ScoreWeights, TopologyScores
from workbench.kernels.tiers import tier_scores
from workbench.model.resources import ASSUMED, CPU, MEMORY
from workbench.model.scheduler_config import SchedulerConfig
from workbench.model.topology import Topology
from workbench.policies.parameters import gpu_weight, parameter, weight_parameter
from workbench.policies.volcano.parts.scored_nodes import ASSUMED_COLUMNS

__all__ = ["NodeOrderParameters", "TopologyParameters", "best", "score_weights", "topology_scores_1_13"]

_BINPACK = "Volcano plugin binpack"
_NODEORDER = "Volcano plugin nodeorder"

#: What the plugin nodeorder balances, all alike: an extended resource (2) only for pods that ask for it.
_BALANCED = {CPU: 1, MEMORY: 1, "nvidia.com/gpu": 2}


@dataclass(frozen=True)
class NodeOrderParameters:
    """Parameters of the plugins binpack and nodeorder."""

    binpack_weight: int = weight_parameter(1, "weight of the plugin binpack", source=_BINPACK)
    binpack_cpu: int = weight_parameter(1, "weight of cpu in binpack", source=_BINPACK)
    binpack_memory: int = weight_parameter(1, "weight of memory in binpack", source=_BINPACK)
    binpack_resources: Mapping[str, int] = weight_parameter(
        {}, "weights of other resources in binpack", source=_BINPACK
    )
    least_weight: int = weight_parameter(1, "weight of least requested in nodeorder", source=_NODEORDER)
    most_weight: int = weight_parameter(0, "weight of most requested in nodeorder", source=_NODEORDER)
    balanced_weight: int = weight_parameter(1, "weight of balanced resources in nodeorder", source=_NODEORDER)
    taint_weight: int = weight_parameter(3, "weight of tolerated taints in nodeorder", source=_NODEORDER)
    gpu_weight: float = gpu_weight()
    config: SchedulerConfig | None = parameter(  # noqa: RUF009 - it makes a dataclass field
        None, "volcano-scheduler.conf: actions, plugins and their weights; on the command line a file"
    )


@dataclass(frozen=True)
class TopologyParameters(NodeOrderParameters):
    """Parameters of the plugins binpack, nodeorder and network-topology-aware."""

    weight: int = weight_parameter(
        10,
        "weight of the plugin network-topology-aware",
        source="configuration in the article on 1.13 (the plugin's own default is 1)",
    )


def score_weights(parameters: NodeOrderParameters, resources: tuple[str, ...]) -> ScoreWeights:
    """Weights of binpack and nodeorder over score columns: least and most read cpu and memory, balanced also GPUs."""
    by_name = {CPU: parameters.binpack_cpu, MEMORY: parameters.binpack_memory, **parameters.binpack_resources}
    looked_at = ASSUMED_COLUMNS if ASSUMED_COLUMNS[0] in resources else ASSUMED
    both = [name in looked_at for name in resources]
    return ScoreWeights(
        binpack=parameters.binpack_weight,
        binpack_resources=np.array([by_name.get(name, 0) for name in resources], dtype=np.float64),
        least_requested=parameters.least_weight,
        most_requested=parameters.most_weight,
        request_resources=np.array(both, dtype=np.int64),
        balanced=parameters.balanced_weight,
        balanced_resources=np.array([_BALANCED.get(name, 0) for name in resources], dtype=np.uint8),
    )


def best(scores: npt.NDArray[np.float64]) -> int:
    """Index of the greatest score, the first of equal ones (the smallest name); -1 for an empty array."""
    return int(np.argmax(scores)) if len(scores) else -1


def topology_scores_1_13(topology: Topology, weight: float) -> TopologyScores:
    """Closeness scores of 1.13: the score of each HyperNode as LCA of a node's leaf and the job's HyperNode so far.

    The score is ``(maxTier - tier) / (maxTier - minTier)`` over the tiers of real HyperNodes, and 0 if all have one
    tier. A leaf that is itself the job's HyperNode has score 1, one that has no common HyperNode with it 0
    (docs/reference/volcano-topology.md, section 7.1).
    """
    known, key = topology.closeness_scores, (False, weight)
    if key not in known:
        tiers = topology.tiers or (0,)
        known[key] = TopologyScores(
            topology.forest,
            tier_scores(topology.tier, tiers[0], tiers[-1], flat=0.0),
            own=1.0,
            top=0.0,
            weight=weight,
            roots_meet=False,
        )
    return known[key]
