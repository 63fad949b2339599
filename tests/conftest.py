"""Settings for all tests: fewer Hypothesis examples in the quick set, which leaves out the slow tests.

``HYPOTHESIS_PROFILE=full pytest ...`` draws all of them, ``explore`` as many new ones; do that after changing a kernel
or a policy.

Public data that we may not commit is looked for beside the checkout, in ``../shared/data``, or where ``WORKBENCH_DATA``
says; tests that need it ask for `public_data` and are skipped without it.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tests.profiles  # noqa: F401  (registers them)

PUBLIC_DATA = Path(os.environ.get("WORKBENCH_DATA") or Path(__file__).parents[2] / "shared" / "data")


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile before tests are imported: a decorator of theirs reads it then."""
    usual = "quick" if "not slow" in config.option.markexpr else "full"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))


def pytest_collection_finish() -> None:
    """Half a million objects that live to the end: the garbage collector need not look at them again and again."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests are spread over processes, keep one browser and one JupyterLab: those tests are one lot.

    xdist's own groups (``--dist loadgroup``) rename items, which pytest 9.2 no longer lets it do.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneBrowser(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "tests/browser" if nodeid.startswith("tests/browser/") else nodeid

    return OneBrowser(config, log) if config.getoption("dist") == "load" else None


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public fabrics and matrices; skips where there is none."""
    if not PUBLIC_DATA.is_dir():
        pytest.skip(
            f"the folder of public data is not there: {PUBLIC_DATA.name} beside the checkout, or WORKBENCH_DATA"
        )
    return PUBLIC_DATA
