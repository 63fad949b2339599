"""Checks that every face of a kernel makes once, before the compiled code trusts its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workbench.errors import InputError

__all__ = ["as_array", "check_range"]


def as_array(name: str, value: object, dtype: DTypeLike, ndim: int) -> NDArray[Any]:
    """``value`` as a C-contiguous array of ``dtype`` and ``ndim`` dimensions, copied only where it must be.

    Parameters
    ----------
    name : str
        What the argument is called; stands in the error.
    value : array_like
        Must convert without loss: integers from integers of any width that fit, floats from integers or floats.
    dtype : dtype
    ndim : int

    Raises
    ------
    InputError
        If the number of dimensions differs or a value does not survive the conversion.
    """
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise InputError("not an array", source=name, got=str(error)) from error
    if found.ndim != ndim:
        raise InputError(
            "wrong number of dimensions", source=name, got=str(found.ndim), expected=f"{ndim} ({np.dtype(dtype)})"
        )
    if found.dtype != np.dtype(dtype):
        kinds = "iu" if np.dtype(dtype).kind in "iu" else "iuf" if np.dtype(dtype).kind == "f" else "b"
        if found.size == 0:
            return np.ascontiguousarray(found.astype(dtype))
        if found.dtype.kind not in kinds:
            raise InputError("wrong type of numbers", source=name, got=str(found.dtype), expected=str(np.dtype(dtype)))
        if np.dtype(dtype).kind in "iu":
            limits = np.iinfo(np.dtype(dtype))
            if int(found.min()) < limits.min or int(found.max()) > limits.max:
                raise InputError(
                    "number out of range",
                    source=name,
                    got=f"{int(found.min())} to {int(found.max())}",
                    expected=str(np.dtype(dtype)),
                )
    return np.ascontiguousarray(found, dtype=dtype)


def check_range(name: str, value: int, low: int, high: int) -> int:
    """``value`` if low <= value <= high, else InputError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError("not a whole number", source=name, got=repr(value), expected=f"{low} to {high}")
    if not low <= value <= high:
        raise InputError("number out of range", source=name, got=str(value), expected=f"{low} to {high}")
    return int(value)
