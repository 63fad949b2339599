"""Simulate a cluster over time: jobs arrive, wait, run and end, nodes and GPUs break and recover.

The package can be called: ``workbench.simulate(cluster, jobs, policy)`` is `workbench.simulate.engine.simulate`.

Examples
--------
>>> import workbench as wb
>>> job = wb.SimulatedJob(wb.gang("mine", pods=2, gpus=8), 0.0, 60.0)
>>> wb.simulate(wb.generate_scenario("three-level-tree"), [job], "binpack").end_s
60.0
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from workbench.simulate.arrivals import at_load
from workbench.simulate.breakdowns import Breakdown, FaultRates, draw_breakdowns
from workbench.simulate.candidates import Candidates
from workbench.simulate.disciplines import Discipline, discipline, get_discipline, list_disciplines
from workbench.simulate.engine import Simulation, simulate
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
    "at_load",
    "discipline",
    "draw_breakdowns",
    "get_discipline",
    "list_disciplines",
    "simulate",
]


class _Callable(ModuleType):
    """This package, which is a function, too."""

    def __call__(self, cluster: Any, jobs: Any, policy: Any = "volcano", **options: Any) -> SimulationResult:
        return simulate(cluster, jobs, policy, **options)


sys.modules[__name__].__class__ = _Callable
