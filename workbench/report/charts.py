"""Small bar charts of a policy comparison: closeness of pods, speed of their links, sharing of switches.

Amounts are absolute, and pending amounts are hatched, so that a policy that leaves jobs pending does not look better
than one that places them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.evaluate.compare import Comparison, ComparisonRow
from workbench.evaluate.facts import tier_keys
from workbench.model.counted import counted
from workbench.report.chart import bar, chart, keys, label
from workbench.report.colours import MARK, NODE, job_colours, tier_colour
from workbench.report.speed_colours import SpeedScale
from workbench.report.svg_text import fit_text

__all__ = ["Bar", "bottleneck_chart", "comparison_charts", "draw_bars", "switch_chart", "tier_chart"]

_BAR = 15.0
#: Largest width for the names of policies, in pixels.
_LEFT = 190.0
_WIDTH = 520.0
#: Width of a character beside a bar; on the generous side.
_CHARACTER = 6.4
#: Switches with as many cross-switch jobs or more are one part of a bar.
_MANY_JOBS = 4


class Bar(NamedTuple):
    """The bar of one policy in a bar chart.

    `label`: name of the policy, to the left of the bar. `amounts`: amount of each part of the bar. `pending`: pending
    amount in the unit of the parts; drawn hatched behind them. `said`: text to the right of the bar.
    """

    label: str
    amounts: Sequence[float]
    pending: float = 0.0
    said: str = ""


def comparison_charts(comparison: Comparison) -> list[str]:
    """All bar charts of a comparison for which there are data, each as an SVG."""
    return [chart for draw in (tier_chart, bottleneck_chart, switch_chart) if (chart := draw(comparison))]


def tier_chart(comparison: Comparison) -> str:
    """SVG chart of the pairs of pods of each job by the closest tier their nodes share; one bar per policy.

    Pairs of pending pods are hatched.
    """
    topology = comparison.snapshot.topology
    tiers = tier_keys(topology)
    names = ["same node", *(f"tier {tier}" for tier in topology.tiers), "across all"]
    bars = []
    for row in comparison.rows:
        if row.metrics is None:
            bars.append(_failed(row, names))
            continue
        pairs = row.metrics["pod_pairs"]
        total = sum(gang.n_pods * (gang.n_pods - 1) // 2 for gang in comparison.gangs)
        bars.append(_counted(row, [float(pairs.get(tier, 0)) for tier in tiers], total))
    colours = [NODE, *(tier_colour(tier) for tier in (*topology.tiers, topology.top_tier))]
    return draw_bars("Pairs of pods of a job by the tier where they meet", names, bars, "pairs", colours)


def bottleneck_chart(comparison: Comparison) -> str:
    """SVG chart of the pods with GPUs by the bottleneck bandwidth of their job's GPUs on their node.

    One bar per policy. Each distinct bandwidth is a part of the bar; pending pods are hatched. Empty text if no
    bottleneck is known.
    """
    found = [_bottlenecks(row) for row in comparison.rows]
    distinct = sorted({round(value, 2) for of_one in found for value in of_one[~np.isnan(of_one)].tolist()})
    if not distinct:
        return ""
    # Eight parts can be told apart; more values are grouped into eight equal ranges.
    edges = np.array(distinct) if len(distinct) <= 8 else np.quantile(distinct, np.linspace(0, 1, 9)[:-1])
    names = [f"{edge:.4g} GB/s" if len(distinct) <= 8 else f"from {edge:.4g} GB/s" for edge in edges]
    names.append("one GPU of the job there, or no matrix")
    total = sum(role.count for gang in comparison.gangs for role in gang.roles if role.n_gpus)
    bars = []
    for row, of_one in zip(comparison.rows, found, strict=True):
        if row.metrics is None:
            bars.append(_failed(row, names))
            continue
        unknown = np.isnan(of_one)
        part = np.where(unknown, len(edges), np.searchsorted(edges, np.round(of_one, 2), side="right") - 1)
        amounts = np.bincount(part, minlength=len(names)).astype(float).tolist()
        bars.append(_counted(row, amounts, total))
    scale = SpeedScale.over(edges)
    colours = [*(scale.colour(float(edge)) if edge > 0 else MARK for edge in edges), NODE]
    return draw_bars("Pods by the bottleneck bandwidth of their job's GPUs on the node", names, bars, "pods", colours)


def _bottlenecks(row: ComparisonRow) -> npt.NDArray[np.float64]:
    """For each placed pod with GPUs, the bottleneck bandwidth of its job's GPUs on its node in GB/s; NaN if unknown."""
    found = [np.empty(0)]
    for placement in row.placements:
        assert row.metrics is not None
        with_gpus = np.array([role.n_gpus > 0 for role in placement.gang.roles])[placement.gang.role_of_pod]
        # Metrics are in the order of the nodes.
        nodes = np.unique(placement.node[placement.node >= 0])
        of_node = row.metrics.jobs[placement.gang.key].node_bottleneck_gb_s
        found.append(of_node[np.searchsorted(nodes, placement.node[with_gpus & (placement.node >= 0)])])
    return np.concatenate(found)


