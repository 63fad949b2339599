"""Checks of the numbers that cost formulas take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

from workbench.errors import InputError, UnknownNameError

__all__ = ["four_digits", "keep_whole", "known", "not_negative", "positive", "whole"]

T = TypeVar("T")


def known(table: Mapping[str, T], name: str, kind: str) -> T:
    """Look up a name, or raise `UnknownNameError` with the names that the table knows.

    `kind`: what the names stand for, as in "collective".
    """
    if name not in table:
        raise UnknownNameError(kind, name, list(table))
    return table[name]


def whole(value: object, name: str, least: int | None = 1) -> int:
    """Return a whole number as an int.

    `value`: an int, or a float without a fraction: JSON does not tell 8 from 8.0. `name`: name of the argument, for the
    error. `least`: None: any number will do. Raises InputError.
    """
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(number, bool) or not isinstance(number, int) or (least is not None and number < least):
        expected = "a whole number" if least is None else f"a whole number of at least {least}"
        raise InputError("wrong number", source=name, got=repr(value), expected=expected)
    return number


def four_digits(number: float) -> float:
    """Round to four significant digits: more than measurements and a calibration are worth."""
    return float(f"{number:.4g}")


def keep_whole(owner: object, *names: str, least: int = 1) -> None:
    """Check fields of a frozen dataclass in its ``__post_init__`` with `whole`, and store them as ints.

    Raises InputError.
    """
    for name in names:
        object.__setattr__(owner, name, whole(getattr(owner, name), name, least))


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
