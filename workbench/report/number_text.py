"""`number_text`: numbers as text for people."""

from __future__ import annotations

__all__ = ["number_text"]


def number_text(value: object) -> str:
    """A number as text with at most four significant digits; a dash for None."""
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
