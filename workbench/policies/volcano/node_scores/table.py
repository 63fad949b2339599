"""The list of the node score parts that do not change when pods are placed."""

from __future__ import annotations

from workbench.policies.volcano.node_scores.base import NodeScore
from workbench.policies.volcano.node_scores.gpu import GpuScore
from workbench.policies.volcano.node_scores.taints import TaintScore

__all__ = ["NODE_SCORES"]

#: In the order in which they are added up and shown.
NODE_SCORES: tuple[type[NodeScore], ...] = (GpuScore, TaintScore)
