"""Settings for all tests: fewer Hypothesis examples in the quick set, which leaves out the slow tests.

``HYPOTHESIS_PROFILE=full pytest ...`` draws all of them, ``explore`` as many new ones; do that after changing a kernel
or a policy.

Public data that we may not commit is looked for beside the checkout, in ``../shared/data``, or where ``WORKBENCH_DATA``
says; tests that need it ask for `public_data` and are skipped without it.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tests.profiles  # noqa: F401  (registers them)

# Before numpy is imported: tests are spread over the cores already, and threads of one small fit would only spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: Folders whose tests share a server.
_LOTS = ("tests/browser/", "tests/controlplane/")

#: Folders whose tests take so long that each is handed out alone.
_ALONE = ("tests/notebooks/",)

#: Tests of a file that are handed out together: they share what the file prepares, and a message each way serves all.
_TOGETHER = 8

#: Modules that keep what is registered while the program runs.
_REGISTRIES = ("workbench.policies.registry", "workbench.simulate.disciplines", "workbench.evaluate.metric_table")

PUBLIC_DATA = Path(os.environ.get("WORKBENCH_DATA") or Path(__file__).parents[2] / "shared" / "data")


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile before tests are imported: a decorator of theirs reads it then."""
    usual = "quick" if "not slow" in config.option.markexpr else "full"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))


def pytest_collection() -> None:
    """Do without the garbage collector while tests are imported: what they make stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Half a million objects that live to the end: the garbage collector need not look at them again and again.

    It comes after 50,000 new objects, not 700: syntax trees and large clusters are all objects that are in use.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Nothing that a test registers outlives it: a later one would find a policy, a discipline or a metric too many."""
    tables = [vars(sys.modules[name])["_registered"] for name in _REGISTRIES if name in sys.modules]
    kept = [dict(table) for table in tables]
    result = yield
    for table, before in zip(tables, kept):
        if table != before:
            table.clear()
            table.update(before)
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """How tests are spread over processes; ``--dist`` with another word than ``load`` overrules it.

    The quick set is cut into one run of files per process, and a process that is done takes tests over from another:
    what a file prepares is mostly prepared once, and no test waits to be handed out. With browser tests, a few tests of
    a file are handed out at a time, but for those of the browser, which share one browser and one JupyterLab and so are
    one lot, and those of the control plane, which share one API server. Large lots come first.
    """
    if config.getoption("dist") != "load":
        return None
    if "not browser" in config.option.markexpr:
        from xdist.scheduler import WorkStealingScheduling

        return WorkStealingScheduling(config, log)
    from xdist.scheduler import LoadScopeScheduling

    class OneServerEach(LoadScopeScheduling):
        lots: dict[str, str] = {}

        # xdist's own groups (``--dist loadgroup``) rename items, which pytest 9.2 no longer lets it do.
        def _split_scope(self, nodeid: str) -> str:
            if not self.lots:
                self.lots = lots_of(self.collection)
            return self.lots[nodeid]

    return OneServerEach(config, log)


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
        else:
            shared = (lot for lot in _LOTS if name.startswith(lot))
            lots[name] = next(shared, f"{file} {number // _TOGETHER}")
    return lots


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public fabrics and matrices; skips where there is none."""
    if not PUBLIC_DATA.is_dir():
        pytest.skip(
            f"the folder of public data is not there: {PUBLIC_DATA.name} beside the checkout, or WORKBENCH_DATA"
        )
    return PUBLIC_DATA


@pytest.fixture(scope="session")
def live_cluster(public_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The objects of a made-up cluster as `kubectl get -o json` prints them: 64 nodes, jobs that run and that wait."""
    program = public_data / "pending-from-life" / "cluster.py"
    if not program.is_file():
        pytest.skip(f"the program of a made-up cluster is not there: {program.parent.name}/{program.name}")
    folder = tmp_path_factory.mktemp("live")
    subprocess.run([sys.executable, str(program)], cwd=folder, check=True, capture_output=True)
    return folder / "cluster.json"
