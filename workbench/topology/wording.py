"""`some`: a short list of names for the messages of findings and problems."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["some"]

#: How many names a sentence lists.
_LISTED = 3


def some(kind: str, names: Sequence[str]) -> str:
    """The kind and the first three names, and the number of the others: ``nodes a, b, c and 4 more``."""
    listed = ", ".join(names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{kind}{'s' if len(names) > 1 else ''} {listed}{more}"
