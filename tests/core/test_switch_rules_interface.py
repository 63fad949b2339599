from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.switch_rules import COMMON, place_closest, place_new
from workbench.kernels.switches import SUMS


def new(**other):
    given = {
        "sums": np.zeros((SUMS, 2), dtype=np.int64),
        "free": np.array([4, 4]),
    } | other
    return place_new(*given.values(), COMMON, 4, 4, 2)


def test_read_only_input_is_taken_and_results_are_fresh():
    free = np.array([4, 4])
    free.flags.writeable = False
    first, *_ = new(free=free)
    first[:] = 7
    assert new(free=free)[0].tolist() == [0]


def test_without_switches_every_pod_is_missing():
    *found, missing = new(sums=np.zeros((SUMS, 0), dtype=np.int64), free=np.zeros(0, dtype=np.int64))
    assert ([len(each) for each in found], missing) == ([0, 0, 0], 4)
    assert len(place_closest(np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.int64), 1, 2)[0]) == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param({"free": [4, 4]}, "not a numpy array", id="a list"),
        pytest.param({"free": np.ones(2)}, "wrong dtype", id="floats"),
        pytest.param({"sums": np.zeros((4, 2), dtype=np.int64)}, "wrong length", id="four sums"),
        pytest.param({"sums": np.zeros((SUMS, 3), dtype=np.int64)}, "wrong number of columns", id="more switches"),
        pytest.param({"free": np.array([4, -1])}, "negative", id="fewer than none"),
    ],
)
def test_wrong_switches_are_refused(other, message):
    with pytest.raises(InputError, match=message):
        new(**other)


@pytest.mark.parametrize(
    ("allowed", "free", "message"),
    [
        pytest.param([True], [1, 1], "wrong length", id="too few"),
        pytest.param([1, 1], [1, 1], "wrong dtype", id="numbers"),
        pytest.param([True, True], [1, -1], "negative", id="fewer than none"),
    ],
)
def test_wrong_shared_switches_are_refused(allowed, free, message):
    with pytest.raises(InputError, match=message):
        place_closest(np.array(allowed), np.array(free), 1, 2)
