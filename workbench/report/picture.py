"""`Picture`: a drawing that Jupyter shows and that can be saved to a file."""

from __future__ import annotations

from pathlib import Path

__all__ = ["Picture"]


class Picture:
    """An HTML or SVG text that Jupyter shows as a picture.

    Parameters
    ----------
    html : str
        An SVG element or an HTML fragment; escaped already.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Picture({len(self.html):,} characters)"

    def save(self, path: str | Path) -> None:
        """Write the picture to a file: ``.svg`` for an SVG drawing only, ``.html`` for any picture."""
        Path(path).write_text(self.html, encoding="utf-8")
