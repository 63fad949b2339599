from __future__ import annotations

from hypothesis import given

from tests.choice import choices
from tests.policies.random_cases import assert_same_at_random
from tests.profiles import max_examples


@max_examples(200)
@given(rng=choices())
def test_allocate_equals_looking_at_every_node_for_every_pod(rng):
    assert_same_at_random(rng, "allocate", topology_weight=None)
