"""`Inserted`: markup that HTML templates insert without escaping."""

from __future__ import annotations

__all__ = ["Inserted"]


class Inserted(str):
    """Markup of this package's drawing functions, which is already escaped, so that templates insert it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """The markup itself; the template engine uses this method instead of escaping the value."""
        return str(self)
