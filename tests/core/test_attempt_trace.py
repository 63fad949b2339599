"""What is told of an attempt, against every HyperNode looked at by the slow search."""

from __future__ import annotations

import random

import pytest
from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import TREES, compiled, random_search
from tests.profiles import max_examples
from tests.reference.copies import copied
from tests.reference.domains import pods_per_node
from tests.reference.two_level import NO_RECORD, NOWHERE, Search
from workbench.kernels.two_level import VERDICTS


def held(s: Search, number: int, domain: int) -> int:
    """Pods of a sub-job that a HyperNode holds."""
    total, ask = 0, s.subs[number].ask
    for shape, left in zip(ask.shapes, ask.left, strict=True):
        request, feasible, _ = s.shapes[shape]
        per_node = pods_per_node(s.idle, request, feasible, left)
        total += min(left, sum(per_node[node] for node in s.tree.nodes_of(domain)))
    return total


def parts_of(s: Search, number: int, domain: int) -> list[float]:
    """What each resource adds to the score of a HyperNode."""
    sub, nodes = s.subs[number], s.tree.nodes_of(domain)
    weights = sum(weight for weight, asked in zip(s.packing, sub.request, strict=True) if asked > 0 and weight > 0)
    found = []
    for k, (weight, asked) in enumerate(zip(s.packing, sub.request, strict=True)):
        after = sum(s.used[node][k] for node in nodes) + asked
        whole = max(sum(s.allocatable[node][k] for node in nodes), 1)
        found.append(weight * after / whole / weights if asked > 0 and weight > 0 else 0.0)
    return found


@TREES
@max_examples(300)
@given(rng=choices())
def test_every_step_tells_what_it_looked_at_and_why_it_chose(neat: bool, alike: bool, rng: random.Random) -> None:
    s = random_search(rng, neat, alike)
    parts = compiled(s)._c
    parts.search.begin(False)
    parts.trace.begin(True)
    given_one = rng.choice(range(-1, len(s.tree.parent)))
    wanted, rows = [], []
    for number in rng.sample(range(len(s.subs)), len(s.subs)):
        ask = s.subs[number].ask
        if not any(ask.left):
            continue
        before, needs = copied(s), max(ask.missing(), 1)
        assert parts.trace.tell_sub(number, given_one) == s.place(number, given_one)
        _, domain, pods, looked = s.steps[-1]
        score = next((score for other, _, score in looked if other == domain), 0.0)
        wanted.append(([number, domain, pods, needs], score, before))
        for other, solved, told in looked:
            sub = before.subs[number]
            small = sub.limit is not None and sub.record == NO_RECORD and not before.large(other, sub.pending)
            verdict = "solves" if solved else "too small" if small else None
            rows.append((len(wanted) - 1, other, held(before, number, other), verdict, told))
    steps, scores, shares, looked_rows, looked_scores = parts.trace.told()
    assert steps.tolist() == [step for step, _, _ in wanted]
    for i, (step, score, before) in enumerate(wanted):
        number, domain = step[:2]
        if domain == NOWHERE:
            continue
        assert scores[i] == score
        packed = before.packed(domain, before.subs[number])
        expected = parts_of(before, number, domain) if packed > 0 else [0.0] * len(before.packing)
        assert shares[i].tolist() == pytest.approx(expected)
    # The order of the walk is not that of the names.
    assert sorted(row[:3] for row in looked_rows.tolist()) == sorted(list(row[:3]) for row in rows)
    verdicts = {(step, domain): (verdict, told) for step, domain, _, verdict, told in rows}
    for (step, domain, _, number), (packed, share) in zip(looked_rows.tolist(), looked_scores.tolist(), strict=True):
        (verdict, told), before = verdicts[step, domain], wanted[step][2]
        assert VERDICTS[number] == verdict or (verdict is None and VERDICTS[number] in ("too few", "no fit"))
        assert packed == (before.packed(domain, before.subs[wanted[step][0][0]]) if verdict == "solves" else 0.0)
        assert packed + share == told
