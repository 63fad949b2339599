"""A stream of any policy answers as its `place` does, call after call on one ledger."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.policies.random_cases import random_cluster, random_gang
from tests.policies.stream_cases import SideBySide, come_and_go
from tests.profiles import max_examples
from workbench.errors import InputError
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.policies import get_policy, list_policies

NAMES = [info.name for info in list_policies() if info.kind != "gpu"]
PAIR = Gang("d", "pair", (Role("w", 2, {"cpu": 1000, "nvidia.com/gpu": 8}, (8,)),), 2, TopologyConstraint("hard", 1))


@pytest.mark.parametrize("name", NAMES)
@max_examples(15)
@given(rng=choices())
def test_the_same_answers_as_place_on_one_ledger(name, rng):
    cluster = random_cluster(rng)
    gangs = [random_gang(rng, cluster) for _ in range(3)]
    come_and_go(rng, SideBySide(get_policy(name), cluster), gangs, 12)


@pytest.mark.parametrize("name", ["gang", "volcano-1.15"])
def test_what_is_given_back_can_be_taken_again(name):
    stream = get_policy(name).stream(snapshot(["a", "b"], [("h", 1, ["a", "b"], "")]))
    first = stream.place(PAIR)
    assert isinstance(first, Placement)
    assert isinstance(stream.place(PAIR), Refusal)
    stream.give_back(first)
    again = stream.place(PAIR)
    assert isinstance(again, Placement)
    assert again.node.tolist() == first.node.tolist()


@pytest.mark.parametrize("name", ["gang", "volcano-1.15"])
def test_only_what_the_stream_holds_can_be_given_back(name):
    cluster = document_tree()
    stream, other = get_policy(name).stream(cluster), get_policy(name).stream(cluster)
    placement = stream.place(PAIR)
    with pytest.raises(InputError, match="nothing to give back"):
        other.give_back(placement)
    stream.give_back(placement)
    with pytest.raises(InputError, match="nothing to give back"):
        stream.give_back(placement)
    assert (stream.ledger.used == cluster.used).all()
    assert stream.held == ()


@pytest.mark.parametrize("name", ["gang", "volcano-1.15"])
def test_a_placement_that_its_owner_changed_gives_back_what_it_took(name):
    cluster = document_tree()
    stream = get_policy(name).stream(cluster)
    placement = stream.place(PAIR)
    placement.node[:] = 0
    stream.give_back(placement)
    assert (stream.ledger.used == cluster.used).all()
