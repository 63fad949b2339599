"""`some`: a short list of names for the messages of findings and problems."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.model.name_list import name_list

__all__ = ["some"]


def some(kind: str, names: Sequence[str]) -> str:
    """The kind and the first names or ranges of names: ``nodes a, b, c and 4 more``, ``nodes n0..n6``."""
    return f"{kind}{'s' if len(names) > 1 else ''} {name_list(names)}"
