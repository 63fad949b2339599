"""The formats of `topology convert`, as a table of the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.table import Table

__all__ = ["format_table"]


def format_table(formats: Iterable[tuple[str, bool, bool, str]]) -> Table:
    """One row per format: name, whether it is read, whether it is written, what it is."""
    table = Table("format", "read", "written", "what it is", box=SIMPLE_HEAD)
    for name, read, written, title in formats:
        table.add_row(name, "yes" if read else "–", "yes" if written else "–", title)
    return table
