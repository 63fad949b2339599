"""`volcano-1.15` against its oracle, and its documented cases."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.notices import said
from tests.policies.random_cases import random_cluster
from tests.policies.v1_15_cases import (
    WEIGHTS,
    assert_same_1_15,
    assert_same_1_15_at_random,
    random_1_15_gang,
    random_equal_groups,
)
from tests.profiles import max_examples
from workbench.errors import InternalError
from workbench.model.explanation import Recorder
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.placement import Refusal
from workbench.model.running_pod import RunningPod
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.topology import Problem
from workbench.policies import get_policy


@max_examples(150)
@given(rng=choices())
def test_the_same_as_the_oracle(rng):
    assert_same_1_15_at_random(rng)


@given(rng=choices())
def test_the_same_as_the_oracle_for_sub_groups_that_are_all_alike(rng):
    assert_same_1_15_at_random(rng, make=random_equal_groups)


@max_examples(60)
@given(
    rng=choices(),
    weight=st.sampled_from([0, 1, 3]),
    cpu=st.sampled_from([0, 2]),
    gpu=st.sampled_from([0, 4]),
    fading=st.sampled_from([None, 0.0, 0.5, 2.0]),
)
def test_the_same_as_the_oracle_with_other_weights(rng, weight, cpu, gpu, fading):
    weights = {**WEIGHTS, "topology": weight, "packing": weight, "fading": fading}
    weights["hypernode"] = {"cpu": cpu, "memory": 1, "nvidia.com/gpu": gpu}
    assert_same_1_15_at_random(
        rng,
        weights,
        weight=weight,
        hypernode_binpack_cpu=cpu,
        hypernode_binpack_resources={"nvidia.com/gpu": gpu},
        normal_pod_enable=fading is not None,
        normal_pod_fading=1.0 if fading is None else fading,
    )


def with_switches(**off):
    """The plugins of the default configuration, some functions of some of them switched off."""
    names = ("priority", "gang", "predicates", "network-topology-aware", "nodeorder", "binpack")
    options = {name: PluginOption(name, off.get(name.replace("-", "_"), {})) for name in names}
    options["network-topology-aware"] = replace(options["network-topology-aware"], arguments={"weight": 10})
    return SchedulerConfig(("allocate",), (tuple(options.values()),))


# What each switch of a plugin takes away: the weights that count no more, and who orders sub-jobs.
SWITCHES = {
    "nodes are not ordered": ({"NodeOrder": False}, {"topology": 0, "fading": None}),
    "HyperNodes are not ordered": ({"HyperNodeOrder": False}, {"packing": 0}),
    "neither is": ({"NodeOrder": False, "HyperNodeOrder": False}, {"topology": 0, "fading": None, "packing": 0}),
}


@pytest.mark.parametrize(("switches", "lost"), SWITCHES.values(), ids=SWITCHES.keys())
@max_examples(40)
@given(rng=choices())
def test_nodes_and_hypernodes_have_switches_of_their_own(switches, lost, rng):
    config = with_switches(network_topology_aware=switches)
    assert_same_1_15_at_random(rng, {**WEIGHTS, **lost}, config=config)


SUB_ORDERS = {
    "gang alone": ({"priority": {"SubJobOrder": False}}, ("gang",)),
    "priority alone": ({"gang": {"SubJobOrder": False}}, ("priority",)),
    "nobody": ({"gang": {"SubJobOrder": False}, "priority": {"SubJobOrder": False}}, ()),
}


@pytest.mark.parametrize(("switches", "order"), SUB_ORDERS.values(), ids=SUB_ORDERS.keys())
@max_examples(40)
@given(rng=choices())
def test_sub_jobs_stand_in_the_order_of_the_plugins_that_order_them(switches, order, rng):
    assert_same_1_15_at_random(rng, sub_order=order, config=with_switches(**switches))


@max_examples(40)
@given(rng=choices())
def test_sub_jobs_stand_in_the_order_of_priorities_that_do_not_order_tasks(rng):
    cluster = random_cluster(rng)
    gang = random_1_15_gang(rng, cluster)
    assert_same_1_15(replace(gang, tasks_by_priority=False), cluster)
    assert_same_1_15(
        replace(gang, tasks_by_priority=False), cluster, config=with_switches(priority={"TaskOrder": False})
    )


def test_a_priority_that_does_not_order_tasks_orders_sub_jobs_all_the_same():
    roles = (Role("low", 1, {"cpu": 1000}), Role("high", 1, {"cpu": 1000}, priority=9))
    subs = tuple(SubGroup(role.name, (i,), None, 1, policy="p") for i, role in enumerate(roles))
    gang = Gang("d", "j", roles, 1, sub_groups=subs, sub_grouped=True)
    # Room for one pod.
    cluster = snapshot(["n"], cpu=1000, gpus=0)
    placed = get_policy("volcano-1.15", config=with_switches(priority={"TaskOrder": False})).place(
        gang, cluster.ledger()
    )
    assert placed.node.tolist() == [-1, 0]


@max_examples(40)
@given(rng=choices())
def test_the_first_plugin_with_an_opinion_orders_sub_jobs(rng):
    config = with_switches()
    (tier,) = config.tiers
    swapped = replace(config, tiers=((tier[1], tier[0], *tier[2:]),))
    assert_same_1_15_at_random(rng, sub_order=("gang", "priority"), config=swapped)


def test_why_a_gang_waits_is_found_when_it_is_read_as_it_was_when_it_was_refused():
    read = 0
    for seed in range(60):
        rng = random.Random(seed)
        cluster = random_cluster(rng)
        ledger, policy = cluster.ledger(), get_policy("volcano-1.15")
        policy.place(random_1_15_gang(rng, cluster), ledger)
        gang = random_1_15_gang(rng, cluster)
        result = policy.place(gang, ledger)
        if not isinstance(result, Refusal) or "reasons" in vars(result):
            continue
        want = policy.place(gang, ledger, Recorder())
        ledger.take(np.arange(cluster.n_nodes, dtype=np.int32), cluster.allocatable)
        ledger.commit()
        assert (result.reasons, result.nearest_misses) == (want.reasons, want.nearest_misses)
        assert result.warnings == want.warnings
        read += 1
    assert read > 5


def job(n, mode="hard", tier=None, *, gpus=8, tier_name=None, **options):
    constraint = TopologyConstraint(mode, tier, tier_name) if mode is not None else None
    role = Role("worker", n, {"cpu": 8000, "nvidia.com/gpu": gpus}, (gpus,))
    return Gang("default", "job", (role,), options.pop("min_available", n), constraint, **options)


def parts(n, size, mode="hard", tier=1, *, minimum=None):
    """Sub-groups of a gang of n pods: consecutive pods in groups of one size."""
    wish = TopologyConstraint(mode, tier) if mode else None
    return tuple(
        SubGroup(f"w-{i}", tuple(range(i * size, (i + 1) * size)), wish, minimum or size, policy="w", match_index=i)
        for i in range(n // size)
    )


def grouped(n, size, mode="hard", tier=3, sub_mode="hard", sub_tier=1, **options):
    return job(n, mode, tier, sub_groups=parts(n, size, sub_mode, sub_tier), sub_grouped=True, **options)


# Hard jobs that their tier holds back: three pods of a node each, of which a leaf has two; two such pairs in one leaf.
HELD_BACK = {"a job": job(3, "hard", 1), "its sub-groups": grouped(4, 2, "hard", 1)}


@pytest.mark.parametrize("plugin", [None, PluginOption("network-topology-aware", {"HyperNodeGradient": False})])
@pytest.mark.parametrize("gang", HELD_BACK.values(), ids=HELD_BACK.keys())
def test_without_the_gradients_of_the_plugin_no_tier_restricts_a_job(gang, plugin):
    rest = (PluginOption("gang"), PluginOption("predicates"))
    config = SchedulerConfig(("allocate",), ((*rest, plugin) if plugin else rest,))
    assert not hasattr(get_policy("volcano-1.15").place(gang, document_tree().ledger()), "node")
    placement = get_policy("volcano-1.15", config=config).place(gang, document_tree().ledger())
    assert (placement.node >= 0).all()
    assert any("gives no gradients" in warning for warning in said(placement.warnings))


def test_a_refusal_holds_whatever_becomes_of_the_arrays_that_filled_its_ledger():
    cluster, policy = document_tree(), get_policy("volcano-1.15")
    ledger = cluster.ledger()
    nodes, rows = np.arange(8, dtype=np.int32), cluster.allocatable.copy()
    ledger.take(nodes, rows)
    result, want = policy.place(job(2, "hard", 1), ledger), policy.place(job(2, "hard", 1), ledger, Recorder())
    nodes[:], rows[:] = 0, 0
    assert (result.reasons, result.nearest_misses) == (want.reasons, want.nearest_misses)


def test_a_ledger_that_was_written_into_is_named_when_its_refusal_is_read():
    ledger = document_tree().ledger()
    ledger.take(np.array([0], dtype=np.int32), np.array([0, 0, 1, 1]))
    ledger.idle[:] = 0
    result = get_policy("volcano-1.15").place(job(2, "hard", 1), ledger)
    with pytest.raises(InternalError, match="default/job was refused and fits"):
        _ = result.reasons


@pytest.mark.parametrize("sub_groups", [(), parts(4, 2)], ids=["a job", "its sub-groups"])
def test_what_all_pods_ask_for_may_be_more_than_an_amount_on_one_node(sub_groups):
    disk = 2**52
    role = Role("worker", 4, {"cpu": disk})
    wish = TopologyConstraint("hard", 2)
    memory = VolcanoMemory(min_resources={"cpu": 4 * disk})
    options = {"extras": extras_of(memory), "sub_groups": sub_groups, "sub_grouped": bool(sub_groups)}
    gang, cluster = Gang("d", "j", (role,), 4, wish, **options), document_tree(cpu=disk, gpus=0)
    placement = get_policy("volcano-1.15").place(gang, cluster.ledger())
    assert placement.node.tolist() == [0, 1, 2, 3]


def test_a_job_that_asks_for_more_than_can_be_counted_is_pending():
    role = Role("worker", 5000, {"cpu": 2**52})
    gang = Gang(
        "d",
        "j",
        (role,),
        5000,
        TopologyConstraint("hard", 3),
        extras=extras_of(VolcanoMemory(min_resources={"cpu": 5000 * 2**52})),
    )
    refusal = get_policy("volcano-1.15").place(gang, document_tree(cpu=2**52, gpus=0).ledger())
    assert refusal.reasons[0].message.endswith("best s6 (tier 3) holds 8 of 5000")


def test_too_few_sub_groups_are_told_alike_by_place_and_by_a_session():
    gang = grouped(4, 2, min_available=2, min_subgroups={"w": 3})
    policy, cluster = get_policy("volcano-1.15"), document_tree()
    (decision,) = policy.schedule([gang], cluster)
    for refusal in (policy.place(gang, cluster.ledger()), decision.result):
        assert refusal.reasons[0].message == "Not enough valid subGroups of each task for gang-scheduling"


def answer(gang, cluster, **parameters):
    return get_policy("volcano-1.15", **parameters).place(gang, cluster.ledger())


def running(*names):
    return [RunningPod("default", f"job-worker-{i}", int(n[4:]), {}, "default/job") for i, n in enumerate(names)]


# ---------------------------------------------------------------------------------------------------------------------
# Cases on the document's tree (drawn in tests/fabrics.py): each pod of 8 GPUs fills a node.
# ---------------------------------------------------------------------------------------------------------------------

PLACED = {
    "two pods that fill a node each share the first leaf": (job(2, "hard", 1), {}, "s0", {0, 1}),
    "a lower tier wins though a higher one is allowed": (job(2, "hard", 3), {}, "s0", {0, 1}),
    "a soft job is one that may use the virtual top": (job(8, "soft"), {}, "s6", set(range(8))),
    "a soft job takes a leaf where one holds it, whatever tier it names": (job(2, "soft", 3), {}, "s0", {0, 1}),
    "a fuller leaf is preferred": (job(1, "hard", 1, gpus=1), {"used": {"node5": (9000, 0, 1, 1)}}, "s2", {5}),
    "each part stays in a leaf": (grouped(4, 2), {"cordoned": ("node1",)}, "s5", {4, 5, 6, 7}),
    "parts may lie in different blocks where the job allows it": (
        grouped(4, 2),
        {"cordoned": ("node1", "node4")},
        "s6",
        {2, 3, 6, 7},
    ),
    "a soft part stays within the limit of its job": (grouped(4, 4, "hard", 2, "soft", None), {}, "s4", {0, 1, 2, 3}),
    "only as many parts as needed are waited for": (
        grouped(6, 2, "hard", 2, min_available=4, min_subgroups={"w": 2}),
        {},
        "s4",
        {0, 1, 2, 3},
    ),
    "the replacement of a lost pod stays with its peers": (
        job(1, "hard", 1, min_available=2, ready=1),
        {"running": running("node6")},
        "s3",
        {6},
    ),
}


@pytest.mark.parametrize(("gang", "options", "want_hypernode", "want_nodes"), PLACED.values(), ids=PLACED.keys())
def test_placed(gang, options, want_hypernode, want_nodes):
    placement = answer(gang, document_tree(**options))
    assert (placement.hypernode, {int(n) for n in placement.node if n >= 0}) == (want_hypernode, want_nodes)


REFUSED = {
    "three pods do not fit in one leaf": (
        job(3, "hard", 1),
        {},
        "no HyperNode of tier <= 1 holds 3 pods: best s0 (tier 1) holds 2 of 3",
    ),
    "the minimum would fit, but all pods together are too large for any leaf": (
        job(4, "hard", 1, min_available=2),
        {},
        "no HyperNode of tier <= 1 takes the job: s0 (tier 1) has room for the 2 pods needed, but no "
        "HyperNode of tier <= 1 had room for all 4 pending pods of the job when the session began",
    ),
    "each role would fit, but not beside the other": (
        Gang(
            "d",
            "j",
            (Role("a", 2, {"nvidia.com/gpu": 5}), Role("b", 1, {"nvidia.com/gpu": 4})),
            3,
            TopologyConstraint("hard", 1),
        ),
        {},
        "no HyperNode of tier <= 1 holds 3 pods: best s0 (tier 1) holds 2 of 3",
    ),
    "every HyperNode is smaller than minResources, though the pods would fit": (
        job(1, "hard", 1, extras=extras_of(VolcanoMemory(min_resources={"nvidia.com/gpu": 20}))),
        {},
        "no HyperNode of tier <= 1 takes the job: s0 (tier 1) has room for the 1 pod needed, but less "
        "than minResources was idle there when the session began",
    ),
    "the leaf of the running pods is full": (
        job(1, "hard", 1, min_available=2, ready=1),
        {"running": running("node6"), "cordoned": ("node6", "node7")},
        "no HyperNode of tier <= 1 holds 1 pod: best s3 (tier 1) holds 0 of 1",
    ),
    "a part that no leaf holds": (
        grouped(6, 3),
        {},
        "no HyperNode of tier <= 3 takes the job: s6 (tier 3) has room for the 6 pods needed, but no "
        "HyperNode of tier <= 1 had room for all 3 pending pods of sub-group w-0 when the session began",
    ),
}


@pytest.mark.parametrize(("gang", "options", "want"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(gang, options, want):
    refusal = answer(gang, document_tree(**options))
    assert refusal.reasons[0].message == want


def test_where_no_hypernode_is_tried_no_node_is_said_to_lack_anything():
    gang = job(1, "hard", 1, extras=extras_of(VolcanoMemory(min_resources={"nvidia.com/gpu": 20})))
    assert [reason.message for reason in answer(gang, document_tree()).reasons[1:]] == [
        "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable"
    ]


def test_a_refusal_names_the_part_that_found_no_place():
    refusal = answer(grouped(4, 2), document_tree(cordoned=("node0", "node2", "node4")))
    assert refusal.reasons[0].message == (
        "no HyperNode of tier <= 3 takes the job: s6 (tier 3) has room for the 4 pods needed, "
        "but no HyperNode of tier <= 1 inside has room for sub-group w-1"
    )


def test_nearest_misses_of_every_tier_tried():
    refusal = answer(job(5, "hard", 2), document_tree(cordoned=("node0",)))
    assert [(m.tier, m.domain, m.holds, m.needs) for m in refusal.nearest_misses] == [(1, "s1", 2, 5), (2, "s5", 4, 5)]


WARNED = {
    "hard without a tier": (job(2, "hard"), "the job is hard without highestTierAllowed: it restricts nothing"),
    "an unknown tier name": (
        job(2, "hard", tier_name="rack"),
        "highestTierName 'rack' of the job is no tier of this cluster: it restricts nothing",
    ),
    "no mode": (job(2, "", 1), "networkTopology of the job has no mode: it restricts nothing"),
    "hard parts without a tier": (
        grouped(4, 2, sub_tier=None),
        "sub-group policy w is hard without highestTierAllowed: it restricts nothing",
    ),
}


@pytest.mark.parametrize(("gang", "want"), WARNED.values(), ids=WARNED.keys())
def test_a_wish_that_restricts_nothing_warns(gang, want):
    assert said(answer(gang, document_tree()).warnings) == (want,)


@pytest.mark.parametrize("gang", [job(2, "soft"), job(2, "hard"), grouped(2, 2, None)], ids=["soft", "hard", "parts"])
def test_any_wish_waits_for_a_topology_that_is_ready(gang):
    cluster = document_tree(problems=[Problem("cycle", "s0", "s0 contains itself")], ready=False)
    assert answer(gang, cluster).reasons[0].code == "topology-not-ready"


def test_a_plain_job_does_not_wait_for_the_topology():
    cluster = document_tree(problems=[Problem("cycle", "s0", "s0 contains itself")], ready=False)
    assert answer(job(2, None), cluster).n_placed == 2


def test_a_plain_pod_is_drawn_to_the_fuller_leaf():
    cluster = document_tree(used={"node4": (9000, 0, 1, 8)})
    assert answer(job(1, None, gpus=1), cluster, binpack_weight=0, least_weight=0).node.tolist() == [5]


def test_min_resources_of_the_job_keep_it_out_of_small_hypernodes():
    cluster = document_tree(used={f"node{i}": (0, 0, 0, 4) for i in range(4)})
    small = job(1, "hard", 3, gpus=1, extras=extras_of(VolcanoMemory(min_resources={"nvidia.com/gpu": 20})))
    placement = answer(small, cluster)
    assert placement.hypernode == "s5"


def test_parts_fill_one_after_another_and_the_explanation_says_where():
    explanation = get_policy("volcano-1.15").explain(grouped(4, 2), document_tree())
    nodes = "nodes of s0 as the first pod sees them"
    assert explanation.notes == ("w-0: 2 pods inside s0", "w-1: 2 pods inside s1", nodes)
    kept = [c.name for c in explanation.domains if c.kept]
    assert kept == ["s4", "s5"]
    assert {c.name: c.why for c in explanation.domains}["s0"] == "holds 2 of 4 pods; nvidia.com/gpu: 32 asked, 16 idle"
    assert explanation.nodes


def test_the_explanation_follows_the_tiers_up_to_the_virtual_top():
    cluster = document_tree(used={"node4": (1000, 0, 0, 1), "node2": (0, 0, 0, 1)})
    explanation = get_policy("volcano-1.15").explain(job(2, "soft"), cluster)
    assert [(c.name, c.kept, c.why) for c in explanation.domains] == [
        ("s0", True, "holds 2 of 2 pods"),
        ("s1", False, "holds 1 of 2 pods; nvidia.com/gpu: 16 asked, 15 idle"),
        ("s2", False, "holds 1 of 2 pods; nvidia.com/gpu: 16 asked, 15 idle"),
        ("s3", True, "holds 2 of 2 pods"),
        *[(name, False, "not tried: a lower tier has a solution") for name in ("s4", "s5", "s6")],
        ("<cluster-top-hypernode>", False, "not tried: a lower tier has a solution"),
    ]


def test_the_explanation_splits_the_score_of_a_hypernode():
    cluster = document_tree(used={"node5": (9000, 0, 1, 1)}, running=running("node6", "node0"))
    gang = job(1, "hard", 3, gpus=1, min_available=3, ready=2)
    explanation = get_policy("volcano-1.15", hypernode_binpack_resources={"nvidia.com/gpu": 2}).explain(gang, cluster)
    kept = [c for c in explanation.domains if c.kept]
    assert kept
    assert [sum(c.parts.values()) for c in kept] == pytest.approx([c.score for c in kept])
    assert [sorted(c.parts) for c in kept] == [["cpu", "nvidia.com/gpu", "tasks"]] * len(kept)
    fuller = {c.name: c.parts for c in kept}["s2"]
    assert fuller["nvidia.com/gpu"] > {c.name: c.parts for c in kept}["s1"]["nvidia.com/gpu"] > 0
    assert [sum(c.parts.values()) for c in explanation.nodes] == pytest.approx([c.score for c in explanation.nodes])


def test_the_explanation_of_the_pre_filter_names_the_resource():
    explanation = get_policy("volcano-1.15").explain(job(4, "hard", 1, min_available=2), document_tree())
    assert {c.name: c.why for c in explanation.domains}["s1"] == (
        "holds 2 of 2 pods, but no HyperNode of tier <= 1 had room for all 4 pending pods of the job when the session "
        "began (nvidia.com/gpu: 32 asked, 16 idle)"
    )
    assert explanation.notes == ("no HyperNode chosen", "nodes of s0 as the first pod sees them")
    small = job(1, "hard", 3, extras=extras_of(VolcanoMemory(min_resources={"nvidia.com/gpu": 20, "memory": 1 << 30})))
    explanation = get_policy("volcano-1.15").explain(small, document_tree())
    assert {c.name: c.why for c in explanation.domains}["s1"] == (
        "smaller than minResources when the session began (nvidia.com/gpu: 20 asked, 16 idle)"
    )


def test_the_explanation_shows_the_candidates_of_the_first_turn_alone():
    explanation = get_policy("volcano-1.15").explain(job(3, "hard", 2, min_available=1), document_tree())
    assert len(explanation.domains) == 8
    assert len(explanation.nodes) == 4


def test_without_hypernodes_a_hard_job_may_use_the_virtual_top():
    cluster = snapshot([f"n{i}" for i in range(4)])
    placement = answer(job(3, "hard", 1), cluster)
    assert placement.hypernode == "<cluster-top-hypernode>"
    assert np.count_nonzero(placement.node >= 0) == 3
