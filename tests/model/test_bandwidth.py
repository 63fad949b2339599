from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from workbench.errors import CapacityError, InputError
from workbench.model.bandwidth import BandwidthMatrix


def test_both_directions_count_and_the_diagonal_never_does():
    matrix = BandwidthMatrix([[700.0, 15.77], [5.0, 700.0]])
    assert matrix.pair_weights_gb_s("min")[0, 1] == 5.0
    assert matrix.pair_weights_gb_s("max")[0, 1] == 15.77
    assert matrix.pair_weights_gb_s("mean")[1, 0] == (15.77 + 5.0) / 2
    assert np.isinf(np.diag(matrix.pair_weights_gb_s())).all()


def test_a_gap_of_ten_percent_begins_a_link_class():
    links = [[0, 100, 91], [100, 0, 83], [91, 83, 0]]
    assert BandwidthMatrix(links).class_floors_gb_s.tolist() == [83]  # 91/83 = 1.096, 100/91 = 1.099
    links = [[0, 100, 90], [100, 0, 80], [90, 80, 0]]
    assert BandwidthMatrix(links).class_floors_gb_s.tolist() == [80, 90, 100]
    assert BandwidthMatrix(links).link_classes()[0].tolist() == [2, 2, 1]
    assert BandwidthMatrix([[0, 110], [100, 0]]).class_floors_gb_s.tolist() == [100, 110]  # exactly 10 % splits


def test_no_link_is_a_class_of_its_own():
    matrix = BandwidthMatrix([[0, 0, 50], [0, 0, 50], [50, 50, 0]])
    assert matrix.class_floors_gb_s.tolist() == [0, 50]


def test_a_mean_between_two_classes_belongs_to_the_lower():
    matrix = BandwidthMatrix([[0, 10], [100, 0]])
    assert matrix.link_classes("mean")[0, 1] == 0


def test_asymmetry_is_smaller_over_larger():
    matrix = BandwidthMatrix([[1, 10, 0], [20, 1, 5], [0, 5, 1]])
    assert matrix.asymmetry()[0, 1] == 0.5
    assert matrix.asymmetry()[0, 2] == 1.0


@pytest.mark.parametrize(
    ("entries", "where"),
    [
        ([[0, -1], [1, 0]], "row 0, column 1"),
        ([[0, 1], [float("nan"), 0]], "row 1, column 0"),
        ([[0, float("inf")], [1, 0]], "row 0, column 1"),
        ([[0, 1.7e308], [1, 0]], "row 0, column 1"),
    ],
)
def test_an_entry_that_is_no_bandwidth_is_named_by_its_place(entries, where):
    with pytest.raises(InputError) as caught:
        BandwidthMatrix(entries, source="m.csv")
    assert caught.value.source == "m.csv"
    assert caught.value.where == where


@pytest.mark.parametrize("entries", [[[1, 2, 3], [4, 5, 6]], [[1, 2], [3]], [], [["a", "b"], ["c", "d"]]])
def test_what_is_not_square_is_refused(entries):
    with pytest.raises(InputError, match=r"square|unequal"):
        BandwidthMatrix(entries)


def test_more_than_1024_gpus_are_refused():
    with pytest.raises(CapacityError, match="1025"):
        BandwidthMatrix(np.ones((1025, 1025)))


def test_the_value_is_frozen_and_owns_its_numbers():
    numbers = np.ones((2, 2))
    matrix = BandwidthMatrix(numbers)
    numbers[0, 1] = 7
    assert matrix.gb_s[0, 1] == 1
    with pytest.raises(ValueError, match="read-only"):
        matrix.gb_s[0, 1] = 3
    assert matrix == BandwidthMatrix(np.ones((2, 2)))
    assert matrix != BandwidthMatrix(np.ones((2, 2)), labels=("a", "b"))


def test_a_changed_copy_is_searched_by_its_own_numbers():
    matrix = BandwidthMatrix([[0, 50, 10], [50, 0, 10], [10, 10, 0]])
    assert matrix.solver().choose(0b111, 2) == 0b011
    slow = dataclasses.replace(matrix, gb_s=[[0, 5, 10], [5, 0, 10], [10, 10, 0]])
    assert slow.solver().choose(0b111, 2) == 0b101
