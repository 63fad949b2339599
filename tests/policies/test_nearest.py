"""Room for a gang in HyperNodes, and that every policy counts it alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.policies.random_cases import random_cluster, random_gang
from tests.policies.v1_15_cases import random_1_15_gang
from tests.profiles import max_examples
from tests.reference import nearest as oracle
from workbench.kernels.domains import pods_per_node
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import NodeTaints, Taint
from workbench.model.placement import Refusal
from workbench.policies import get_policy, list_policies
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.nearest import held_pods, nearest_misses

NODE = [info.name for info in list_policies() if info.kind == "node"]
#: They count switches, or whole Jobs, instead of pods.
OTHERWISE = ("switch-affinity", "switch-affinity-1.0", "switch-affinity-single-layer")
#: Their gangs cannot be refused for anything but too little room, once these are left out.
EARLIER = {"not-enough-pods", "topology-not-ready", "fractional-gpus", "gpu", "tier-too-small", "slots-differ"}


def asked(policy, gang, ledger):
    return policy.node.request(gang, ledger, GpuQuestions(policy.gpu, ledger), None)


def told(misses):
    return [(miss.tier, miss.domain, miss.holds, miss.needs) for miss in misses]


@max_examples(300)
@given(rng=choices())
def test_held_pods_are_those_that_the_oracle_places_one_by_one(rng):
    cluster = random_cluster(rng)
    request = asked(get_policy("allocate"), random_gang(rng, cluster), cluster.ledger())
    domains = [*range(cluster.topology.n_domains), -1]
    want = [oracle.held_pods(request, cluster.topology.nodes_of(domain))[0] for domain in domains]
    assert held_pods(request, domains).tolist() == want
    assert told(nearest_misses(request)) == oracle.nearest(request, domains)


@pytest.mark.parametrize("name", [name for name in NODE if name not in OTHERWISE])
@max_examples(150)
@given(rng=choices())
def test_every_nearest_hypernode_of_a_refusal_is_the_oracles(name, rng):
    cluster = random_cluster(rng)
    make = rng.choice([random_gang, random_1_15_gang])
    gang = make(rng, cluster).with_extra(VolcanoMemory())
    if gang.sub_grouped and name != "volcano-1.15":
        gang = replace(gang, sub_groups=(), sub_grouped=False, min_subgroups={})
    policy = get_policy(name)
    refusal = policy.place(gang, cluster.ledger())
    if not isinstance(refusal, Refusal) or not refusal.nearest_misses:
        return
    request, topology = asked(policy, gang, cluster.ledger()), cluster.topology
    every = name == "koordinator-network"
    for miss in refusal.nearest_misses:
        domain = topology.domain(miss.domain) if topology.has_domain(miss.domain) else -1
        assert topology.domain_tier(domain) == miss.tier
        if every and any((topology.domain_of_node(tier) < 0).any() for tier in topology.tiers):
            # Nodes outside a layer are not used.
            continue
        assert (miss.holds, miss.needs) == oracle.held_pods(request, topology.nodes_of(domain), every)
    if gang.ready or every or {reason.code for reason in refusal.reasons} & EARLIER:
        return
    hard = gang.constraint is not None and gang.constraint.mode == "hard"
    highest, top = topology.top_tier, [-1]
    if hard and name != "allocate":
        highest = gang.constraint.highest_tier
        if highest is None:
            highest = 1 if name == "volcano-1.13" else topology.top_tier
        top = [] if name == "volcano-1.13" or highest < topology.top_tier else [-1]
    if name in ("volcano-1.13", "volcano-1.15", "allocate"):
        allowed = [*np.flatnonzero(topology.tier <= highest).tolist(), *top]
        assert told(refusal.nearest_misses) == oracle.nearest(request, allowed)


@pytest.mark.parametrize("name", NODE)
@max_examples(100)
@given(rng=choices())
def test_no_reason_of_a_refusal_repeats_another(name, rng):
    cluster = random_cluster(rng)
    refusal = get_policy(name).place(random_1_15_gang(rng, cluster), cluster.ledger())
    if isinstance(refusal, Refusal):
        messages = [reason.message for reason in refusal.reasons]
        assert messages
        for i, message in enumerate(messages):
            assert not any(message in other for other in messages[:i] + messages[i + 1 :])


def test_roles_share_the_room():
    """A leaf has two nodes of 8 GPUs: a master and three workers of 8 GPUs each do not find room for three there."""
    roles = (Role("master", 1, {"nvidia.com/gpu": 8}, (8,)), Role("worker", 3, {"nvidia.com/gpu": 8}, (8,)))
    job = Gang("d", "j", roles, 4, TopologyConstraint("hard", 1))
    for name in ("volcano-1.13", "volcano-1.15"):
        refusal = get_policy(name).place(job, document_tree().ledger())
        assert told(refusal.nearest_misses) == [(1, "s0", 2, 4)]
        assert refusal.reasons[0].message == "no HyperNode of tier <= 1 holds 4 pods: best s0 (tier 1) holds 2 of 4"


def test_small_pods_do_not_take_the_room_of_large_ones():
    """`a` has room for both roles' pods, `b` for the small one alone, which therefore goes there."""
    cluster = snapshot(["a", "b"], [("s", 1, ["a", "b"], "")], gpus=8, free_gpus={"b": 0b1111})
    roles = (Role("small", 1, {"nvidia.com/gpu": 4}, (4,)), Role("wide", 1, {"nvidia.com/gpu": 8}, (8,)))
    request = asked(get_policy("allocate"), Gang("d", "j", roles, 2), cluster.ledger())
    assert held_pods(request, [0, -1]).tolist() == [2, 2]


