"""Studies: policies × topologies × workloads × disciplines × seeds, simulated on Dask and compared in pairs."""

from __future__ import annotations

from workbench.study.plan import Run, Study, StudyWorkload

__all__ = ["Run", "Study", "StudyWorkload"]
