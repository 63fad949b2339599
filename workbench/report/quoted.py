"""`quoted`: reasons of pending jobs as text that marks the wording of Volcano and of the Kubernetes scheduler."""

from __future__ import annotations

import re

from workbench.model.notice import Notice

__all__ = ["quoted"]

#: Sentence of the Kubernetes scheduler about the nodes.
_OF_NODES = re.compile(r"\d+/\d+ nodes are unavailable")


def quoted(reason: Notice) -> str:
    """The message of a reason, marked as a quotation if Volcano or the Kubernetes scheduler writes that sentence."""
    if reason.code == "gang-unschedulable":
        return f"Volcano writes: “{reason.message}”"
    return f"Kubernetes writes: “{reason.message}”" if _OF_NODES.match(reason.message) else reason.message
