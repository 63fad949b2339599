"""Text helpers of the pictures: short coordinates, and names cut to a width."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["CHARACTER", "LABEL_PX", "fit_text", "short"]

#: Font size of names in pictures of topologies.
LABEL_PX = 11.0
#: Width of an average character as a part of the font size; on the generous side, so that labels fit.
CHARACTER = 0.6


@lru_cache(maxsize=4096)
def short(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def fit_text(text: str, width: float, font_px: float) -> str:
    """Fit a text to a width: the whole text, or its end after an ellipsis (names differ at their ends), or nothing.

    Parameters
    ----------
    text : str
    width : float
        Pixels available.
    font_px : float
        Font size in pixels.
    """
    room = int(width / (font_px * CHARACTER))
    if len(text) <= room:
        return text
    return f"…{text[1 - room :]}" if room >= 3 else ""
