"""`counted`: a number with its noun in singular or plural, for messages."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, one: str, many: str = "", form: str = "") -> str:
    """A number followed by its noun in singular or plural, such as ``1 node`` or ``3 nodes``.

    Parameters
    ----------
    count : int
    one : str
        The word for one thing, with the verb where the sentence has one: ``node has``.
    many : str
        The word for several things or none; by default `one` with an s.
    form : str
        Format of the number: ``,`` for ``12,000``.
    """
    return f"{count:{form}} {one if count == 1 else many or f'{one}s'}"
