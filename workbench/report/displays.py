"""The table of drawing functions by class of value, for notebooks; installed when the first value is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from workbench.control.cluster import EmbeddedCluster
from workbench.control.life_views import JobView, LifeTimeline, PodView
from workbench.errors import InputError
from workbench.evaluate.bottleneck_curve import BottleneckCurve
from workbench.evaluate.compare import Comparison
from workbench.evaluate.regret import Regret
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import BestGpus
from workbench.model.display import set_renderer
from workbench.model.explanation import Explanation
from workbench.model.gang import Gang
from workbench.model.placement import Placement, Refusal
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switch_history import SwitchHistory
from workbench.model.topology import Topology
from workbench.report import html
from workbench.report.cluster_views import cluster_html, job_life_html, pod_life_html
from workbench.report.difference import difference_html
from workbench.report.gang_view import gang_html, scenario_html
from workbench.report.heatmap import draw_heatmap
from workbench.report.life_timeline import draw_timeline
from workbench.report.lines import draw_lines
from workbench.report.lint_view import lint_html
from workbench.report.occupancy import occupancy, placements_in
from workbench.report.pyvis_view import network_html
from workbench.report.regret_view import regret_html
from workbench.report.side_by_side import comparison_svg
from workbench.report.simulation_views import simulation_html
from workbench.report.switch_history import draw_switch_history
from workbench.report.topology_svg import draw_topology
from workbench.simulate.result import SimulationResult
from workbench.topology.diff import TopologyDiff
from workbench.topology.lint import LintReport

__all__ = [
    "Picture",
    "draw_bottleneck_curve",
    "install",
    "view_comparison",
    "view_difference",
    "view_matrix",
    "view_switch_history",
    "view_topology",
]


class Picture:
    """An HTML or SVG text that Jupyter shows as a picture.

    `html`: an SVG element or an HTML fragment; escaped already.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Picture({len(self.html):,} characters)"

    def save(self, path: str | Path) -> None:
        """Write the picture to a file: ``.svg`` for an SVG drawing only, ``.html`` for any picture."""
        Path(path).write_text(self.html, encoding="utf-8")


def view_topology(
    topology: Topology,
    kind: Literal["svg", "pyvis"] = "svg",
    color_by: object = None,
    snapshot: ClusterSnapshot | None = None,
    title: str = "",
) -> Picture:
    """Draw a topology; this is ``topology.view(…)``.

    `kind` ({"svg", "pyvis"}): ``svg``: packed blocks, for any size; ``pyvis``: an interactive network, for at most 300
    nodes. `color_by`: Jobs to colour the nodes by. `snapshot`: gives the GPUs of each node and those in use.
    """
    if kind not in ("svg", "pyvis"):
        raise InputError("unknown kind of picture", source="kind", got=repr(kind), expected="svg or pyvis")
    who = occupancy(placements_in(color_by), snapshot)
    return Picture(draw_topology(topology, who, title) if kind == "svg" else network_html(topology, who))


def view_matrix(
    matrix: BandwidthMatrix, gpus: Sequence[int] = (), pair: tuple[int, int] | None = None, title: str = ""
) -> Picture:
    """Draw a GPU bandwidth matrix as a heat map with a set of GPUs marked; this is ``matrix.view(gpus=…)``.

    `gpus`: the set to mark. `pair` (tuple of int): the slowest pair of the set; by default the slowest direction inside
    the set.
    """
    outside = [gpu for gpu in (*gpus, *(pair or ())) if not 0 <= gpu < len(matrix)]
    if outside:
        raise InputError("no such GPU", source="gpus", got=str(outside[0]), expected=f"0 to {len(matrix) - 1}")
    return Picture(draw_heatmap(matrix, gpus, pair, title))


def view_switch_history(history: SwitchHistory, title: str = "") -> Picture:
    """Draw the states of the leaf switches over time; this is ``timeline.history.view(…)``."""
    return Picture(draw_switch_history(history, title))


def view_comparison(comparison: Comparison, kind: Literal["page", "pictures"] = "page") -> Picture:
    """Show a comparison of policies; this is ``comparison.view(…)``.

    `kind` ({"page", "pictures"}): ``page``: pictures, tables and reasons; ``pictures``: only the pictures side by side,
    as one SVG.
    """
    if kind not in ("page", "pictures"):
        raise InputError("unknown kind of view", source="kind", got=repr(kind), expected="page or pictures")
    return Picture(html.comparison_html(comparison) if kind == "page" else comparison_svg(comparison))


def view_difference(found: TopologyDiff, before: Topology | None = None, after: Topology | None = None) -> Picture:
    """Show the differences between two topologies; this is ``found.view(before=…, after=…)``.

    `before`, `after`: the two topologies; if both are given, they are drawn side by side above the tables.
    """
    pictures = () if before is None or after is None else (("before", before), ("after", after))
    return Picture(difference_html(found, pictures))


def install() -> None:
    """Register the drawing function of every class of values that has one (`workbench.model.display`)."""
    set_renderer(Topology, lambda topology: draw_topology(topology), view_topology)
    set_renderer(BandwidthMatrix, lambda matrix: draw_heatmap(matrix), view_matrix)
    set_renderer(SwitchHistory, lambda history: draw_switch_history(history), view_switch_history)
    _simple(BestGpus, html.best_gpus_html)
    _simple(ClusterSnapshot, html.snapshot_html)
    _simple(Scenario, scenario_html)
    _simple(Gang, gang_html)
    _simple(Placement, html.placement_html)
    _simple(Refusal, html.refusal_html)
    _simple(Explanation, html.explanation_html)
    _simple(Regret, regret_html)
    _simple(BottleneckCurve, draw_bottleneck_curve)
    set_renderer(Comparison, html.comparison_html, view_comparison)
    set_renderer(TopologyDiff, difference_html, view_difference)
    _simple(LintReport, lint_html)
    _simple(EmbeddedCluster, cluster_html)
    _simple(JobView, job_life_html)
    _simple(PodView, pod_life_html)
    _simple(LifeTimeline, draw_timeline)
    _simple(SimulationResult, simulation_html)


def _simple(kind: type, draw: Any) -> None:
    set_renderer(kind, draw, lambda value: Picture(draw(value)))


def draw_bottleneck_curve(curve: BottleneckCurve, title: str = "") -> str:
    """An SVG chart of the best set's slowest link and its upper bound over the number of GPUs, from two GPUs on."""
    best = curve.best[1:]
    lines = {
        "slowest link of the best set": [(len(one.gpus), one.bottleneck_gb_s) for one in best],
        "upper bound": [(len(one.gpus), one.upper_bound_gb_s) for one in best],
    }
    return draw_lines(title or "Bottleneck bandwidth by number of GPUs", "GPUs", "GB/s", lines)
