from __future__ import annotations

from tests.fabrics import document_tree, snapshot
from tests.policies.random_cases import DEFAULTS
from tests.reference import volcano_1_13 as oracle
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.policies import get_policy


def job(n, tier, min_available, **options):
    requests = {"cpu": 8000, "nvidia.com/gpu": 4}
    constraint = TopologyConstraint("hard", tier)
    return Gang("d", "j", (Role("w", n, requests, (4,)),), min_available, constraint, **options)


def agree(gang, cluster):
    result = get_policy("volcano-1.13").place(gang, cluster.ledger())
    nodes, record = oracle.place(gang, cluster, DEFAULTS, 10)
    assert [cluster.topology.node_names[n] if n >= 0 else "" for n in result.node] == nodes
    assert result.hypernode == record
    return nodes


def test_many_turns_give_what_trying_everything_in_each_turn_gives():
    nodes = agree(job(16, 3, 3), document_tree(free_gpus={"node5": 0b1111}))
    assert len([n for n in nodes if n]) == 15


def test_turns_remember_nothing_about_a_leaf_that_another_domain_took_a_pod_in():
    # x and y share the leaf of b: a pod placed through x changes what y's nodes are worth.
    names = ["a", "b", "c", "e"]
    domains = [("leaf", 1, ["b", "c"], "top"), ("x", 2, ["a", "b"], "top"), ("y", 2, ["c", "e"], "top")]
    cluster = snapshot(names, [*domains, ("top", 3, names, "")])
    agree(job(8, 3, 3), cluster)
    agree(job(8, 3, 5, record="leaf"), cluster)


def test_a_tier_without_any_reachable_domain_is_no_near_miss():
    refusal = get_policy("volcano-1.13").place(job(5, 1, 5, record="s0"), document_tree().ledger())
    assert [(m.tier, m.domain, m.holds) for m in refusal.nearest_misses] == [(1, "s0", 4)]


def test_a_domain_is_measured_by_the_pods_that_are_needed():
    # s0 has room for four workers but none for the chief, which alone is missing besides two workers.
    # The chief is asked last.
    chief = Role("chief", 1, {"cpu": 99_000}, min_available=1, first_index=9)
    worker = Role("worker", 4, {"cpu": 16_000}, min_available=2)
    gang = Gang("d", "j", (worker, chief), 3, TopologyConstraint("hard", 1))
    refusal = get_policy("volcano-1.13").place(gang, document_tree().ledger())
    assert refusal.reasons[2].message == "no HyperNode of tier <= 1 holds 3 pods: best s0 (tier 1) holds 2 of 3"
