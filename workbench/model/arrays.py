"""Types of arrays by what they hold; numbers of nodes and the like are `Ints`, amounts of resources `Longs`."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Ints", "Longs", "Mask", "Words", "distinct"]

#: Indices and ranks.
Ints = npt.NDArray[np.int32]
#: Amounts in base units, offsets and counts.
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: One truth value per node, pod and the like.
Mask = npt.NDArray[np.bool_]
#: Bit masks of GPUs, 64 to a word.
Words = npt.NDArray[np.uint64]

T = TypeVar("T", bound=np.generic)


def distinct(values: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the distinct values in ascending order.

    `numpy.unique` alone would import `numpy.ma`, to ask whether the array is masked; where it counts, it does not ask.
    """
    found: npt.NDArray[T] = np.unique(values, return_counts=True)[0]
    return found
