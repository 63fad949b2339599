"""`gpu-bottleneck`: chooses the GPUs whose slowest pair is as fast as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.bottleneck import MAX_SPLIT_DEVICES
from workbench.kernels.two_pods import split_in_two
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.gpu_ties import numa_names, solve_by_numa, split_by_numa
from workbench.model.notice import Notice
from workbench.policies.gpu.base import GpuPolicy, NodeGpus
from workbench.policies.gpu.lowest_index import deal_lowest
from workbench.policies.parameters import parameter

__all__ = ["BottleneckParameters", "GpuBottleneck"]


@dataclass(frozen=True)
class BottleneckParameters:
    """Parameters of `gpu-bottleneck`."""

    symmetric: str = parameter(
        "min",
        "how the two directions of a pair of GPUs become one weight",
        choices=("min", "max", "mean"),
        source="docs/decisions.md, decision 1",
    )


class GpuBottleneck(GpuPolicy):
    """GPU policy that maximizes the bottleneck (the bandwidth of the slowest pair), comparing link classes first.

    For several pods of a gang on one node the best set for all pods together is chosen first. It is then divided so
    that the ascending list of the pods' own bottlenecks is lexicographically largest. Ties are broken by NUMA node
    where the matrix knows it (docs/decisions.md, decision 1). On a node without a matrix pods get the free GPUs with
    the lowest indices.

    `required`: whether the user asked for this policy by name; the policy then also warns if no node at all has a
    matrix.

    Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "Pick GPUs of Node" and the pre-allocation of
    a group's pods. On machines of more than 16 GPUs the set for all pods together is still the best one. It is divided
    between two pods so that the slower pod is as fast as possible; among more pods it is divided by index, with a
    warning.
    """

    name = "gpu-bottleneck"
    lowest_unknown = True

    def __init__(self, parameters: BottleneckParameters, required: bool = True) -> None:
        self._parameters = parameters
        self._required = required

    def score(self, gpus: NodeGpus, requests: Sequence[int]) -> float:
        """Bandwidth of the slowest pair in the pods' best set of free GPUs, in percent of the machine's fastest pair.

        100 for a single GPU, 0 if the node's bandwidths are unknown.
        """
        if gpus.matrix is None:
            return 0.0
        solver = gpus.matrix.solver(self._symmetric, True)
        value = solver.value(solver.choose(gpus.free, sum(requests)))
        if value == float("inf"):
            return 100.0
        weights = gpus.matrix.pair_weights_gb_s(self._symmetric)
        fastest = float(weights[np.isfinite(weights)].max())
        return 100.0 * value / fastest if fastest else 0.0

    def choose(self, gpus: NodeGpus, requests: Sequence[int]) -> tuple[int, ...]:
        if gpus.matrix is None:
            return deal_lowest(gpus.free, requests)
        if len(requests) == 1:
            return (self._one_set(gpus, requests[0]),)
        if len(gpus.matrix) <= MAX_SPLIT_DEVICES:
            return split_by_numa(gpus.matrix, gpus.free, requests, 0, self._symmetric, link_classes=True).masks
        union = self._one_set(gpus, sum(requests))
        if len(requests) == 2 and union:
            return split_in_two(gpus.matrix.pair_weights_gb_s(self._symmetric), union, requests[0])
        return deal_lowest(union, requests)

    def choose_singles(
        self, matrix: BandwidthMatrix, free: npt.NDArray[np.uint64], n_gpus: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.uint64] | None:
        """Choose the GPUs with the best bottleneck for one pod on each of many nodes that share a bandwidth matrix.

        See `GpuBottleneck` for the rule. None where NUMA nodes may break ties.
        """
        if numa_names(matrix):
            return None
        return matrix.solver(self._symmetric, True).choose_many(free, n_gpus)

    def warnings(self, questions: Sequence[tuple[NodeGpus, Sequence[int], int]]) -> list[Notice]:
        blind = known = undealt = 0
        for gpus, requests, nodes in questions:
            if gpus.matrix is None:
                blind += nodes
            else:
                known += nodes
                undealt += nodes * (len(gpus.matrix) > MAX_SPLIT_DEVICES and len(requests) > 2)
        found = []
        if blind and (known or self._required):
            text = (
                f"{self.name}: {blind} of {counted(blind + known, 'node has', 'nodes have')} no bandwidth matrix, "
                "lowest indices taken"
            )
            found.append(Notice("no-bandwidth-matrix", text, numbers={"count": blind, "of": blind + known}))
        if undealt:
            text = (
                f"{self.name}: on {counted(undealt, 'node')} of more than {MAX_SPLIT_DEVICES} GPUs the union is "
                "the best, "
            )
            text += "but it is dealt to the pods by index"
            found.append(Notice("gpus-dealt-by-index", text, numbers={"count": undealt}))
        return found

    def _one_set(self, gpus: NodeGpus, count: int) -> int:
        """The best set of ``count`` free GPUs; 0 if fewer are free."""
        assert gpus.matrix is not None
        if count < 1 or gpus.free.bit_count() < count or not numa_names(gpus.matrix):
            return gpus.matrix.solver(self._symmetric, True).choose(gpus.free, count)
        return solve_by_numa(gpus.matrix, gpus.free, count, 0, self._symmetric, link_classes=True, max_ties=1).mask

    @property
    def _symmetric(self) -> Any:
        return self._parameters.symmetric
