"""A filled cluster as a table of policies and as a chart: allocated GPUs over arrived demand."""

from __future__ import annotations

from typing import Any

from workbench.model.counted import counted
from workbench.report.lines import draw_lines
from workbench.report.tables import new_table, text_row
from workbench.simulate.fill_study import FillStudy

__all__ = ["draw_fill", "fill_tables"]


def fill_tables(study: FillStudy) -> list[Any]:
    """A table with a row per policy, least unallocated first, and what its numbers mean."""
    table = new_table(
        "policy",
        "allocated",
        "sd",
        "unallocated",
        "below bound",
        "fragmented",
        title=f"{study.trace}: % of the cluster's GPUs, {counted(len(study.seeds), 'seed')}",
        right=range(1, 6),
    )
    for policy, row in study.summary().sort_values("unallocated", kind="stable").iterrows():
        numbers = (row[name] for name in ("allocated", "sd", "unallocated", "below_bound", "fragmented"))
        text_row(table, str(policy), *("–" if number != number else f"{number:.2f}" for number in numbers))
    note = "Bound: what no policy can exceed, were all arrivals known. Fragmented: idle, and useless to the usual pod."
    return [table, note]


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
