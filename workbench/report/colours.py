"""Colours of jobs and bandwidths that people with common colour blindness can distinguish on light and dark ground."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CHOSEN", "MARK", "SET_COLOURS", "JobColour", "heat", "ink_on", "job_colours"]

# Okabe and Ito's qualitative palette without black, then Paul Tol's muted one where it differs from those.
_JOBS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#882255",
    "#999933",
    "#44aa99",
    "#6f63c5",
    "#ddcc77",
)
_OTHERS = "#8a8a8a"

#: A chosen set of GPUs, and its slowest pair.
CHOSEN, MARK = "#0072b2", "#d55e00"
#: Sets beside the chosen one, by position: what policies would take.
SET_COLOURS = tuple(colour for colour in _JOBS if colour not in (CHOSEN, MARK))

# Viridis at nine even steps (Smith and van der Walt): even in lightness, so that it survives grey printing.
_HEAT = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")


@dataclass(frozen=True)
class JobColour:
    """Colour and pattern with which a job is drawn.

    Attributes
    ----------
    colour : str
        ``#rrggbb``.
    hatched : bool
        The second dozen repeats the colours with stripes; later jobs share one grey and are told apart by tool tips.
    """

    colour: str
    hatched: bool = False


def job_colours(n_jobs: int) -> list[JobColour]:
    """One look per job, by its position."""
    looks = [JobColour(c) for c in _JOBS] + [JobColour(c, hatched=True) for c in _JOBS]
    return [looks[i] if i < len(looks) else JobColour(_OTHERS) for i in range(n_jobs)]


def heat(value: float) -> str:
    """Colour of a value between 0 (slow) and 1 (fast) as ``#rrggbb``."""
    at = min(max(value, 0.0), 1.0) * (len(_HEAT) - 1)
    low = min(int(at), len(_HEAT) - 2)
    mixed = [round(a + (b - a) * (at - low)) for a, b in zip(_channels(_HEAT[low]), _channels(_HEAT[low + 1]))]
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour (WCAG relative luminance)."""
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
