"""Parsing whole numbers from untrusted text: labels, annotations, arguments, printouts."""

from __future__ import annotations

__all__ = ["number_range", "whole_number"]

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


def number_range(text: str, most: int) -> range | None:
    """The whole numbers from A up to B of a text ``A-B``, or the one of a text ``A``.

    Parameters
    ----------
    text : str
    most : int
        Most numbers allowed.

    Returns
    -------
    range or None
        None: another text, B below A, or more than `most` numbers.
    """
    first, dash, last = text.partition("-")
    low = whole_number(first)
    high = whole_number(last) if dash else low
    return None if low is None or high is None or not low <= high < low + most else range(low, high + 1)
