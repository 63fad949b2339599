"""Files of a comparison that the comparer offers to save."""

from __future__ import annotations

from typing import Any

from workbench.errors import InputError
from workbench.evaluate.compare import Comparison
from workbench.objects.fields import shown
from workbench.report.csv_text import csv_text
from workbench.report.html import report_html

__all__ = ["exported"]


def exported(comparison: Comparison, kind: object) -> dict[str, Any]:
    """A file of a comparison: name, type and text.

    Raises
    ------
    InputError
        The kind is none of html and csv.
    """
    if kind == "html":
        return {"name": "comparison.html", "type": "text/html", "text": report_html(comparison)}
    if kind == "csv":
        return {"name": "comparison.csv", "type": "text/csv", "text": csv_text(comparison.to_dataframe())}
    raise InputError("no such form", source="comparer", got=shown(kind), expected="html or csv")
