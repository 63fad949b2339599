"""Share of the random examples that a test draws: all in the full run, fewer in the quick set.

Examples are the same on every run, so that a red run can be repeated and a green one is not luck. `conftest.py` loads
one of the profiles before any test is imported.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

# Deadlines would assert on a wall clock. 100 is Hypothesis's own number of examples.
settings.register_profile("full", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("quick", settings.get_profile("full"), max_examples=5)
settings.register_profile("explore", settings.get_profile("full"), derandomize=False)


def max_examples(number: int, **more: Any) -> settings:
    """Settings of a property that wants another number of examples than 100.

    Parameters
    ----------
    number : int
        Of the profiles that draw all; another profile draws its share, but never fewer than three nor more than
        thrice what it draws of a property that asks for nothing.
    more
        Further settings as Hypothesis names them.
    """
    usual = settings.default.max_examples
    if usual < 100:
        number = max(min(number * usual // 100, 3 * usual), min(number, 3))
    return settings(max_examples=number, **more)


def blocks(number: int) -> list[Any]:
    """Numbers of the blocks of seeds of a test, for ``parametrize``: those after the first one are slow."""
    return [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, number))]
