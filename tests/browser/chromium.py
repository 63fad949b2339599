"""The headless browser used by the tests, the gallery and the benchmarks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["launched", "missing"]

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def _path() -> str | None:
    return shutil.which(os.environ.get("CHROMIUM", "/usr/bin/chromium"))


def missing() -> str:
    """Why no browser can be started; empty: one can."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    if _path() is None:
        return "there is no chromium (set CHROMIUM, or install the package of that name)"
    return ""


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser named by CHROMIUM, else Debian's; headless, without a word to the outside of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_path(), args=_FLAGS)
        yield browser
        browser.close()
