"""Highest tiers allowed for a job and its sub-groups, on the tree of the document, whose virtual top is of tier 4."""

from __future__ import annotations

import pytest

from tests.fabrics import document_tree
from tests.notices import said
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.topology import DomainSpec, Topology
from workbench.policies.volcano.v1_15.constraints import limits_of, tiers_by_name

HARD_2, HARD, SOFT = TopologyConstraint("hard", 2), TopologyConstraint("hard"), TopologyConstraint("soft", 1)


@pytest.mark.parametrize(
    ("job", "part", "want"),
    [
        (None, None, (None, None)),
        (HARD_2, None, (2, None)),
        (SOFT, None, (4, None)),
        (HARD_2, SOFT, (2, 2)),
        (SOFT, SOFT, (4, 4)),
        (None, SOFT, (None, 4)),
        (HARD, SOFT, (None, 4)),
        (None, HARD_2, (None, 2)),
    ],
)
def test_soft_becomes_hard_within_the_job(job, part, want):
    groups = (SubGroup("w-0", (0,), part, 1, policy="w"),)
    gang = Gang("d", "j", (Role("w", 1, {"cpu": 1}),), 1, job, sub_groups=groups, sub_grouped=True)
    limits = limits_of(gang, document_tree().topology)
    assert (limits.job, *limits.sub_groups) == want
    assert len(limits.warnings) == (job is HARD)


def test_without_gradients_no_tier_restricts_anything():
    groups = (SubGroup("w-0", (0,), HARD_2, 1, policy="w"),)
    gang = Gang("d", "j", (Role("w", 1, {"cpu": 1}),), 1, SOFT, sub_groups=groups, sub_grouped=True)
    limits = limits_of(gang, document_tree().topology, gradients=False)
    assert (limits.job, limits.sub_groups) == (None, (None,))
    assert said(limits.warnings) == (
        "the plugin network-topology-aware gives no gradients: networkTopology restricts nothing",
    )


def test_of_hypernodes_that_disagree_about_a_tier_name_the_smallest_counts():
    specs = [DomainSpec("b", 2, (), tier_name="rack"), DomainSpec("a", 1, (), tier_name="rack"), DomainSpec("c", 3, ())]
    assert tiers_by_name(Topology.build((), specs)) == {"rack": 1}
