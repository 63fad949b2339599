from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.sub_jobs import deal_pods, runs_of_queues


def deal(**other):
    given = {
        "groups": [(0, 1)],
        "role_of_pod": np.array([0, 1, 1], dtype=np.int32),
        "place": np.array([1, 0], dtype=np.int32),
        "n_tried": 2,
        "rows": np.array([[1, 2], [3, 4]]),
        "priority": np.array([0, 5]),
        "default": False,
    } | other
    return deal_pods(**given)


def test_of_nothing_there_is_nothing_but_the_default():
    none, nobody = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    empty = {"groups": [], "role_of_pod": nobody}
    assert [column.shape for column in deal(**empty)] == [(0,), (1,), (0,), (0,), (1,), (0,), (0, 2), (0,), (0,)]
    assert deal(**empty, default=True).size.tolist() == [0]
    assert deal(place=nobody, rows=np.zeros((0, 2), dtype=np.int64), priority=none, **empty).size.tolist() == []


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param({"groups": [(0,), (), (1, 3)]}, "groups.*entry 2.*3", id="no such pod"),
        pytest.param({"groups": [(-1, 0)]}, "groups.*entry 0.*-1", id="a negative pod"),
        pytest.param({"priority": [0, 5]}, "not a numpy array", id="a list"),
        pytest.param({"role_of_pod": np.array([0, 1, 2], dtype=np.int32)}, "role_of_pod.*entry 2", id="no such role"),
        pytest.param({"place": np.array([1, 2], dtype=np.int32)}, "place.*entry 1", id="no such place"),
        pytest.param({"place": np.array([0], dtype=np.int32)}, "place: wrong length", id="one place for two roles"),
        pytest.param({"priority": np.array([0])}, "priority: wrong length", id="one priority for two roles"),
        pytest.param({"rows": np.array([[1, 2], [3, -4]])}, "rows.*entry 3", id="a negative request"),
    ],
)
def test_what_is_no_gang(other, message):
    assert deal().size.tolist() == [2, 1]
    with pytest.raises(InputError, match=message):
        deal(**other)


def line_up(**other):
    given = {
        "start": np.array([0, 2, 2, 3]),
        "positions": np.array([2, 0, 3]),
        "rank": np.array([3, 0, 1, 2]),
        "role_of_pod": np.array([0, 0, 1, 1], dtype=np.int32),
        "n_roles": 2,
    } | other
    return runs_of_queues(**given)


def test_a_queue_may_be_empty_and_a_pod_in_none():
    assert [column.tolist() for column in line_up()] == [[0, 2, 2, 3], [1, 0, 1], [1, 1, 1]]
    none = np.zeros(0, dtype=np.int64)
    runs = line_up(start=np.zeros(1, dtype=np.int64), positions=none, rank=none, role_of_pod=none.astype(np.int32))
    assert [column.tolist() for column in runs] == [[0], [], []]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param({"positions": np.array([2, 0, 4])}, "positions.*entry 2", id="no such pod"),
        pytest.param({"positions": np.array([2, 0, 2])}, "positions: a pod stands twice", id="a pod in two queues"),
        pytest.param({"positions": np.array([2, 2, 3])}, "positions: a pod stands twice", id="a pod twice in one"),
        pytest.param({"start": np.array([0, 2, 1, 3])}, "start: no offsets", id="starts that descend"),
        pytest.param({"start": np.array([0, 2])}, "start: no offsets", id="positions of no queue"),
        pytest.param({"rank": np.array([3, 0, 1, 1])}, "rank: no order", id="two pods of one rank"),
        pytest.param({"rank": np.array([3, 0, 1, 4])}, "rank.*entry 3", id="no such rank"),
        pytest.param({"role_of_pod": np.array([0, 0, 1], dtype=np.int32)}, "role_of_pod: wrong length", id="no role"),
        pytest.param({"n_roles": 1}, "role_of_pod.*entry 2", id="no such role"),
    ],
)
def test_what_is_no_queue(other, message):
    with pytest.raises(InputError, match=message):
        line_up(**other)
