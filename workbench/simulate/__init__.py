"""Simulation of a cluster over time, step by step."""

from __future__ import annotations

from workbench.simulate.timeline import Timeline

__all__ = ["Timeline"]