def _counted(row: ComparisonRow, amounts: Sequence[float], total: int) -> Bar:
    placed = int(sum(amounts))
    said = f"{placed:,}" if placed == total else f"{placed:,} of {total:,}"
    return Bar(row.policy, amounts, total - placed, said)


def _failed(row: ComparisonRow, names: Sequence[str]) -> Bar:
    return Bar(row.policy, [0.0] * len(names), said="failed")


def switch_chart(comparison: Comparison) -> str:
    """SVG chart of the leaf switches by the number of cross-switch jobs that use them; one bar per policy.

    A cross-switch job has pods both under the switch and elsewhere.

    Empty text if the sharing of switches was not measured.
    """
    names = ["no cross-switch job", "1", *(str(n) for n in range(2, _MANY_JOBS)), f"{_MANY_JOBS} or more"]
    bars = []
    for row in comparison.rows:
        if row.metrics is None or row.metrics.switches is None:
            continue
        counts = np.minimum(list(row.metrics.switches.crossing.values()), _MANY_JOBS)
        amounts = np.bincount(counts, minlength=len(names)).astype(float).tolist()
        # A job that is pending uses no switch.
        n, jobs = len(row.metrics.pending), len(comparison.gangs)
        bars.append(Bar(row.policy, amounts, said=f"{n} of {counted(jobs, 'job')} pending" if n else ""))
    return draw_bars("Switches by the number of cross-switch jobs", names, bars, "switches") if bars else ""


def draw_bars(
    title: str, names: Sequence[str], bars: Sequence[Bar], unit: str, colours: Sequence[str] | None = None
) -> str:
    """Draw a chart of stacked bars with a common scale as one ``<svg>`` element; the numbers are in tool tips.

    `title`: heading. `names`: names of the parts, in order. `bars`: the bars, from top to bottom. `unit`: unit of the
    amounts. `colours`: colour of each part; by default the colours of jobs, in their order.
    """
    colours = colours or [look.colour for look in job_colours(len(names))]
    key = "tb" + hashlib.sha256(repr((title, names, bars)).encode()).hexdigest()[:10]
    shown = [i for i in range(len(names)) if any(bar.amounts[i] for bar in bars)]
    pending = any(bar.pending for bar in bars)
    left = min(_LEFT, _CHARACTER * max((len(bar.label) for bar in bars), default=0) + 10.0)
    room = _WIDTH - left - _CHARACTER * max((len(bar.said) for bar in bars), default=0) - 8.0
    longest = max((sum(bar.amounts) + bar.pending for bar in bars), default=0.0)
    scale = room / longest if longest else 0.0
    parts = [_hatching(key)] if pending else []
    y = 24.0
    for each in bars:
        parts.append(label(0, y + 11, fit_text(each.label, _LEFT - 6.0, 11)))
        total = sum(each.amounts) + each.pending
        pieces = [(each.amounts[i], names[i], f"fill='{colours[i]}'") for i in shown]
        pieces.append((each.pending, "pending", _hatched(key)))
        x = left
        for amount, name, paint in pieces:
            if not amount:
                continue
            tip = f"{each.label}: {amount:,.0f} of {total:,.0f} {unit}, {name} ({amount / total:.0%})"
            parts.append(bar(x, y, (amount * scale, _BAR), paint, tip))
            x += amount * scale
        said = each.said or ("" if total else "none")
        parts.append(label(x + 6, y + 11, said, more=" fill-opacity='.75'"))
        y += _BAR + 5
    entries = [(f"fill='{colours[i]}'", names[i]) for i in shown] + ([(_hatched(key), "pending")] if pending else [])
    legend, height = keys(entries, 0, y + 6, _WIDTH)
    return chart("tw-chart", title, (_WIDTH, height), [*parts, *legend])


def _hatching(key: str) -> str:
    """SVG markup of the hatching for pending pods; `key` makes its element id unique on the page."""
    return (
        f"<defs><pattern id='{key}' width='6' height='6' patternUnits='userSpaceOnUse' "
        "patternTransform='rotate(45)'><rect width='2' height='6' fill='currentColor' fill-opacity='.55'/>"
        "</pattern></defs>"
    )


def _hatched(key: str) -> str:
    return f"fill='url(#{key})' stroke='currentColor' stroke-opacity='.55' stroke-width='.8'"
