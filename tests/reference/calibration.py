"""The oracle of calibrated times: plain loops over dictionaries, no arrays and nothing shared with the package."""

from __future__ import annotations

import math
from typing import Any

_TWICE = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1, "all-to-all": 1}


def seconds(block: dict[str, Any], size: float) -> float:
    """Seconds of a collective from the record of its block in a calibration file, at a size inside its knots."""
    ranks = block["gpus_per_node"] * block["nodes"]
    factor = _TWICE[block["collective"]] * (ranks - 1) / ranks
    plain = block["alpha_us"] / 1e6 + size * factor / (block["bandwidth_gb_s"] * 1e9)
    return plain / _between(block["log2_bytes"], block["efficiency"], math.log2(size))


def _between(knots: list[float], values: list[float], at: float) -> float:
    """Geometric interpolation; a block that was measured at one size has one knot."""
    if at == knots[0]:
        return values[0]
    for left, right, low, high in zip(knots, knots[1:], values, values[1:], strict=False):
        if left <= at <= right:
            share = (at - left) / (right - left)
            return math.exp((1 - share) * math.log(low) + share * math.log(high))
    raise ValueError(f"outside the knots: {at}")
