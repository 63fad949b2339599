"""Markup that a template inserts as it is."""

from __future__ import annotations

__all__ = ["Inserted"]


class Inserted(str):
    """Markup of this package's drawing functions, already escaped, which templates insert as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """The markup itself: what the template engine asks for before it escapes a value."""
        return str(self)
