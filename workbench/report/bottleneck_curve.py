"""A chart of the best bottleneck bandwidth of a machine for every number of GPUs."""

from __future__ import annotations

from workbench.evaluate.bottleneck_curve import BottleneckCurve
from workbench.report.lines import draw_lines

__all__ = ["draw_bottleneck_curve"]


def draw_bottleneck_curve(curve: BottleneckCurve, title: str = "") -> str:
    """An SVG chart of the best set's slowest link and its upper bound over the number of GPUs, from two GPUs on."""
    best = curve.best[1:]
    lines = {
        "slowest link of the best set": [(len(one.gpus), one.bottleneck_gb_s) for one in best],
        "upper bound": [(len(one.gpus), one.upper_bound_gb_s) for one in best],
    }
    return draw_lines(title or "Bottleneck bandwidth by number of GPUs", "GPUs", "GB/s", lines)
