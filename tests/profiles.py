"""Share of the random examples that a test draws: all in the full run, fewer in the quick set.

Examples are the same on every run, so that a red run can be repeated and a green one is not luck. `conftest.py` loads
one of the profiles before any test is imported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

# Deadlines would assert on a wall clock. 100 is Hypothesis's own number of examples.
settings.register_profile("full", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("quick", settings.get_profile("full"), max_examples=3)
settings.register_profile("explore", settings.get_profile("full"), derandomize=False)

T = TypeVar("T")


def max_examples(number: int, **more: Any) -> settings:
    """Settings of a property that wants another number of examples than 100.

    Parameters
    ----------
    number : int
        Of the profiles that draw all; another profile draws its share, but never fewer than two nor more than
        thrice what it draws of a property that asks for nothing.
    more
        Further settings as Hypothesis names them.
    """
    usual = settings.default.max_examples
    if usual < 100:
        number = max(min(number * usual // 100, 3 * usual), min(number, 2))
    return settings(max_examples=number, **more)


def whole_run() -> bool:
    """Whether a run tries all that there is to try; the quick set tries less."""
    return settings.default.max_examples >= 100


def a_few(values: Sequence[T], number: int) -> Sequence[T]:
    """All values of a loop, as a run with the slow tests tries them; the quick set tries some, evenly spread.

    Parameters
    ----------
    values : sequence
    number : int
        How many the quick set tries.
    """
    if whole_run():
        return values
    return [values[i * len(values) // number] for i in range(number)] if number < len(values) else values


def seeds(number: int, share: int) -> range:
    """Seeds of a random test that make its time: a share of them, all with ``WORKBENCH_ALL_SEEDS=1``.

    Parameters
    ----------
    number : int
        All seeds.
    share : int
        How many `make test` tries.
    """
    return range(number if os.environ.get("WORKBENCH_ALL_SEEDS") == "1" else share)


def blocks(number: int) -> list[Any]:
    """Numbers of the blocks of seeds of a test, for ``parametrize``: those after the first one are slow."""
    return [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, number))]
