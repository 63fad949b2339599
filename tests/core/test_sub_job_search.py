"""Where one sub-job after another goes within an attempt, against every HyperNode tried each time."""

from __future__ import annotations

import random

from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import TREES, compiled, random_search, sums
from tests.profiles import max_examples
from tests.reference.copies import copied
from tests.reference.two_level import NO_RECORD, NOWHERE


@TREES
@max_examples(300)
@given(rng=choices())
def test_sub_jobs_go_to_the_best_hypernode_and_leave_no_trace_when_taken_back(
    neat: bool, alike: bool, rng: random.Random
) -> None:
    s = random_search(rng, neat, alike)
    parts = compiled(s)._c
    domains = range(-1, len(s.tree.parent))
    states = parts.states.states().tolist()
    for _ in range(2):
        state, given_one = copied(s), rng.choice(domains)
        parts.search.begin(False)
        for _ in range(6):
            waiting = [i for i, sub in enumerate(state.subs) if any(sub.ask.left)]
            if not waiting:
                break
            number = rng.choice(waiting)
            placed = parts.search.place_sub(number, given_one)
            assert placed == state.place(number, given_one)
            assert parts.job.placed_on() == [node for _, _, node in state.placed]
            if placed:
                _, domain, _, looked = state.steps[-1]
                assert domain != NOWHERE
                score = next(score for other, _, score in looked if other == domain)
                assert (parts.search.chosen, parts.search.chosen_score) == (domain, score)
        assert [parts.counts.used(domain) for domain in domains] == [
            sums(state.tree, state.used)[domain].tolist() for domain in domains
        ]
        parts.search.take_back(0, 0)
        assert parts.states.states().tolist() == states
        assert [parts.counts.used(domain) for domain in domains] == [
            sums(s.tree, s.used)[domain].tolist() for domain in domains
        ]


def planned_and_placed(rng: random.Random) -> tuple[list[tuple[int, float]], bool]:
    """Where a plan sends sub-jobs, which must be where they go, and whether it came to its end."""
    s = random_search(rng, neat=True, alike=True)
    parts = compiled(s)._c
    parts.job.reset()
    parts.job.line_up()
    if not parts.search.may_plan():
        return [], False
    domains = range(-1, len(s.tree.parent))
    used = [parts.counts.used(domain) for domain in domains]
    given_one = rng.choice(domains)
    order = [i for i, sub in enumerate(s.subs) if any(sub.ask.left)]
    rng.shuffle(order)
    answers: list[list[tuple[int, float]]] = []
    for planning in (True, False):
        parts.search.begin(planning)
        assert parts.search.planning == planning
        answers.append([])
        for number in order:
            placed = parts.search.place_sub(number, given_one)
            if planning and parts.search.unplanned:
                parts.search.take_plan_back()
                return [], False
            answers[-1].append((parts.search.chosen, parts.search.chosen_score) if placed else (NOWHERE, 0.0))
        if planning:
            assert parts.job.placed_on() == []
            parts.search.take_plan_back()
        else:
            parts.search.take_back(0, 0)
        assert [parts.counts.used(domain) for domain in domains] == used
    assert answers[0] == answers[1]
    return answers[0], True


@max_examples(600)
@given(rng=choices())
def test_a_plan_sends_sub_jobs_where_they_go(rng: random.Random) -> None:
    planned_and_placed(rng)


def test_random_attempts_are_planned() -> None:
    found = [planned_and_placed(random.Random(seed)) for seed in range(60)]
    assert sum(done and any(domain != NOWHERE for domain, _ in steps) for steps, done in found) > 10


def test_only_fresh_sub_jobs_of_one_kind_are_planned() -> None:
    refused = 0
    for seed in range(60):
        s = random_search(random.Random(seed), neat=True)
        parts = compiled(s)._c
        parts.job.reset()
        parts.job.line_up()
        waiting = [i for i, sub in enumerate(s.subs) if any(sub.ask.left)]
        fresh = all(s.subs[i].record == NO_RECORD and not s.subs[i].on_nodes for i in waiting)
        if len({parts.job.kinds()[i] for i in waiting}) != 1 or not fresh:
            refused += 1
            assert not parts.search.may_plan()
    assert refused > 10
