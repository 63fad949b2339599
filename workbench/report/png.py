"""`svg_image`: an array of pixels as a PNG image embedded in SVG."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

__all__ = ["svg_image"]


def svg_image(pixels: npt.NDArray[np.uint8], css_class: str, x: float, y: float, width: float, height: float) -> str:
    """An SVG ``<image>`` element that contains its pixels and is drawn without smoothing.

    Parameters
    ----------
    pixels : ndarray of shape (rows, columns, 4), uint8
        Red, green, blue, opacity.
    css_class : str
        CSS class of the element.
    x, y, width, height : float
        Position and size of the image in SVG user units.
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
