"""One Dask cluster for all tests of studies, as somebody else would have started it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profiles import whole_run
from tests.study.small import small_study
from workbench.policies import registry
from workbench.study import Study


@pytest.fixture(scope=lambda fixture_name, config: "session" if whole_run() else "module")
def address() -> Iterator[str]:
    """Address of a scheduler on loopback with one worker of one thread, in the quick set without a process of its own.

    Without a process, it ends with the tests of a file: its threads would take time from all that follow.
    """
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=whole_run(),
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """The small study, its inputs in the test's folder."""
    return small_study(tmp_path)


@pytest.fixture(autouse=True)
def _registry_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies that a test registers end with it."""
    monkeypatch.setattr(registry, "_registered", dict(registry._entries()))
