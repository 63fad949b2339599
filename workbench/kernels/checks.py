"""Checks of array arguments (dtype, number of dimensions, length, range) that the interfaces of all kernels share.

A wrong dtype is refused, not converted: a silent copy hides a mistake and costs time. A function that is called for
every placement asks `are_arrays` about all its arguments at once, and checks each argument only if the answer is no.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workbench._core.ranges import are_arrays, are_sound, first_outside, is_sound
from workbench.errors import InputError

__all__ = ["are_arrays", "as_array", "check_length", "check_number", "check_range", "checked", "checked_columns"]


def as_array(name: str, value: object, dtype: DTypeLike, ndim: int) -> NDArray[Any]:
    """Return ``value`` if it has the dtype and dimensions asked for, as a C-contiguous array.

    `name`: name of the argument, for the error message. `value`: returned as it is if C-contiguous, else copied.
    `dtype`: a numpy scalar type, such as ``np.int64``. `ndim`: number of dimensions. Raises InputError: if ``value`` is
    not an ndarray or has another dtype or number of dimensions.
    """
    if type(value) is np.ndarray and value.dtype.type is dtype and value.ndim == ndim and value.dtype.isnative:
        # The usual case first: constructing a dtype to compare with takes longer than all other checks.
        return value if value.flags.c_contiguous else np.ascontiguousarray(value)
    expected = np.dtype(dtype)
    if not isinstance(value, np.ndarray):
        raise InputError("not a numpy array", source=name, got=type(value).__name__, expected=f"{expected} array")
    if value.dtype != expected or not value.dtype.isnative:
        raise InputError("wrong dtype", source=name, got=str(value.dtype), expected=str(expected))
    if value.ndim != ndim:
        raise InputError("wrong number of dimensions", source=name, got=str(value.ndim), expected=str(ndim))
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)


def check_length(name: str, array: NDArray[Any], length: int) -> None:
    """Refuse an array whose first axis is not ``length`` long.

    `name`: name of the argument, for the error message. `array`: ndarray of shape (n, …), any dtype. `length`: length
    wanted.
    """
    if array.shape[0] != length:
        raise InputError("wrong length", source=name, got=str(array.shape[0]), expected=str(length))


def check_range(name: str, array: NDArray[Any], low: float, high: float) -> None:
    """Refuse an array with a number outside ``low .. high`` (both included) or a NaN.

    `name`: name of the argument, for the error message. `array` (ndarray of shape (n, …), any numeric dtype):
    c-contiguous. `low`, `high`: smallest and largest number allowed; whole numbers for an array of integers.
    """
    at = first_outside(array, low, high)
    if at >= 0:
        found = str(array.reshape(-1)[at])
        raise InputError("out of range", source=name, where=f"entry {at}", got=found, expected=f"{low}..{high}")


def checked(
    name: str,
    value: NDArray[Any],
    dtype: type[np.int32 | np.int64],
    length: int | None,
    low: int = -(2**63),
    high: int = 2**63 - 1,
) -> NDArray[Any]:
    """Return a one-dimensional array after checking its dtype, length and range.

    `name`: name of the argument, for the error message. `value` (ndarray of shape (n,), any dtype): a sound array is
    recognised by one compiled call. `dtype`: ``np.int32`` or ``np.int64``. `length`: length wanted; None: any length.
    `low`, `high`: smallest and largest number allowed.
    """
    if is_sound(value, 4 if dtype is np.int32 else 8, (-1 if length is None else length,), low, high):
        return value
    array = as_array(name, value, dtype, 1)
    if length is not None:
        check_length(name, array, length)
    check_range(name, array, low, high)
    return array


def checked_columns(
    length: int, *columns: tuple[str, NDArray[Any] | None, type[np.int32 | np.int64], int, int]
) -> list[Any]:
    """Return one-dimensional arrays of one length after checking the dtype, length and range of each.

    `length`: length wanted of each. `columns` (tuple of (str, ndarray of shape (length,), type, int, int)): name,
    array, dtype, smallest and largest number of each, as `checked` takes them; None instead of an array is returned as
    it is. Sound arrays are recognised by one compiled call.
    """
    if are_sound(columns, length):
        return [value for _, value, *_ in columns]
    return [
        None if value is None else checked(name, value, dtype, length, low, high)
        for name, value, dtype, low, high in columns
    ]


def check_number(name: str, value: int, low: int, high: int) -> int:
    """Return a whole number between ``low`` and ``high``, both included; refuse anything else.

    `name`: name of the argument, for the error message.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError("not a whole number", source=name, got=repr(value), expected=f"{low} to {high}")
    if not low <= value <= high:
        raise InputError("number out of range", source=name, got=str(value), expected=f"{low} to {high}")
    return int(value)
