"""The terminal table of what `workbench live doctor` found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.report.tables import new_table, text_row

__all__ = ["doctor_tables"]


def doctor_tables(checks: Sequence[tuple[str, str, str]]) -> Any:
    """A table of checks, each given as state (ok, note or problem), subject and text."""
    table = new_table("state", "about", "what")
    for check in checks:
        text_row(table, *check)
    return table
