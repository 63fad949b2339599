"""Sets of GPUs that a machine hands out only as a whole."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.reference.bottleneck import bottleneck, pairs, random_machine
from workbench.errors import CapacityError, InputError
from workbench.model.allowed_sets import modules_of_links
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import best_gpus
from workbench.model.machine_parts import MachineParts

PAIRS = [(0, 1), (2, 3), (4, 5), (6, 7)]
EIGHT = BandwidthMatrix(np.full((8, 8), 10.0))


@pytest.mark.parametrize(
    ("k", "limits", "asked", "want"),
    [
        (2, {"allowed": PAIRS}, {}, (0, 1)),
        (2, {"allowed": PAIRS}, {"free": [1, 2, 3, 4, 5]}, (2, 3)),
        (2, {"allowed": PAIRS}, {"require": [5]}, (4, 5)),
        (4, {"allowed": [*PAIRS, (4, 5, 6, 7)]}, {}, (4, 5, 6, 7)),
        (4, {"modules": PAIRS}, {"avoid": [1]}, (2, 3, 4, 5)),
        (1, {"modules": PAIRS}, {"free": [3]}, (3,)),
        (3, {"modules": [(0, 1), (4, 5)]}, {"free": [1, 2, 4, 5]}, (2, 4, 5)),
        (6, {"modules": [(0, 1, 2, 3), (4, 5), (6, 7)]}, {}, (0, 1, 2, 3, 4, 5)),
        (2, {"allowed": [(0, 2), (4, 5)], "modules": PAIRS}, {}, (4, 5)),
    ],
)
def test_only_allowed_sets_are_chosen(
    k: int, limits: dict[str, Sequence[tuple[int, ...]]], asked: dict[str, list[int]], want: tuple[int, ...]
) -> None:
    assert best_gpus(EIGHT, k, **asked, **limits).gpus == want  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("k", "limits", "asked", "why"),
    [
        (3, {"modules": PAIRS}, {}, "no set of whole modules has 3 GPUs; modules of 2: {0,1} {2,3} {4,5} {6,7}"),
        (4, {"allowed": PAIRS}, {}, "no allowed set has 4 GPUs; allowed sets of 2: {0,1} {2,3} {4,5} {6,7}"),
        (2, {"allowed": [(0, 1), (2, 3)]}, {"avoid": [0, 3]}, "no allowed set of 2 GPUs is free"),
        (2, {"allowed": PAIRS}, {"require": [1, 2]}, "no allowed set of 2 GPUs that is free has the required {1,2}"),
        (2, {"allowed": [(0, 2)], "modules": PAIRS}, {}, "no allowed set of 2 GPUs consists of whole modules"),
    ],
)
def test_without_an_allowed_set_the_reason_is_said(
    k: int, limits: dict[str, Sequence[tuple[int, ...]]], asked: dict[str, list[int]], why: str
) -> None:
    found = best_gpus(EIGHT, k, **asked, **limits)  # type: ignore[arg-type]
    assert found.gpus == ()
    assert found.shortage.startswith(why)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"allowed": []}, "no set of GPUs"),
        ({"allowed": [(0, 1), ()]}, "set 2"),
        ({"allowed": [(0, 8)]}, "not a set of GPUs"),
        ({"allowed": [(1, 1)]}, "not a set of GPUs"),
        ({"modules": [(0, 1), (1, 2)]}, "a GPU in two modules"),
    ],
)
def test_sets_that_are_none_are_refused(limits: dict[str, Sequence[tuple[int, ...]]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        best_gpus(EIGHT, 2, **limits)  # type: ignore[arg-type]


def test_more_unions_than_can_be_compared_are_refused() -> None:
    matrix = BandwidthMatrix(np.full((64, 64), 1.0))
    with pytest.raises(CapacityError, match="50,000"):
        best_gpus(matrix, 32, modules=[(2 * i, 2 * i + 1) for i in range(32)])


@given(rng=choices())
def test_the_choice_among_allowed_sets_is_that_of_decision_1(rng: random.Random) -> None:
    n = rng.randint(2, 7)
    weight, _ = random_machine(rng, n, rng.randint(1, 3))
    numa = tuple(str(rng.randrange(2)) for _ in range(n))
    k = rng.randint(1, n)
    every = list(itertools.combinations(range(n), k))
    allowed = rng.sample(every, rng.randint(1, len(every)))
    free = rng.sample(range(n), rng.randint(k, n))
    found = best_gpus(BandwidthMatrix(weight, parts=MachineParts(numa=numa)), k, free=free, allowed=allowed)
    fitting = [one for one in allowed if set(one) <= set(free)]
    if not fitting:
        assert found.gpus == ()
        return
    best = max(bottleneck(weight, one) for one in fitting)

    def left(chosen: tuple[int, ...]) -> float:
        return max((bottleneck(weight, one) for one in fitting if not set(one) & set(chosen)), default=-1.0)

    ties = [one for one in fitting if bottleneck(weight, one) == best]
    want = min(ties, key=lambda s: (len({numa[g] for g in s}), -left(s), [-x for x in pairs(weight, s)], s))
    assert found.gpus == want
    assert found.ties == tuple(sorted(ties))
    assert (found.optimal_sets, found.bottleneck_gb_s) == (len(ties), best)


def test_modules_are_the_pairs_that_sio_joins() -> None:
    types = [["", "SIO", "HCCS_SW", "HCCS_SW"], ["SIO", "", "HCCS_SW", "HCCS_SW"]]
    types += [["HCCS_SW", "HCCS_SW", "", "SIO"], ["HCCS_SW", "HCCS_SW", "SIO", ""]]
    matrix = BandwidthMatrix(np.ones((4, 4)), link_types=tuple(map(tuple, types)))
    assert modules_of_links(matrix) == ((0, 1), (2, 3))
    types[2][3] = "HCCS_SW"
    assert modules_of_links(BandwidthMatrix(np.ones((4, 4)), link_types=tuple(map(tuple, types)))) == ()
    assert modules_of_links(EIGHT) == ()
