"""Every score of kube-scheduler by cases whose numbers are worked out by head, and the choice by their weighted sum."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conformance.runners.kube_objects import cluster_of, shape_of
from tests.policies.kube.test_hand_filters import APP_A, HOST, RACK, ZONE, node, pod, req, taint
from workbench.model.labels import Requirement
from workbench.policies.kube.one_pod import SCORES, schedule_pod, score_pod
from workbench.policies.kube.settings import KubeSettings

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def scores(plugin, wanted, nodes, running=(), **settings):
    """Score of each node before its weight; None: the plugin takes no part."""
    cluster = cluster_of(nodes, running)
    found = SCORES[plugin][1](
        cluster, shape_of(wanted), KubeSettings(**settings), np.arange(len(nodes), dtype=np.int32)
    )
    return None if found is None else found.tolist()


def test_weights_of_the_default_profile():
    weights = {name: weight for name, (weight, _) in SCORES.items()}
    assert weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
    }


# NodeResourcesFit.


def fit(requests, held=None, offered=None, **settings):
    nodes = [node() | {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", **(offered or {})}}]
    running = [pod("r", "n", requests=held)] if held else []
    (found,) = scores("NodeResourcesFit", pod(requests=requests), nodes, running, **settings)
    return found


def test_the_least_allocated_node_is_best():
    # CPU: (4000 - 2000) * 100 / 4000 = 50; memory: (8 - 1) / 8 = 87 after rounding down; (50 + 87) / 2 = 68.
    assert fit({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "0"}) == 68
    # Too much of one counts 0: 87 / 2 = 43.
    assert fit({"cpu": "2", "memory": "1Gi"}, {"cpu": "3", "memory": "0"}) == 43


def test_what_a_container_leaves_out_is_assumed():
    # 100 of 4000: 97. 200 of 8192 MiB: 97.
    assert fit({}) == 97
    # What runs is assumed to use as much: 200 of 4000: 95, 400 of 8192: 95.
    assert fit({}, {"nvidia.com/gpu": "0"}) == 95
    # An explicit 0 is none: 100, and 97 for memory: 98.
    assert fit({"cpu": "0"}) == 98
    assert fit({"cpu": "0", "memory": "0"}) == 100


def test_weights_of_resources():
    # (2 * 50 + 87) / 3 = 62.
    assert fit({"cpu": "2", "memory": "1Gi"}, resources=(("cpu", 2), ("memory", 1))) == 62


def test_devices_count_for_pods_that_request_them():
    resources = (("cpu", 1), ("a.io/x", 3))
    assert fit({"cpu": "1"}, resources=resources, offered={"a.io/x": "4"}) == 75
    # (75 + 3 * 25) / 4 = 37.
    assert fit({"cpu": "1", "a.io/x": "3"}, resources=resources, offered={"a.io/x": "4"}) == 37
    # A node without the device does not count it.
    assert fit({"cpu": "1", "a.io/x": "3"}, resources=resources, offered={"a.io/x": "0"}) == 75


def test_the_most_allocated_node_is_best():
    # 50 and 12 (12.5): 31.
    assert fit({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "0"}, strategy="MostAllocated") == 31
    # Over the top is full: (100 + 12) / 2.
    assert fit({"cpu": "5", "memory": "1Gi"}, strategy="MostAllocated") == 56


def test_a_curve_over_the_utilization():
    ratio = {"strategy": "RequestedToCapacityRatio"}
    # 50 and 25: 37.5 is rounded away from zero.
    assert fit({"cpu": "2", "memory": "2Gi"}, **ratio) == 38
    # A resource whose value is 0 drops out with its weight.
    assert fit({"cpu": "2", "memory": "0"}, **ratio) == 50
    # Over the top counts as 100 %.
    assert fit({"cpu": "5", "memory": "8Gi"}, **ratio) == 100
    # From (0, 0) to (75, 100): 25 * 100 / 75 = 33 for CPU, flat behind 75 %: (33 + 100) / 2 = 66.5.
    assert fit({"cpu": "1", "memory": "7Gi"}, curve=((0, 0), (75, 10)), **ratio) == 67
    # Falling from 100 to 0: 100 - 33.3 is 67 when the step is truncated: -100 * 33 / 100 = -33.
    assert fit({"cpu": "1320m", "memory": "8Gi"}, curve=((0, 10), (100, 0)), **ratio) == 67


# NodeResourcesBalancedAllocation.


def balanced(requests, held=None, **settings):
    running = [pod("r", "n", requests=held)] if held else []
    found = scores("NodeResourcesBalancedAllocation", pod(requests=requests), [node()], running, **settings)
    return None if found is None else found[0]


def test_a_pod_that_evens_out_two_resources_is_welcome():
    # Shares 1/2 and 1/8: half their difference is 3/16, so 81. Without the pod 1/4 and 0: 87. 50 + (50 + 81 - 87) / 2.
    assert balanced({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "0"}) == 72
    # Without it 1/2 and 0: 75, with it 1/2 and 1/2: 100. 50 + 75 / 2 = 87.
    assert balanced({"cpu": "0", "memory": "4Gi"}, {"cpu": "2", "memory": "0"}) == 87
    # What goes over the top is full: shares 1 and 1 after 1/2 and 1.
    assert balanced({"cpu": "3", "memory": "0"}, {"cpu": "2", "memory": "8Gi"}) == 87


def test_nothing_is_assumed_for_balance():
    assert balanced({"cpu": "2"}) == 50 + (50 + 75 - 100) // 2 == 62
    # Who requests none of the resources takes no part.
    assert balanced({}) is None
    assert balanced({"cpu": "0"}) is None


def test_the_deviation_of_three_resources():
    # Shares 1/2, 1/4 and 0: squared deviations 1/16, 0, 1/16 from 1/4; sqrt(1/24) = 0.204, so 79. 50 + 29 / 2.
    three = (("cpu", 1), ("memory", 1), ("ephemeral-storage", 1))
    nodes = [node(ephemeral_storage="8Gi")]
    wanted = pod(requests={"cpu": "2", "memory": "2Gi"})
    assert scores("NodeResourcesBalancedAllocation", wanted, nodes, balanced=three) == [64]
    # A resource that the node lacks is left out: 1/2 and 1/4, half the difference is 1/8, so 87. 50 + 37 / 2.
    assert scores("NodeResourcesBalancedAllocation", wanted, [node()], balanced=three) == [68]


# TaintToleration, NodeAffinity.


def test_soft_taints_that_are_not_tolerated():
    soft = [taint("PreferNoSchedule", value) for value in "12"]
    nodes = [node("a"), node("b", taints=soft[:1]), node("c", taints=soft)]
    assert scores("TaintToleration", pod(), nodes) == [100, 50, 0]
    one = {"key": "k", "value": "2"}
    # One is left on b, one on c.
    assert scores("TaintToleration", pod(tolerations=[one]), nodes) == [100, 0, 0]
    assert scores("TaintToleration", pod(tolerations=[one | {"effect": "NoSchedule"}]), nodes) == [100, 50, 0]
    assert scores("TaintToleration", pod(tolerations=[{"operator": "Exists"}]), nodes) == [100, 100, 100]


def preferring(*weights):
    some = [{"weight": n, "preference": {"matchExpressions": [rule] if rule else []}} for n, rule in weights]
    return pod(affinity={"nodeAffinity": {PREFERRED: some}})


def test_preferred_node_affinity():
    nodes = [node("a", {"x": "1", "y": "1"}), node("b", {"y": "1"}), node("c")]
    # 30, 20 and 0 of at most 30.
    wanted = preferring((10, req("x", "Exists")), (20, req("y", "Exists")))
    assert scores("NodeAffinity", wanted, nodes) == [100, 66, 0]
    assert scores("NodeAffinity", preferring((10, req("z", "Exists"))), nodes) == [0, 0, 0]
    assert scores("NodeAffinity", preferring((10, None)), nodes) == [0, 0, 0]
    assert scores("NodeAffinity", pod(), nodes) is None


# PodTopologySpread.


def spread(key=ZONE, skew=1, **more):
    one = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": APP_A}
    return pod(topologySpreadConstraints=[one | more])


TWO_ZONES = [node("x", {ZONE: "x", HOST: "x"}), node("y", {ZONE: "y", HOST: "y"})]


def test_fewer_pods_in_a_domain_are_better():
    running = [pod("r1", "x"), pod("r2", "x")]
    # Two zones weigh ln 4 = 1.386: 2.77 is 3 in x, 0 in y. 100 * (3 + 0 - 3) / 3, 100 * 3 / 3.
    assert scores("PodTopologySpread", spread(), TWO_ZONES, running) == [0, 100]
    # A skew of 3 adds 2 to each: 4.77 is 5, and 2. 100 * (5 + 2 - 5) / 5.
    assert scores("PodTopologySpread", spread(skew=3), TWO_ZONES, running) == [40, 100]
    assert scores("PodTopologySpread", spread(), TWO_ZONES) == [100, 100]


def test_hosts_weigh_by_the_number_of_nodes():
    nodes = [node(name, {HOST: name}) for name in "abc"]
    running = [pod("r1", "a"), pod("r2", "c"), pod("r3", "c")]
    # ln 5 = 1.609: 1.6 is 2, 0, 3.2 is 3. 100 * (3 - 2) / 3.
    assert scores("PodTopologySpread", spread(HOST), nodes, running) == [33, 100, 0]


def test_a_node_without_a_key_is_worst_for_own_constraints():
    # One zone is left, which weighs ln 3 = 1.099: one pod makes 1, and 100 * (1 + 1 - 1) / 1.
    nodes = [TWO_ZONES[0], node("w")]
    assert scores("PodTopologySpread", spread(), nodes, [pod("r", "x"), pod("s", "w")]) == [100, 0]


def test_several_constraints_add_up_before_rounding():
    both = spread()["topologySpreadConstraints"] + spread(HOST)["topologySpreadConstraints"]
    running = [pod("r1", "x"), pod("r2", "x")]
    # Zones and hosts weigh ln 4 each: 4 * 1.386 = 5.55 is 6.
    assert scores("PodTopologySpread", pod(topologySpreadConstraints=both), TWO_ZONES, running) == [0, 100]
    more = [*running, pod("r3", "y")]
    # 6 and 2.77, which is 3: 100 * (6 + 3 - 6) / 6, 100 * (6 + 3 - 3) / 6.
    assert scores("PodTopologySpread", pod(topologySpreadConstraints=both), TWO_ZONES, more) == [50, 100]


def test_pods_of_selected_workloads_are_spread_by_default():
    services = ((Requirement("app", "In", ("a",)),),)
    running = [pod("r1", "x"), pod("r2", "x"), pod("r3", "x")]
    renamed = [one | {"labels": {HOST: one["name"], "topology.kubernetes.io/zone": one["name"]}} for one in TWO_ZONES]
    # Hosts 3 * 1.386 + 2, zones 3 * 1.386 + 4: 14.3 is 14, and 6 without pods. 100 * 6 / 14 = 42.
    assert scores("PodTopologySpread", pod(), renamed, running, services=services) == [42, 100]
    assert scores("PodTopologySpread", pod(), renamed, running) is None
    assert scores("PodTopologySpread", pod(app="b"), renamed, running, services=services) is None
    # Who has a constraint of its own, even a hard one, gets none of the system's.
    hard = spread(whenUnsatisfiable="DoNotSchedule")
    assert scores("PodTopologySpread", hard, renamed, running, services=services) is None


# InterPodAffinity.

RACKS = [node("a", {RACK: "r"}), node("b", {RACK: "s"}), node("c", {RACK: "t"}), node("d")]


def term(weight, app="a"):
    chosen = {"topologyKey": RACK, "labelSelector": {"matchLabels": {"app": app}}}
    return {"weight": weight, "podAffinityTerm": chosen}


def wishes(near=(), away=(), app="p", at="", name="p", **more):
    parts = {"podAffinity": {PREFERRED: list(near)}, "podAntiAffinity": {PREFERRED: list(away)}}
    return pod(name, at, app, affinity={kind: each | more.get(kind, {}) for kind, each in parts.items()})


def test_preferred_terms_of_the_pod():
    running = [pod("r1", "a"), pod("r2", "a"), pod("r3", "b")]
    # 20, 10, 0 and 0 for the node without the label: 100, 50, 0, 0.
    assert scores("InterPodAffinity", wishes([term(10)]), RACKS, running) == [100, 50, 0, 0]
    # -20, -10, 0, 0.
    assert scores("InterPodAffinity", wishes(away=[term(10)]), RACKS, running) == [0, 50, 100, 100]
    # 3, 1 and 0: a third is rounded down.
    more = [pod(f"r{i}", at) for i, at in enumerate("aaab")]
    assert scores("InterPodAffinity", wishes([term(1)]), RACKS, more) == [100, 33, 0, 0]


def test_terms_of_pods_that_run_count_as_well():
    chosen = {"topologyKey": RACK, "labelSelector": {"matchLabels": {"app": "p"}}}
    required = pod("r1", "a", affinity={"podAffinity": {REQUIRED: [chosen]}})
    running = [required, wishes([term(4, "p")], name="r2", at="b"), wishes(away=[term(1, "p")], name="r3", at="c")]
    # Required affinity weighs 1: 1, 4, -1, 0, from the lowest 2, 5, 0, 1 of 5.
    assert scores("InterPodAffinity", pod(app="p"), RACKS, running) == [40, 100, 0, 20]
    # With a weight of 9: 9, 4, -1, 0: 10, 5, 0, 1 of 10.
    assert scores("InterPodAffinity", pod(app="p"), RACKS, running, hard_affinity_weight=9) == [100, 50, 0, 10]
    # Without one only the others: 0, 4, -1, 0.
    assert scores("InterPodAffinity", pod(app="p"), RACKS, running, hard_affinity_weight=0) == [20, 100, 0, 20]
    # Of a pod without wishes the wishes of others may be left out, all of them.
    assert scores("InterPodAffinity", pod(app="p"), RACKS, running, ignore_preferred_of_others=True) is None
    assert scores("InterPodAffinity", pod(app="q"), RACKS, running) is None


def test_terms_that_meet_no_pod_take_no_part_and_equal_ones_add_nothing():
    assert scores("InterPodAffinity", wishes([term(10)]), RACKS) is None
    assert scores("InterPodAffinity", wishes([term(10)]), RACKS, [pod("r", "d")]) is None
    assert scores("InterPodAffinity", wishes([term(10)]), RACKS[:1], [pod("r", "a")]) == [0]


# The choice.


def test_the_largest_sum_wins():
    nodes = [node("a", {"x": "1"}, taints=[taint("PreferNoSchedule")]), node("b")]
    wanted = preferring((1, req("x", "Exists"))) | {"containers": [{"cpu": "1", "memory": "2Gi"}]}
    cluster = cluster_of(nodes, [])
    at = np.arange(2, dtype=np.int32)
    parts = {name: found.tolist() for name, found in score_pod(cluster, shape_of(wanted), at, KubeSettings()).items()}
    # Both are a quarter full with the pod: 75; evenly: 50 + (50 + 100 - 100) / 2.
    assert parts == {
        "TaintToleration": [0, 300],
        "NodeAffinity": [200, 0],
        "NodeResourcesFit": [75, 75],
        "NodeResourcesBalancedAllocation": [75, 75],
    }
    choice = schedule_pod(cluster, shape_of(wanted), at, KubeSettings())
    assert (choice.node, choice.total.tolist()) == (1, [350, 450])


def test_the_only_node_is_taken_without_scores():
    cluster = cluster_of([node("a"), node("b", cpu="0")], [])
    choice = schedule_pod(cluster, shape_of(pod(requests={"cpu": "1"})), np.arange(2, dtype=np.int32), KubeSettings())
    assert (choice.node, choice.total, choice.parts) == (0, None, {})


def test_a_nominated_node_that_passes_is_taken_without_scores():
    cluster = cluster_of([node("a"), node("b", cpu="1"), node("c", cpu="0")], [])
    wanted, at = shape_of(pod(requests={"cpu": "1"})), np.arange(3, dtype=np.int32)
    assert schedule_pod(cluster, wanted, at, KubeSettings()).node == 0
    assert schedule_pod(cluster, wanted, at, KubeSettings(), "b").node == 1
    # One that fails, is no candidate or is unknown is as good as none.
    for name in ("c", "gone"):
        assert schedule_pod(cluster, wanted, at, KubeSettings(), name).node == 0
    assert schedule_pod(cluster, wanted, at[:1], KubeSettings(), "b").node == 0


@pytest.mark.parametrize(
    ("nodes", "percentage", "found"),
    [
        (99, 1, 99),
        (100, 1, 100),
        (250, 40, 100),
        (1000, 30, 300),
        (250, 0, 120),
        (1000, 0, 420),
        (5625, 0, 281),
        (6000, 0, 300),
    ],
)
def test_how_many_nodes_are_sought(nodes, percentage, found):
    # The adaptive share is 50 - nodes / 125: 48, 42, 5 and, as its least, 5 percent.
    cluster = cluster_of([node(f"n{i}", cpu=str(8 - i % 2)) for i in range(nodes)], [])
    settings = KubeSettings(percentage=percentage)
    choice = schedule_pod(cluster, shape_of(pod()), np.arange(nodes, dtype=np.int32), settings)
    assert len(choice.feasible) == found
