"""`unique_rows` against `numpy.unique`, and Ctrl-C in the middle of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from workbench.kernels.rows import unique_rows


@given(arrays(np.int32, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.integers(-2, 2)))
def test_the_rows_are_those_of_numpy(table):
    rows, number = unique_rows(table)
    expected, inverse = np.unique(table, axis=0, return_inverse=True)
    assert np.array_equal(rows, expected)
    assert np.array_equal(number, inverse.reshape(-1))
    assert np.array_equal(rows[number], table)


def test_no_rows_and_no_columns():
    assert unique_rows(np.zeros((0, 3), dtype=np.int64))[0].shape == (0, 3)
    rows, number = unique_rows(np.zeros((4, 0), dtype=np.int64))
    assert rows.shape == (1, 0)
    assert number.tolist() == [0, 0, 0, 0]
