"""An attempt that is kept, taken back and made again is the attempt that it was."""

from __future__ import annotations

import itertools
import random
from typing import Any

from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import compiled, random_search
from tests.profiles import max_examples
from tests.reference import domains as slow
from tests.reference.dry_runs import Ask
from tests.reference.two_level import NO_RECORD, Search, Sub, Tree


@max_examples(300)
@given(rng=choices())
def test_the_attempt_kept_is_there_again_whatever_was_tried_after_it(rng: random.Random) -> None:
    s = random_search(rng, neat=rng.random() < 0.5, alike=rng.random() < 0.5)
    parts, straight = compiled(s)._c, compiled(s)._c
    domains = range(-1, len(s.tree.parent))

    def plan() -> tuple[int, list[int]]:
        """A HyperNode, and the sub-jobs to be placed there as long as they have pods left."""
        return rng.choice(domains), rng.sample(range(len(s.subs)), rng.randint(0, len(s.subs)))

    def attempt(parts: Any, planned: tuple[int, list[int]]) -> None:
        parts.search.begin(False)
        given_one, numbers = planned
        subs, _, left = parts.left()
        waiting = set(subs[left > 0].tolist())
        for number in numbers:
            if number in waiting:
                parts.search.place_sub(number, given_one)

    def looks(parts: Any) -> tuple[object, ...]:
        states = parts.states.states().tolist()
        used = [parts.counts.used(domain) for domain in domains]
        held = [[parts.counts.held(shape, domain) for domain in domains] for shape in range(len(s.shapes))]
        rest = [parts.scores.key(parts.job, number, -1) for number in range(len(s.subs))]
        return parts.job.placed_on(), states, used, held, rest

    parts.best.open_best()
    parts.job.reset()
    before, first = looks(parts), plan()
    attempt(parts, first)
    kept, ready = looks(parts), parts.job.job_ready()
    parts.best.keep_attempt()
    parts.search.take_back(0, 0)
    for _ in range(rng.randint(0, 2)):
        attempt(parts, plan())
        parts.search.take_back(0, 0)
    parts.job.reset()
    assert looks(parts) == before
    parts.best.repeat_attempt()
    assert looks(parts) == kept
    # From here on nothing tells it from an attempt that was never taken back.
    attempt(straight, first)
    for each in (parts, straight):
        each.job.settle(-1)
        each.job.reset()
    assert (looks(parts), parts.job.job_ready()) == (kept, ready)
    assert parts.last_score == straight.last_score
    for following in (first, plan()):
        for each in (parts, straight):
            attempt(each, following)
        # The numbers of states depend on what was tried before.
        (mine, _, *more), (other, _, *others) = looks(parts), looks(straight)
        assert (mine, more, parts.job.job_ready()) == (other, others, straight.job.job_ready())
        for each in (parts, straight):
            each.job.settle(-1)


def four_pods_in_one_of(leaves: int) -> Search:
    """HyperNodes of four nodes, each with room for one of four equal pods; no two nodes are ever in the same state."""
    n = 4 * leaves
    nodes = [list(range(4 * leaf, 4 * leaf + 4)) for leaf in range(leaves)]
    tree = Tree([-1] * leaves, [1] * leaves, nodes, [node // 4 for node in range(n)], list(range(n)))
    idle, used, allocatable = [[5] for _ in range(n)], [[995 + i] for i in range(n)], [[1000 + i] for i in range(n)]
    ask = Ask([0], [4], [0], [0], [0], 4, 0, "stop")
    sub = Sub(ask, -1, 0, 0, False, 1, 4, NO_RECORD, [20], [20], [])
    shapes: list[tuple[list[int], list[int], list[float] | None]] = [([5], [1] * n, None)]
    weights = slow.Weights(0.0, [1.0], 0.0, 0.0, [1], 0.0, [1])
    value = [1.0] * leaves
    return Search(
        tree, idle, used, allocatable, idle, shapes, weights, value, 0.0, [1.0], 0.0, ask, False, 1, None, [],
        NO_RECORD, [sub],
    )  # fmt: skip


def test_the_states_of_an_attempt_find_room_when_it_is_repeated() -> None:
    """In between states are forgotten, those of the kept attempt, too; when it is repeated, their room is full."""
    leaves = 100
    parts = compiled(four_pods_in_one_of(leaves))._c
    parts.explain_in(0, False)
    states = parts.states

    def attempt(leaf: int) -> None:
        parts.search.begin(False)
        assert parts.search.place_sub(0, leaf)

    attempt(0)
    kept = parts.job.placed_on()
    parts.best.keep_attempt()
    parts.search.take_back(0, 0)
    forgotten = False
    for leaf in itertools.cycle(range(1, leaves)):
        before = states.n_states
        attempt(leaf)
        parts.search.take_back(0, 0)
        forgotten = forgotten or states.n_states < before
        if forgotten and states.n_states + 4 > states.state_capacity:
            break
    parts.job.reset()
    parts.best.repeat_attempt()
    assert states.n_states <= states.state_capacity
    assert parts.job.placed_on() == kept
