"""Packing of HyperNodes by Volcano 1.15, against answers of a real Volcano."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.policies.volcano.cluster_objects import config, hypernode, job, loaded, node, nodes_of, pod
from workbench.policies import get_policy

HARD = {"mode": "hard", "highestTierAllowed": 2}


def topology_aware(**arguments):
    named = {f"hypernode.binpack.{key}": value for key, value in arguments.items()}
    return {"name": "network-topology-aware", "arguments": {"weight": 10, **named}}


def two_leaves(*jobs, gpus="0"):
    nodes = [node(name, cpu="16", memory="64Gi", gpu=gpus) for name in "ab"]
    tree = [hypernode("la", 1, "a"), hypernode("lb", 1, "b"), hypernode("top", 2, "la", "lb", kind="HyperNode")]
    return loaded(nodes, tree, *jobs)


def counts(scenario, plugin):
    found = nodes_of(scenario, "volcano-1.15", config("priority", "gang", "predicates", plugin))["j"]
    return sorted(map(found.count, set(found)))


@pytest.mark.parametrize(("cpu", "want"), [(1, [1, 2]), (0, [1, 2])])
def test_a_resource_without_weight_keeps_hypernodes_from_overflowing(cpu, want):
    # Two pods make the job ready in la. With the third la would hold 4 + 4 + 12 of 16 cpu by the request of the whole
    # job, which is counted again: it scores 0, as lb does.
    scenario = two_leaves(job("j", 3, {"cpu": "4", "memory": "2Gi"}, topology=HARD, minimum=2))
    assert counts(scenario, topology_aware(cpu=cpu)) == want


def test_a_resource_that_is_not_listed_is_not_looked_at():
    # Of 8 GPUs la would take 2 + 2 + 6 if they were listed, be it with weight 0.
    asks = {"cpu": "1", "memory": "2Gi", "gpu": "2"}
    scenario = two_leaves(job("j", 3, asks, topology=HARD, minimum=2), gpus="8")
    assert counts(scenario, topology_aware()) == [3]
    listed = {"resources": "nvidia.com/gpu", "resources.nvidia.com/gpu": 0}
    assert counts(scenario, topology_aware(**listed)) == [1, 2]


def test_sub_groups_without_a_topology_are_recorded_in_the_virtual_top():
    policy = {
        "name": "w",
        "subGroupSize": 1,
        "labelSelector": {"matchLabels": {"app": "x"}},
        "matchLabelKeys": ["part"],
    }
    group, *pods = job("j", 2, {"cpu": "4", "memory": "2Gi"}, subGroupPolicy=[policy])
    for number, each in enumerate(pods):
        each["metadata"]["labels"] = {"app": "x", "part": str(number)}
    scenario = two_leaves(group, pods)
    placed = wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.15")
    assert placed.hypernode == "<cluster-top-hypernode>"
    assert set(placed.records) == {"ns/j", "ns/j/w-0", "ns/j/w-1"}
    streamed = get_policy("volcano-1.15").stream(scenario.snapshot).place(scenario.gangs[0])
    assert streamed.records == placed.records


@pytest.mark.parametrize("mode", [{"mode": "soft"}, {"mode": "hard", "highestTierAllowed": 1}, HARD])
def test_1_15_waits_for_the_fuller_hypernode_although_another_is_idle(mode):
    ending = pod("x", {"cpu": "4", "memory": "4Gi", "gpu": "8"}, at="a")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z"
    one = job("j", 1, {"cpu": "1", "memory": "1Gi", "gpu": "4"}, topology=mode)
    scenario = two_leaves(ending, one, gpus="8")
    (reason, *_) = wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.15").reasons
    assert reason.code == "pipelined" and "la is tried before lb" in reason.message
    # In 1.13 HyperNodes have no score of their own.
    placed = wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.13")
    assert [each.node for each in placed.pods()] == ["b"]


def test_pods_that_do_not_say_what_they_need_run_beside_pods_that_are_ending():
    ending = pod("x", {"cpu": "1"}, at="a")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z"
    scenario = two_leaves(ending, job("j", 2, {"cpu": "1"}))
    assert wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.15").n_placed == 2


def not_pending(name, **status):
    one = pod(name, {"cpu": "4", "memory": "2Gi"}, group="j")
    if status:
        one["status"] = status
    else:
        one["spec"]["schedulingGates"] = [{"name": "quota"}]
    return one


@pytest.mark.parametrize("other", [not_pending("x", phase="Failed"), not_pending("x")], ids=["failed", "gated"])
def test_pods_that_are_not_tried_are_tasks_of_their_job(other):
    # The score of la is of four pods: 16 of 16 cpu and 8 of 64 Gi, the weight being 10.
    wide = two_leaves(job("j", 3, {"cpu": "4", "memory": "2Gi"}, topology=HARD, minimum=2), [other])
    assert (wide.gangs[0].n_pods, wide.gangs[0].n_not_tried) == (3, 1)
    told = wb.explain(wide.gangs[0], wide.snapshot, "volcano-1.15")
    assert max(c.score for c in told.domains if c.kept) == pytest.approx(100 * 10 * (1 + 8 / 64) / 2)


def test_gated_pods_count_for_the_pre_filter():
    # Leaves hold four pods each, but not the five that wait.
    pods = job("j", 4, {"cpu": "4", "memory": "2Gi"}, topology=HARD)
    assert wb.place(*first(two_leaves(pods)), "volcano-1.15").hypernode == "la"
    assert wb.place(*first(two_leaves(pods, [not_pending("x")])), "volcano-1.15").hypernode == "top"
    assert wb.place(*first(two_leaves(pods, [not_pending("x", phase="Failed")])), "volcano-1.15").hypernode == "la"


def first(scenario):
    return scenario.gangs[0], scenario.snapshot
