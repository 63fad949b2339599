"""Checks of the numbers that cost formulas take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

from workbench.errors import InputError, UnknownNameError

__all__ = ["known", "not_negative", "positive", "whole"]

T = TypeVar("T")


def known(table: Mapping[str, T], name: str, kind: str) -> T:
    """Look up a name, or raise `UnknownNameError` with the names that the table knows.

    Parameters
    ----------
    table : Mapping
    name : str
    kind : str
        What the names stand for, as in "collective".
    """
    if name not in table:
        raise UnknownNameError(kind, name, list(table))
    return table[name]


def whole(value: object, name: str, least: int = 1) -> int:
    """Return an integer that is at least `least`.

    Parameters
    ----------
    value : object
    name : str
        Name of the argument, for the error.
    least : int

    Raises
    ------
    InputError
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError("wrong number", source=name, got=repr(value), expected=f"a whole number of at least {least}")
    return value


def not_negative(value: float, name: str) -> float:
    """Return a finite number of at least 0, or raise `InputError` naming the argument."""
    if isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise InputError("wrong number", source=name, got=repr(value), expected="a finite number of at least 0")
    return value


def positive(value: float, name: str) -> float:
    """Return a finite number above 0, or raise `InputError` naming the argument."""
    if isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise InputError("wrong number", source=name, got=repr(value), expected="a finite number above 0")
    return value
