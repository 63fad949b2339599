"""Jobs and places: as many as possible, earlier Jobs first, then the first places."""

from __future__ import annotations

import random
from itertools import product

from hypothesis import given

from tests.choice import choices
from tests.profiles import max_examples
from workbench.policies.hyper_job.matching import match_jobs


def by_trying(kinds: list[int], n_places: int, fits: set[tuple[int, int]]) -> list[int]:
    """The best of all assignments."""
    best = None
    for places in product(range(-1, n_places), repeat=len(kinds)):
        taken = [place for place in places if place >= 0]
        ok = all(place < 0 or (kind, place) in fits for kind, place in zip(kinds, places, strict=True))
        if ok and len(set(taken)) == len(taken):
            key = (-len(taken), [place < 0 for place in places], places)
            best = key if best is None else min(best, key)
    assert best is not None
    return list(best[2])


@max_examples(500)
@given(rng=choices())
def test_the_best_of_all_assignments(rng: random.Random) -> None:
    n_kinds, n_places = rng.randint(1, 3), rng.randint(0, 5)
    kinds = [rng.randrange(n_kinds) for _ in range(rng.randint(1, 4))]
    fits = {(kind, place) for kind in range(n_kinds) for place in range(n_places) if rng.random() < 0.5}
    asked = []

    def ask(kind: int, place: int) -> bool:
        asked.append((kind, place))
        return (kind, place) in fits

    assert match_jobs(kinds, n_places, ask) == by_trying(kinds, n_places, fits)
    assert {kind for kind, _ in asked} <= set(kinds)


def test_a_job_moves_for_another() -> None:
    # The first Job fits everywhere, the second only where the first would go; the third takes what is left.
    fits = {(0, 0), (0, 1), (0, 2), (1, 0)}
    assert match_jobs([0, 1, 0], 3, lambda kind, place: (kind, place) in fits) == [1, 0, 2]


def test_equal_jobs_ask_no_more_than_they_need() -> None:
    asked = set()

    def ask(kind: int, place: int) -> bool:
        asked.add(place)
        return place % 2 == 0

    assert match_jobs([0] * 3, 1000, ask) == [0, 2, 4]
    assert asked == {0, 1, 2, 3, 4}
