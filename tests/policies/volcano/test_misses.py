"""The nearest miss of every tier that a pending job may use."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.policies.random_cases import random_cluster, random_gang
from tests.policies.v1_15_cases import random_1_15_gang
from tests.policies.volcano.test_invariants import identical, tree
from tests.profiles import max_examples
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.placement import Refusal
from workbench.policies import get_policy

BOTH = ("volcano-1.13", "volcano-1.15")


def misses(name, gang, cluster):
    refusal = get_policy(name).place(gang, cluster.ledger())
    assert isinstance(refusal, Refusal)
    return [(m.tier, m.domain, m.holds, m.needs) for m in refusal.nearest_misses]


def gang(n, mode=None, tier=None, **options):
    constraint = TopologyConstraint(mode, tier) if mode else None
    return Gang("d", "j", (Role("w", n, {"cpu": 1000}),), n, constraint, **options)


@pytest.mark.parametrize("name", ["allocate", *BOTH])
def test_of_a_job_without_a_topology_every_tier_and_the_cluster_count(name):
    """The document's tree: 8 nodes of 1 CPU, two to a leaf."""
    want = [(1, "s0", 2, 9), (2, "s4", 4, 9), (3, "s6", 8, 9), (4, "<cluster-top-hypernode>", 8, 9)]
    assert misses(name, gang(9), document_tree(cpu=1000)) == want


def test_of_a_soft_job_likewise():
    want = [(1, "s0", 2, 9), (2, "s4", 4, 9), (3, "s6", 8, 9), (4, "<cluster-top-hypernode>", 8, 9)]
    assert [misses(name, gang(9, "soft"), document_tree(cpu=1000)) for name in BOTH] == [want, want]


def test_of_a_hard_job_the_tiers_that_it_may_use():
    want = [(1, "s0", 2, 5), (2, "s4", 4, 5)]
    assert [misses(name, gang(5, "hard", 2), document_tree(cpu=1000)) for name in BOTH] == [want, want]


def test_hypernodes_that_min_resources_rule_out_count_too():
    job = gang(3, "hard", 1, extras=extras_of(VolcanoMemory(min_resources={"cpu": 3000})))
    refusal = get_policy("volcano-1.15").place(job, document_tree(cpu=1000).ledger())
    assert misses("volcano-1.15", job, document_tree(cpu=1000)) == [(1, "s0", 2, 3)]
    assert refusal.reasons[0].message == ("no HyperNode of tier <= 1 holds 3 pods: best s0 (tier 1) holds 2 of 3")


def test_of_sub_groups_without_a_topology_of_the_job_every_tier_counts():
    groups = tuple(
        SubGroup(f"v-{i}", (2 * i, 2 * i + 1), TopologyConstraint("hard", 1), 2, policy="v", match_index=i)
        for i in range(5)
    )
    job = gang(10, sub_groups=groups, sub_grouped=True, min_subgroups={"v": 5})
    found = misses("volcano-1.15", job, document_tree(cpu=1000))
    assert [(tier, holds) for tier, _, holds, _ in found] == [(1, 2), (2, 4), (3, 8), (4, 8)]


@pytest.mark.parametrize("name", BOTH)
@max_examples(80)
@given(rng=choices())
def test_for_identical_pods_they_are_what_the_best_hypernode_of_each_tier_holds(name, rng):
    cluster = tree(rng)
    job = identical(rng, rng.choice(["hard", "soft", ""]), rng.randint(1, 3))
    role = replace(job.roles[0], count=job.n_pods + rng.randint(0, 30))
    job = replace(job, roles=(role,), order=(), min_available=role.count)
    result = get_policy(name).place(job, cluster.ledger())
    if not isinstance(result, Refusal):
        return
    topology, cpu = cluster.topology, role.requests["cpu"]
    idle = (cluster.allocatable - cluster.used)[:, 0] // cpu
    hard = job.constraint is not None and job.constraint.mode == "hard"
    tiers = [t for t in (1, 2, 3) if not hard or t <= job.constraint.highest_tier] + ([] if hard else [4])
    assert [miss.tier for miss in result.nearest_misses] == tiers
    for miss in result.nearest_misses:
        held = {
            topology.domain_name(d): min(int(idle[topology.nodes_of(d)].sum()), role.count)
            for d in (topology.domains_at(miss.tier).tolist() if miss.tier < 4 else [-1])
        }
        best = max(held.values())
        assert (miss.holds, miss.needs) == (best, role.count)
        assert miss.domain == min((d for d in held if held[d] == best), key=str.encode)


@pytest.mark.parametrize(("name", "make"), [("volcano-1.13", random_gang), ("volcano-1.15", random_1_15_gang)])
@max_examples(80)
@given(rng=choices())
def test_a_pending_job_of_any_kind_has_one_per_tier_that_it_may_use(name, make, rng):
    cluster = random_cluster(rng)
    job = make(rng, cluster)
    result = get_policy(name).place(job, cluster.ledger())
    if not isinstance(result, Refusal) or result.reasons[0].code in ("topology-not-ready", "not-enough-pods", "gpu"):
        return
    topology = cluster.topology
    found = [miss.tier for miss in result.nearest_misses]
    assert found == sorted(set(found))
    for miss in result.nearest_misses:
        assert 0 <= miss.holds <= miss.needs
        domain = topology.domain(miss.domain) if topology.has_domain(miss.domain) else -1
        assert topology.domain_tier(domain) == miss.tier
    if not job.ready and not job.extra(VolcanoMemory).record and all(not role.best_effort for role in job.roles):
        highest = topology.top_tier
        if job.constraint is not None and job.constraint.mode == "hard":
            highest = 1 if job.constraint.highest_tier is None and name == "volcano-1.13" else highest
            highest = highest if job.constraint.highest_tier is None else job.constraint.highest_tier
        tiers = [*topology.tiers, topology.top_tier]
        hard = name == "volcano-1.13" and job.constraint is not None and job.constraint.mode == "hard"
        want = [t for t in tiers if t <= highest and not (hard and t == topology.top_tier)]
        assert found == want


def test_a_miss_says_which_hypernode_by_the_smallest_name():
    cluster = snapshot(["a0", "b0"], [("b", 1, ["b0"], ""), ("a", 1, ["a0"], "")], cpu=2000, gpus=0)
    assert misses("volcano-1.15", gang(5, "hard", 1), cluster) == [(1, "a", 2, 5)]
