"""Arguments that the ``bottleneck`` interface refuses, and those that the kernel refuses when called directly."""

from __future__ import annotations

import dataclasses
import math
import signal
import threading

import numpy as np
import pytest

from workbench._core import bottleneck as kernel
from workbench.cancel import Token
from workbench.errors import CapacityError, InputError
from workbench.kernels.bottleneck import BottleneckSolver
from workbench.kernels.gpu_sets import indices_of, mask_of


@pytest.fixture
def solver():
    return BottleneckSolver(np.full((8, 8), 25.0))


@pytest.fixture(params=[8, 16, 40, 70])
def any_solver(request):
    return BottleneckSolver(np.full((request.param, request.param), 25.0))


def square(n=4):
    return np.ones((n, n))


def changed(i, j, value, both=True):
    matrix = square()
    matrix[i, j] = value
    if both:
        matrix[j, i] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (np.ones((3, 4)), "not square"),
        (np.ones(4), "dimensions"),
        (np.ones((0, 0)), "not square"),
        (changed(1, 2, -1.0), r"\[1, 2\]"),
        (changed(1, 2, np.nan), "nan"),
        (changed(1, 2, np.inf), "inf"),
        (changed(1, 2, 3.0, both=False), "directions differ"),
        (np.full((2, 2), "fast"), "dtype"),
        (np.ones((2, 2), int), "dtype"),
        ([[0.0, 1.0], [1.0, 0.0]], "not a numpy array"),
    ],
)
def test_bad_matrices_are_refused(matrix, says):
    with pytest.raises(InputError, match=says):
        BottleneckSolver(matrix)


def test_the_diagonal_may_hold_anything():
    matrix = square()
    np.fill_diagonal(matrix, np.nan)
    assert BottleneckSolver(matrix).choose(0b1111, 2) == 0b11


def test_read_only_and_strided_matrices_are_taken():
    big = np.arange(64.0).reshape(8, 8)
    big = big + big.T
    big.setflags(write=False)
    assert BottleneckSolver(big[::2, ::2]).value(0b11) == big[0, 2]


def test_1024_devices_are_taken_and_one_more_is_refused():
    assert BottleneckSolver(square(1024)).choose(1 << 1023 | 1, 2) == 1 << 1023 | 1
    with pytest.raises(CapacityError, match="1,024"):
        BottleneckSolver(square(1025))
    with pytest.raises(ValueError):
        kernel.Solver(square(1025))


@pytest.mark.parametrize(
    "link_class",
    [np.ones((3, 3), np.int32), np.ones((4, 4)), np.triu(np.ones((4, 4), np.int32), 1), np.full((4, 4), 2**40)],
)
def test_bad_link_classes_are_refused(link_class):
    with pytest.raises(InputError, match="link_class"):
        BottleneckSolver(square(), link_class)


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_machines(n):
    solver = BottleneckSolver(square(n))
    assert solver.choose((1 << n) - 1, n) == (1 << n) - 1
    assert solver.solve(1, 1).bottleneck_gb_s == math.inf
    assert solver.split((1 << n) - 1, [1] * n) == [1 << i for i in range(n)]


def test_more_than_is_free_is_zero_for_choose_and_an_error_for_solve(any_solver):
    assert any_solver.choose(0b101, 3) == 0
    assert any_solver.choose(0b101, 0) == 0
    assert any_solver.choose(0b101, -1) == 0
    assert any_solver.choose(0b101, 10**6) == 0
    assert any_solver.choose(0, 1) == 0
    for k in (0, -1, 3):
        with pytest.raises(InputError):
            any_solver.solve(0b101, k)


def test_masks_outside_the_machine_are_refused(any_solver):
    outside = 1 << any_solver.n
    for call in (any_solver.solve, any_solver.choose):
        with pytest.raises(ValueError):
            call(outside | 1, 1)
        with pytest.raises((ValueError, OverflowError)):
            call(-1, 1)
    with pytest.raises(InputError):
        any_solver.value(outside)


@pytest.mark.parametrize(
    "arguments",
    [
        {"require": 0b100000},
        {"require": 0b00111},
        {"require": 1 << 9},
        {"max_ties": 0},
        {"budget": -1},
        {"k": 1.5},
        {"k": True},
        {"free": "all"},
    ],
)
def test_solve_refuses_what_makes_no_sense(solver, arguments):
    with pytest.raises(InputError):
        solver.solve(**{"free": 0b11111, "k": 2} | arguments)


