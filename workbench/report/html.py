"""HTML fragments for notebooks, and the one-page HTML report of a comparison.

All text is escaped by jinja2's autoescape, or by the SVG drawings themselves. The HTML refers to nothing outside: no
script, font or picture from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.evaluate.compare import Comparison, ComparisonRow
from workbench.evaluate.differences import differences, moves_in_brief
from workbench.evaluate.member_jobs import placed_jobs
from workbench.evaluate.metric import View
from workbench.evaluate.metrics import PlacementMetrics
from workbench.evaluate.whatif.fix import FixReport
from workbench.model.best_gpus import BestGpus
from workbench.model.counted import counted, quoted
from workbench.model.explanation import Candidate, Explanation
from workbench.model.gpu_annotation import shell_line
from workbench.model.machine_parts import near_lines
from workbench.model.number_text import number_text
from workbench.model.placement import PlacedPod, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.report.blocks import MIN_CELL
from workbench.report.charts import comparison_charts
from workbench.report.colours import job_colours
from workbench.report.heatmap import draw_heatmap
from workbench.report.legend import legend_html
from workbench.report.metric_columns import Column, groups, job_cells, job_columns, legend, run_cells, run_columns
from workbench.report.occupancy import occupancy, occupancy_of_running
from workbench.report.svg_text import Inserted
from workbench.report.topology_svg import DrawingPlan, draw_parts, draw_topology, drawing_width

if TYPE_CHECKING:
    import jinja2

__all__ = [
    "best_gpus_html",
    "comparison_html",
    "explanation_html",
    "placement_html",
    "refusal_html",
    "render",
    "report_html",
    "snapshot_html",
    "topology_page",
    "topology_svg",
]

#: Candidates and pods listed in a notebook; the rest is counted.
_ROWS = 100

#: Width in pixels below which a picture beside others goes to the next row; its squares stay visible, too.
_LEAST_PICTURE = 300


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("workbench.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["num"] = number_text
    environment.filters["quoted"] = quoted
    environment.filters["counted"] = partial(counted, form=",")
    return environment


def render(template: str, **values: Any) -> str:
    """HTML of the jinja2 template called `template`, filled with `values`; every text is escaped."""
    return _environment().get_template(template).render(**values)


def comparison_html(comparison: Comparison) -> str:
    """A comparison of policies as an HTML fragment: pictures side by side, the table, and reasons of pending jobs."""
    return render("comparison.html.j2", **_comparison_values(comparison))


def report_html(comparison: Comparison, title: str = "Placements compared") -> str:
    """An HTML page, complete in itself: the comparison, a heat map of one node's matrix, and the provenance.

    Returns a complete HTML document; equal for equal comparisons except for the decision times.
    """
    return render(
        "report.html.j2",
        title=title,
        heatmaps=_heatmaps(comparison),
        provenance=comparison.provenance,
        snapshot=comparison.snapshot,
        **_comparison_values(comparison),
    )


def placement_html(placement: Placement) -> str:
    """A placement as an HTML fragment: a picture with the gang's pods, and the node of each pod."""
    pods: list[PlacedPod] = []
    for pod in placement.pods():
        if len(pods) == _ROWS:
            break
        pods.append(pod)
    return render(
        "placement.html.j2",
        placement=placement,
        picture=Inserted(draw_topology(placement.topology, occupancy([placement]), placement.policy)),
        pods=pods,
        jobs=list(placed_jobs(placement))[:_ROWS],
        unplaced=[(placement.gang.pod(u.position).name, u.reasons) for u in placement.unplaced[:_ROWS]],
        more=placement.n_placed - len(pods),
    )


def refusal_html(refusal: Refusal) -> str:
    """A refusal as an HTML fragment: the reasons with their counts, and how near each tier came to holding the gang."""
    return render("refusal.html.j2", refusal=refusal)


