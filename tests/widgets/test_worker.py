"""Background work: cancelled work publishes nothing, and later work never waits for ever."""

from __future__ import annotations

import random
import threading
import time

import pytest

import workbench
from tests.widgets.page import ask
from workbench.cancel import check, finish
from workbench.policies import registry
from workbench.widgets import worker as worker_module
from workbench.widgets.comparer import PlacementComparer
from workbench.widgets.worker import Worker


def test_a_new_piece_replaces_the_one_that_runs():
    worker, begun, said = Worker(), threading.Event(), []

    def long_work():
        begun.set()
        while True:
            check()

    def short_work():
        finish()
        said.append("short")

    worker.start(long_work)
    assert begun.wait(60) and worker.busy
    worker.start(short_work)
    assert worker.wait(60) and said == ["short"]


def test_a_result_that_is_there_cannot_be_cancelled_and_one_that_was_cancelled_is_not_said():
    ended, said = [], []
    worker = Worker(lambda: ended.append("ended"))
    at_end, go_on = threading.Event(), threading.Event()

    def work(done):
        if done:
            finish()
        at_end.set()
        assert go_on.wait(60)
        if not done:
            finish()
        said.append(done)

    for done in (True, False):
        at_end.clear()
        go_on.clear()
        worker.start(lambda done=done: work(done))
        assert at_end.wait(60)
        assert worker.cancel() is not done
        go_on.set()
        assert worker.wait(60)
    assert said == [True] and ended == ["ended"]


def test_work_that_cannot_stop_does_not_hold_up_the_next(monkeypatch):
    monkeypatch.setattr(worker_module, "_PATIENCE_S", 0.01)
    worker, begun, release, said = Worker(), threading.Event(), threading.Event(), []

    def stuck():
        begun.set()
        release.wait(60)

    worker.start(stuck)
    assert begun.wait(60)
    worker.start(lambda: said.append("next"))
    assert worker.wait(60) and said == ["next"]
    release.set()


@pytest.mark.slow
def test_edits_and_cancels_at_any_moment_leave_a_comparer_that_answers(said, capfd):
    """Each edit cancels the comparison that runs, wherever it is."""
    bench = workbench.Workbench("datasets/demo")
    chance = random.Random(5)
    for turn in range(80):
        if turn % 2 == 0:
            bench.editor.edit(op="add_nodes", parent=0, count=1)
        else:
            bench.editor.undo()
        if chance.random() < 0.3:
            ask(bench.comparer, "cancel")
        time.sleep(chance.random() * 0.03)
    bench.comparer.run()
    assert bench.comparer._worker.wait(60)
    assert bench.comparer.comparison is not None and bench.comparer.comparison.all_placed
    assert said[-1]["type"] == "result"
    bench.end()
    assert capfd.readouterr().err == ""


def test_the_last_word_of_cancelled_work_is_that_it_was_cancelled(said, monkeypatch):
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    begun = threading.Event()
    panel = PlacementComparer(workbench.load("datasets/demo"), ["gang"])

    @workbench.policy("endless-here")
    def endless(gang, ledger):
        begun.set()
        while True:
            pass

    try:
        ask(panel, "choose", chosen=[{"name": "endless-here"}])
        assert begun.wait(60)
        assert ask(panel, "cancel") == {"cancelled": True}
        assert panel._worker.wait(60)
        assert said[-1]["type"] == "cancelled"
        assert ask(panel, "cancel") == {"cancelled": False}
        ask(panel, "choose", chosen=[{"name": "gang"}])
        assert panel._worker.wait(60) and said[-1]["type"] == "result"
    finally:
        panel.close()
