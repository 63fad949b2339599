"""Tests of cancellation tokens: which work looks at them, and whether a result still counts."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from workbench.cancel import Cancelled, Token, check, current, finish
from workbench.kernels.bottleneck import BottleneckSolver


def test_without_a_token_nothing_is_cancelled():
    check()
    finish()
    assert current() is None


def test_work_looks_at_the_token_of_its_own_context():
    outer, inner = Token(), Token()
    outer.cancel()
    with outer.watched():
        with inner.watched():
            check()
        with pytest.raises(Cancelled):
            check()
    check()


def test_a_handler_of_every_exception_lets_it_pass():
    token = Token()
    token.cancel()
    with token.watched(), pytest.raises(Cancelled):
        try:
            check()
        except Exception:
            pytest.fail("caught")


def test_the_first_of_two_fates_stays():
    cancelled, finished = Token(), Token()
    assert cancelled.cancel() and cancelled.cancel() and cancelled.cancelled
    with pytest.raises(Cancelled):
        cancelled.finish()
    finished.finish()
    assert not finished.cancel() and not finished.cancelled


def test_a_check_ticks():
    heard = []
    token = Token(lambda: heard.append(1))
    with token.watched():
        check()
        token.cancel()
        with pytest.raises(Cancelled):
            check()
    assert heard == [1]


def test_a_long_search_is_cancelled_and_the_solver_answers_again():
    weight = np.random.default_rng(0).random((300, 300))
    solver = BottleneckSolver(np.minimum(weight, weight.T))
    searching, stopped, token = threading.Event(), [], Token()

    def search() -> None:
        with token.watched():
            try:
                # Unstructured noise: hours of clique search.
                solver.solve((1 << 300) - 1, 40)
            except Cancelled:
                stopped.append(True)

    token.tick = searching.set
    thread = threading.Thread(target=search, daemon=True)
    thread.start()
    assert searching.wait(60)
    token.cancel()
    thread.join(60)
    assert stopped == [True]
    assert solver.choose(0b11, 2) == 0b11
