"""An attempt that is kept, taken back and made again is the attempt that it was."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given

from tests.core.test_two_level import compiled, random_search
from tests.policies.random_cases import seeds
from tests.profiles import max_examples


@max_examples(300)
@given(seed=seeds)
def test_the_attempt_kept_is_there_again_whatever_was_tried_after_it(seed: int) -> None:
    rng = random.Random(seed)
    s = random_search(rng, neat=rng.random() < 0.5, alike=rng.random() < 0.5)
    parts, straight = compiled(s)._c, compiled(s)._c
    domains = range(-1, len(s.tree.parent))

    def attempt(parts: Any, choices: random.Random) -> None:
        parts.search.begin(False)
        given_one = choices.choice([-1, *domains])
        subs, _, left = parts.left()
        waiting = sorted(set(subs[left > 0].tolist()))
        for number in choices.sample(waiting, choices.randint(0, len(waiting))):
            parts.search.place_sub(number, given_one)

    def looks(parts: Any) -> tuple[object, ...]:
        states = parts.states.states().tolist()
        used = [parts.counts.used(domain) for domain in domains]
        held = [[parts.counts.held(shape, domain) for domain in domains] for shape in range(len(s.shapes))]
        rest = [parts.scores.key(parts.job, number, -1) for number in range(len(s.subs))]
        return parts.job.placed_on(), states, used, held, rest

    parts.best.open_best()
    parts.job.reset()
    before = looks(parts)
    attempt(parts, random.Random(seed))
    kept, ready = looks(parts), parts.job.job_ready()
    parts.best.keep_attempt()
    parts.search.take_back(0, 0)
    for _ in range(rng.randint(0, 2)):
        attempt(parts, rng)
        parts.search.take_back(0, 0)
    parts.job.reset()
    assert looks(parts) == before
    parts.best.repeat_attempt()
    assert looks(parts) == kept
    # From here on nothing tells it from an attempt that was never taken back.
    attempt(straight, random.Random(seed))
    for each in (parts, straight):
        each.job.settle(-1)
        each.job.reset()
    assert (looks(parts), parts.job.job_ready()) == (kept, ready)
    assert parts.last_score == straight.last_score
    for again in range(2):
        for each in (parts, straight):
            attempt(each, random.Random(seed + again))
        # The numbers of states depend on what was tried before.
        (mine, _, *more), (other, _, *others) = looks(parts), looks(straight)
        assert (mine, more, parts.job.job_ready()) == (other, others, straight.job.job_ready())
        for each in (parts, straight):
            each.job.settle(-1)
