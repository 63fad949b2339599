"""Fields of a snapshot file: texts, amounts, masks and arrays over nodes, each checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.model.bandwidth import MAX_GPUS
from workbench.objects.fields import child, get_list, get_map, get_text, get_text_list, wrong

__all__ = [
    "amounts_by_name",
    "gpu_mask",
    "gpu_masks",
    "texts_by_key",
    "texts_of_nodes",
    "whole_number",
    "whole_numbers",
]


def texts_by_key(data: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    """A field of texts by their names.

    `key`, `where`: the field, and the path of `data` in errors.
    """
    values = get_map(data, key, where)
    return {name: get_text(values, name, child(where, key)) for name in values}


def amounts_by_name(data: Mapping[str, Any], key: str, where: str) -> dict[str, int]:
    """A field of amounts in base units, by resource.

    `key`, `where`: the field, and the path of `data` in errors.
    """
    values = get_map(data, key, where)
    for name, amount in values.items():
        if type(amount) is not int or abs(amount) >= 2**63:
            raise wrong(f"{child(where, key)}[{name!r}]", amount, "a whole number of base units")
    return values


def gpu_masks(data: Mapping[str, Any], key: str, n: int) -> list[int]:
    """One mask of GPUs for each of the `n` nodes of a file."""
    rows = get_list(data, key, "")
    if len(rows) != n:
        raise wrong(key, rows, f"one mask per node, {n}")
    return [gpu_mask(row, f"{key}[{i}]") for i, row in enumerate(rows)]


def gpu_mask(value: Any, where: str) -> int:
    """A mask of GPUs, written in hex; `where` is its path in errors."""
    if type(value) is str and 0 < len(value) <= MAX_GPUS // 4:
        try:
            return int(value, 16)
        except ValueError:
            pass
    raise wrong(where, value, f"a mask of at most {MAX_GPUS} GPUs in hex")


def texts_of_nodes(data: Mapping[str, Any], key: str, order: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """One text per node from the field `key`, in the topology's node order; an empty tuple if the file has none.

    `order` (ndarray of shape (n,), int64): index in the file of each node of the topology.
    """
    found = get_text_list(data, key, "")
    if len(found) not in (0, len(order)):
        raise wrong(key, found, f"one per node, {len(order)}, or none")
    return tuple([found[i] for i in order]) if found else ()


def whole_number(value: Any, where: str, least: int, most: int) -> int:
    """Return `value` if it is a whole number from `least` to `most`; `where` is its path in the error.

    An array of one number, as `whole_numbers` makes it, costs ten times as much.
    """
    if type(value) is int and least <= value <= most:
        return value
    raise wrong(where, value, f"a whole number from {least} to {most}")


def whole_numbers(
    data: Mapping[str, Any], key: str, where: str, shape: tuple[int, ...], least: int = -(2**63), most: int = 2**63 - 1
) -> npt.NDArray[np.int64]:
    """Read an array of whole numbers of the given shape, each from `least` to `most`.

    `key`, `where`: the field, and the path of `data` in errors. `shape` (tuple of int): -1: any length.
    """
    values = get_list(data, key, where)
    place = child(where, key)
    expected = f"whole numbers, {' x '.join('any' if k < 0 else str(k) for k in shape)}"
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        raise wrong(place, values, expected) from None
    if not values:
        array = np.zeros([max(k, 0) for k in shape], dtype=np.int64)
        if shape[0] > 0:
            raise wrong(place, values, expected)
    fits = array.ndim == len(shape) and all(k in (-1, m) for k, m in zip(shape, array.shape, strict=True))
    if not fits or (array.size and array.dtype.kind != "i"):
        raise wrong(place, values, expected)
    if array.size and (int(array.min()) < least or int(array.max()) > most):
        raise wrong(place, int(array.max() if int(array.max()) > most else array.min()), f"from {least} to {most}")
    return array.astype(np.int64)
