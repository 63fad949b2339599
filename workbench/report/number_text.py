"""`number_text`: numbers as text for people."""

from __future__ import annotations

from workbench.model.topology import place_name

__all__ = ["number_text"]


def number_text(value: object) -> str:
    """A value of a table as text: a number with at most four significant digits, a dash for None.

    The name that the virtual top has for programs becomes the one that people read.
    """
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else place_name(str(value))
