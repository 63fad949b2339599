"""Small bar charts of a comparison: how far apart the pods are, how fast their links are, how they share switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from workbench.evaluate.compare import Comparison
from workbench.evaluate.metrics import NODE
from workbench.report.colours import job_colours
from workbench.report.svg_text import fit_text

__all__ = ["bottleneck_chart", "draw_bars", "switch_chart", "tier_chart"]

_BAR = 15.0
_LEFT = 130.0
_WIDTH = 460.0
#: Switches with as many cross-switch jobs or more are one part of a bar.
_MANY_JOBS = 4


def tier_chart(comparison: Comparison) -> str:
    """Pairs of pods by the tier where their nodes meet, in per cent of the policy's pairs, one bar per policy."""
    topology = comparison.snapshot.topology
    tiers = [NODE, *(str(tier) for tier in topology.tiers), str(topology.top_tier)]
    names = ["same node", *(f"tier {tier}" for tier in topology.tiers), "across all"]
    rows: dict[str, list[float]] = {}
    for row in comparison.rows:
        pairs = row.metrics.pod_pairs() if row.metrics is not None else {}
        rows[row.policy] = [float(pairs.get(tier, 0)) for tier in tiers]
    return draw_bars("Pairs of pods by the tier where they meet", names, rows, "pairs")


def bottleneck_chart(comparison: Comparison) -> str:
    """Nodes by the bottleneck bandwidth of a job's GPUs there, one bar per policy, a part per distinct value."""
    values: dict[str, list[float]] = {}
    for row in comparison.rows:
        found = [m.bottleneck_gb_s for m in row.metrics.jobs.values()] if row.metrics is not None else []
        known = np.concatenate(found) if found else np.empty(0)
        values[row.policy] = known[~np.isnan(known)].tolist()
    distinct = sorted({round(value, 2) for of_one in values.values() for value in of_one})
    if not distinct:
        return ""
    # Eight parts can be told apart; more values are put into as many equal ranges.
    edges = np.array(distinct) if len(distinct) <= 8 else np.quantile(distinct, np.linspace(0, 1, 9)[:-1])
    names = [f"{edge:.4g} GB/s" if len(distinct) <= 8 else f"from {edge:.4g} GB/s" for edge in edges]
    rows = {
        policy: np.bincount(
            np.searchsorted(edges, np.round(of_one, 2), side="right") - 1, minlength=len(edges)
        ).astype(float).tolist() if of_one else [0.0] * len(edges)
        for policy, of_one in values.items()
    }  # fmt: skip
    return draw_bars("Nodes by bottleneck bandwidth of a job's GPUs", names, rows, "nodes")


def switch_chart(comparison: Comparison) -> str:
    """Switches by the number of cross-switch jobs that use them, one bar per policy; empty where none were measured."""
    found = {row.policy: row.metrics.switches for row in comparison.rows if row.metrics is not None}
    counts = {
        policy: np.minimum(list(sharing.crossing.values()), _MANY_JOBS)
        for policy, sharing in found.items()
        if sharing is not None
    }
    if not counts:
        return ""
    names = ["no cross-switch job", "1", *(str(n) for n in range(2, _MANY_JOBS)), f"{_MANY_JOBS} or more"]
    rows = {
        policy: np.bincount(of_one, minlength=len(names)).astype(float).tolist() for policy, of_one in counts.items()
    }
    return draw_bars("Switches by the number of cross-switch jobs", names, rows, "switches")


def draw_bars(title: str, names: Sequence[str], rows: Mapping[str, Sequence[float]], unit: str) -> str:
    """Stacked bars, one per row, each as long as the whole: parts in per cent, numbers in tool tips.

    Parameters
    ----------
    title : str
    names : sequence of str
        Of the parts, in order.
    rows : mapping of str to sequence of float
        Per bar one amount per part.
    unit : str
        What the amounts count.
    """
    colours = [look.colour for look in job_colours(len(names))]
    shown = [i for i in range(len(names)) if any(row[i] for row in rows.values())]
    parts = [f"<text x='0' y='13' font-size='13' font-weight='600'>{escape(title)}</text>"]
    y = 24.0
    for label, row in rows.items():
        parts.append(f"<text x='0' y='{y + 11:.0f}'>{escape(fit_text(label, _LEFT - 6, 11))}</text>")
        total = sum(row)
        x = _LEFT
        for i in shown:
            if not row[i]:
                continue
            width = row[i] / total * (_WIDTH - _LEFT)
            tip = f"{label}: {row[i]:g} of {total:g} {unit}, {names[i]} ({row[i] / total:.0%})"
            parts.append(
                f"<rect x='{x:.1f}' y='{y:.0f}' width='{width:.1f}' height='{_BAR:.0f}' fill='{colours[i]}'>"
                f"<title>{escape(tip)}</title></rect>"
            )
            x += width
        if not total:
            parts.append(f"<text x='{_LEFT:.0f}' y='{y + 11:.0f}' fill-opacity='.6'>none</text>")
        y += _BAR + 5
    x, y = 0.0, y + 6
    for i in shown:
        room = 22.0 + 6.6 * len(names[i])
        if x and x + room > _WIDTH:
            x, y = 0.0, y + 16
        parts.append(
            f"<rect x='{x:.0f}' y='{y:.0f}' width='10' height='10' fill='{colours[i]}'/>"
            f"<text x='{x + 14:.0f}' y='{y + 9:.0f}'>{escape(names[i])}</text>"
        )
        x += room
    height = y + 16
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' class='tw-chart' role='img' width='{_WIDTH:.0f}' "
        f"height='{height:.0f}' viewBox='0 0 {_WIDTH:.0f} {height:.0f}' font-family='system-ui, sans-serif' "
        f"font-size='11' fill='currentColor'><title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
