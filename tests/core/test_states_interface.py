from __future__ import annotations

import numpy as np
import pytest

from workbench._core import states as kernel
from workbench.errors import CapacityError, InputError
from workbench.kernels.states import alike, best_bottlenecks, bottlenecks

FLAT = np.ones((3, 3))


def test_read_only_input_is_taken_and_results_are_fresh():
    weight = FLAT.copy()
    weight.flags.writeable = False
    first = best_bottlenecks(weight)
    first[:] = 7.0
    assert best_bottlenecks(weight)[7, 2] == 1.0


def test_a_machine_of_one():
    assert best_bottlenecks(np.zeros((1, 1)))[1, 1] == np.inf
    assert bottlenecks(np.zeros((1, 1)), np.array([[1]], dtype=np.uint64)).tolist() == [np.inf]


def test_no_sets():
    assert bottlenecks(FLAT, np.zeros((0, 1), dtype=np.uint64)).shape == (0,)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        pytest.param([[1.0]], "not a numpy array", id="a list"),
        pytest.param(FLAT.astype(np.float32), "wrong dtype", id="float32"),
        pytest.param(np.ones(3), "wrong number of dimensions", id="one dimension"),
        pytest.param(np.ones((2, 3)), "not square", id="not square"),
        pytest.param(np.zeros((0, 0)), "not square", id="empty"),
        pytest.param(np.array([[0.0, 1.0], [2.0, 0.0]]), "two directions differ", id="asymmetric"),
        pytest.param(np.array([[0.0, np.nan], [np.nan, 0.0]]), "two directions differ", id="NaN"),
    ],
)
def test_wrong_weights_are_refused(weight, message):
    with pytest.raises(InputError, match=message):
        best_bottlenecks(weight)
    with pytest.raises(InputError, match=message):
        bottlenecks(weight, np.zeros((1, 1), dtype=np.uint64))


def test_wrong_sets_are_refused():
    with pytest.raises(InputError, match="wrong dtype"):
        bottlenecks(FLAT, np.zeros((1, 1), dtype=np.int64))
    with pytest.raises(InputError, match="wrong number of words"):
        bottlenecks(FLAT, np.zeros((1, 2), dtype=np.uint64))
    with pytest.raises(InputError, match="outside the machine"):
        bottlenecks(FLAT, np.array([[8]], dtype=np.uint64))


def test_seventeen_devices_are_too_many_for_a_table():
    with pytest.raises(CapacityError, match="at most 16"):
        best_bottlenecks(np.ones((17, 17)))


def test_the_kernel_itself_keeps_inside_its_arrays():
    with pytest.raises(ValueError, match="n <= 16"):
        kernel.best_bottlenecks(np.ones((17, 17)))
    with pytest.raises(ValueError, match="3 devices"):
        kernel.bottlenecks(FLAT, np.array([[8]], dtype=np.uint64))
    with pytest.raises(ValueError, match="words"):
        kernel.bottlenecks(FLAT, np.zeros((1, 2), dtype=np.uint64))


def test_nodes_are_alike_when_state_and_requests_in_their_order_are():
    rng = np.random.default_rng(3)
    for _ in range(200):
        m = int(rng.integers(0, 30))
        count = rng.integers(0, 3, m)
        first = np.concatenate([[0], np.cumsum(count)])[:-1][:m].astype(np.int64)
        wanted = rng.integers(1, 3, int(count.sum()) + 1)
        matrix = rng.integers(-1, 1, m).astype(np.int32)
        free = rng.integers(0, 2, (m, 2)).astype(np.uint64)
        want: dict[object, list[int]] = {}
        for i in range(m):
            requests = tuple(wanted[first[i] : first[i] + count[i]].tolist())
            want.setdefault((int(matrix[i]), tuple(free[i].tolist()), requests), []).append(i)
        found = [group.tolist() for group in alike(matrix, free, wanted, first, count)]
        assert found == list(want.values())


@pytest.mark.parametrize(("first", "count"), [([0, 1], [1, 2]), ([0], [1]), ([-1, 0], [1, 1]), ([0, 3], [1, -1])])
def test_pods_that_are_not_there_are_refused(first, count):
    arrays = np.array(first, dtype=np.int64), np.array(count, dtype=np.int64)
    with pytest.raises(InputError):
        alike(np.zeros(2, dtype=np.int32), np.zeros((2, 1), dtype=np.uint64), np.ones(2, dtype=np.int64), *arrays)
