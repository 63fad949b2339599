"""Tests that Ctrl-C at any moment leaves snapshot and matrices unchanged: asked again, a policy answers the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import workbench
from tests.machines import koordinator_matrix_a

#: Moments at which each question is interrupted, spread over all of its calls.
MOMENTS = 25


class Interrupt:
    """Raises KeyboardInterrupt where the n-th call of a Python function begins or of a compiled one has returned.

    Those are the moments at which the interpreter runs signal handlers. Before a compiled function is called is none:
    an exception there would keep a ``with`` statement from releasing its lock, for all tests that follow.
    """

    def __init__(self, at: int) -> None:
        self.calls, self._at = 0, at

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_return"):
            self.calls += 1
            if self.calls == self._at:
                raise KeyboardInterrupt


def interrupted(ask: Callable[[], Any], at: int) -> int:
    """Ask and be interrupted; how many moments there were where `at` is 0, which is never."""
    interrupt = Interrupt(at)
    before = sys.getprofile()
    sys.setprofile(interrupt)
    try:
        ask()
    finally:
        sys.setprofile(before)
    return interrupt.calls


def demo():
    return workbench.load("datasets/demo")


def placed(policy: str) -> Callable[[], Callable[[], Any]]:
    def begin():
        scenario = demo()
        return lambda: [
            (decision.gang.key, decision.placed, repr(decision.result))
            for decision in workbench.schedule(scenario.gangs, scenario.snapshot, policy)
        ]

    return begin


def compared():
    scenario = demo()

    def ask():
        answer = workbench.compare(scenario.gangs, scenario.snapshot, ["gang", "volcano-1.15"]).to_dict()
        return [{**row, "decision_s": 0} for row in answer["policies"]]

    return ask


def chosen():
    matrix = workbench.BandwidthMatrix(koordinator_matrix_a())
    return lambda: [workbench.best_gpus(matrix, k, link_classes=k % 2 == 1).to_dict() for k in range(1, 9)]


QUESTIONS = {
    "volcano-1.13": placed("volcano-1.13"),
    "volcano-1.15": placed("volcano-1.15"),
    "gang": placed("gang+gpu-mapa"),
    "compare": compared,
    "best_gpus": chosen,
}


def stopped(ask: Callable[[], Any], at: int) -> bool:
    """Whether an interrupt at a moment ended the question."""
    try:
        interrupted(ask, at)
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.slow
# What is raised while the interpreter drops an unfinished generator is swallowed, a real Ctrl-C too.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("begin", QUESTIONS.values(), ids=QUESTIONS)
def test_asked_again_after_ctrl_c_it_answers_alike(begin):
    want = begin()()
    calls = interrupted(begin(), 0)
    for moment in range(MOMENTS):
        at = 1 + moment * (calls - 1) // MOMENTS
        ask = begin()
        while not stopped(ask, at):
            at += 1
            assert at <= calls
            ask = begin()
        assert ask() == want
