"""A filled cluster as a table of policies and as a chart: allocated GPUs over arrived demand."""

from __future__ import annotations

from typing import Any

from workbench.evaluate.metric import View
from workbench.model.counted import counted
from workbench.report.lines import draw_lines
from workbench.report.metric_columns import shown_cells, shown_metrics
from workbench.report.tables import metric_table
from workbench.simulate.fill_study import FillStudy

__all__ = ["draw_fill", "fill_tables"]


def fill_tables(study: FillStudy) -> list[Any]:
    """A table with a row per policy, least unallocated first, and what its numbers mean."""
    policies = list(study.summary().sort_values("unallocated", kind="stable").index)
    measured = [study.measured(policy) for policy in policies]
    columns = shown_metrics(measured, View.TABLE)
    rows = [([policy], cells) for policy, cells in zip(policies, shown_cells(columns, measured), strict=True)]
    title = f"{study.trace}: % of the cluster's GPUs, {counted(len(study.seeds), 'seed')}"
    return metric_table(["policy"], columns, rows, title)


def draw_fill(study: FillStudy) -> str:
    """An SVG chart of the GPUs that each policy leaves unallocated, by arrived demand; means over the seeds."""
    lines = {}
    for policy in study.policies:
        mean = study.mean(policy)["allocated"]
        lines[policy] = [(float(x), 100.0 - float(y)) for x, y in enumerate(mean) if x >= _FROM]
    title = f"{study.trace}: GPUs left unallocated"
    return draw_lines(title, "GPUs asked for, % of the cluster's", "% unallocated", lines)


#: Percent of arrived demand from which on policies differ visibly.
_FROM = 75
