"""The choice of a smallest set of domains, beside upstream's search state by state."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from tests.choice import choices
from tests.profiles import max_examples
from workbench.policies.kueue.domain_counts import DomainCounts
from workbench.policies.kueue.domain_sets import greedy, smallest_set
from workbench.policies.kueue.level_tree import LevelTree
from workbench.policies.kueue.orders import Domains


def random_domains(rng):
    n, size = rng.randint(1, 7), rng.choice([1, 1, 2, 3])
    tree = LevelTree.of((tuple((f"d{i}",) for i in range(n)),), (np.zeros(n, dtype=np.int64),))
    counts = DomainCounts.zeros(tree)
    for i in range(n):
        pods, leads = rng.randint(0, 9), rng.randint(0, 1)
        beside = max(pods - rng.randint(0, 3), 0) if leads else pods
        counts.pods[0][i], counts.pods_with_leader[0][i], counts.leaders[0][i] = pods, beside, leads
        counts.slices[0][i], counts.slices_with_leader[0][i] = pods // size, beside // size
    return Domains(tree, counts, False, False), np.array(rng.sample(range(n), n)), size


def state_by_state(domains, ordered, slices, leaders, size):
    """All states (leaders left, pods left, -domains used), the first way to each, as upstream visits them."""
    bound = greedy(domains, 0, ordered, slices, leaders)
    if bound is None:
        return None
    counts = domains.counts
    ways = {(leaders, slices * size, 0): ()}
    for domain in ordered.tolist():
        new = {}
        for lead, left, used in sorted(ways):
            if (lead <= 0 and left <= 0) or -used >= bound.count:
                continue
            steps = []
            if lead > 0 and counts.leaders[0][domain] > 0:
                steps.append((lead - 1, left - int(counts.pods_with_leader[0][domain]), used - 1))
            if counts.slices[0][domain] > 0:
                steps.append((lead, left - int(counts.pods[0][domain]), used - 1))
            for step in steps:
                if step not in ways and step not in new:
                    new[step] = (*ways[lead, left, used], domain)
        ways.update(new)
    done = [state for state in ways if state[0] <= 0 and state[1] <= 0 and -state[2] == bound.count]
    return list(ways[max(done, key=lambda state: state[1])]) if done else None


@max_examples(500)
@given(rng=choices())
def test_the_set_is_upstreams(rng):
    domains, ordered, size = random_domains(rng)
    slices, leaders = rng.randint(1, 8), rng.randint(0, 1)
    assert smallest_set(domains, 0, ordered, slices, leaders, size) == state_by_state(
        domains, ordered, slices, leaders, size
    )
