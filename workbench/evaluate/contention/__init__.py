"""Training jobs that share the links of a fabric: routes, max-min fair rates, and the step times that follow.

Examples
--------
>>> import workbench as wb
>>> tree = wb.generate_scenario("three-level-tree")
>>> topology = tree.snapshot.topology
>>> links = {tier: wb.contention.TierLinks(50.0) for tier in topology.tiers}
>>> fabric = wb.contention.RoutedFabric(topology, (8,) * topology.n_nodes, card_gb_s=50.0, tiers=links)
>>> fabric.routes
'hashed'
"""

from workbench.evaluate.contention.fabric import ROUTES, Cable, RoutedFabric, Routes, TierLinks
from workbench.evaluate.contention.shared_network import PHASES, Network, Phases, SharedLinks, StepTimes
from workbench.evaluate.contention.traffic import JobTraffic, TrainingStep, gpus_by_rank, job_traffic
from workbench.kernels.fair_rates import fair_rates

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
    "fair_rates",
    "gpus_by_rank",
    "job_traffic",
]
