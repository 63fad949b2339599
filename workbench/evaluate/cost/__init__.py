"""What communication costs: collectives, training steps and jobs that share links, as `workbench.cost`.

Every formula says in its docstring what it leaves out. GB are 1e9 bytes and bandwidth is per direction.
"""

from workbench.evaluate.cost.bus_bandwidth import COLLECTIVES, bandwidths, bus_factor
from workbench.evaluate.cost.calibration import BlockFit, Calibration, Estimate, RackFit
from workbench.evaluate.cost.cost_model import CollectiveCost, CostModel
from workbench.evaluate.cost.fit import fit_calibration
from workbench.evaluate.cost.fluid import IteratingJob, Transfer, finish_times, iteration_ends
from workbench.evaluate.cost.job_cost import JobCost, job_cost, nodes_by_rank
from workbench.evaluate.cost.least_cost import LeastCost
from workbench.evaluate.cost.max_min import Flow, max_min_rates
from workbench.evaluate.cost.nccl import NcclSystem, Prediction, choose, predict
from workbench.evaluate.cost.parallel_shape import ParallelShape, TrainingModel
from workbench.evaluate.cost.plan import CommunicationPlan
from workbench.evaluate.cost.rotation import Circle, RotatingJob, Rotation, best_rotation, time_shifts
from workbench.evaluate.cost.simai import RatioTable, bus_bandwidth
from workbench.evaluate.cost.simulator import Dimension, SimulatorSettings, simulated_time_ns
from workbench.evaluate.cost.step_time import PipelineStep, StepTime
from workbench.evaluate.cost.textbook import (
    ALGORITHMS,
    HIERARCHICAL,
    LinkLevel,
    collective_time,
    hierarchical_time,
    in_network_time,
)
from workbench.evaluate.cost.traffic import (
    context_parallel_bytes,
    data_parallel_bytes,
    expert_parallel_bytes,
    pipeline_bytes,
    tensor_parallel_bytes,
)
from workbench.evaluate.cost.tree_fabric import RingJob, TreeFabric, ring_times

__all__ = [
    "ALGORITHMS",
    "COLLECTIVES",
    "HIERARCHICAL",
    "BlockFit",
    "Calibration",
    "Circle",
    "CollectiveCost",
    "CommunicationPlan",
    "CostModel",
    "Dimension",
    "Estimate",
    "Flow",
    "IteratingJob",
    "JobCost",
    "LeastCost",
    "LinkLevel",
    "NcclSystem",
    "ParallelShape",
    "PipelineStep",
    "Prediction",
    "RackFit",
    "RatioTable",
    "RingJob",
    "RotatingJob",
    "Rotation",
    "SimulatorSettings",
    "StepTime",
    "TrainingModel",
    "Transfer",
    "TreeFabric",
    "bandwidths",
    "best_rotation",
    "bus_bandwidth",
    "bus_factor",
    "choose",
    "collective_time",
    "context_parallel_bytes",
    "data_parallel_bytes",
    "expert_parallel_bytes",
    "finish_times",
    "fit_calibration",
    "hierarchical_time",
    "in_network_time",
    "iteration_ends",
    "job_cost",
    "max_min_rates",
    "nodes_by_rank",
    "pipeline_bytes",
    "predict",
    "ring_times",
    "simulated_time_ns",
    "tensor_parallel_bytes",
    "time_shifts",
]
