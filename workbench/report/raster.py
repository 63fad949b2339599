"""`to_png`: convert an SVG drawing to a PNG image with the library resvg."""

from __future__ import annotations

from functools import cache

from workbench.optional import optional

__all__ = ["has_font", "to_png"]

#: Families of letters without serifs, one of which every desktop has; the library takes no other where one is missing.
_FAMILIES = ("Arial", "DejaVu Sans", "Liberation Sans", "Noto Sans", "Helvetica", "FreeSans")

#: Pixels per unit of the drawing: sharp on a screen of high density, and in print.
_ZOOM = 2


def to_png(svg: str) -> bytes:
    """The SVG drawing as PNG bytes, on white, at twice its size; text is missing if `has_font` returns False."""
    return _drawn(svg, _family())


def has_font() -> bool:
    """Whether this machine has a font with which text in a drawing can be rendered."""
    return bool(_family())


@cache
def _family() -> str:
    """The first font family with which rendered text is visible; empty if there is none."""
    letter = "<svg xmlns='http://www.w3.org/2000/svg' width='20' height='20' font-family='sans-serif'>{}</svg>"
    with_text, empty = letter.format("<text y='15'>M</text>"), letter.format("")
    return next((family for family in _FAMILIES if _drawn(with_text, family) != _drawn(empty, family)), "")


def _drawn(svg: str, family: str) -> bytes:
    with optional("png"):
        from resvg_py import svg_to_bytes

    return bytes(svg_to_bytes(svg_string=svg, zoom=_ZOOM, background="#ffffff", sans_serif_family=family or None))