def explanation_html(explanation: Explanation, advice: FixReport | None = None) -> str:
    """An explanation as an HTML fragment: the decision, and everything the policy considered, in its order.

    `advice`: why a pending job waits and what would help, shown before the reasons.
    """
    result = explanation.decision.result
    return render(
        "explanation.html.j2",
        result=result,
        pending=isinstance(result, Refusal),
        advice=advice,
        notes=explanation.notes,
        domains=explanation.domains[:_ROWS],
        inner=explanation.inner[:_ROWS],
        nodes=explanation.nodes[:_ROWS],
        more_domains=max(0, len(explanation.domains) - _ROWS),
        more_inner=max(0, len(explanation.inner) - _ROWS),
        more_nodes=max(0, len(explanation.nodes) - _ROWS),
        domain_parts=_part_names(explanation.domains[:_ROWS]),
        inner_parts=_part_names(explanation.inner[:_ROWS]),
        node_parts=_part_names(explanation.nodes[:_ROWS]),
    )


def _part_names(candidates: Sequence[Candidate]) -> list[str]:
    """Names of all parts of the candidates' scores, in the policy's order."""
    return list(dict.fromkeys(name for c in candidates for name in c.parts))


def best_gpus_html(best: BestGpus) -> str:
    """The result of `best_gpus` as an HTML fragment: a heat map with the GPUs marked, and what has been proved."""
    facts = best.to_dict()
    return render(
        "best_gpus.html.j2",
        best=best,
        facts=facts,
        ties=facts["ties"][:20],
        more_ties=max(0, len(facts["ties"]) - 20),
        copied=shell_line(best.environment),
        near=near_lines(facts),
        picture=Inserted(draw_heatmap(best.matrix, best.gpus, best.bottleneck_pair)),
    )


def snapshot_html(snapshot: ClusterSnapshot) -> str:
    """A snapshot as an HTML fragment: a picture of the cluster with its running jobs, and the gaps of the input."""
    running = occupancy_of_running(snapshot)
    return render(
        "snapshot.html.j2",
        snapshot=snapshot,
        summary=repr(snapshot),
        picture=Inserted(draw_topology(snapshot.topology, running)),
    )


def topology_page(snapshot: ClusterSnapshot) -> str:
    """An HTML page, complete in itself, with a picture of a cluster and the problems of its topology."""
    return render(
        "topology.html.j2",
        summary=repr(snapshot),
        picture=Inserted(draw_topology(snapshot.topology, occupancy_of_running(snapshot))),
        topology=snapshot.topology,
        gaps=snapshot.gaps,
    )


def topology_svg(snapshot: ClusterSnapshot) -> str:
    """A picture of a cluster as the text of an SVG file."""
    return draw_topology(snapshot.topology, occupancy_of_running(snapshot))


def _comparison_values(comparison: Comparison) -> dict[str, Any]:
    jobs = [gang.key for gang in comparison.gangs]
    snapshot = comparison.snapshot
    plan = DrawingPlan(snapshot.topology)
    drawn = [
        (
            row.policy,
            draw_parts(
                snapshot.topology, occupancy(row.placements, snapshot, jobs, comparison.gangs), row.policy, plan, False
            ),
        )
        for row in comparison.rows
        if row.error is None
    ]
    columns = job_columns(comparison, View.PAGE)
    differing = differences(comparison)
    return {
        "pictures": [(name, Inserted(str(drawing))) for name, drawing in drawn],
        "legend": Inserted(
            legend_html(occupancy([], snapshot, jobs, comparison.gangs), job_colours(len(jobs)), plan.tiers, plan.note)
        ),
        "width": round(drawing_width(plan.layout)),
        "least_width": max(_LEAST_PICTURE, ceil(drawing_width(plan.layout) * MIN_CELL / plan.layout.cell)),
        "priced": comparison.provenance.communication,
        "runs": _run_table(comparison),
        "groups": [_run_table(comparison, group) for group in groups(comparison, View.PAGE)],
        "charts": [Inserted(chart) for chart in comparison_charts(comparison)],
        "rows": [_row_values(row) for row in comparison.rows],
        "job_table": _table(columns),
        "jobs": [(job, _job_lines(comparison, columns, job)) for job in jobs],
        "differing": differing[:_ROWS],
        "in_brief": moves_in_brief,
        "more_differing": max(0, len(differing) - _ROWS),
        "policies": [row.policy for row in comparison.rows],
        "pending": [
            (row.policy, refusal, row.advice.get(refusal.gang.key))
            for row in comparison.rows
            for refusal in row.refusals
        ],
        "advice_notes": [(row.policy, row.advice.note) for row in comparison.rows if row.advice.note],
        "unplaced": [
            (row.policy, placement) for row in comparison.rows for placement in row.placements if placement.unplaced
        ],
        "warnings": _warnings(comparison.rows),
        "errors": [(row.policy, row.error) for row in comparison.rows if row.error is not None],
        "n_jobs": len(jobs),
    }


