"""Studies: policies × topologies × workloads × disciplines × seeds, simulated on Dask and compared in pairs."""

from __future__ import annotations

from workbench.study.plan import Run, StudyWorkload
from workbench.study.study import Study

__all__ = ["Run", "Study", "StudyWorkload"]
