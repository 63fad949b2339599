"""Training jobs that share the links of a fabric: routes, max-min fair rates, and the step times that follow."""

from workbench.evaluate.contention.fabric import ROUTES, Cable, RoutedFabric, Routes, TierLinks
from workbench.evaluate.contention.shared_network import PHASES, Network, Phases, SharedLinks, StepTimes
from workbench.evaluate.contention.traffic import JobTraffic, gpus_by_rank, job_traffic
from workbench.evaluate.contention.training_step import TrainingStep

__all__ = [
    "PHASES",
    "ROUTES",
    "Cable",
    "JobTraffic",
    "Network",
    "Phases",
    "RoutedFabric",
    "Routes",
    "SharedLinks",
    "StepTimes",
    "TierLinks",
    "TrainingStep",
    "gpus_by_rank",
    "job_traffic",
]
