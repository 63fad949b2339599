"""What the comparer's page draws of a comparison: pictures, one table, what differs. Pure functions, no widget."""

from __future__ import annotations

from typing import Any

from workbench.cancel import check
from workbench.evaluate.compare import Comparison, ComparisonRow
from workbench.model.placement import Placement, Refusal
from workbench.report.charts import comparison_charts
from workbench.report.colours import job_colours
from workbench.report.occupancy import occupancy
from workbench.report.topology_svg import Drawing, Plan, draw_parts

__all__ = ["comparison_view", "picture_after", "pictures"]

#: Pods of one job that a cell of the table tells apart.
_NODES_NAMED = 3


def comparison_view(comparison: Comparison) -> dict[str, Any]:
    """Everything that the page shows beside the pictures, JSON-ready."""
    return {
        "nodes": comparison.snapshot.n_nodes,
        "policies": [_row_view(row) for row in comparison.rows],
        "jobs": [
            {
                "key": gang.key,
                "pods": gang.n_pods,
                "colour": look.colour,
                "cells": [_cell(row, gang.key) for row in comparison.rows],
                "differs": len({_signature(row, gang.key) for row in comparison.rows}) > 1,
            }
            for gang, look in zip(comparison.gangs, job_colours(len(comparison.gangs)))
        ],
        "charts": comparison_charts(comparison),
        "gaps": list(comparison.snapshot.gaps),
    }


def pictures(comparison: Comparison, plan: Plan | None = None) -> list[Drawing | None]:
    """One per policy, after all its decisions; None where it raised."""
    plan = plan or Plan(comparison.snapshot.topology)
    return [
        None if row.error is not None else picture_after(comparison, i, len(row.decisions), plan)
        for i, row in enumerate(comparison.rows)
    ]


def picture_after(comparison: Comparison, policy: int, steps: int, plan: Plan | None = None) -> Drawing:
    """The topology after the decisions that a policy took first; jobs have the colours of the whole run."""
    check()
    row = comparison.rows[policy]
    placed = [d.result for d in row.in_turn[:steps] if isinstance(d.result, Placement)]
    jobs = [gang.key for gang in comparison.gangs]
    snapshot = comparison.snapshot
    title = row.policy if steps >= len(row.decisions) else f"{row.policy}, after {steps} of {len(row.decisions)}"
    return draw_parts(snapshot.topology, occupancy(placed, snapshot, jobs), title, plan)


def _row_view(row: ComparisonRow) -> dict[str, Any]:
    metrics = row.metrics
    return {
        "name": row.policy,
        "parameters": {name: str(value) for name, value in row.parameters.items()},
        "error": None if row.error is None else {"message": row.error.message, "traceback": row.error.traceback},
        "steps": [decision.gang.key for decision in row.in_turn],
        "milliseconds": row.decision_s * 1e3,
        "placed": None if metrics is None else len(metrics.placed),
        "pending": None if metrics is None else len(metrics.pending),
        "pods": None if metrics is None else metrics.n_pods_placed,
        "bottleneck_gb_s": None if metrics is None else metrics.worst_bottleneck_gb_s,
        "stranded": None if metrics is None else metrics.gpus_stranded,
        "warnings": [f"{d.gang.key}: {text}" for d in row.decisions for text in d.result.warnings],
    }


def _cell(row: ComparisonRow, job: str) -> dict[str, Any]:
    decision = row.decision(job)
    if decision is None or row.metrics is None:
        return {"outcome": "error", "text": row.error.message if row.error else "not asked"}
    result = decision.result
    if isinstance(result, Refusal):
        nearest = [f"tier {m.tier}: {m.domain} holds {m.holds} of {m.needs}" for m in result.nearest_misses]
        reasons = [reason.message for reason in result.reasons]
        return {"outcome": "pending", "text": "; ".join(reasons), "nearest": nearest}
    metrics = row.metrics.jobs[job]
    names = ", ".join(metrics.nodes[:_NODES_NAMED]) + (" …" if metrics.n_nodes > _NODES_NAMED else "")
    where = f"{metrics.lca} (tier {metrics.lca_tier})" if metrics.lca_tier else metrics.lca
    slowest = metrics.worst_bottleneck_gb_s
    pods, nodes = _n(metrics.n_pods, "pod"), _n(metrics.n_nodes, "node")
    leaves = _n(metrics.n_leaves, "leaf", "leaves")
    return {
        "outcome": "placed",
        "text": f"{pods} on {nodes}, {leaves}, in {where}",
        "nodes": names,
        "bottleneck": None if slowest is None else f"{slowest:.4g} GB/s",
        "unplaced": len(result.unplaced),
    }


def _n(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def _signature(row: ComparisonRow, job: str) -> tuple[Any, ...]:
    """Equal for two policies that did the same with a job, wherever its pods stand."""
    decision = row.decision(job)
    if decision is None or row.metrics is None:
        return ("error",)
    if isinstance(decision.result, Refusal):
        return ("pending",)
    metrics = row.metrics.jobs[job]
    return ("placed", metrics.nodes, metrics.gpus, metrics.n_pods)
