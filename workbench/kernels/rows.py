"""`unique_rows`: the distinct rows of a table of whole numbers."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["unique_rows"]

T = TypeVar("T", bound=np.generic)


def unique_rows(table: NDArray[T]) -> tuple[NDArray[T], NDArray[np.intp]]:
    """The distinct rows in ascending order, compared column by column, and the number of each row among them.

    ``numpy.unique`` with an axis compares rows as structured values, and a Ctrl-C that meets this comparison ends in a
    TypeError there instead of a KeyboardInterrupt.

    `table`: ndarray of shape (n, c), any dtype of whole numbers.

    Returns
    -------
    ndarray of shape (m, c)
    ndarray of shape (n,), intp
    """
    n, columns = table.shape
    order = np.lexsort(table.T[::-1]) if columns else np.arange(n)
    ascending = table[order]
    is_first = np.ones(n, dtype=np.bool_)
    is_first[1:] = (ascending[1:] != ascending[:-1]).any(axis=1)
    number = np.empty(n, dtype=np.intp)
    number[order] = np.cumsum(is_first) - 1
    return ascending[is_first], number
