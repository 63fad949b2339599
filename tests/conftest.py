"""Hypothesis draws the same examples on every run: a red run can be repeated, a green one is not luck.

``HYPOTHESIS_PROFILE=explore pytest ...`` draws new ones; do that after changing a kernel or a policy.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
