"""Headless Chromium with the network cut; a missing browser is a visible skip, or a failure where it is required."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import launched, missing
from tests.browser.lab import Server, start_lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, Route


def absent(reason: str) -> None:
    """Skip, saying why; fail where WORKBENCH_REQUIRE_BROWSER=1."""
    if os.environ.get("WORKBENCH_REQUIRE_BROWSER") == "1":
        pytest.fail(f"WORKBENCH_REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(f"{reason}; the browser tests did not run")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    if reason := missing():
        absent(reason)
    with launched() as browser:
        yield browser


@dataclass
class Offline:
    """A page without a network, and what it complained about.

    Attributes
    ----------
    asked : list of str
        Addresses that the page asked for besides the file itself.
    complaints : list of str
        Console errors and exceptions.
    """

    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: Path) -> None:
        """Show a file."""
        own = path.as_uri()

        def only_the_file(route: Route, request: Request) -> None:
            if request.url == own:
                route.continue_()
            else:
                self.asked.append(request.url)
                route.abort()

        self.page.route("**/*", only_the_file)
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(own)


@pytest.fixture(params=["light", "dark"])
def offline(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Offline]:
    """A fresh page of 1300 x 900 pixels, once in each theme."""
    context = chromium.new_context(viewport={"width": 1300, "height": 900}, color_scheme=request.param)
    yield Offline(context.new_page())
    context.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One JupyterLab for all browser tests."""
    server = start_lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.process.terminate()
    server.process.wait(timeout=30)
