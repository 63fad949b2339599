"""Random choices that shrink, for generators of clusters, gangs and machines.

A failing seed cannot be made smaller, since the next seed is another cluster. Of `choices`, Hypothesis sees each choice
by itself and makes it as simple as the failure allows: fewer nodes, fewer pods, the first of several values.

Generators take a `random.Random`, of which `Choice` is a kind: they also serve tests of a fixed range of seeds.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, MutableSequence, Sequence
from typing import Any, TypeVar

from hypothesis import currently_in_test_context, note
from hypothesis import strategies as st

__all__ = ["Choice", "choices", "tell"]

T = TypeVar("T")

#: Chances are drawn in hundredths. Hypothesis draws floats, and integers of wide ranges, from extreme values more often
#: than from others, so that a chance of 80 % would come true in half of the examples; small ranges are drawn evenly.
_PARTS = 100


class Choice(random.Random):
    """A source of choices each of which shrinks towards its simplest value.

    The simplest integer is the lowest, the simplest element the first, the simplest sample the first elements and the
    simplest order the given one. The simplest `random()` is the highest, so that what happens with some chance
    (``rng.random() < 0.3``) does not happen in the simplest case.

    Parameters
    ----------
    source : random.Random
        Of ``hypothesis.strategies.randoms(use_true_random=False)``.
    """

    def __new__(cls, source: random.Random) -> Choice:
        """Keep `random.Random` from taking the source for its seed."""
        return super().__new__(cls, 0)

    def __init__(self, source: random.Random) -> None:
        self._source = source

    def __repr__(self) -> str:
        return "Choice(...)"

    def _randbelow(self, n: int) -> int:
        """Integer below `n`: all that `random.Random` draws integers and elements by."""
        return self._source.randrange(n) if n > 1 else 0

    def random(self) -> float:
        """Chance below 1, a multiple of 0.01."""
        return 1 - (self._source.randrange(_PARTS) + 1) / _PARTS

    def sample(self, population: Sequence[T], k: int, *, counts: Iterable[int] | None = None) -> list[T]:
        """Elements at different positions; the method of `random.Random` draws again what it drew before."""
        assert counts is None
        left = list(population)
        return [left.pop(self._randbelow(len(left))) for _ in range(k)]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Reorder in place."""
        x[:] = self.sample(x, len(x))


def choices() -> st.SearchStrategy[random.Random]:
    """Strategy of `Choice`."""
    return st.randoms(use_true_random=False).map(Choice)


def tell(**drawn: object) -> None:
    """Show what was drawn if a property fails; elsewhere, do nothing."""
    if currently_in_test_context():
        note(drawn)
