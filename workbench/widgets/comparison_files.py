"""Files that the comparer widget offers to save: a comparison as HTML, CSV, SVG or PNG."""

from __future__ import annotations

import base64
from typing import Any

from workbench.errors import InputError
from workbench.evaluate.compare import Comparison
from workbench.objects.fields import shown
from workbench.report.csv_text import csv_text
from workbench.report.html import report_html
from workbench.report.png import has_font, to_png
from workbench.report.side_by_side import comparison_svg

__all__ = ["exported"]


def exported(comparison: Comparison, kind: object) -> dict[str, Any]:
    """A comparison as a file for the page: name, type, and its text, or its bytes in base64.

    Raises InputError: the kind is none of html, csv, svg and png.
    """
    if kind == "html":
        return {"name": "comparison.html", "type": "text/html", "text": report_html(comparison)}
    if kind == "csv":
        return {"name": "comparison.csv", "type": "text/csv", "text": csv_text(comparison.to_dataframe())}
    if kind == "svg":
        return {"name": "comparison.svg", "type": "image/svg+xml", "text": comparison_svg(comparison)}
    if kind == "png":
        image = base64.b64encode(to_png(comparison_svg(comparison))).decode()
        note = "" if has_font() else "no font was found where the kernel runs: the picture has no letters"
        return {"name": "comparison.png", "type": "image/png", "base64": image, "note": note}
    raise InputError("no such form", source="comparer", got=shown(kind), expected="html, csv, svg or png")
