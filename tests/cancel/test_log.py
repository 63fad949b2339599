"""Tests of the logger `workbench`: one name, silent by itself, and what a loop of controllers reports to it."""

from __future__ import annotations

import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest

from workbench.cancel.log import LOG
from workbench.control.kinds import Ref
from workbench.live.kubernetes.loop import Loop


def test_nothing_is_printed_until_somebody_configures_logging() -> None:
    code = "from workbench.cancel.log import LOG\nLOG.warning('a')\nprint(LOG.name)"
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
