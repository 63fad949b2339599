"""A job of Volcano 1.15 that is hard without a usable tier: any node will do, and nothing is recorded."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.policies.volcano.cluster_objects import config, hypernode, job, loaded, node, nodes_of, pod, pod_group

PLUGINS = (
    "priority",
    "gang",
    "predicates",
    "nodeorder",
    {"name": "network-topology-aware", "arguments": {"weight": 1}},
)
WISHES = [{"mode": "hard"}, {"mode": "hard", "highestTierName": "hall"}]


def cluster(*objects):
    nodes = [node(name, cpu="8", memory="32Gi") for name in ("a1", "a2", "b1", "x1")]
    racks = [
        hypernode("a", 1, "a1", "a2", tier_name="rack"),
        hypernode("b", 1, "b1", tier_name="rack"),
        hypernode("all", 2, "a", "b", kind="HyperNode", tier_name="row"),
    ]
    return loaded(nodes, racks, *objects)


@pytest.mark.parametrize("wish", WISHES)
def test_no_hypernode_is_named_for_pods_that_are_in_none(wish):
    # Four pods that fill a node each: one is on x1, which is in no HyperNode.
    scenario = cluster(job("j", 4, {"cpu": "8"}, topology=wish))
    placed = wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.15")
    assert {pod.node for pod in placed.pods()} == {"a1", "a2", "b1", "x1"}
    assert (placed.hypernode, placed.records) == ("", {})


@pytest.mark.parametrize("wish", WISHES)
def test_pods_beyond_the_minimum_go_by_the_nodes_alone(wish):
    # Within the first turn the second pod stays with the first; after it nobody remembers where that was.
    scenario = cluster(job("j", 4, {"cpu": "2", "memory": "8Gi"}, topology=wish, minimum=2))
    found = nodes_of(scenario, "volcano-1.15", config(*PLUGINS))["j"]
    assert found == ["a1", "a2", "b1", "x1"]
    placed = wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.15", config=config(*PLUGINS))
    assert [one.node for one in placed.pods()] == found


def test_running_pods_give_a_record_that_later_turns_begin_with():
    running = [pod(f"j-{i}", {"cpu": "1"}, at="b1", group="j") for i in range(2)]
    waiting = [pod(f"j-{i}", {"cpu": "1", "memory": "1Gi"}, group="j") for i in (2, 3)]
    scenario = cluster(pod_group("j", 2, {"mode": "hard"}), running, waiting)
    placed = wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.15", config=config(*PLUGINS))
    assert [one.node for one in placed.pods()] == ["b1", "b1"]
    assert placed.hypernode == "b"


def test_without_gradients_the_virtual_top_is_recorded():
    off = {"name": "network-topology-aware", "enabledHyperNodeGradient": False}
    wish = {"mode": "hard", "highestTierAllowed": 1}
    scenario = cluster(job("j", 2, {"cpu": "1"}, topology=wish))
    placed = wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.15", config=config(*PLUGINS[:-1], off))
    assert placed.hypernode == "<cluster-top-hypernode>"
