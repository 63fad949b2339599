"""Text of pictures: short coordinates, names cut to a width, and markup that templates insert without escaping."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["CHARACTER", "LABEL_PX", "Inserted", "fit_text", "short"]

#: Font size of names in pictures of topologies.
LABEL_PX = 11.0
#: Width of an average character as a part of the font size; on the generous side, so that labels fit.
CHARACTER = 0.6


@lru_cache(maxsize=4096)
def short(value: float) -> str:
    """A coordinate as text, rounded to a tenth of a pixel."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def fit_text(text: str, width: float, font_px: float) -> str:
    """The part of a text that fits a width: all of it, or its end after an ellipsis, or nothing.

    The end is kept because names usually differ there.

    `width`: pixels available. `font_px`: font size in pixels.
    """
    room = int(width / (font_px * CHARACTER))
    if len(text) <= room:
        return text
    return f"…{text[1 - room :]}" if room >= 3 else ""


class Inserted(str):
    """Markup of this package's drawing functions, which is already escaped, so that templates insert it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """The markup itself; the template engine uses this method instead of escaping the value."""
        return str(self)
