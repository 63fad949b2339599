"""An attempt that is kept, taken back and made again is the attempt that it was."""

from __future__ import annotations

import random

from hypothesis import given

from tests.core.test_two_level import compiled, random_search
from tests.policies.random_cases import seeds
from tests.profiles import max_examples


@max_examples(300)
@given(seed=seeds)
def test_the_attempt_kept_is_there_again_whatever_was_tried_after_it(seed: int) -> None:
    rng = random.Random(seed)
    s = random_search(rng, neat=rng.random() < 0.5, alike=rng.random() < 0.5)
    parts = compiled(s)._c
    domains = range(-1, len(s.tree.parent))

    def attempt() -> None:
        parts.search.begin(False)
        given_one = rng.choice([-1, *domains])
        for number in rng.sample(range(len(s.subs)), rng.randint(0, len(s.subs))):
            if any(s.subs[number].ask.left):
                parts.search.place_sub(number, given_one)

    def looks() -> tuple[object, ...]:
        states = parts.states.states().tolist()
        used = [parts.counts.used(domain) for domain in domains]
        held = [[parts.counts.held(shape, domain) for domain in domains] for shape in range(len(s.shapes))]
        rest = [parts.scores.key(parts.job, number, -1) for number in range(len(s.subs))]
        return parts.job.placed_on(), states, used, held, rest

    parts.best.open_best()
    parts.job.reset()
    before = looks()
    attempt()
    kept, ready = looks(), parts.job.job_ready()
    parts.best.keep_attempt()
    parts.search.take_back(0, 0)
    for _ in range(rng.randint(0, 2)):
        attempt()
        parts.search.take_back(0, 0)
    parts.job.reset()
    assert looks() == before
    parts.best.repeat_attempt()
    assert looks() == kept
    parts.job.settle(-1)
    parts.job.reset()
    assert (looks(), parts.job.job_ready()) == (kept, ready)