def test_choose_many_checks_its_arrays(solver):
    assert solver.choose_many(np.array([7, 1], np.uint64), np.array([2, 2], np.int32)).tolist() == [3, 0]
    assert solver.choose_many(np.array([], np.uint64), np.array([], np.int32)).tolist() == []
    for free, k in [([256], [1]), ([1, 2], [1]), ([[1]], [1])]:
        with pytest.raises(InputError):
            solver.choose_many(np.array(free, np.uint64), np.array(k, np.int32))
    for free, k in [([1], np.array([1], np.int32)), (np.array([1]), np.array([1], np.int32))]:
        with pytest.raises(InputError, match="free"):
            solver.choose_many(free, k)
    with pytest.raises(CapacityError):
        BottleneckSolver(square(65)).choose_many(np.array([1], np.uint64), np.array([1], np.int32))


@pytest.mark.parametrize("sizes", [[], [0, 8], [4, 5], [4, 3], [-1, 9], [4.0, 4]])
def test_split_refuses_sizes_that_do_not_fit(solver, sizes):
    with pytest.raises(InputError):
        solver.split(0xFF, sizes)


def test_group_may_leave_devices_but_not_take_more(solver):
    assert solver.group(0xFF, [2, 1]).union == 0b111
    with pytest.raises(InputError):
        solver.group(0b11, [2, 1])
    with pytest.raises(InputError):
        solver.group(0b11, [1], require=0b100)
    with pytest.raises(InputError):
        solver.group(0b111, [1], require=0b11)


def test_split_says_up_to_which_size_it_goes():
    with pytest.raises(CapacityError, match="16"):
        BottleneckSolver(square(17)).split(0b11, [1, 1])
    with pytest.raises(ValueError):
        kernel.Solver(square(17)).split(0b11, [1, 1], 0, True, 1)


def test_answers_and_solver_are_immutable(solver):
    with pytest.raises(AttributeError):
        solver.n = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        solver.solve(0xFF, 2).mask = 0


def test_kernel_checks_what_would_read_outside_its_memory():
    raw = kernel.Solver(square(70))
    with pytest.raises(ValueError):
        raw.choose(1, 1)
    with pytest.raises(ValueError):
        raw.lowest_pair(1)
    with pytest.raises(ValueError):
        kernel.Solver(square(9)).lowest_pair(1 << 9)
    for words in (np.zeros(1, np.uint64), np.zeros(3, np.uint64), np.array([0, 1 << 6], np.uint64)):
        with pytest.raises(ValueError):
            raw.choose_words(words, 1)
        with pytest.raises(ValueError):
            raw.value(words)
    with pytest.raises(ValueError):
        raw.solve(np.array([1, 0], np.uint64), 2, np.zeros(2, np.uint64), 1, 0)


def test_masks_and_indices_invert_each_other():
    assert mask_of([]) == 0 and indices_of(0) == ()
    assert indices_of(mask_of([130, 3, 64])) == (3, 64, 130)
    with pytest.raises(InputError):
        mask_of([-1])
    with pytest.raises(InputError):
        indices_of(-1)


def hard_machine(n=300):
    rng = np.random.default_rng(0)
    weight = rng.random((n, n))
    return np.minimum(weight, weight.T)


def test_control_c_ends_a_long_search():
    solver = BottleneckSolver(hard_machine())

    searching, token = threading.Event(), Token()
    token.tick = searching.set

    def interrupt():
        if searching.wait(60):
            signal.raise_signal(signal.SIGINT)

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), token.watched():
            thread.start()
            # Unstructured noise: hours of clique search.
            solver.solve((1 << 300) - 1, 40)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, previous)
    assert solver.choose(0b11, 2) == 0b11


def test_two_threads_may_ask_one_solver():
    solver = BottleneckSolver(hard_machine(80))
    asked = [((1 << size) - 1, k) for size in (60, 70, 80) for k in (2, 3, 5)]
    want = [solver.choose(*question) for question in asked]
    found: list[list[int]] = [[], []]

    def ask(row):
        for _ in range(5):
            found[row] = [solver.choose(*question) for question in asked]

    threads = [threading.Thread(target=ask, args=(row,)) for row in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want, want]
