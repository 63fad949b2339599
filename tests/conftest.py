"""Settings for all tests: fewer Hypothesis examples in the quick set, which leaves out the slow tests.

``HYPOTHESIS_PROFILE=full pytest ...`` draws all of them, ``explore`` as many new ones; do that after changing a kernel
or a policy.

Public data that we may not commit is looked for beside the checkout, in ``../shared/data``, or where ``WORKBENCH_DATA``
says; tests that need it ask for `public_data` and are skipped without it.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tests.profiles  # noqa: F401  (registers them)
from tests.spread import say_less, scheduler

# Before numpy is imported: tests are spread over the cores already, and threads of one small fit would only spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: Seconds after which a test that stands still ends its process, having shown where each thread is.
_STANDS_STILL_S = 900
#: Seconds that may pass until the clock of the next test is set: to set it anew costs as much as a small test.
_CLOCK_S = 30

#: Modules that keep what is registered while the program runs.
_REGISTRIES = ("workbench.policies.registry", "workbench.simulate.disciplines", "workbench.evaluate.metric_table")

_STDERR, _CLOCK = pytest.StashKey[int](), pytest.StashKey[float]()

PUBLIC_DATA = Path(os.environ.get("WORKBENCH_DATA") or Path(__file__).parents[2] / "shared" / "data")


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile before tests are imported: a decorator of theirs reads it then."""
    usual = "quick" if "not slow" in config.option.markexpr else "full"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))
    config.stash[_STDERR] = os.dup(2)
    if hasattr(config, "workerinput"):
        say_less(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the clock of the last test."""
    faulthandler.cancel_dump_traceback_later()
    os.close(config.stash[_STDERR])


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
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Nothing that a test registers outlives it: a later one would find a policy, a discipline or a metric too many.

    A test that stands still shows where each thread is and fails, instead of holding up the run until somebody ends it.
    pytest's own ``faulthandler_timeout`` starts and ends a thread for each test.
    """
    now = time.monotonic()
    if now >= item.config.stash.get(_CLOCK, now):
        faulthandler.dump_traceback_later(_STANDS_STILL_S, exit=True, file=item.config.stash[_STDERR])
        item.config.stash[_CLOCK] = now + _CLOCK_S
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
    """How tests are spread over processes."""
    return scheduler(config, log)


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