@pytest.mark.parametrize("name", [name for name in NODE if name not in OTHERWISE])
def test_no_hypernode_is_near_where_no_node_offers_what_the_pods_ask_for(name):
    refusal = get_policy(name).place(
        Gang("d", "j", (Role("w", 2, {"nvidia.com/gpu": 9}),), 2), document_tree().ledger()
    )
    assert refusal.reasons[0].code == "not-offered"
    assert refusal.nearest_misses == () and refusal.nearest is None


def test_the_nearest_of_a_refusal_lacks_room():
    roles = (Role("w", 3, {"nvidia.com/gpu": 8}, (8,)),)
    refusal = get_policy("volcano-1.15").place(
        Gang("d", "j", roles, 3, TopologyConstraint("hard", 1)), document_tree().ledger()
    )
    assert refusal.nearest == refusal.nearest_misses[0]
    full = replace(refusal.nearest, tier=2, holds=3)
    assert replace(refusal, nearest_misses=(*refusal.nearest_misses, full)).nearest is None


def test_a_role_without_room_does_not_hide_the_others():
    roles = (Role("first", 1, {"cpu": 9000}), Role("second", 3, {"cpu": 1000}))
    request = asked(get_policy("allocate"), Gang("d", "j", roles, 4), document_tree(cpu=1000).ledger())
    assert held_pods(request, [-1]).tolist() == [3]


@pytest.mark.parametrize("name", ["volcano-1.13", "volcano-1.15"])
def test_nodes_with_taints_hold_nothing_and_those_left_out_beforehand_count(name):
    """Leaf s3 alone is idle, and tainted; of the others each has one node left."""
    used = {f"node{i}": (0, 0, 0, 8) for i in (0, 2, 4)}
    cluster = document_tree(used=used, free_gpus=dict.fromkeys(used, 0))
    taints = [
        [Taint("maintenance", "", "NoSchedule")] if name in ("node6", "node7") else []
        for name in cluster.topology.node_names
    ]
    cluster = replace(cluster, taints=NodeTaints.from_rows(taints))
    job = Gang("d", "j", (Role("w", 2, {"nvidia.com/gpu": 8}, (8,)),), 2, TopologyConstraint("hard", 1))
    assert told(get_policy(name).place(job, cluster.ledger()).nearest_misses) == [(1, "s0", 1, 2)]


def test_thousands_of_nodes_in_hundreds_of_hypernodes_are_counted_by_two_kernel_calls_per_role(monkeypatch):
    names = [f"n{i:04}" for i in range(5000)]
    leaves = [(f"leaf{i:03}", 1, names[20 * i : 20 * i + 20], f"row{i // 10:02}") for i in range(250)]
    rows = [(f"row{i:02}", 2, [], "spine") for i in range(25)]
    cluster = snapshot(names, [("spine", 3, [], ""), *rows, *leaves], gpus=8, cpu=64000)
    roles = (Role("master", 1, {"cpu": 4000}), Role("worker", 6000, {"nvidia.com/gpu": 8}, (8,)))
    request = asked(get_policy("allocate"), Gang("d", "j", roles, 6001), cluster.ledger())
    calls = []

    def counted(*args, **options):
        calls.append(args)
        return pods_per_node(*args, **options)

    monkeypatch.setattr("workbench.policies.nearest.pods_per_node", counted)
    found = nearest_misses(request)
    assert len(calls) == 4
    assert told(found)[-1] == (4, "<cluster-top-hypernode>", 5001, 6001)
