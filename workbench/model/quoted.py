"""`quoted`: reasons of pending jobs as text that marks the wording of Volcano and of the Kubernetes scheduler."""

from __future__ import annotations

from workbench.model.notice import Notice

__all__ = ["quoted"]


def quoted(reason: Notice) -> str:
    """The message of a reason, marked as a quotation if Volcano or the Kubernetes scheduler writes that sentence."""
    if reason.code == "gang-unschedulable":
        return f"Volcano writes: “{reason.message}”"
    if reason.code == "pod-group-unschedulable":
        return f"kube-scheduler writes: “{reason.message}”"
    # The number of nodes that its sentence speaks of.
    return f"Kubernetes writes: “{reason.message}”" if "nodes" in reason.numbers else reason.message
