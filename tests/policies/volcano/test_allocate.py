from __future__ import annotations

from hypothesis import given

from tests.policies.random_cases import assert_same_at_random, seeds
from tests.profiles import max_examples


@max_examples(200)
@given(seeds)
def test_allocate_equals_looking_at_every_node_for_every_pod(seed):
    assert_same_at_random(seed, "allocate", topology_weight=None)
