"""Tests of what long work tells: the steps of a call (`reported`), and the logger `workbench`."""

from __future__ import annotations

import logging
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

import workbench as wb
from workbench.cancel import reported
from workbench.cancel.progress import LOG
from workbench.control.kinds import Ref
from workbench.live.kubernetes.loop import Loop


@pytest.fixture
def tqdm(monkeypatch):
    """A stand-in for tqdm that notes what a bar shows."""
    shown = []

    class Bar(SimpleNamespace):
        n, total, text = 0, None, ""

        def __enter__(self):
            return self

        def __exit__(self, *error):
            shown.append("closed")

        def set_description_str(self, text, refresh):
            self.text = text

        def update(self, steps):
            self.n += steps
            shown.append((self.n, self.total, self.text))

    monkeypatch.setattr("workbench.cancel.progress.find_spec", lambda name: name == "tqdm" or None)
    auto = ModuleType("tqdm.auto")
    auto.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    return shown


@pytest.mark.parametrize("nobody", [None, False])
def test_nobody_wants_to_know(nobody):
    with reported(nobody) as step:
        assert step is None


def test_a_function_is_called_as_it_is():
    heard = []
    with reported(lambda *step: heard.append(step)) as step:
        step(1, 2, "a")
    assert heard == [(1, 2, "a")]


def test_a_bar_of_tqdm_counts_the_steps(tqdm):
    scenario = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", gpus=8))
    wb.compare(scenario, ["binpack", "spread"], progress=True)
    assert tqdm == [(0, 2, "binpack"), (1, 2, "spread"), (2, 2, ""), "closed"]


def test_a_bar_of_rich_stands_in(monkeypatch, capsys):
    monkeypatch.setattr("workbench.cancel.progress.find_spec", lambda name: None)
    with reported(True) as step:
        step(1, 2, "a")
        step(2, 2, "b")
    assert capsys.readouterr().err == ""


def test_every_long_call_takes_it(tqdm):
    tree = wb.generate_scenario("three-level-tree")
    jobs = [wb.SimulatedJob(wb.gang("mine", gpus=8), 0.0, 60.0)]
    wb.simulate(tree, jobs, progress=True)
    assert tqdm == [(1, 1, "mine"), "closed"]
    wb.regret([[0, 1], [1, 0]], ["gpu-lowest-index"], sizes=[1], progress=True)
    assert tqdm[-2:] == [(1, 1, ""), "closed"]


def test_nothing_is_printed_until_somebody_configures_logging() -> None:
    code = "from workbench.cancel.progress import LOG\nLOG.warning('a')\nprint(LOG.name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("workbench\n", "")


def test_lines_of_controllers_have_their_level(caplog: pytest.LogCaptureFixture) -> None:
    assert LOG is logging.getLogger("workbench")
    caplog.set_level("INFO", "workbench")
    told = []
    loop = Loop(SimpleNamespace(), told.append)
    loop.log.say(1.0, Ref("Pod", "default", "a"), "Scheduled", "on node0")
    loop.log.say(2.0, Ref("Pod", "default", "b"), "Retry", "no answer", warning=True)
    loop._report()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "Scheduled Pod default/a: on node0"),
        ("WARNING", "Retry Pod default/b: no answer"),
    ]
    assert len(told) == 2
