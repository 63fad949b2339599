"""Simulate a cluster over time: jobs arrive, wait, run and end, nodes and GPUs break and recover."""

from __future__ import annotations

from workbench.simulate.breakdowns import Breakdown, FaultRates, draw_breakdowns
from workbench.simulate.engine import Simulation
from workbench.simulate.job import SimulatedJob
from workbench.simulate.result import SimulationResult
from workbench.simulate.timeline import Timeline

__all__ = [
    "Breakdown",
    "FaultRates",
    "SimulatedJob",
    "Simulation",
    "SimulationResult",
    "Timeline",
    "draw_breakdowns",
]
