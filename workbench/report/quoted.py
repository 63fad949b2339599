"""`quoted`: reasons of pending jobs as text that marks Volcano's own wording."""

from __future__ import annotations

from workbench.model.notice import Notice

__all__ = ["quoted"]


def quoted(reason: Notice) -> str:
    """The message of a reason, marked as Volcano's words if Volcano writes it on the PodGroup."""
    return f"Volcano writes: “{reason.message}”" if reason.code == "gang-unschedulable" else reason.message
