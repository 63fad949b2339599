"""What the plugin nodeorder makes of real objects: cases in which a real Volcano was asked, and their neighbours."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.policies.volcano.cluster_objects import config, hypernode, job, loaded, node, nodes_of, pod

BOTH = ("volcano-1.13", "volcano-1.15")
PLAIN = config("priority", "gang", "predicates", "nodeorder")
BALANCED = config(
    "priority",
    "gang",
    "predicates",
    {"name": "nodeorder", "arguments": {"leastrequested.weight": 0, "balancedresource.weight": 1}},
)
EIGHTH = {"cpu": "4", "memory": "16Gi"}


def two_nodes(**amounts):
    return [node(name, cpu="16", memory="64Gi", **amounts) for name in "ab"]


@pytest.mark.parametrize("policy", BOTH)
def test_gpus_are_balanced_with_cpu_and_memory(policy):
    scenario = loaded(
        two_nodes(gpu="8"),
        pod("x", EIGHTH, at="a"),
        pod("y", {**EIGHTH, "gpu": "2"}, at="b"),
        job("j", 1, {**EIGHTH, "gpu": "2"}),
    )
    assert nodes_of(scenario, policy, PLAIN)["j"] == ["b"]


@pytest.mark.parametrize("policy", BOTH)
def test_gpus_that_a_pod_does_not_ask_for_are_not_balanced(policy):
    # Seen by cpu and memory alone both nodes are balanced alike, and a is the smaller name.
    scenario = loaded(
        two_nodes(gpu="8"),
        pod("x", {**EIGHTH, "gpu": "8"}, at="a"),
        pod("y", {**EIGHTH, "gpu": "4"}, at="b"),
        job("j", 1, EIGHTH),
    )
    assert nodes_of(scenario, policy, BALANCED)["j"] == ["a"]


@pytest.mark.parametrize("policy", BOTH)
def test_other_extended_resources_are_not_balanced(policy):
    asks = {**EIGHTH, "amd.com/gpu": "2"}
    scenario = loaded(
        [node(name, cpu="16", memory="64Gi", **{"amd.com/gpu": "8"}) for name in "ab"],
        pod("x", EIGHTH, at="a"),
        pod("y", asks, at="b"),
        job("j", 1, asks),
    )
    assert nodes_of(scenario, policy, PLAIN)["j"] == ["a"]


@pytest.mark.parametrize("policy", BOTH)
def test_a_pod_that_asks_for_nothing_balanced_is_drawn_nowhere(policy):
    # a is unbalanced and b is not: only a pod that asks for one of the three would go to b.
    nodes = [node(name, cpu="16", memory="64Gi", **{"example.com/disk": "4"}) for name in "ab"]
    busy = pod("x", {"cpu": "12", "memory": "1Gi"}, at="a")
    scenario = loaded(nodes, busy, job("j", 1, {"example.com/disk": "1"}))
    assert nodes_of(scenario, policy, BALANCED)["j"] == ["a"]
    scenario = loaded(nodes, busy, job("j", 1, {"example.com/disk": "1", "memory": "1Mi"}))
    assert nodes_of(scenario, policy, BALANCED)["j"] == ["b"]


@pytest.mark.parametrize("policy", BOTH)
def test_pods_without_a_request_go_by_the_scores_of_nodes(policy):
    scenario = loaded(two_nodes(), pod("x", {"cpu": "8"}, at="a"), job("j", 1, {}))
    assert nodes_of(scenario, policy, PLAIN)["j"] == ["b"]
    assert nodes_of(scenario, policy, config("priority", "gang", "predicates"))["j"] == ["a"]


def test_pods_without_a_request_keep_out_of_hypernodes_in_the_newest():
    scenario = loaded(two_nodes(), hypernode("h", 1, "a"), job("j", 2, {}))
    plugins = ("priority", "gang", "predicates", "network-topology-aware")
    assert nodes_of(scenario, "volcano-1.15", config(*plugins))["j"] == ["b", "b"]
    assert nodes_of(scenario, "volcano-1.13", config(*plugins))["j"] == ["a", "a"]
    off = {"name": "network-topology-aware", "arguments": {"hypernode.binpack.normal-pod.enable": False}}
    assert nodes_of(scenario, "volcano-1.15", config(*plugins[:3], off))["j"] == ["a", "a"]


def test_a_topology_does_not_keep_pods_without_a_request_out_of_hypernodes():
    # The plugin scores them by a record that backfill never sets.
    scenario = loaded(two_nodes(), hypernode("h", 1, "a"), job("j", 2, {}, topology={"mode": "soft"}))
    plugins = config("priority", "gang", "predicates", "network-topology-aware")
    assert nodes_of(scenario, "volcano-1.15", plugins)["j"] == ["a", "a"]


@pytest.mark.parametrize("policy", BOTH)
def test_place_and_a_session_choose_the_same_nodes_for_pods_without_a_request(policy):
    scenario = loaded(two_nodes(), pod("x", {"cpu": "8"}, at="a"), job("j", 3, {}, minimum=2))
    placed = wb.place(scenario.gangs[0], scenario.snapshot, policy, config=PLAIN)
    assert [pod.node for pod in placed.pods()] == nodes_of(scenario, policy, PLAIN)["j"] == ["b", "b", "b"]
