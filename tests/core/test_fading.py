"""Pods drawn to full domains by ``domains.Fill``, against recomputing every domain for every pod."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from tests.policies.random_cases import seeds
from tests.profiles import max_examples
from tests.reference.domains import Fading as SlowFading
from tests.reference.domains import RescanFill, Weights
from workbench.errors import InputError
from workbench.kernels.domains import Fill, ScoreWeights
from workbench.kernels.fading import Fading, Rings


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def random_fill(rng: random.Random) -> tuple[Fill, RescanFill]:
    """The same nodes for both, in overlapping domains of tiers with gaps."""
    n, d, r = rng.randint(1, 8), rng.randint(0, 6), rng.randint(1, 2)
    tier = [rng.choice([1, 2, 4]) for _ in range(d)]
    members = [sorted(rng.sample(range(n), rng.randint(0, n))) for _ in range(d)]
    allocatable = [[rng.randint(3, 12) for _ in range(r)] for _ in range(n)]
    used = [[rng.randint(0, a) if rng.random() < 0.5 else 0 for a in row] for row in allocatable]
    idle = [[a - u for a, u in zip(*rows, strict=True)] for rows in zip(allocatable, used, strict=True)]
    by_tier = [(number, rng.choice([0.0, 0.5, 1.0])) for number in range(1, 6)]
    packing = [float(rng.randint(-1, 2)) for _ in range(r)]
    nodes = rng.sample(range(n), rng.randint(1, n))
    weights = Weights(rng.choice([0.0, 1.0]), [1.0] * r, 0.0, 0.0, [1] * r, 0.0, [1] * r)
    shapes = [([rng.randint(0, 2) for _ in range(r)], [int(rng.random() < 0.9) for _ in range(n)]) for _ in range(2)]
    tiers = sorted(set(tier))
    holders = [[j for j in range(d) if node in members[j]] for node in range(n)]
    start = np.cumsum([0, *map(len, holders)]).astype(np.int64)
    flat = int32([j for mine in holders for j in mine])
    rings = Rings.of(start, flat, int32([tiers.index(t) for t in tier]), len(tiers))
    column = {number: i for i, number in enumerate([*tiers, 5])}
    fading = Fading(
        rings,
        int32([column.get(number, -1) for number, _ in by_tier]),
        np.array([weight for _, weight in by_tier]),
        np.array(packing),
        2.0,
    )
    every = [*members, list(range(n))]
    sums = [
        int64([[sum(rows[i][k] for i in mine) for k in range(r)] for mine in every]) for rows in (used, allocatable)
    ]
    fill = Fill(
        int32(nodes),
        int64(idle),
        int64(used),
        int64(allocatable),
        int32(range(n)),
        leaf=rings.of_node,
        weights=ScoreWeights(binpack=weights.binpack, binpack_resources=np.ones(r)),
    )
    fill.set_fading(fading, *sums, start, flat)
    for request, feasible in shapes:
        fill.add_shape(int64(request), feasible=np.array(feasible, dtype=np.uint8))
    slow = RescanFill(
        *([list(rows[i]) for i in nodes] for rows in (idle, used, allocatable)),
        nodes,
        [-1] * len(nodes),
        weights,
        shapes=[(request, [feasible[i] for i in nodes], None) for request, feasible in shapes],
        fading=SlowFading(by_tier, tier, members, [list(row) for row in used], allocatable, packing, 2.0),
        nodes=nodes,
    )
    return fill, slow


@max_examples(400)
@given(seed=seeds)
def test_every_pod_goes_where_a_look_at_all_domains_sends_it(seed: int) -> None:
    rng = random.Random(seed)
    fill, slow = random_fill(rng)
    for _ in range(rng.randint(2, 6)):
        shape, count = rng.randrange(2), rng.randint(1, 3)
        if rng.random() < 0.3:
            mark = fill.placed
            fill.place(1 - shape, 2)
            fill.rollback(mark)
        want = [found for _ in range(count) if (found := slow.place(shape, sole_unscored=True)) is not None]
        got = fill.place(shape, count)
        assert list(zip(got.positions.tolist(), got.scores.tolist(), strict=True)) == want


def test_scores_tell_the_node_part_apart_from_the_gain() -> None:
    rings = Rings.of(int64([0, 1, 2]), int32([0, 1]), int32([0, 0]), 1)
    assert rings.around.tolist() == [[0, 2], [1, 2]]
    fading = Fading(rings, int32([0, 1]), np.array([1.0, 0.5]), np.ones(1), 1.0)
    used, whole = int64([[2], [0]]), int64([[4], [4]])
    fill = Fill(int32([0, 1]), whole - used, used, whole, int32([0, 1]), leaf=rings.of_node, weights=ScoreWeights())
    fill.set_fading(fading, int64([[2], [0], [2]]), int64([[4], [4], [8]]), int64([0, 1, 2]), int32([0, 1]))
    parts, totals = fill.node_scores(fill.add_shape(int64([1])))
    assert parts.tolist() == [0.0, 0.0]
    top = 0.5 * 3 / 8
    assert totals.tolist() == [(3 / 4 + top) / 1.5 * 100.0, (1 / 4 + top) / 1.5 * 100.0]


REFUSED: dict[str, Callable[[Fill, Fading, dict[str, np.ndarray]], None]] = {
    "shapes are there already": lambda fill, fading, rest: (
        fill.add_shape(int64([1])),
        fill.set_fading(fading, **rest),
    )[1],
    "wrong shape": lambda fill, fading, rest: fill.set_fading(fading, **{**rest, "allocatable": int64([[4], [4]])}),
    "out of range": lambda fill, fading, rest: fill.set_fading(fading, **{**rest, "node_domains": int32([0, 2])}),
    "negative or not finite": lambda fill, fading, rest: fill.set_fading(
        Fading(fading.rings, fading.column, np.array([1.0, np.nan]), fading.packing, 1.0), **rest
    ),
    "not finite or too large": lambda fill, fading, rest: fill.set_fading(
        Fading(fading.rings, fading.column, fading.by_tier, fading.packing, float("inf")), **rest
    ),
    "wrong length": lambda fill, fading, rest: fill.set_fading(
        Fading(fading.rings, fading.column, fading.by_tier, np.ones(2), 1.0), **rest
    ),
}


@pytest.mark.parametrize(("message", "call"), REFUSED.items(), ids=REFUSED.keys())
def test_wrong_numbers_are_refused(message: str, call: Callable[[Fill, Fading, dict[str, np.ndarray]], None]) -> None:
    rings = Rings.of(int64([0, 1, 2]), int32([0, 1]), int32([0, 0]), 1)
    fading = Fading(rings, int32([0, 1]), np.array([1.0, 0.5]), np.ones(1), 1.0)
    zero, whole = int64([[0], [0]]), int64([[4], [4]])
    fill = Fill(int32([0, 1]), whole, zero, whole, int32([0, 1]), leaf=rings.of_node, weights=ScoreWeights())
    rest = {
        "used": int64([[0], [0], [0]]),
        "allocatable": int64([[4], [4], [8]]),
        "node_start": int64([0, 1, 2]),
        "node_domains": int32([0, 1]),
    }
    with pytest.raises(InputError, match=message):
        call(fill, fading, rest)
