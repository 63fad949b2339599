"""The compiled two-level search against the one that `explain` follows step by step."""

from __future__ import annotations

import random

import pytest

from tests.policies.newest_cases import random_newest_gang
from tests.policies.random_cases import random_cluster
from tests.profiles import blocks
from workbench.model.placement import Placement
from workbench.policies import get_policy


def told(result):
    """Everything that a user sees of an answer."""
    if isinstance(result, Placement):
        unplaced = [(pod.position, pod.reasons) for pod in result.unplaced]
        return result.node.tolist(), result.hypernode, result.score, unplaced, result.warnings
    return result.reasons, result.nearest_misses, result.warnings


def check(seed):
    rng = random.Random(seed)
    cluster = random_cluster(rng)
    gang = random_newest_gang(rng, cluster)
    policy = get_policy("volcano-1.15", normal_pod_enable=seed % 3 == 0)
    result = policy.place(gang, cluster.ledger())
    assert told(result) == told(policy.explain(gang, cluster).decision.result)
    return isinstance(result, Placement)


@pytest.mark.parametrize("block", blocks(4))
def test_the_same_placement_refusal_and_texts(block):
    placed = [check(seed) for seed in range(block * 60, (block + 1) * 60)]
    assert 10 < sum(placed) < 55


@pytest.mark.slow
def test_the_same_placement_refusal_and_texts_many_times():
    for seed in range(1_000, 5_000):
        check(seed)
