"""Behaviour of the repeated search: each run equals a new search on the present nodes."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import compiled, int32, int64, random_search
from tests.profiles import max_examples
from tests.reference.copies import copied
from tests.reference.two_level import Search
from workbench.kernels.repeated import Repeated


def positions(state: Search) -> tuple[list[np.ndarray], int]:
    """Pods numbered sub-job after sub-job, shape after shape."""
    found, n = [], 0
    for sub in state.subs:
        left = dict(zip(sub.ask.shapes, sub.ask.left, strict=True))
        for shape in range(len(state.shapes)):
            found.append(np.arange(n, n + left.get(shape, 0)))
            n += left.get(shape, 0)
    return found, n


def answer(state: Search, where: list[np.ndarray], n: int) -> tuple[list[int], float, int] | None:
    """Node of each pod, sum of scores and record after all turns; None: the job may not start."""
    score = 0.0
    while state.pods_left():
        following = state.turn()
        if following is None:
            break
        state = following
        score += state.score
    if not state.ready():
        return None
    given: dict[int, int] = {}
    node = [-1] * n
    for owner, shape, chosen in state.placed:
        at = owner * len(state.shapes) + shape
        node[int(where[at][given.get(at, 0)])] = chosen
        given[at] = given.get(at, 0) + 1
    return node, score, state.record


def random_change(rng: random.Random, state: Search) -> tuple[list[int], list[list[int]]]:
    """Pods that come and go on the nodes, also more than the nodes hold."""
    nodes, rows = [], []
    for _ in range(rng.randint(0, 6)):
        node = rng.randrange(len(state.idle))
        row = [rng.randint(-used, 2) for used in state.used[node]]
        for k, amount in enumerate(row):
            state.idle[node][k] -= amount
            state.used[node][k] += amount
        nodes.append(node)
        rows.append(row)
    return nodes, rows


def check(rng: random.Random) -> tuple[int, int]:
    """Five runs with changes between; how many of them may start, and how many may not."""
    state = random_search(rng)
    where, n = positions(state)
    run = Repeated(compiled(state), where, n)
    started = 0
    for _ in range(5):
        want = answer(copied(state), where, n)
        got = run.run()
        assert (None if got is None else (got.tolist(), run.score, run.record)) == want
        started += want is not None
        nodes, rows = random_change(rng, state)
        run.change(int32(nodes), int64(rows).reshape(len(nodes), len(state.idle[0])))
    return started, 5 - started


@max_examples(500)
@given(rng=choices())
def test_every_run_agrees_with_the_search_that_remembers_nothing(rng: random.Random) -> None:
    check(rng)


def test_random_runs_start_and_wait() -> None:
    counts = [check(random.Random(seed)) for seed in range(20)]
    assert sum(started for started, _ in counts) > 5
    assert sum(waiting for _, waiting in counts) > 5


@max_examples(40)
@given(rng=choices())
def test_more_states_of_nodes_than_there_was_room_for(rng: random.Random) -> None:
    state = random_search(rng)
    where, n = positions(state)
    run = Repeated(compiled(state), where, n)
    for _ in range(3):
        node, r = rng.randrange(len(state.idle)), len(state.idle[0])
        steps = random.Random(rng.randrange(2**32)).choices(range(1, 10**9), k=700)
        # Taken and given back: what is used is another number each time.
        for amount in steps:
            run.change(int32([node]), int64([[amount] * r]))
            run.change(int32([node]), int64([[-amount] * r]))
        want = answer(copied(state), where, n)
        got = run.run()
        assert (None if got is None else (got.tolist(), run.score, run.record)) == want
