"""Pods that HyperNodes hold and what is used in them, against every node counted anew."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import compiled, int64, random_search, sums
from tests.profiles import max_examples
from tests.reference.domains import domain_counts, pods_per_node
from tests.reference.two_level import Search


def move(s: Search, node: int, row: list[int]) -> None:
    for k, amount in enumerate(row):
        s.idle[node][k] -= amount
        s.used[node][k] += amount


@max_examples(400)
@given(rng=choices())
def test_counts_and_totals_follow_every_change_and_every_way_back(rng: random.Random) -> None:
    s = random_search(rng, neat=rng.random() < 0.5, alike=rng.random() < 0.3)
    parts = compiled(s)._c
    counts, domains = parts.counts, [*range(len(s.tree.parent)), -1]
    caps = s.job.left
    placed: list[tuple[int, int]] = []
    for _ in range(12):
        action = rng.choice(["place", "place", "place", "undo", "others", "mask", "update"])
        shape, node = rng.randrange(len(s.shapes)), rng.randrange(len(s.idle))
        request, feasible, _ = s.shapes[shape]
        fits = all(have >= want for have, want in zip(s.idle[node], request, strict=True))
        # There is room for the pods that the job has, and what changes nothing is not noted.
        if action == "place" and fits and any(request) and len(placed) < parts.pods_left:
            counts.place_one(shape, node)
            placed.append((shape, node))
            move(s, node, request)
        elif action == "undo":
            mark = rng.randint(0, len(placed))
            counts.undo(mark)
            for old_shape, old_node in placed[mark:]:
                move(s, old_node, [-amount for amount in s.shapes[old_shape][0]])
            placed = placed[:mark]
        elif action == "others" and not placed:
            row = [rng.randint(-used, max(idle, 0)) for used, idle in zip(s.used[node], s.idle[node], strict=True)]
            counts.change_node(node, int64(row))
            move(s, node, row)
        elif action == "mask":
            feasible[node] = 1 - feasible[node]
            parts.see_shape(shape, np.array(feasible, dtype=np.uint8), None)
        elif action == "update":
            row = [rng.randint(-used, max(idle, 0)) for used, idle in zip(s.used[node], s.idle[node], strict=True)]
            move(s, node, row)
            counts.update_nodes(int64(s.idle), int64(s.used), 0)
            placed = []
        assert counts.n_changed == len(placed)
        assert [counts.used(domain) for domain in domains] == sums(s.tree, s.used).tolist()
        held = []
        for (want, mask, _), cap in zip(s.shapes, caps, strict=False):
            per_node = pods_per_node(s.idle, want, mask, cap)
            held.append(domain_counts(per_node, [s.tree.nodes_of(domain) for domain in domains]))
        asked = [(i, j) for i in range(len(held)) for j in range(len(domains))]
        for i, j in rng.sample(asked, rng.randint(0, len(asked))):
            assert counts.held(i, domains[j]) == held[i][j]
        left = [rng.randint(0, cap) for cap in caps[: len(held)]]
        for j in rng.sample(range(len(domains)), rng.randint(0, len(domains))):
            assert counts.held_of_job(domains[j], int64(left)) == sum(
                min(row[j], n) for row, n in zip(held, left, strict=True)
            )


@max_examples(100)
@given(rng=choices())
def test_large_is_what_had_enough_when_the_session_began(rng: random.Random) -> None:
    s = random_search(rng)
    counts = compiled(s)._c.counts
    for domain in range(-1, len(s.tree.parent)):
        whole = [sum(s.idle_at_open[node][k] for node in s.tree.nodes_of(domain)) for k in range(len(s.packing))]
        amounts = [amount + rng.choice([0, 0, 0, 1, -1]) for amount in whole]
        assert counts.is_large(domain, int64(amounts)) == s.large(domain, amounts)
