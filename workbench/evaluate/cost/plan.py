"""`CommunicationPlan`: what a comparison needs to tell what the communication of its jobs costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench.evaluate.cost.calibration import Calibration
from workbench.evaluate.cost.cost_model import LEFT_OUT, CostModel
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
    machine : str
        Machine of the calibration that all nodes count as.
    jobs : mapping of str to (ParallelShape, TrainingModel)
        By ``namespace/name``; other jobs get no cost.
    tier_gb_s : mapping of int to float
        As for `CostModel`: of the tiers that priced jobs cross.
    """

    calibration: Calibration
    machine: str
    jobs: Mapping[str, tuple[ParallelShape, TrainingModel]]
    tier_gb_s: Mapping[int, float] = field(default_factory=dict)

    def check(self, topology: Topology) -> None:
        """Raise an error if machine or tiers are unknown. Raises UnknownNameError, InputError."""
        self._costs(topology)

    def check_speeds(self, placements: Iterable[Placement]) -> None:
        """Raise an error if a placement that has a price crosses a tier without a speed.

        Raises InputError: the tier, and the option that gives its speed.
        """
        for placement in placements:
            if self._has_price(placement):
                self._costs(placement.topology).crossed(nodes_by_rank(placement))

    def to_dict(self) -> dict[str, Any]:
        """Machine, calibration, speeds and shapes behind the prices, and what these leave out, as a JSON-ready dict."""
        return {
            "machine": self.machine,
            "calibration": {"name": self.calibration.name, "sources": list(self.calibration.sources)},
            "tier_gb_s": {str(tier): gb_s for tier, gb_s in self.tier_gb_s.items()},
            "jobs": {job: {"shape": str(shape), "model": asdict(model)} for job, (shape, model) in self.jobs.items()},
            "left_out": list(LEFT_OUT),
        }

    def cost_of(self, placement: Placement) -> JobCost | None:
        """Cost of a placed job; None if its shape is not stated or a pod has no node.

        Raises InputError: the shape does not multiply to the job's GPUs, or the job is placed across a tier without a
        speed.
        """
        if not self._has_price(placement):
            return None
        job = placement.gang.key
        return job_cost(job, nodes_by_rank(placement), *self.jobs[job], self._costs(placement.topology))

    def _has_price(self, placement: Placement) -> bool:
        return placement.gang.key in self.jobs and not (placement.node < 0).any()

    def _costs(self, topology: Topology) -> CostModel:
        return CostModel(self.calibration, self.machine, topology, self.tier_gb_s)
