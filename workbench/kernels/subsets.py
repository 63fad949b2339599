"""Count, list and rank the subsets of k devices of a device mask (checked interface of the ``subsets`` kernel).

Subsets are in the lexicographic order of their ascending index lists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench._core import subsets as kernel
from workbench.errors import CapacityError, InputError
from workbench.kernels.checks import as_array, check_number

__all__ = [
    "DEFAULT_LIMIT",
    "MAX_DEVICES",
    "device_lists",
    "enumerate_masks",
    "masks_of_words",
    "rank",
    "words_of_mask",
    "words_of_masks",
]

MAX_DEVICES = 1024
# Most rows of one answer: 8 MB per word of a mask.
DEFAULT_LIMIT = 1_000_000
# Ranks are int64.
_MOST_SUBSETS = 2**62


def words_of_mask(mask: int, n_words: int | None = None) -> NDArray[np.uint64]:
    """A mask as little-endian uint64 words: device i is bit ``i % 64`` of word ``i // 64``.

    `mask`: bit i set means device i; at most 1,024 devices. `n_words`: length of the answer; None: as many as the mask
    needs, at least one. Raises InputError: negative, or more bits than ``n_words`` hold; CapacityError: a device of
    1,024 or above.
    """
    if isinstance(mask, bool) or not isinstance(mask, int) or mask < 0:
        raise InputError("not a mask", source="mask", got=repr(mask), expected="an int of at least 0")
    if mask >> MAX_DEVICES:
        raise CapacityError(f"mask: device {mask.bit_length() - 1}, at most {MAX_DEVICES:,} devices are supported")
    needed = max(1, (mask.bit_length() + 63) // 64)
    length = needed if n_words is None else check_number("n_words", n_words, needed, MAX_DEVICES // 64)
    return np.frombuffer(mask.to_bytes(8 * length, "little"), dtype="<u8").astype(np.uint64)


def words_of_masks(masks: Sequence[int], least: int = 1) -> NDArray[np.uint64]:
    """Pack masks into rows of little-endian uint64 words.

    A row has the words of the widest mask, at least ``least``.
    """
    width = max(least, (max(masks, default=0).bit_length() + 63) // 64)
    if width == 1:
        return np.array(masks, dtype=np.uint64).reshape(len(masks), 1)
    packed = b"".join(mask.to_bytes(8 * width, "little") for mask in masks)
    return np.frombuffer(packed, dtype="<u8").reshape(len(masks), width).astype(np.uint64)


def masks_of_words(rows: NDArray[np.uint64]) -> list[int]:
    """Convert masks given as rows of uint64 words, shape (m, words), to Python ints."""
    words: NDArray[np.uint64] = as_array("rows", rows, np.uint64, 2)
    if words.shape[1] == 1:
        single: list[int] = words[:, 0].tolist()
        return single
    return [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in words]


def device_lists(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Devices, ascending, of each of m masks that all hold the same number k of devices.

    `rows` (ndarray of shape (m, words), uint64): masks, as `enumerate_masks` returns them. Returns: ndarray of shape
    (m, k), int64. Raises InputError: masks that hold different numbers of devices.
    """
    words: NDArray[np.uint64] = as_array("rows", rows, np.uint64, 2)
    sizes = np.bitwise_count(words).sum(axis=1)
    if len(sizes) and sizes.min() != sizes.max():
        raise InputError("masks of different sizes", source="rows", got=f"{sizes.min()} to {sizes.max()} devices")
    return kernel.device_lists(words)


def enumerate_masks(
    mask: int, k: int, *, start: int = 0, limit: int = DEFAULT_LIMIT, n_words: int | None = None
) -> NDArray[np.uint64]:
    """Masks of the k-subsets of a mask, from rank ``start`` on, in lexicographic order.

    Returns: ndarray of shape (m, words), uint64: m = 0 when ``start`` is behind the last subset.

    `mask`: the devices: bit i set means device i. `k`: devices per subset. `start`: rank of the first subset to list,
    >= 0, below 2^62. `limit`: largest number of rows, 0 to 1,000,000; call again with a later ``start`` for more.
    `n_words`: words per row; None: as many as the mask needs.
    """
    words = words_of_mask(mask, n_words)
    check_number("k", k, 0, MAX_DEVICES)
    check_number("start", start, 0, _MOST_SUBSETS - 1)
    check_number("limit", limit, 0, DEFAULT_LIMIT)
    return kernel.enumerate_masks(words, k, start, limit)


def rank(mask: int, subsets: Sequence[int] | NDArray[np.uint64]) -> NDArray[np.int64]:
    """Position of each given subset of a device mask in the lexicographic list of the subsets of its size.

    `mask`: the devices: bit i set means device i. `subsets` (sequence of int, or ndarray of shape (m, words), uint64):
    masks; rows of as many words as ``mask`` needs. Returns: ndarray of shape (m,), int64. Raises InputError: a subset
    with a device that ``mask`` lacks; CapacityError: a size with 2^62 subsets or more: ranks are int64.
    """
    words = words_of_mask(mask)
    if isinstance(subsets, np.ndarray):
        rows: NDArray[np.uint64] = as_array("subsets", subsets, np.uint64, 2)
        if rows.shape[1] != len(words):
            raise InputError("wrong width", source="subsets", got=f"{rows.shape[1]} words", expected=str(len(words)))
        strangers = (rows & ~words).any(axis=1)
        stranger = int(np.argmax(strangers)) if strangers.any() else None
    else:
        stranger = next((i for i, subset in enumerate(subsets) if subset < 0 or subset & ~mask), None)
        rows = words_of_masks(() if stranger is not None else subsets, len(words))
    if stranger is not None:
        raise InputError("not a subset of the mask", source="subsets", where=f"[{stranger}]")
    ranks = kernel.rank(words, rows)
    if (ranks < 0).any():
        raise CapacityError(f"subsets: 2^62 or more of the size of subset {int(np.argmax(ranks < 0))}")
    return ranks
