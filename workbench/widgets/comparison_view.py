"""What the comparer widget shows of a comparison, as JSON-ready data: pictures, a table, the differences.

The functions here are pure and need no widget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.cancel import check
from workbench.evaluate.compare import Comparison, ComparisonRow
from workbench.evaluate.differences import differences
from workbench.evaluate.member_jobs import placed_jobs
from workbench.evaluate.metric import View
from workbench.evaluate.whatif.fix import FixReport
from workbench.model.counted import counted
from workbench.model.notice import texts_of
from workbench.model.number_text import number_text
from workbench.model.placement import Placement, Refusal
from workbench.model.topology import place_name
from workbench.report.charts import comparison_charts
from workbench.report.colours import job_colours
from workbench.report.legend import legend_html
from workbench.report.metric_columns import Column, MetricCell, groups, job_cells, job_columns, run_cells, run_columns
from workbench.report.occupancy import Occupancy, occupancy
from workbench.report.topology_svg import Drawing, DrawingPlan, draw_parts
from workbench.widgets.messages import page_words

__all__ = [
    "brief_cause",
    "comparison_view",
    "differences_view",
    "occupancy_after",
    "picture_after",
    "picture_plan",
    "pictures",
    "result_line",
]

#: Beginnings of codes of reasons that come before a lack of room.
_BEFORE_ROOM = ("queue-", "not-admitted", "depends-on", "gang-group", "not-offered")
#: Characters of a reason, and of a cause, in a cell.
_BRIEF, _BRIEF_CAUSE = 48, 120

#: Moves listed below one cell; the rest is counted.
_MOVES = 8


def comparison_view(comparison: Comparison, plan: DrawingPlan | None = None) -> dict[str, Any]:
    """Everything that the page shows beside the pictures, JSON-ready.

    `plan`: the layout of the pictures; None: it is computed.
    """
    columns = job_columns(comparison, View.COMPARER)
    return {
        "nodes": comparison.snapshot.n_nodes,
        "legend": _legend(comparison, plan or picture_plan(comparison)),
        "policies": [_row_view(row) for row in comparison.rows],
        "jobs": [
            {
                "key": gang.key,
                "pods": gang.n_pods,
                "colour": look.colour,
                "cells": [
                    _cell(row, gang.key, columns, cells)
                    for row, cells in zip(comparison.rows, job_cells(comparison, columns, gang.key), strict=True)
                ],
                "differs": len({_signature(row, gang.key) for row in comparison.rows}) > 1,
            }
            for gang, look in zip(comparison.gangs, job_colours(len(comparison.gangs)))
        ],
        "metrics": _metrics_view(comparison),
        "charts": comparison_charts(comparison),
        "gaps": list(map(page_words, texts_of(comparison.snapshot.gaps))),
    }


def picture_plan(comparison: Comparison, before: DrawingPlan | None = None) -> DrawingPlan:
    """The layout of the pictures of a comparison; the page shows cards in place of tool tips.

    `before`: the layout of an earlier comparison, from which unchanged parts are copied.
    """
    return DrawingPlan(comparison.snapshot.topology, before, tips=False)


def _legend(comparison: Comparison, plan: DrawingPlan) -> str:
    """The one legend of all pictures, as HTML."""
    jobs = [gang.key for gang in comparison.gangs]
    return legend_html(
        occupancy([], comparison.snapshot, jobs, comparison.gangs), job_colours(len(jobs)), plan.tiers, plan.note
    )


def result_line(comparison: Comparison) -> str:
    """How many jobs each policy placed, in one line; policies are named only if their numbers differ.

    Examples: ``3 placed, 1 pending``; ``3 placed, 1 pending (volcano-1.13, spread); 4 placed (gang)``.
    """
    named: dict[str, list[str]] = {}
    for row in comparison.rows:
        named.setdefault(_outcome(row), []).append(row.policy)
    if len(named) == 1:
        return next(iter(named))
    return "; ".join(f"{outcome} ({', '.join(policies)})" for outcome, policies in named.items())


def _outcome(row: ComparisonRow) -> str:
    if row.error is not None:
        return "failed"
    placed = sum(isinstance(decision.result, Placement) for decision in row.decisions)
    pending = len(row.decisions) - placed
    return ", ".join(f"{n} {word}" for n, word in ((placed, "placed"), (pending, "pending")) if n) or "no job"


def differences_view(comparison: Comparison) -> dict[str, Any]:
    """The jobs that not all policies place on the same nodes, and the pods that move, as a JSON-ready dict.

    Moves are relative to the first policy.
    """
    position = {gang.key: i for i, gang in enumerate(comparison.gangs)}
    return {
        "jobs": [
            {
                "index": position[one.job],
                "cells": [
                    {
                        "outcome": outcome,
                        "moves": [move.to_dict() for move in moves[:_MOVES]],
                        "more": len(moves[_MOVES:]),
                    }
                    for outcome, moves in zip(one.outcomes, one.moves, strict=True)
                ],
            }
            for one in differences(comparison)
        ]
    }


def _metrics_view(comparison: Comparison) -> list[dict[str, Any]]:
    """Metrics of the sessions: heading, meaning, and a value per policy (None if it raised)."""
    groups_shown = ("", *groups(comparison, View.COMPARER))
    columns = [column for group in groups_shown for column in run_columns(comparison, View.COMPARER, group)]
    by_policy = run_cells(comparison, columns)
    return [
        {
            "heading": column.page_heading,
            "meaning": column.metric.meaning,
            "values": [_value(cells[i]) if cells else None for cells in by_policy],
        }
        for i, column in enumerate(columns)
    ]


def _value(cell: MetricCell) -> dict[str, Any]:
    return {"text": number_text(cell.shown), "best": cell.best}


def pictures(comparison: Comparison, plan: DrawingPlan | None = None) -> list[Drawing | None]:
    """Draw the cluster once for each policy of a comparison, with the jobs where the policy placed them.

    None stands for a policy that raised an exception. `plan` is the layout of the pictures; None: `picture_plan`.
    """
    plan = plan or picture_plan(comparison)
    return [
        None if row.error is not None else picture_after(comparison, i, len(row.decisions), plan)
        for i, row in enumerate(comparison.rows)
    ]


def picture_after(comparison: Comparison, policy: int, steps: int, plan: DrawingPlan | None = None) -> Drawing:
    """A picture of the cluster after the first decisions of a policy; each job has the colour it has after all of them.

    `policy`: index of the policy's row in the comparison. `steps`: number of decisions, in the order in which they were
    taken. `plan`: as for `workbench.report.topology_svg.draw_parts`.
    """
    check()
    row = comparison.rows[policy]
    title = row.policy if steps >= len(row.decisions) else f"{row.policy}, after {steps} of {len(row.decisions)}"
    who = occupancy_after(comparison, policy, steps)
    return draw_parts(comparison.snapshot.topology, who, title, plan or picture_plan(comparison), legend=False)


def occupancy_after(comparison: Comparison, policy: int, steps: int) -> Occupancy:
    """The jobs on each node after the first decisions of a policy; `policy` and `steps` as for `picture_after`."""
    placed = [d.result for d in comparison.rows[policy].in_turn[:steps] if isinstance(d.result, Placement)]
    return occupancy(placed, comparison.snapshot, [gang.key for gang in comparison.gangs], comparison.gangs)


def _row_view(row: ComparisonRow) -> dict[str, Any]:
    return {
        "name": row.policy,
        "parameters": {name: str(value) for name, value in row.parameters.items()},
        "error": None if row.error is None else {"message": row.error.message, "traceback": row.error.traceback},
        "steps": [decision.gang.key for decision in row.in_turn],
        "milliseconds": row.decision_s * 1e3,
        "warnings": [f"{d.gang.key}: {page_words(str(text))}" for d in row.decisions for text in d.result.warnings],
    }


def _cell(row: ComparisonRow, job: str, columns: Sequence[Column], cells: Sequence[MetricCell]) -> dict[str, Any]:
    """The outcome of a job under one policy as a JSON-ready dict: a text, and the metrics of a placed job."""
    decision = row.decision(job)
    if decision is None or row.metrics is None:
        return {"outcome": "error", "text": row.error.message if row.error else "not asked", "metrics": []}
    result = decision.result
    if isinstance(result, Refusal):
        return {"outcome": "pending", "text": _brief(result), "metrics": []}
    n_pods = decision.gang.n_pods
    pods = f"{result.n_placed} of {n_pods}" if result.unplaced else str(n_pods)
    text = f"{pods} {'pod' if pods == '1' else 'pods'}"
    if members := list(placed_jobs(result)):
        text += f" in {sum(job.placed for job in members)} of {counted(len(members), 'Job')}"
    return {
        "outcome": "placed",
        "text": text,
        "metrics": [
            {"heading": column.heading, "unit": column.metric.unit, "meaning": column.metric.meaning, **_value(cell)}
            for column, cell in zip(columns, cells, strict=True)
            if cell.value is not None
        ],
    }


def _brief(refusal: Refusal) -> str:
    """Short text on a pending job: the HyperNode nearest to holding it, or the beginning of the first reason.

    A queue, a dependency or an admission that holds the job back comes before a HyperNode.
    """
    near = refusal.nearest
    before_room = any(reason.code.startswith(_BEFORE_ROOM) for reason in refusal.reasons)
    if near is not None and near.holds < near.needs and not before_room:
        return f"{place_name(near.domain)} holds {near.holds} of {near.needs}"
    return _shortened(refusal.reasons[0].message if refusal.reasons else "", _BRIEF)


def brief_cause(report: FixReport) -> str:
    """Short text on a pending job: its cause, without the fixes."""
    return _shortened(report.cause, _BRIEF_CAUSE)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _signature(row: ComparisonRow, job: str) -> tuple[Any, ...]:
    """A key that is equal for policies under which a job has equal results, on whichever nodes its pods are."""
    decision = row.decision(job)
    if decision is None or row.metrics is None:
        return ("error",)
    if isinstance(decision.result, Refusal):
        return ("pending",)
    metrics = row.metrics.jobs[job]
    return ("placed", metrics.nodes, metrics.gpus, decision.result.n_placed)
