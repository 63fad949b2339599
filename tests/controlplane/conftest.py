"""One real API server for the tests of this folder; a missing one is a visible skip, or a failure where required."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cli.conftest import run  # noqa: F401 - a fixture
from tests.controlplane.server import ControlPlane, started
from workbench.live.kubernetes.programs import missing_programs


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A running API server; skips where none can be started, fails where WORKBENCH_REQUIRE_CONTROL_PLANE=1."""
    if reason := missing_programs():
        if os.environ.get("WORKBENCH_REQUIRE_CONTROL_PLANE") == "1":
            pytest.fail(f"WORKBENCH_REQUIRE_CONTROL_PLANE=1, but {reason}")
        pytest.skip(f"{reason}; the tests against a real API server did not run")
    with started(tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane
