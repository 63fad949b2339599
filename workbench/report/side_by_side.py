"""`comparison_svg`: pictures of the cluster under each policy of a comparison, side by side in one SVG."""

from __future__ import annotations

from html import escape
from math import ceil

from workbench.evaluate.compare import Comparison
from workbench.report.colours import job_colours
from workbench.report.legend import legend_keys, legend_svg, patterns
from workbench.report.occupancy import occupancy
from workbench.report.svg_text import LABEL_PX
from workbench.report.topology_svg import DrawingPlan, draw_parts

__all__ = ["columns_of", "comparison_svg"]

_GAP = 16.0

#: Pictures in a row: as many as keep a page of pictures wider than it is high, four at most.
_MOST_COLUMNS = 4


def columns_of(pictures: int) -> int:
    """Number of pictures per row, at most four, such that the rows are even: five pictures are drawn as
    three and two.
    """
    rows = max(1, ceil(pictures / _MOST_COLUMNS))
    return max(1, ceil(pictures / rows))


def comparison_svg(comparison: Comparison) -> str:
    """Draw the cluster once for each policy that answered, in equal sizes, two to four in a row, over one legend.

    Returns: one ``<svg>`` element. Same input, same bytes.
    """
    jobs = [gang.key for gang in comparison.gangs]
    topology = comparison.snapshot.topology
    plan = DrawingPlan(topology)
    drawings = [
        draw_parts(
            topology,
            occupancy(row.placements, comparison.snapshot, jobs, comparison.gangs),
            row.policy,
            plan,
            legend=False,
        )
        for row in comparison.rows
        if row.error is None
    ]
    width = max((drawing.width for drawing in drawings), default=0.0)
    height = max((drawing.height for drawing in drawings), default=0.0)
    columns = columns_of(len(drawings))
    rows = ceil(len(drawings) / columns)
    across, down = columns * (width + _GAP) + _GAP, rows * (height + _GAP) + _GAP
    who = occupancy([], comparison.snapshot, jobs, comparison.gangs)
    keys = legend_keys(who, job_colours(len(jobs)), plan.tiers, "tl")
    legend, legend_height = legend_svg(keys, plan.note, across - 2 * _GAP)
    total = (across, down + legend_height + _GAP)
    title = escape("Placements by " + ", ".join(row.policy for row in comparison.rows if row.error is None))
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' width='{total[0]:.0f}' height='{total[1]:.0f}' "
        f"viewBox='0 0 {total[0]:.0f} {total[1]:.0f}'><title>{title}</title>"
    ]
    for i, drawing in enumerate(drawings):
        x, y = _GAP + (i % columns) * (width + _GAP), _GAP + (i // columns) * (height + _GAP)
        parts.append(f"<g transform='translate({x:.0f} {y:.0f})'>{drawing}</g>")
    parts.append(
        f"<g class='tw-legend' transform='translate({_GAP:.0f} {down:.0f})' font-family='system-ui, sans-serif' "
        f"font-size='{LABEL_PX:.0f}' fill='currentColor'>{patterns(job_colours(len(jobs)), 'tl')}{legend}</g>"
    )
    return "".join([*parts, "</svg>"])
