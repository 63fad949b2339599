"""The colours of every picture, readable on light and dark ground and with the common kinds of colour blindness.

The table is ``palette.json`` beside this module; the page side of the widgets bundles the same file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "CHOSEN",
    "LINK",
    "MARK",
    "NODE",
    "OTHER_JOBS",
    "SET_COLOURS",
    "JobColour",
    "heat",
    "ink_on",
    "job_colours",
    "tier_colour",
]

_PALETTE = json.loads(Path(__file__).with_name("palette.json").read_text("utf-8"))

# Okabe and Ito's qualitative palette without black, then Paul Tol's muted one where it differs from those.
_JOBS = tuple(_PALETTE["jobs"])
#: Jobs after the second dozen.
OTHER_JOBS = str(_PALETTE["more_jobs"])

#: HyperNodes of tier 1, 2, …; each stands out from white and from the darkest ground by a contrast of 3 or more.
_TIERS = tuple(_PALETTE["tiers"])

#: A node without a job, and a link between two HyperNodes.
NODE, LINK = str(_PALETTE["node"]), str(_PALETTE["link"])

#: A chosen set of GPUs, and its slowest pair.
CHOSEN, MARK = str(_PALETTE["chosen"]), str(_PALETTE["mark"])
#: Sets beside the chosen one, by position: what policies would take.
SET_COLOURS = tuple(colour for colour in _JOBS if colour not in (CHOSEN, MARK))

# Viridis at nine even steps (Smith and van der Walt): even in lightness, so that it survives grey printing.
_HEAT = tuple(_PALETTE["speeds"])


@dataclass(frozen=True)
class JobColour:
    """Colour and pattern in which a job is drawn.

    `colour`: ``#rrggbb``. `hatched`: whether the colour has stripes: the second twelve jobs have the colours of the
    first twelve with stripes; all later jobs are grey.
    """

    colour: str
    hatched: bool = False


def job_colours(n_jobs: int) -> list[JobColour]:
    """Colour and pattern for each of `n_jobs` jobs, by the job's position."""
    looks = [JobColour(c) for c in _JOBS] + [JobColour(c, hatched=True) for c in _JOBS]
    return [looks[i] if i < len(looks) else JobColour(OTHER_JOBS) for i in range(n_jobs)]


def tier_colour(tier: int) -> str:
    """Colour of the HyperNodes of a tier as ``#rrggbb``; from the seventh tier on the colours repeat."""
    return str(_TIERS[max(tier - 1, 0) % len(_TIERS)])


def heat(value: float) -> str:
    """Colour, as ``#rrggbb``, of a value between 0 (slow) and 1 (fast) on the heat map's scale."""
    at = min(max(value, 0.0), 1.0) * (len(_HEAT) - 1)
    low = min(int(at), len(_HEAT) - 2)
    mixed = [round(a + (b - a) * (at - low)) for a, b in zip(_channels(_HEAT[low]), _channels(_HEAT[low + 1]))]
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def ink_on(colour: str) -> str:
    """The text colour, black or white, that is easier to read on the background `colour` (WCAG relative luminance)."""
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
