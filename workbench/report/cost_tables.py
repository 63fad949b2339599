"""Terminal tables of what a placed job's communication costs."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from workbench.evaluate.cost.job_cost import Interval, JobCost
from workbench.report.tables import new_table, text_row

__all__ = ["cost_tables"]


def cost_tables(cost: JobCost) -> list[Any]:
    """Terminal tables of one job: its step, its kinds of parallelism, what each tier adds, and what is left out."""
    step = new_table("per step", "nothing hidden", "as hidden as can be", title=f"{cost.job} as {cost.shape}")
    text_row(step, "communication", _interval(cost.exposed), _interval(cost.hidden))
    if cost.step is not None:
        text_row(step, "with compute", _interval(cost.step[1]), _interval(cost.step[0]))
    parts = new_table(
        "parallel", "collective", "ranks", "nodes", "calls", "MB", "ms per step", "GB/s", "from", right=(2, 3, 4, 5, 7)
    )
    for part in cost.parts:
        exchange = part.exchange
        text_row(
            parts,
            exchange.kind,
            exchange.collective,
            part.ranks,
            part.nodes,
            exchange.calls,
            _rounded(exchange.size / 1e6),
            _interval(part.time),
            _rounded(part.gb_s),
            part.basis,
        )
    found: list[Any] = [step, parts]
    if cost.tiers:
        tiers = new_table("tier", "HyperNodes", "GB/s per GPU", "adds, ms per step", title="tiers", right=(0, 1, 2, 3))
        for tier in cost.tiers:
            text_row(tiers, tier.tier, tier.hypernodes, _rounded(tier.gb_s), _rounded(tier.added_ms))
        found.append(tiers)
    speed = f"{_rounded(cost.gb_s)} GB/s ({_rounded(cost.low_gb_s)} to {_rounded(cost.high_gb_s)}) per rank"
    found.append(Text(f"{speed}. Calibration {cost.calibration}, machine {cost.machine}."))
    found.append(Text(f"Left out: {'; '.join(cost.left_out)}."))
    return found


def _interval(time: Interval) -> str:
    return f"{_rounded(time.ms)} ms ({_rounded(time.low_ms)} to {_rounded(time.high_ms)})"


def _rounded(number: float) -> str:
    """Three significant digits, without an exponent as long as the number is one that people read."""
    short = float(f"{number:.3g}")
    if abs(short) >= 1e12:
        return f"{short:g}"
    return f"{short:,.0f}" if abs(short) >= 100 else f"{short:,.4g}"
