"""The minimum of a gang that loses pods."""

from __future__ import annotations

import pytest

from workbench.model.gang import lower_minimum


@pytest.mark.parametrize(
    ("least", "by", "started", "want"),
    [
        (8, 3, 0, 5),
        (8, 3, 4, 5),
        # Not below the pods that have started and one more.
        (8, 3, 6, 7),
        (8, 9, 0, 1),
        # A minimum that the started pods reach already stays.
        (4, 2, 6, 4),
        (0, 2, 0, 0),
    ],
)
def test_a_minimum_falls_by_as_many_pods_but_not_below_what_started(least: int, by: int, started: int, want: int):
    assert lower_minimum(least, by, started) == want
