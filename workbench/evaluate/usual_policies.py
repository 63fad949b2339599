"""`USUAL_POLICIES`: the policies that are compared by default.

The module imports nothing, because `--help` loads it.
"""

from __future__ import annotations

__all__ = ["USUAL_POLICIES"]

#: The two releases of Volcano, and what fits without looking at the network.
USUAL_POLICIES = ("volcano-1.15", "volcano-1.13", "gang")
