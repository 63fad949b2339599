"""How tests are spread over processes: which go together, in which order, and what the processes tell of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import pytest

__all__ = ["lots_of", "rank_of", "say_less", "scheduler"]

#: Folders whose tests share a server that takes long to start.
_LOTS = ("tests/controlplane/",)

#: Folders of which each file is handed out whole: each process that has one starts a browser and a JupyterLab, once.
_BY_FILE = ("tests/browser/",)

#: Folders whose tests take so long that each is handed out alone.
_ALONE = ("tests/notebooks/",)

#: Tests of a file that are handed out together: they share what the file prepares, and a message each way serves all.
_TOGETHER = 8

#: Seconds of set-up or tear-down that ``--durations`` is told of.
_WORTH_TELLING_S = 0.1


def lots_of(names: Sequence[str]) -> dict[str, str]:
    """The lot of each test: tests of one lot run in one process, one after the other.

    Parameters
    ----------
    names
        Names of all tests, in the order in which they were collected.
    """
    lots: dict[str, str] = {}
    counted: dict[str, int] = {}
    for name in names:
        file = name.partition("::")[0]
        number = counted[file] = counted.get(file, -1) + 1
        if name.startswith(_ALONE):
            lots[name] = name
        elif name.startswith(_BY_FILE):
            lots[name] = file
        else:
            shared = (lot for lot in _LOTS if name.startswith(lot))
            lots[name] = next(shared, f"{file} {number // _TOGETHER}")
    return lots


def rank_of(lot: str, size: int) -> tuple[int, int]:
    """What is handed out first: what shares a server, the files of the browser, what goes alone, then the larger lots.

    A long lot that begins last would keep one process busy while the others wait.
    """
    first = lot in _LOTS, lot.startswith(_BY_FILE), lot.startswith(_ALONE), True
    return first.index(True), -size


def scheduler(config: pytest.Config, log: Any) -> Any:
    """How tests are spread over processes; None: as ``--dist`` says, with another word than ``load``.

    The quick set is cut into one run of files per process, and a process that is done takes tests over from another:
    what a file prepares is mostly prepared once, and no test waits to be handed out. With browser tests, a few tests of
    a file are handed out at a time, but for those of the browser, a file at a time, and those of the control plane,
    which share one API server.
    """
    if config.getoption("dist") != "load":
        return None
    if "not browser" in config.option.markexpr:
        from xdist.scheduler import WorkStealingScheduling

        return WorkStealingScheduling(config, log)
    from xdist.scheduler import LoadScopeScheduling

    class Queue(OrderedDict[str, dict[str, bool]]):
        def popitem(self, last: bool = True) -> tuple[str, dict[str, bool]]:
            first = min(self, key=lambda lot: rank_of(lot, len(self[lot])))
            return first, self.pop(first)

    class OneServerEach(LoadScopeScheduling):
        lots: dict[str, str] = {}

        def __init__(self, config: pytest.Config, log: Any = None) -> None:
            super().__init__(config, log)
            self.workqueue = Queue()

        # xdist's own groups (``--dist loadgroup``) rename items, which pytest 9.2 no longer lets it do.
        def _split_scope(self, nodeid: str) -> str:
            if not self.lots:
                self.lots = lots_of(self.collection)
            return self.lots[nodeid]

    return OneServerEach(config, log)


def say_less(config: pytest.Config) -> None:
    """Let a process of pytest-xdist not tell that a test begins, nor of a set-up or tear-down that went well.

    With fifteen thousand tests of a millisecond, messages that nobody reads are a good part of the time.
    """
    for plugin in list(config.pluginmanager.get_plugins()):
        kind: Any = type(plugin)
        if kind.__name__ != "WorkerInteractor":
            continue

        class Terse(kind):
            @pytest.hookimpl
            def pytest_runtest_logstart(self) -> None:
                pass

            @pytest.hookimpl
            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                short = report.duration < _WORTH_TELLING_S and not report.sections
                if report.when == "call" or not report.passed or not short:
                    super().pytest_runtest_logreport(report)

        config.pluginmanager.unregister(plugin)
        plugin.__class__ = Terse
        config.pluginmanager.register(plugin)
