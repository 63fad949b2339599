"""The words of a status."""

from __future__ import annotations

from workbench.policies.kube.status import Status

__all__ = ["text_of"]


def text_of(status: Status) -> str:
    """Reasons of a status in one line, as conditions carry them."""
    return ", ".join(status.reasons)
