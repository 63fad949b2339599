"""Time: what becomes of a cluster step by step."""

from __future__ import annotations

from workbench.simulate.timeline import Timeline

__all__ = ["Timeline"]
