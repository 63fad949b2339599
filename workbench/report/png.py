"""PNG images: `svg_image`, an array of pixels embedded in SVG, and `to_png`, a drawing converted with resvg."""

from __future__ import annotations

import base64
import struct
import zlib
from functools import cache

import numpy as np
import numpy.typing as npt

from workbench.optional import optional

__all__ = ["has_font", "svg_image", "to_png"]


def svg_image(pixels: npt.NDArray[np.uint8], css_class: str, x: float, y: float, width: float, height: float) -> str:
    """An SVG ``<image>`` element that contains its pixels and is drawn without smoothing.

    `pixels` (ndarray of shape (rows, columns, 4), uint8): red, green, blue, opacity. `css_class`: CSS class of the
    element. `x`, `y`, `width`, `height`: position and size of the image in SVG user units.
    """
    data = base64.b64encode(_png(pixels)).decode()
    return (
        f"<image class='{css_class}' x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' "
        f"preserveAspectRatio='none' style='image-rendering:pixelated' href='data:image/png;base64,{data}'/>"
    )


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """A PNG file (RFC 2083) of RGBA pixels, uint8 of shape (rows, columns, 4): unfiltered rows, one zlib stream."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


#: Families of letters without serifs, one of which every desktop has; the library takes no other where one is missing.
_FAMILIES = ("Arial", "DejaVu Sans", "Liberation Sans", "Noto Sans", "Helvetica", "FreeSans")
#: A name that no family has.
_NO_FAMILY = "-"
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
    """The first font family that is there; empty if no rendered text is visible.

    In the place of a family that is missing the library takes any font, often one with serifs.
    """
    letter = "<svg xmlns='http://www.w3.org/2000/svg' width='20' height='20' font-family='sans-serif'>{}</svg>"
    with_text, empty = letter.format("<text y='15'>M</text>"), _drawn(letter.format(""), "")
    instead = _drawn(with_text, _NO_FAMILY)
    drawn = {family: _drawn(with_text, family) for family in _FAMILIES}
    visible = [family for family, picture in drawn.items() if picture != empty]
    return next((family for family in visible if drawn[family] != instead), next(iter(visible), ""))


def _drawn(svg: str, family: str) -> bytes:
    with optional("png"):
        from resvg_py import svg_to_bytes

    return bytes(svg_to_bytes(svg_string=svg, zoom=_ZOOM, background="#ffffff", sans_serif_family=family or None))
