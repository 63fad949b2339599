"""`CommunicationPlan`: what a comparison needs to tell what the communication of its jobs costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.errors import InputError
from workbench.evaluate.cost.calibration import Calibration
from workbench.evaluate.cost.cost_model import CostModel
from workbench.evaluate.cost.job_cost import JobCost, job_cost, nodes_by_rank
from workbench.evaluate.cost.parallel_shape import ParallelShape, TrainingModel
from workbench.model.placement import Placement
from workbench.model.topology import Topology
from workbench.model.value import Value

__all__ = ["CommunicationPlan"]


@dataclass(frozen=True, eq=False)
class CommunicationPlan(Value):
    """A calibration, the speeds of the fabric, and the parallel shapes of jobs.

    Attributes
    ----------
    calibration : Calibration
    machine : str
        Machine of the calibration that all nodes count as.
    jobs : mapping of str to (ParallelShape, TrainingModel)
        By ``namespace/name``; other jobs get no cost.
    tier_gb_s : mapping of int to float
        As for `CostModel`; every tier of the topology.
    """

    calibration: Calibration
    machine: str
    jobs: Mapping[str, tuple[ParallelShape, TrainingModel]]
    tier_gb_s: Mapping[int, float] = field(default_factory=dict)

    def check(self, topology: Topology) -> None:
        """Raise an error if machine or tiers are unknown, or a tier has no speed.

        Raises
        ------
        UnknownNameError, InputError
        """
        CostModel(self.calibration, self.machine, topology, self.tier_gb_s)
        missing = [str(tier) for tier in topology.tiers if tier not in self.tier_gb_s]
        if missing:
            raise InputError(
                "a fabric without speeds",
                source="tier_gb_s",
                got=f"no speed of tier {', '.join(missing)}",
                expected="GB/s per GPU of every tier",
            )

    def cost_of(self, placement: Placement) -> JobCost | None:
        """Cost of a placed job; None if its shape is not stated or a pod has no node.

        Parameters
        ----------
        placement : Placement

        Raises
        ------
        InputError
            The shape does not multiply to the job's GPUs.
        """
        stated = self.jobs.get(placement.gang.key)
        if stated is None or (placement.node < 0).any():
            return None
        costs = CostModel(self.calibration, self.machine, placement.topology, self.tier_gb_s)
        return job_cost(placement.gang.key, nodes_by_rank(placement), *stated, costs)
