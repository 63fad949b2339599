"""`fix_tables`: why a job is pending and what helps, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from workbench.evaluate.whatif.fix import FixReport
from workbench.report.tables import new_table, text_row

__all__ = ["fix_tables"]

_HOLDERS = 12


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
