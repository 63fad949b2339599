"""Terminal tables of a comparison of policies: one line per policy, the jobs, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from workbench.evaluate.differences import differences, moves_in_brief
from workbench.evaluate.metric import View
from workbench.model.counted import counted
from workbench.model.placement import Placement
from workbench.report.metric_columns import groups, run_cells, run_columns, session_columns
from workbench.report.tables import (
    ROWS,
    cell_text,
    legend_lines,
    more_line,
    new_table,
    plain_text,
    policy_text,
    reason_lines,
    text_row,
    warning_lines,
)

if TYPE_CHECKING:
    from workbench.evaluate.compare import Comparison, ComparisonRow
    from workbench.evaluate.lost_places import LostPlace

__all__ = ["comparison_tables", "difference_tables"]

#: Moves of one job listed in a line; -o json has all.
_MOVES = 6


def _shared_warnings(comparison: Comparison) -> dict[str, list[str]]:
    """Warnings that several policies of a comparison give to the same jobs, with the names of these policies."""
    policies: dict[str, list[str]] = {}
    for row in _measured(comparison):
        for line in warning_lines(row.decisions):
            policies.setdefault(line, []).append(row.policy)
    return {line: names for line, names in policies.items() if len(names) > 1}


def _shared_lines(comparison: Comparison, shared: Mapping[str, list[str]]) -> list[Text]:
    """The lines of shared warnings below the names of their policies."""
    of_policies: dict[tuple[str, ...], list[str]] = {}
    for line, names in shared.items():
        of_policies.setdefault(tuple(names), []).append(line)
    lines = []
    for whom, told in of_policies.items():
        whose = "every policy" if len(whom) == len(_measured(comparison)) else ", ".join(whom)
        lines += [Text(f"{whose}:"), *(Text(f"  {line}") for line in told)]
    return lines


def _measured(comparison: Comparison) -> list[ComparisonRow]:
    return [row for row in comparison.rows if row.metrics is not None and row.error is None]


def comparison_tables(comparison: Comparison) -> list[Any]:
    """Terminal tables of a comparison: one line per policy, then the pending jobs and their reasons."""
    columns = run_columns(comparison, View.TABLE)
    heads = [column.table_heading for column in columns]
    table = new_table("policy", *heads, "ms", right=range(1, len(heads) + 2))
    details: list[Any] = []
    shared = _shared_warnings(comparison)
    for row, cells in zip(comparison.rows, run_cells(comparison, columns), strict=True):
        if row.metrics is None or row.error is not None:
            text_row(table, row.policy, "failed")
            details.append(Text(f"{row.policy} failed: {row.error.message if row.error else ''}"))
            continue
        table.add_row(
            plain_text(policy_text(row.policy)), *map(cell_text, columns, cells), f"{row.decision_s * 1000:.1f}"
        )
        warnings = [line for line in warning_lines(row.decisions) if line not in shared]
        if lines := [*reason_lines(row.decisions, row.advice), *map(Text, warnings)]:
            details += [Text(f"{row.policy}:"), *(Text("  ").append_text(line) for line in lines)]
    details += _shared_lines(comparison, shared)
    of_groups = [part for group in groups(comparison, View.TABLE) for part in _group_table(comparison, group)]
    return [table, *legend_lines(columns), *of_groups, *details]


def job_tables(comparison: Comparison, job: str) -> list[Any]:
    """Terminal table of one job of a comparison: a line per policy, then why policies leave it pending.

    `job`: ``namespace/name`` of one of its gangs.
    """
    rows = [row for row in comparison.rows if row.metrics is not None]
    first = next((row.metrics for row in rows if row.metrics is not None and job in row.metrics.jobs), None)
    columns = () if first is None else session_columns(first, comparison.snapshot.topology)
    heads = [column.table_heading for column in columns]
    table = new_table(
        "policy", "outcome", "HyperNode", "tier", "pods", *heads, title=job, right=range(3, 5 + len(heads))
    )
    failed = []
    for row in comparison.rows:
        decision = row.decision(job)
        if decision is None or row.metrics is None:
            failed.append(Text(f"{row.policy} failed: {row.error.message if row.error else ''}"))
            continue
        result, n_pods = decision.result, decision.gang.n_pods
        if isinstance(result, Placement):
            pods = f"{result.n_placed} of {n_pods}" if result.unplaced else n_pods
            values = (column.shown(row.metrics.jobs[job]) for column in columns)
            text_row(table, policy_text(row.policy), "placed", result.hypernode, result.tier, pods, *values)
        else:
            blank = (None for _ in columns)
            text_row(table, policy_text(row.policy), "pending", "", None, f"0 of {n_pods}", *blank)
    return [table, *failed, *map(Text, _pending_lines(comparison, [job]))]


def difference_tables(comparison: Comparison, lost: Sequence[LostPlace] = ()) -> list[Any]:
    """Terminal table of the jobs that not every policy places on the same nodes, and the pods that move.

    Moves are relative to the first policy of the comparison. `lost` says to which jobs these lost their places.
    """
    found = differences(comparison)
    policies = [row.policy for row in comparison.rows]
    alike = len(comparison.gangs) - len(found)
    parts: list[Any] = []
    if found:
        table = new_table("job", *(policy_text(name) for name in policies))
        for one in found[:ROWS]:
            text_row(table, one.job, *one.outcomes)
        parts = [table, *more_line(len(found) - ROWS, "jobs")]
    for one in found[:ROWS]:
        for policy, moves in zip(policies, map(moves_in_brief, one.moves), strict=True):
            if moves:
                listed = ", ".join(move.text for move in moves[:_MOVES])
                more = f" and {counted(len(moves) - _MOVES, 'more move')}" if len(moves) > _MOVES else ""
                parts.append(Text(f"{one.job}, {policies[0]} → {policy}: {listed}{more}"))
    parts += [Text(one.text) for one in lost]
    parts += [Text(line) for line in _pending_lines(comparison, [one.job for one in found[:ROWS]])]
    differ = {one.job for one in found}
    pending = [
        gang.key for gang in comparison.gangs if gang.key not in differ and _pending_everywhere(comparison, gang.key)
    ]
    said = f"{counted(alike - len(pending), 'job is', 'jobs are', form=',')} on the same nodes by every policy"
    if pending:
        listed = ", ".join(pending[:ROWS]) + (" …" if len(pending) > ROWS else "")
        said += f"; pending by every policy: {listed}"
    return [*parts, Text(said), *(Text(line) for line in _pending_lines(comparison, pending[:ROWS]))]


def _pending_lines(comparison: Comparison, jobs: Sequence[str]) -> Iterator[str]:
    """What is missing for each pending job, and what would help; policies that say the same are named together."""
    for job in jobs:
        said: dict[str, list[str]] = {}
        for row in comparison.rows:
            if job in row.advice:
                said.setdefault(row.advice[job].headline, []).append(policy_text(row.policy))
        for headline, policies in said.items():
            yield f"{job} is pending by {', '.join(policies)}: {headline}"


def _pending_everywhere(comparison: Comparison, job: str) -> bool:
    decisions = [row.decision(job) for row in comparison.rows]
    return all(decision is not None and not decision.placed for decision in decisions)


def _group_table(comparison: Comparison, group: str) -> list[Any]:
    """Terminal table of the metrics of a group with a line per policy, and the number of jobs that it left pending."""
    columns = run_columns(comparison, View.TABLE, group)
    heads = [column.table_heading for column in columns]
    table = new_table("policy", "pending", *heads, title=group, right=range(1, len(heads) + 2))
    for row, cells in zip(comparison.rows, run_cells(comparison, columns), strict=True):
        if row.metrics is not None:
            pending = plain_text(len(row.metrics.pending))
            table.add_row(plain_text(policy_text(row.policy)), pending, *map(cell_text, columns, cells))
    priced = comparison.provenance.communication if group == "communication" else None
    return [table, *legend_lines(columns), *([] if priced is None else [_basis(priced)])]


def _basis(priced: Mapping[str, Any]) -> Text:
    """Line below prices of communication: what they rest on, and what they leave out."""
    calibration = priced["calibration"]
    sources = counted(len(calibration["sources"]), "source")
    basis = f"Machine {priced['machine']}, calibration {calibration['name']} ({sources}; -o json names them)"
    return Text(f"{basis}. Left out: {'; '.join(priced['left_out'])}.")
