"""Headless Chromium with the network cut; a missing browser is a visible skip, or a failure where it is required."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import launched, missing
from tests.browser.lab import PATIENCE_MS, Server, start_lab
from tests.browser.watched import Watched
from tests.controlplane.conftest import control_plane, live  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def absent(reason: str) -> None:
    """Skip, saying why; fail where WORKBENCH_REQUIRE_BROWSER=1."""
    if os.environ.get("WORKBENCH_REQUIRE_BROWSER") == "1":
        pytest.fail(f"WORKBENCH_REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(f"{reason}; the browser tests did not run")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a process."""
    if reason := missing():
        absent(reason)
    with launched() as browser:
        yield browser


@pytest.fixture(autouse=True)
def closed_pages(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close what a test opened: ten notebooks left open take half the time of all the tests after them."""
    yield
    if "chromium" in request.fixturenames:
        for context in request.getfixturevalue("chromium").contexts:
            context.close()


class Offline(Watched):
    """A page without a network."""

    def open(self, path: Path) -> None:
        """Show a file."""
        self.cut_off(path.as_uri())
        self.page.goto(path.as_uri())


@pytest.fixture(params=["light", "dark"])
def offline(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Offline]:
    """A fresh page of 1300 x 900 pixels, once in each theme."""
    context = chromium.new_context(viewport={"width": 1300, "height": 900}, color_scheme=request.param)
    context.set_default_timeout(PATIENCE_MS)
    yield Offline(context.new_page())


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One JupyterLab for all browser tests of a process."""
    server = start_lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.stop()
