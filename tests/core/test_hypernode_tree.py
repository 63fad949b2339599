"""The HyperNodes that a search may look at, against a walk up from every HyperNode."""

from __future__ import annotations

import random

from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import compiled, random_search
from tests.profiles import max_examples
from tests.reference.two_level import NO_RECORD


@max_examples(200)
@given(rng=choices())
def test_a_walk_meets_what_is_below_the_start_tier_by_tier(rng: random.Random) -> None:
    s = random_search(rng, neat=rng.random() < 0.5)
    tree, slow = compiled(s)._c.hypernodes, s.tree
    domains = range(-1, len(slow.tier))
    for given_one in domains:
        for record in [NO_RECORD, *domains]:
            for limit in [None, *range(slow.top_tier + 2)]:
                found = [sorted(gradient) for gradient in tree.gradients(given_one, record, limit)]
                assert found == slow.gradients(given_one, record, limit)


@max_examples(200)
@given(rng=choices())
def test_what_a_domain_holds(rng: random.Random) -> None:
    s = random_search(rng, neat=rng.random() < 0.5)
    tree, slow = compiled(s)._c.hypernodes, s.tree
    for domain in range(-1, len(slow.tier)):
        assert tree.domain_tier(domain) == slow.tier_of(domain)
        nodes = slow.nodes_of(domain)
        assert [node for node in range(len(slow.leaf)) if tree.holds_node(domain, node)] == nodes
        if domain >= 0:
            run = list(range(nodes[0], nodes[-1] + 1)) if nodes else None
            assert tree.interval_of(domain) == ((nodes[0], nodes[-1] + 1) if nodes == run else None)
        for other in range(-1, len(slow.tier)):
            assert tree.contains(domain, other) == (domain in slow.up(other))
