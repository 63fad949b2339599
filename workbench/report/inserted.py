"""Markup that a template inserts as it is."""

from __future__ import annotations

__all__ = ["Inserted"]


class Inserted(str):
    """Markup of our own drawing functions, which escape every name that they draw; templates escape any other text."""

    __slots__ = ()

    def __html__(self) -> str:
        """The markup itself: what the template engine asks for before it escapes a value."""
        return str(self)
