"""Ordered colours for GB/s: the scale from the slowest to the fastest link of a picture, and its legend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.report.chart import colour_bar, label
from workbench.report.colours import heat
from workbench.report.svg_text import LABEL_PX, short

__all__ = ["SpeedScale"]

#: Width and height of the bar of a legend, in pixels.
_BAR_PX = (180.0, 10.0)
#: Rectangles of which the bar is made, and values written below it.
_SHADES, _VALUES = 45, 4


@dataclass(frozen=True)
class SpeedScale:
    """A logarithmic scale of bandwidths, each with its colour: the lighter the faster.

    `low_gb_s`, `high_gb_s`: the slowest and the fastest bandwidth; both 0 if there is none.
    """

    low_gb_s: float
    high_gb_s: float

    @classmethod
    def over(cls, gb_s: npt.ArrayLike) -> SpeedScale:
        """The scale over some bandwidths; those that are 0, which means no link, do not count."""
        values = np.asarray(gb_s, dtype=np.float64)
        links = values[values > 0]
        return cls(float(links.min()), float(links.max())) if links.size else cls(0.0, 0.0)

    def shades(self, gb_s: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Place of each bandwidth on the scale, from 0 to 1; NaN for no link. 1 if the scale has only one value."""
        values = np.asarray(gb_s, dtype=np.float64)
        span = np.log(self.high_gb_s / self.low_gb_s) if self.low_gb_s > 0 else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            places = np.log(values / self.low_gb_s) / span if span > 0 else np.ones_like(values)
        return np.where(values > 0, np.clip(places, 0.0, 1.0), np.nan)

    def colour(self, gb_s: float) -> str:
        """Colour of a bandwidth above 0 as ``#rrggbb``."""
        return heat(float(self.shades(gb_s)))

    def marks(self) -> list[float]:
        """Bandwidths in GB/s at even steps of the scale, from the slowest to the fastest; empty if there is no link."""
        if self.low_gb_s <= 0:
            return []
        if self.low_gb_s == self.high_gb_s:
            return [self.high_gb_s]
        return [float(value) for value in np.geomspace(self.low_gb_s, self.high_gb_s, _VALUES)]

    def legend(self) -> tuple[str, float]:
        """SVG markup of a bar with the values of its colours in GB/s, at the origin, and its height in pixels."""
        marks, (width, height) = self.marks(), _BAR_PX
        if not marks:
            return "", 0.0
        shades = [1.0] * _SHADES if len(marks) == 1 else [i / (_SHADES - 1) for i in range(_SHADES)]
        parts = colour_bar(0, 3, width, shades)
        for i, value in enumerate(marks):
            at = i / (len(marks) - 1) if len(marks) > 1 else 0.0
            anchor = "start" if at == 0.0 else "end" if at == 1.0 else "middle"
            parts.append(label(at * width, height + 15, f"{value:.3g}", anchor))
        parts.append(label(width + 8, height + 15, "GB/s"))
        return f"<g class='tw-speeds' font-size='{short(LABEL_PX)}'>{''.join(parts)}</g>", height + 20.0
