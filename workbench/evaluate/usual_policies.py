"""The policies of a comparison where nobody named others; the module imports nothing, because `--help` loads it."""

from __future__ import annotations

__all__ = ["USUAL_POLICIES"]

#: The two releases of Volcano, and what fits without looking at the network.
USUAL_POLICIES = ("volcano-1.15", "volcano-1.13", "gang")
