"""Simulate a cluster over time: jobs start and end, nodes and GPUs break and recover."""

from __future__ import annotations

from workbench.simulate.timeline import Timeline

__all__ = ["Timeline"]
