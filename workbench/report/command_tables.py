"""Terminal tables of single commands: `cost`, `fix`, `kind`, `live doctor` and `place --ranks`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from workbench.model.counted import counted
from workbench.report.tables import new_table, text_row

if TYPE_CHECKING:
    from workbench.evaluate.cost.job_cost import Interval, JobCost
    from workbench.evaluate.rank_order import RankOrder
    from workbench.evaluate.whatif.fix import FixReport

__all__ = ["cost_tables", "doctor_tables", "fix_tables", "made_cluster_tables", "rank_tables"]

#: Holders of what a job lacks, and pods of a job with new ranks, that are listed; -o json has all.
_HOLDERS, _RANKS = 12, 40


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


def doctor_tables(checks: Sequence[tuple[str, str, str]]) -> Any:
    """A table of checks, each given as state (ok, note or problem), subject and text."""
    table = new_table("state", "about", "what")
    for check in checks:
        text_row(table, *check)
    return table


def fix_tables(report: FixReport, commands: Sequence[Sequence[str]] = ()) -> list[Any]:
    """A report as text and tables: the headline, who holds what is missing, the fixes with their commands.

    Parameters
    ----------
    report : FixReport
    commands : sequence of sequence of str
        For each fix the commands that make it in a live cluster; empty: they are not shown.
    """
    parts: list[Any] = [Text(f"{report.job} is pending by {report.policy}: {report.cause}")]
    if report.holders:
        table = new_table("held", "by", "state", "pods", "amounts", right=(3,))
        for holder in report.holders[:_HOLDERS]:
            amounts = ", ".join(holder.amount_texts)
            text_row(table, holder.of, holder.job, holder.state, holder.pods or "–", amounts)
        more = len(report.holders) - _HOLDERS
        parts += [table, *([Text(f"and {more} more")] if more > 0 else [])]
    if not report.fixes:
        parts.append(Text("no change that was tried helps"))
    for number, fix in enumerate(report.fixes, start=1):
        parts.append(Text(f"{number}. {fix.text}"))
        # A command that is broken into lines could not be copied from a terminal.
        lines = commands[number - 1] if commands else ()
        parts += [Text(f"   {line}", no_wrap=True, overflow="ignore") for line in lines]
    if report.fixes and not report.proved:
        parts.append(Text("not every smaller change could be tried"))
    parts.append(Text(""))
    return parts


def made_cluster_tables(rows: Sequence[Mapping[str, str]]) -> list[Any]:
    """A table of clusters, each given by name, engine, context, kubeconfig and state; a line where there are none."""
    if not rows:
        return ["no cluster: 'workbench kind up' makes one"]
    table = new_table("name", "engine", "context", "state", "kubeconfig")
    for row in rows:
        text_row(table, row["name"], row["engine"], row["context"], row["state"], row["kubeconfig"])
    return [table]


def rank_tables(orders: Iterable[RankOrder]) -> list[Any]:
    """Terminal tables of new ranks: each job's ring crossings before and after, and the pods whose rank changes."""
    found = list(orders)
    parts: list[Any] = []
    if found:
        keys = list(found[0].before)
        heads = [key if key == "node" else f"tier {key}" for key in keys]
        rings = new_table("job", "ranks", *heads, title="ring crossings", right=range(2, 2 + len(keys)))
        for order in found:
            text_row(rings, order.job, "as placed", *(order.before[key] for key in keys))
            if order.changed:
                text_row(rings, "", "by HyperNode", *(order.after[key] for key in keys))
        parts.append(rings)
    for order in found:
        if not order.changed:
            continue
        table = new_table("pod", "node", "rank", "new rank", title=order.job, right=(2, 3))
        rows = [
            (pod, node, was, rank)
            for rank, (pod, node, was) in enumerate(zip(order.pods, order.nodes, order.ranks_before, strict=True))
            if was != rank
        ]
        for row in rows[:_RANKS]:
            text_row(table, *row)
        parts.append(table)
        if len(rows) > _RANKS:
            parts.append(Text(f"… and {counted(len(rows) - _RANKS, 'more pod')} (-o json has all)"))
    return parts
