"""Simulate a cluster over time: jobs arrive, wait, run and end, nodes and GPUs break and recover."""

from __future__ import annotations

from workbench.simulate.breakdowns import Breakdown, FaultRates, draw_breakdowns
from workbench.simulate.candidates import Candidates
from workbench.simulate.disciplines import Discipline, discipline, get_discipline, list_disciplines
from workbench.simulate.engine import Simulation
from workbench.simulate.job import SimulatedJob
from workbench.simulate.result import SimulationResult
from workbench.simulate.timeline import Timeline

__all__ = [
    "Breakdown",
    "Candidates",
    "Discipline",
    "FaultRates",
    "SimulatedJob",
    "Simulation",
    "SimulationResult",
    "Timeline",
    "discipline",
    "draw_breakdowns",
    "get_discipline",
    "list_disciplines",
]