def _table(columns: Sequence[Column]) -> dict[str, Any]:
    """Template values for a table of metrics: headings, which columns are aligned left, and the metrics' meanings."""
    return {
        "heads": [column.page_heading for column in columns],
        "texts": [column.page_heading for column in columns if column.is_text],
        "legend": legend(columns, View.PAGE),
    }


def _run_table(comparison: Comparison, group: str = "") -> dict[str, Any]:
    """Template values for the table of run metrics of `group` (empty: those without one), a line per policy."""
    columns = run_columns(comparison, View.PAGE, group)
    lines = zip(map(_row_values, comparison.rows), run_cells(comparison, columns), strict=True)
    return {"title": group.capitalize(), "lines": list(lines), **_table(columns)}


def _row_values(row: ComparisonRow) -> dict[str, Any]:
    return {
        "policy": row.policy,
        "parameters": parameter_text(row.parameters),
        "pending": None if row.metrics is None else len(row.metrics.pending),
        "milliseconds": row.decision_s * 1000.0,
        "error": row.error,
    }


def _job_lines(comparison: Comparison, columns: Sequence[Column], job: str) -> list[dict[str, Any]]:
    """Template values for the outcome of one job with one line per policy; no cells if the job is not placed."""
    lines = []
    for row, cells in zip(comparison.rows, job_cells(comparison, columns, job), strict=True):
        decision = row.decision(job)
        result = None if decision is None else decision.result
        members = list(placed_jobs(result))[:_ROWS] if isinstance(result, Placement) else []
        lines.append({"policy": row.policy, "result": result, "cells": cells, "members": members})
    return lines


def parameter_text(parameters: Mapping[str, Any]) -> str:
    """Parameters of a policy as text, ``a=1, b=x``, in the policy's order."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def _warnings(rows: Sequence[ComparisonRow]) -> list[tuple[str, str, str]]:
    return [
        (row.policy, decision.gang.key, warning.message)
        for row in rows
        for decision in row.decisions
        for warning in decision.result.warnings
    ]


def _heatmaps(comparison: Comparison) -> list[Any]:
    """For each policy a heat map of the node with the slowest GPU set, which limits the run.

    GPU sets that are only a part of their node are preferred, as a job that has all GPUs of a node left no choice.
    """
    drawn = []
    n_gpus = np.bitwise_count(comparison.snapshot.gpu_total).sum(axis=1)
    for row in comparison.rows:
        worst = _worst_node(row, comparison.snapshot, n_gpus)
        if worst is None:
            continue
        job, metrics, at = worst
        node = metrics.nodes[at]
        matrix = comparison.snapshot.matrix_of(comparison.snapshot.topology.node(node))
        if matrix is not None:
            drawn.append(Inserted(draw_heatmap(matrix, metrics.gpus[at], title=row.policy, note=f"{job} on {node}")))
    return drawn


def _worst_node(
    row: ComparisonRow, snapshot: ClusterSnapshot, n_gpus: npt.NDArray[np.int64]
) -> tuple[str, PlacementMetrics, int] | None:
    """The slowest GPU set in a policy's result: the job, its metrics, and the index of the node in them.

    None if no bottleneck is known. Sets that are only a part of a node's GPUs (`n_gpus` has the number of each node)
    are preferred to whole nodes. Ties: first job, then first node.
    """
    found: tuple[tuple[bool, float], str, PlacementMetrics, int] | None = None
    for job, metrics in (row.metrics.jobs if row.metrics else {}).items():
        for at in np.flatnonzero(~np.isnan(metrics.node_bottleneck_gb_s)):
            whole = len(metrics.gpus[at]) >= n_gpus[snapshot.topology.node(metrics.nodes[at])]
            rank = (bool(whole), float(metrics.node_bottleneck_gb_s[at]))
            if found is None or rank < found[0]:
                found = (rank, job, metrics, int(at))
    return None if found is None else found[1:]
