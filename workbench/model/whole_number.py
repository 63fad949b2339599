"""Parsing whole numbers from untrusted text: labels, annotations, arguments, printouts."""

from __future__ import annotations

__all__ = ["whole_number"]

#: As many digits as surely fit into 64 bits; beyond some thousand, int() itself fails.
_MOST_DIGITS = 18


def whole_number(text: str) -> int | None:
    """The value of a text that consists of ASCII digits only; None for any other text.

    Parameters
    ----------
    text : str
        Leading zeros count as digits.

    Returns
    -------
    int or None
        None: another text (a sign, a blank, another script's digits, nothing), or more than 18 digits.
    """
    return int(text) if len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit() else None
