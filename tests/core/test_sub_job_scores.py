"""What counts tell of a HyperNode before anything is placed, against a trial in it."""

from __future__ import annotations

import random

from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import all_at_one_stroke, compiled, random_search
from tests.profiles import max_examples
from tests.reference.copies import copied
from tests.reference.domains import packing_score, pods_per_node
from tests.reference.dry_runs import Ask, trial
from tests.reference.two_level import NO_RECORD, NOWHERE, Search, Sub

INFINITY = float("inf")


def solves(s: Search, sub: Sub, domain: int) -> bool:
    done = trial(s.filler(domain, sub), sub.ask)
    return bool(done.placed) and done.ask.ready()


def may_be_ready(ask: Ask) -> bool:
    """Whether the pods left are enough, wherever they go."""
    whole = copied(ask)
    whole.present = [present + left for present, left in zip(ask.present, ask.left, strict=True)]
    whole.counted += sum(ask.left)
    return whole.ready()


@max_examples(300)
@given(rng=choices())
def test_a_key_is_the_score_and_rules_out_only_what_has_no_solution(rng: random.Random) -> None:
    s = random_search(rng, neat=rng.random() < 0.5, alike=rng.random() < 0.3)
    parts = compiled(s)._c
    parts.job.reset()
    for number, sub in enumerate(s.subs):
        roles = [e for e, left in enumerate(sub.ask.left) if left]
        for domain in range(-1, len(s.tree.parent)):
            key = parts.scores.key(parts.job, number, domain)
            if sub.limit is not None and sub.record == NO_RECORD and not s.large(domain, sub.pending):
                assert key == -INFINITY
                continue
            assert key in (-INFINITY, s.packed(domain, sub))
            held = {}
            for e in roles:
                request, feasible, _ = s.shapes[sub.ask.shapes[e]]
                per_node = pods_per_node(s.idle, request, feasible, sub.ask.left[e])
                held[e] = min(sum(per_node[node] for node in s.tree.nodes_of(domain)), sub.ask.left[e])
            solved = solves(s, sub, domain)
            assert key > -INFINITY or not solved
            if len(roles) == 1 and may_be_ready(sub.ask):
                assert (key > -INFINITY) == solved
            elif sum(held.values()) < max(sub.ask.missing(), 1):
                assert key == -INFINITY
            elif sub.ask.missing() >= sum(sub.ask.left):
                assert (key > -INFINITY) == all(held[e] == sub.ask.left[e] for e in roles)
            else:
                assert key > -INFINITY


@max_examples(300)
@given(rng=choices())
def test_a_bound_is_the_best_score_of_one_role_and_never_below_it(rng: random.Random) -> None:
    s = all_at_one_stroke(random_search(rng, neat=rng.random() < 0.5, alike=rng.random() < 0.5))
    parts = compiled(s)._c
    parts.job.reset()
    sub = s.subs[0]
    for domain in range(-1, len(s.tree.parent)):
        looked: list[tuple[int, bool, float]] = []
        chosen = copied(s).place_at(0, domain, looked)
        best = max(score for _, solved, score in looked if solved) if chosen != NOWHERE else -INFINITY
        bound = parts.scores.bound(parts.job, 0, 1, domain)
        assert bound >= best
        if sum(left > 0 for left in sub.ask.left) == 1 and may_be_ready(sub.ask):
            assert bound == best


@max_examples(200)
@given(rng=choices())
def test_the_bound_of_several_in_one_hypernode_is_the_sum_of_their_scores(rng: random.Random) -> None:
    s = all_at_one_stroke(random_search(rng))
    sub = s.subs[0]
    sub.limit = None
    parts = compiled(s)._c
    parts.job.reset()
    for domain in range(-1, len(s.tree.parent)):
        if parts.scores.key(parts.job, 0, domain) == -INFINITY:
            assert parts.scores.bound(parts.job, 0, 3, domain) == -INFINITY
            continue
        nodes, used, total = s.tree.nodes_of(domain), [list(row) for row in s.used], 0.0
        for _ in range(3):
            total += packing_score(s.packing, sub.request, nodes, used, s.allocatable)
            used[nodes[0]] = [amount + more for amount, more in zip(used[nodes[0]], sub.pending, strict=True)]
        assert parts.scores.bound(parts.job, 0, 3, domain) == total


@max_examples(200)
@given(rng=choices())
def test_a_tier_is_left_out_only_where_no_domain_of_it_has_a_solution(rng: random.Random) -> None:
    s = random_search(rng)
    parts = compiled(s)._c
    parts.job.reset()
    for number, sub in enumerate(s.subs):
        for t, tier in enumerate(sorted(set(s.tree.tier))):
            domains = [domain for domain, other in enumerate(s.tree.tier) if other == tier]
            if any(sub.ask.left) and parts.scores.leaves_out(parts.job, number, t):
                assert not any(solves(s, sub, domain) for domain in domains)


def test_a_tier_whose_largest_domain_is_too_small_is_left_out() -> None:
    found = set()
    for seed in range(40):
        s = all_at_one_stroke(random_search(random.Random(seed)))
        parts = compiled(s)._c
        parts.job.reset()
        found |= {parts.scores.leaves_out(parts.job, 0, t) for t in range(len(set(s.tree.tier)))}
    assert found == {False, True}
