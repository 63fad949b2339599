"""One pod on a cluster: filters, scores and the choice beside the oracle, on random clusters."""

from __future__ import annotations

import copy

import numpy as np
from hypothesis import given

from tests.choice import choices
from tests.policies.kube.random_pods import cluster_of, random_nodes, random_pod, random_pods, shape
from tests.profiles import max_examples
from tests.reference.kube_one_pod import Oracle
from workbench.policies.kube.alike import schedule_alike
from workbench.policies.kube.choose import heap_order, nodes_to_find, walk
from workbench.policies.kube.one_pod import schedule_pod
from workbench.policies.kube.settings import KubeSettings


@max_examples(400)
@given(rng=choices())
def test_pods_one_after_another_go_where_the_oracle_puts_them(rng):
    nodes = random_nodes(rng)
    pods, waiting = random_pods(rng, nodes)
    cluster, oracle = cluster_of(nodes, pods), Oracle(nodes, list(pods))
    order = np.arange(len(nodes), dtype=np.int32)
    for pod in waiting:
        choice = schedule_pod(cluster, shape(pod), order, KubeSettings())
        reasons = [oracle.fits(pod, node) for node in nodes]
        assert [list(choice.statuses.of(i).reasons) for i in range(len(nodes))] == reasons
        feasible = [node for node, why in zip(nodes, reasons, strict=True) if not why]
        if not feasible:
            assert choice.node == -1
            continue
        totals = oracle.totals(pod, feasible)
        best = [node["name"] for node, total in zip(feasible, totals, strict=True) if total == max(totals)]
        if choice.total is not None:
            assert choice.total.tolist() == totals
            assert [nodes[i]["name"] for i in choice.tied] == sorted(best)
            assert all(part >= 0 for scores in choice.parts.values() for part in scores.tolist())
        assert nodes[choice.node]["name"] == min(best)
        cluster.assume(shape(pod), choice.node)
        oracle.pods.append(pod | {"node": nodes[choice.node]["name"]})


@max_examples(200)
@given(rng=choices())
def test_pods_of_one_shape_go_where_they_would_one_by_one(rng):
    nodes = random_nodes(rng)
    pods, _ = random_pods(rng, nodes)
    one = random_pod(rng, "w")
    one.pop("topologySpreadConstraints", None)
    if rng.random() < 0.8:
        one.pop("affinity", None)
    count, order = rng.randint(1, 20), np.arange(len(nodes), dtype=np.int32)
    settings = KubeSettings(strategy=rng.choice(["LeastAllocated", "MostAllocated"]))
    together, alone, wanted = cluster_of(nodes, pods), cluster_of(nodes, pods), shape(one)
    found, failure = schedule_alike(together, wanted, count, order, settings)
    for node in found:
        choice = schedule_pod(alone, wanted, order, settings)
        assert choice.node == node
        alone.assume(wanted, node)
    assert (failure is None) is (len(found) == count)
    if failure is not None:
        assert failure.text == schedule_pod(alone, wanted, order, settings).text
    assert np.array_equal(together.requested, alone.requested)
    assert np.array_equal(together.assumed, alone.assumed)


@max_examples(100)
@given(rng=choices())
def test_what_is_assumed_and_forgotten_leaves_nothing(rng):
    nodes = random_nodes(rng)
    pods, waiting = random_pods(rng, nodes)
    cluster = cluster_of(nodes, pods)
    order = np.arange(len(nodes), dtype=np.int32)
    last, *others = waiting
    before = schedule_pod(cluster, shape(last), order, KubeSettings())
    held = [(shape(pod), rng.randrange(len(nodes))) for pod in others]
    for wanted, node in held:
        cluster.assume(wanted, node)
    again = copy.copy(cluster)
    for wanted, node in held:
        cluster.forget(wanted, node)
    after = schedule_pod(cluster, shape(last), order, KubeSettings())
    assert (after.node, after.text) == (before.node, before.text)
    # A copy goes its own way, and counts the same pods.
    for wanted, node in held:
        again.forget(wanted, node)
    assert schedule_pod(again, shape(last), order, KubeSettings()).text == before.text


def test_of_equal_nodes_the_smallest_name_or_the_first_of_the_heap():
    names = ["n3", "n1", "n4", "n0", "n2"]
    nodes = [
        {"name": n, "labels": {}, "taints": [], "allocatable": {"cpu": 4000, "memory": 4 << 30, "pods": 9}}
        for n in names
    ]
    pod = {"name": "p", "namespace": "d", "labels": {}, "requests": {"cpu": 1000}}
    for ties, want in (("name", "n0 n1 n2 n3 n4 n0 n1"), ("heap", "n3 n1 n0 n2 n4 n3 n1")):
        cluster, found = cluster_of(nodes, []), []
        for _ in range(7):
            choice = schedule_pod(cluster, shape(pod), np.arange(5, dtype=np.int32), KubeSettings(ties=ties))
            cluster.assume(shape(pod), choice.node)
            found.append(names[choice.node])
        assert " ".join(found) == want


def test_the_heap_gives_equal_keys_as_it_holds_them():
    assert heap_order([1, 1, 1, 1]) == [0, 3, 2, 1]
    assert heap_order([3, 1, 2]) == [0, 2, 1]
    assert heap_order([]) == []


def test_a_share_of_the_nodes_is_looked_at_and_the_next_search_goes_on_behind():
    amounts = {"cpu": 4000, "memory": 4 << 30, "pods": 9}
    nodes = [{"name": f"n{i:03}", "labels": {}, "taints": [], "allocatable": amounts} for i in range(250)]
    cluster = cluster_of(nodes, [])
    pod = shape({"name": "p", "namespace": "d", "labels": {}, "requests": {"cpu": 1000}})
    order = walk(cluster.nodes, np.arange(250, dtype=np.int32))
    starts = []
    for _ in range(3):
        choice = schedule_pod(cluster, pod, order, KubeSettings(percentage=40))
        assert len(choice.feasible) == nodes_to_find(250, 40) == 100
        starts.append(int(choice.feasible[0]))
    assert starts == [0, 100, 200]
