"""Hypothesis draws the same examples on every run: a red run can be repeated, a green one is not luck.

``HYPOTHESIS_PROFILE=explore pytest ...`` draws new ones; do that after changing a kernel or a policy.

Public data that we may not commit is looked for beside the checkout, in ``../shared/data``, or where ``WORKBENCH_DATA``
says; tests that need it ask for `public_data` and are skipped without it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

PUBLIC_DATA = Path(os.environ.get("WORKBENCH_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public fabrics and matrices; skips where there is none."""
    if not PUBLIC_DATA.is_dir():
        pytest.skip(
            f"the folder of public data is not there: {PUBLIC_DATA.name} beside the checkout, or WORKBENCH_DATA"
        )
    return PUBLIC_DATA
