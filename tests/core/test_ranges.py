"""Range checks of arrays, against plain Python lists."""

from __future__ import annotations

import random

import numpy as np
import pytest

from workbench._core import ranges

DTYPES = [np.uint8, np.int32, np.int64, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 50])
def test_the_first_entry_outside_is_found_wherever_it_is(dtype: type, length: int) -> None:
    rng = random.Random(length)
    for _ in range(50):
        values = [rng.choice([3, 4, 5, 5, 6]) for _ in range(length)]
        for at in [i for i in range(length) if rng.random() < 0.05]:
            values[at] = rng.choice([1, 2, 7, 200])
        array = np.array(values, dtype=dtype)
        want = next((i for i, value in enumerate(values) if not 3 <= value <= 6), -1)
        assert ranges.first_outside(array, 3, 6) == want


@pytest.mark.parametrize(("low", "high"), [(-(2**63), 2**63 - 1), (-(2**62), 2**62), (0, 2**53), (5, 4)])
def test_limits_of_any_size(low: int, high: int) -> None:
    values = [0, -1, 1, 2**53, 2**53 + 1, 2**62, 2**62 + 1, 2**63 - 1, -(2**62), -(2**62) - 1, -(2**63)]
    for value in values:
        array = np.array([max(min(low, high), low)] * 8 + [value] + [low] * 9, dtype=np.int64)
        want = next((i for i, x in enumerate(array.tolist()) if not low <= x <= high), -1)
        assert ranges.first_outside(array, low, high) == want


def test_nan_is_outside() -> None:
    assert ranges.first_outside(np.array([0.0, np.nan]), -np.inf, np.inf) == 1


def test_any_shape_and_read_only_arrays_are_taken_others_refused() -> None:
    array = np.array([[0, 1], [2, 9]])
    array.flags.writeable = False
    assert ranges.first_outside(array, 0, 8) == 3
    with pytest.raises(TypeError):
        ranges.first_outside(array.astype(np.float32), 0, 8)
    with pytest.raises(ValueError):
        ranges.first_outside(array.T[:1], 0, 8)


@pytest.mark.parametrize(
    ("start", "end", "want"),
    [
        ([0], 0, True),
        ([], 0, False),
        ([0, 2, 2, 5], 5, True),
        ([0, 2, 1, 5], 5, False),
        ([1, 5], 5, False),
        ([0, 5], 6, False),
    ],
)
def test_offsets_ascend_from_0_to_the_end(start: list[int], end: int, want: bool) -> None:
    assert ranges.is_offsets(np.array(start, dtype=np.int64), end) == want


@pytest.mark.parametrize(
    ("rank", "want"), [([], True), ([0], True), ([2, 0, 1], True), ([0, 0], False), ([1, 2], False), ([-1, 0], False)]
)
def test_an_order_has_each_number_once(rank: list[int], want: bool) -> None:
    assert ranges.is_order(np.array(rank, dtype=np.int32), np.zeros(len(rank), dtype=np.uint8)) == want


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_sound_array_has_type_shape_and_range(dtype: type) -> None:
    size, array = np.dtype(dtype).itemsize, np.array([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    for good in (array, array.copy()):
        good.flags.writeable = good is not array
        assert ranges.is_sound(good, size, (2, 3), 1, 6)
        assert ranges.is_sound(good, size, (-1, 3), 0, 7)
    assert ranges.is_sound(np.zeros((0, 3), dtype=dtype), size, (0, 3), 1, 6)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_everything_else_is_not_sound(dtype: type) -> None:
    size, array = np.dtype(dtype).itemsize, np.array([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    for shape in [(2, 2), (3, 2), (6,), (2, 3, 1), (-1,), ()]:
        assert not ranges.is_sound(array, size, shape, 1, 6)
    assert not ranges.is_sound(array, size, (2, 3), 2, 6)
    assert not ranges.is_sound(array, size, (2, 3), 1, 5)
    assert not ranges.is_sound(array, 12 - size, (2, 3), 1, 6)
    others = [array.tolist(), array.T, array[:, ::2], array.astype(np.float64), array.astype(np.uint64), None]
    others += [
        array.astype(array.dtype.newbyteorder()),
        array.view(type("Other", (np.ndarray,), {})),
        memoryview(array),
    ]
    for other in others:
        assert not ranges.is_sound(other, size, (-1, -1), 0, 9)


@pytest.mark.parametrize(
    ("kinds", "dtype"),
    [(b"i2", np.int32), (b"q2", np.int64), (b"b2", np.int8), (b"B2", np.uint8), (b"Q2", np.uint64), (b"?2", np.bool_)],
)
def test_arrays_are_of_a_kind_by_dtype_dimensions_and_order(kinds: bytes, dtype: type) -> None:
    array = np.zeros((2, 3), dtype=dtype)
    array.flags.writeable = False
    assert ranges.are_arrays(kinds, array)
    assert ranges.are_arrays(kinds, array[:0])
    assert ranges.are_arrays(kinds + b"d1", array, np.zeros(2))
    others = [np.zeros((2, 3), dtype=other) for other in (np.int16, np.float64, np.uint32, ">i4", ">i8", "S1")]
    for other in [array[0], array.T, array[:, ::2], array.tolist(), None, *others]:
        assert not ranges.are_arrays(kinds, other)
        assert not ranges.are_arrays(b"d1" + kinds, np.zeros(2), other)


def test_each_array_has_its_kind() -> None:
    with pytest.raises(ValueError, match="two characters"):
        ranges.are_arrays(b"q1", np.zeros(1), np.zeros(1))
    with pytest.raises(TypeError):
        ranges.are_arrays("q1", np.zeros(1, dtype=np.int64))


def test_columns_are_sound_where_each_is() -> None:
    small, large = np.array([1, 2], dtype=np.int32), np.array([3, 4], dtype=np.int64)
    assert ranges.are_sound((("small", small, np.int32, 1, 2), ("large", large, np.int64, 3, 4)), 2)
    assert ranges.are_sound((("none", None, np.int32, 1, 2),), 2)
    assert ranges.are_sound((), 2)
    for wrong in (
        ("type", small, np.int64, 1, 2),
        ("low", small, np.int32, 2, 2),
        ("high", small, np.int32, 1, 1),
        ("length", small[:1], np.int32, 1, 2),
        ("list", [1, 2], np.int32, 1, 2),
    ):
        assert not ranges.are_sound((("large", large, np.int64, 3, 4), wrong), 2)
        assert not ranges.are_sound((wrong, ("large", large, np.int64, 3, 4)), 2)
    assert not ranges.are_sound((("small", small, np.int32, 1, 2),), 3)
