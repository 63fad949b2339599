"""Costs of communication: collectives and training steps, as `workbench.cost`.

Every formula says in its docstring what it leaves out. GB are 1e9 bytes and bandwidth is per direction.

Examples
--------
>>> import workbench as wb
>>> wb.cost.ParallelShape(data=12, tensor=2).ranks
24
"""

from workbench.evaluate.cost.calibration import BlockFit, Calibration, Estimate, RackFit
from workbench.evaluate.cost.cost_model import CollectiveCost, CostModel
from workbench.evaluate.cost.fit import fit_calibration
from workbench.evaluate.cost.job_cost import JobCost, job_cost, nodes_by_rank
from workbench.evaluate.cost.parallel_shape import ParallelShape, TrainingModel
from workbench.evaluate.cost.plan import CommunicationPlan, LeastCost
from workbench.evaluate.cost.step_time import PipelineStep, StepTime
from workbench.evaluate.cost.traffic import (
    COLLECTIVES,
    bus_factor,
    context_parallel_bytes,
    data_parallel_bytes,
    expert_parallel_bytes,
    pipeline_bytes,
    tensor_parallel_bytes,
)

__all__ = [
    "COLLECTIVES",
    "BlockFit",
    "Calibration",
    "CollectiveCost",
    "CommunicationPlan",
    "CostModel",
    "Estimate",
    "JobCost",
    "LeastCost",
    "ParallelShape",
    "PipelineStep",
    "RackFit",
    "StepTime",
    "TrainingModel",
    "bus_factor",
    "context_parallel_bytes",
    "data_parallel_bytes",
    "expert_parallel_bytes",
    "fit_calibration",
    "job_cost",
    "nodes_by_rank",
    "pipeline_bytes",
    "tensor_parallel_bytes",
]
