"""The HyperNodes and nodes of equal score among which the smallest name decided."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.policies.volcano.cluster_objects import hypernode, job, loaded, node, pod

BOTH = ("volcano-1.13", "volcano-1.15")
HARD = {"mode": "hard", "highestTierAllowed": 2}
RACKS = {"ra": ("a1", "a2"), "rb": ("b1", "b2"), "rc": ("c1",)}


def explained(policy, *objects, topology=HARD, pods=2):
    nodes = [node(name, cpu="8", memory="32Gi") for names in RACKS.values() for name in names]
    tree = [hypernode(name, 1, *names) for name, names in RACKS.items()]
    tree.append(hypernode("row", 2, *RACKS, kind="HyperNode"))
    scenario = loaded(nodes, tree, objects, job("j", pods, {"cpu": "8", "memory": "32Gi"}, topology=topology))
    return wb.explain(scenario.gangs[0], scenario.snapshot, policy)


@pytest.mark.parametrize("policy", BOTH)
def test_hypernodes_with_the_score_of_the_one_chosen_are_its_equals(policy):
    told = explained(policy)
    assert told.decision.result.hypernode == "ra"
    assert told.tied_hypernodes == ("ra", "rb")


@pytest.mark.parametrize("policy", BOTH)
def test_a_hypernode_that_does_not_hold_the_job_is_no_equal(policy):
    told = explained(policy, pod("x", {"cpu": "1"}, at="a1"))
    assert (told.decision.result.hypernode, told.tied_hypernodes) == ("rb", ("rb",))


@pytest.mark.parametrize("policy", BOTH)
def test_only_the_lowest_tier_with_a_solution_has_equals(policy):
    assert explained(policy, pods=3).tied_hypernodes == ("row",)


@pytest.mark.parametrize("policy", BOTH)
def test_who_is_refused_or_has_no_topology_chose_from_no_hypernodes(policy):
    assert explained(policy, pods=6).tied_hypernodes == ()
    plain = explained(policy, topology=None)
    assert (plain.tied_hypernodes, plain.inner) == ((), ())


def test_a_policy_without_scores_names_no_equals():
    assert explained("switch-affinity").tied_hypernodes == ()
