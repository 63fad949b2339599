"""Scores of the plugin nodeorder on real objects, against answers of a real Volcano."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.ledger_check import check_ledger
from tests.policies.volcano.cluster_objects import config, hypernode, job, loaded, node, nodes_of, pod
from workbench.policies import get_policy

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


def test_pods_without_a_request_keep_out_of_hypernodes_in_1_15():
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


def by_least_requested(weight=1):
    arguments = {"leastrequested.weight": weight, "mostrequested.weight": 1 - weight, "balancedresource.weight": 0}
    return config("priority", "gang", "predicates", {"name": "nodeorder", "arguments": arguments})


@pytest.mark.parametrize("policy", BOTH)
def test_a_container_that_does_not_say_counts_with_what_kubernetes_assumes(policy):
    nodes = [node("a", cpu="1", memory="64Gi"), node("b", cpu="64", memory="64Gi")]
    scenario = loaded(nodes, job("j", 1, {"memory": "1Gi"}))
    assert nodes_of(scenario, policy, by_least_requested()) == {"j": ["b"]}
    assert nodes_of(scenario, policy, by_least_requested(0)) == {"j": ["a"]}
    # With an amount, be it 0, nothing is assumed.
    scenario = loaded(nodes, job("j", 1, {"memory": "1Gi", "cpu": "0"}))
    assert nodes_of(scenario, policy, by_least_requested()) == {"j": ["a"]}


@pytest.mark.parametrize("policy", BOTH)
@pytest.mark.parametrize("containers", [({"memory": "1Gi"},), ({"memory": "1Gi", "cpu": "50m"}, {"memory": "1Mi"})])
def test_running_pods_count_with_what_is_assumed_of_them(policy, containers):
    nodes = [node(name, cpu="4", memory="64Gi") for name in "ab"]
    here, there = pod("x", *containers, at="a"), pod("y", {"memory": "1Gi", "cpu": "60m"}, at="b")
    scenario = loaded(nodes, here, there, job("j", 1, {"cpu": "500m", "memory": "1Gi"}))
    assert nodes_of(scenario, policy, by_least_requested())["j"] == ["b"]


@pytest.mark.parametrize("policy", BOTH)
def test_what_is_assumed_of_a_pod_counts_for_the_next_job(policy):
    nodes = [node(name, cpu="4", memory="64Gi") for name in "ab"]
    scenario = loaded(
        nodes,
        job("first", 1, {"memory": "1Gi"}, created=1),
        job("second", 1, {"cpu": "60m", "memory": "1Gi"}, created=2),
        job("third", 1, {"cpu": "60m", "memory": "1Gi"}, created=3),
        job("fourth", 1, {"cpu": "60m", "memory": "1Gi"}, created=4),
    )
    found = nodes_of(scenario, policy, by_least_requested())
    assert found == {"first": ["a"], "second": ["b"], "third": ["a"], "fourth": ["b"]}


@pytest.mark.parametrize("policy", BOTH)
def test_what_is_assumed_limits_nothing(policy):
    # 100m and 200 MiB more than there is.
    scenario = loaded(node("a", cpu="1", memory="1Gi"), job("j", 3, {"cpu": "300m"}))
    assert nodes_of(scenario, policy, PLAIN)["j"] == ["a"] * 3
    assert nodes_of(loaded(node("a", cpu="1", memory="1Gi"), job("j", 4, {"cpu": "300m"})), policy, PLAIN)["j"] == []


@pytest.mark.parametrize("policy", BOTH)
def test_an_init_container_may_ask_for_what_others_leave_open(policy):
    # The peak: 1 cpu while it starts, beside which 100m assumed of the other container are nothing more.
    nodes = [node("a", cpu="2", memory="64Gi"), node("b", cpu="64", memory="64Gi")]
    starting = [{"name": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
    running = pod("x", {"memory": "1Gi"}, at="b", initContainers=starting)
    scenario = loaded(nodes, running, job("j", 1, {"cpu": "1", "memory": "1Gi"}))
    (one,) = scenario.snapshot.running
    assert (one.requests, one.assumed) == ({"cpu": 1000, "memory": 1 << 30}, {})


@pytest.mark.parametrize("policy", BOTH)
def test_a_stream_counts_what_is_assumed_until_it_is_given_back(policy):
    nodes = [node(name, cpu="4", memory="64Gi") for name in "ab"]
    scenario = loaded(nodes, job("open", 1, {"memory": "1Gi"}), job("said", 1, {"cpu": "60m", "memory": "1Gi"}))
    stream = get_policy(policy, config=by_least_requested()).stream(scenario.snapshot)
    of = {gang.name: gang for gang in scenario.gangs}
    first = stream.place(of["open"])
    said = [stream.place(of["said"]) for _ in range(2)]
    assert [next(iter(answer.pods())).node for answer in (first, *said)] == ["a", "b", "a"]
    stream.give_back(first)
    stream.give_back(said[0])
    # a still holds the second pod that said what it needs.
    assert stream.ledger.assumed.tolist() == [[0, 0], [0, 0]]
    assert next(iter(stream.place(of["open"]).pods())).node == "b"
    check_ledger(stream.ledger)


@pytest.mark.parametrize("policy", BOTH)
def test_an_explanation_shows_the_parts_with_what_is_assumed(policy):
    nodes = [node("a", cpu="1", memory="64Gi"), node("b", cpu="64", memory="64Gi")]
    hard = {"mode": "hard", "highestTierAllowed": 1}
    scenario = loaded(nodes, hypernode("h", 1, "a", "b"), job("j", 2, {"memory": "1Gi"}, topology=hard))
    told = wb.explain(scenario.gangs[0], scenario.snapshot, policy)
    parts = {one.name: one for one in told.candidates if one.kind == "node"}
    # (90 + 98) / 2 and (99 + 98) / 2, of 100m and 1 GiB.
    assert [parts[name].parts["least"] for name in "ab"] == [94.0, 98.0]
    assert all(sum(one.parts.values()) == pytest.approx(one.score) for one in parts.values())


def test_pods_that_started_keep_what_is_assumed_of_them():
    scenario = loaded([node("a", cpu="4", memory="8Gi")], job("j", 2, {"memory": "1Gi"}))
    placed = wb.place(scenario.gangs[0], scenario.snapshot, "volcano-1.15")
    after = scenario.snapshot.with_placement(placed)
    assert scenario.snapshot.assumed is None
    assert after.assumed.tolist() == [[200, 0]]
    assert after.without("ns/j").assumed is None


@pytest.mark.parametrize("policy", BOTH)
@pytest.mark.parametrize(("spelling", "want"), [("enableNodeOrder", "a"), ("enabledNodeOrder", "b")])
def test_a_switch_in_another_spelling_is_ignored(policy, spelling, want):
    # With nodeorder the emptier node is better.
    scenario = loaded(two_nodes(), pod("x", EIGHTH, at="a"), job("j", 1, EIGHTH))
    plugins = config("priority", "gang", "predicates", {"name": "nodeorder", spelling: False})
    assert nodes_of(scenario, policy, plugins)["j"] == [want]


def tainted(item, *keys):
    item.setdefault("spec", {})["taints"] = [{"key": key, "effect": "PreferNoSchedule"} for key in keys]
    return item


@pytest.mark.parametrize("policy", [*BOTH, "allocate"])
@pytest.mark.parametrize(
    ("taints", "spec", "want"),
    [
        (("x",), {}, "b"),
        (("x", "y"), {"tolerations": [{"key": "x", "operator": "Exists"}]}, "b"),
        (("x",), {"tolerations": [{"key": "x", "operator": "Exists"}]}, "a"),
        (("x",), {"tolerations": [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}]}, "b"),
    ],
)
def test_nodes_that_would_rather_have_no_pods_score_less(policy, taints, spec, want):
    nodes = two_nodes()
    tainted(nodes[0], *taints)
    group, only = job("j", 1, EIGHTH)
    only["spec"].update(spec)
    scenario = loaded(nodes, group, only)
    assert nodes_of(scenario, policy, PLAIN)["j"] == [want]
    assert [p.node for p in get_policy(policy).place(scenario.gangs[0], scenario.snapshot.ledger()).pods()] == [want]


@pytest.mark.parametrize("policy", BOTH)
def test_tainttoleration_has_a_weight_of_its_own(policy):
    nodes = two_nodes()
    tainted(nodes[0], "x")
    without = {"name": "nodeorder", "arguments": {"tainttoleration.weight": 0}}
    plugins = config("priority", "gang", "predicates", without)
    assert nodes_of(loaded(nodes, job("j", 1, EIGHTH)), policy, plugins)["j"] == ["a"]


def test_taints_are_a_part_of_the_scores_shown():
    nodes = two_nodes()
    tainted(nodes[0], "x")
    scenario = loaded(nodes, job("j", 1, EIGHTH))
    told = get_policy("volcano-1.15").explain(scenario.gangs[0], scenario.snapshot)
    parts = {each.name: each for each in told.candidates if each.kind == "node"}
    assert (parts["a"].parts["taints"], parts["b"].parts["taints"]) == (0.0, 300.0)
    assert parts["b"].score == pytest.approx(sum(parts["b"].parts.values()))


def test_scores_of_tolerated_taints_add_up_in_1_13():
    # The third pod has three nodes to choose from in t0-04, in t0-06 the one that is left, which is not scored.
    nodes = [node(f"n0{i}", cpu="8", memory="32Gi") for i in (12, 13, 14, 16, 17, 18)]
    tree = [
        hypernode("t0-04", 1, "n012", "n013", "n014"),
        hypernode("t0-06", 1, "n016", "n017", "n018"),
        hypernode("t1-02", 2, "t0-04", "t0-06", kind="HyperNode"),
        hypernode("t2-00", 3, "t1-02", kind="HyperNode"),
    ]
    topology = {"mode": "hard", "highestTierAllowed": 2}
    group, *pods = job("j", 3, {"cpu": "8", "memory": "4Gi"}, topology=topology, minimum=2)
    group["metadata"]["annotations"] = {"volcano.sh/job-allocated-hypernode": "t0-06"}
    plugins = config(
        "priority",
        "gang",
        "predicates",
        "nodeorder",
        {"name": "network-topology-aware", "arguments": {"weight": 2}},
    )
    assert nodes_of(loaded(nodes, tree, group, pods), "volcano-1.13", plugins)["j"] == ["n016", "n017", "n012"]


@pytest.mark.parametrize("policy", BOTH)
@pytest.mark.parametrize(("plugins", "want"), [(["predicates"], "b"), ([], "a")])
def test_without_predicates_nodeorder_sees_the_nodes_as_the_session_found_them(policy, plugins, want):
    # The first job takes a; whoever sees that sends the second to b.
    scenario = loaded(two_nodes(), job("i", 1, EIGHTH), job("j", 1, EIGHTH, created=1))
    plugins = config("priority", "gang", *plugins, "nodeorder")
    assert nodes_of(scenario, policy, plugins) == {"i": ["a"], "j": [want]}


@pytest.mark.parametrize("policy", BOTH)
def test_without_predicates_what_runs_before_the_session_counts(policy):
    scenario = loaded(two_nodes(), pod("x", EIGHTH, at="a"), job("j", 2, EIGHTH))
    assert nodes_of(scenario, policy, config("priority", "gang", "nodeorder"))["j"] == ["b", "b"]
    # A placement that the ledger holds already was not made in this session.
    ledger, chosen = scenario.snapshot.ledger(), get_policy(policy, config=config("priority", "gang", "nodeorder"))
    ledger.take(np.array([1, 1], dtype=np.int32), np.array([[8000, 32 << 30, 1]] * 2))
    assert [pod.node for pod in chosen.place(scenario.gangs[0], ledger).pods()] == ["a", "a"]
