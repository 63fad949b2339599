"""Reasons of pending jobs as text that says whose words they are."""

from __future__ import annotations

from workbench.model.notice import Notice

__all__ = ["quoted"]


def quoted(reason: Notice) -> str:
    """The message of a reason; what Volcano itself writes on the PodGroup is marked as Volcano's."""
    return f"Volcano writes: “{reason.message}”" if reason.code == "gang-unschedulable" else reason.message
