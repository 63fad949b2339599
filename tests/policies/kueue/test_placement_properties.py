"""What every placement of pod sets holds: capacity, all or nothing, the required level, whole slices, one answer."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from tests.choice import choices
from tests.profiles import max_examples
from workbench.policies.kueue.flavor_snapshot import FlavorSnapshot, usage_of
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.values import Flavor, KueueNode, PodSet, SliceLayer, TopologyRequest

HOST = "kubernetes.io/hostname"
LEVELS = ("block", "rack", HOST)
FLAVOR = Flavor("f", "default")


def random_nodes(rng):
    """Nodes with a few cores each; a value of a label does not say which rack is inside which block."""
    return [
        KueueNode(
            f"n{i}",
            {"block": rng.choice("ab"), "rack": rng.choice("xyz"), HOST: f"n{i}"},
            {"cpu": rng.randint(0, 6), "pods": rng.randint(1, 8)},
        )
        for i in range(rng.randint(1, 9))
    ]


def random_request(rng, group=None):
    kind = rng.choice(["required", "preferred", "anywhere", "slices"] if group is None else ["required", "preferred"])
    level = rng.choice(LEVELS)
    named = (
        {kind: level} if kind in ("required", "preferred") else {"unconstrained": True if kind == "anywhere" else None}
    )
    layers = ()
    if group is None and (kind == "slices" or rng.random() < 0.4):
        lowest = LEVELS.index(level) if kind in named else 0
        outer = rng.randint(lowest, 2)
        layers = (SliceLayer(LEVELS[outer], rng.choice([1, 2, 4])),)
        if outer < 2 and layers[0].size > 1 and rng.random() < 0.5:
            layers += (SliceLayer(LEVELS[rng.randint(outer + 1, 2)], 2),)
    return TopologyRequest(**named, slices=layers, group=group)


def random_workload(rng):
    """One pod set, two of them, or a leader with workers."""
    if rng.random() < 0.3:
        request = random_request(rng, "g")
        return [
            PodSet("leader", 1, {"cpu": rng.randint(0, 3)}, request),
            PodSet("workers", rng.randint(1, 10), {"cpu": rng.randint(0, 3)}, request),
        ]
    found = []
    for i in range(rng.choice([1, 1, 2])):
        request = random_request(rng)
        size = request.slices[0].size if request.slices else 1
        found.append(PodSet(f"p{i}", size * rng.randint(1, max(1, 10 // size)), {"cpu": rng.randint(0, 3)}, request))
    return found


def case(rng):
    gates = Gates(TASBalancedPlacement=rng.random() < 0.5, TASProfileMixed=rng.random() < 0.7)
    nodes, workload = random_nodes(rng), random_workload(rng)
    return nodes, gates, workload


@max_examples(300)
@given(rng=choices())
def test_a_placement_fits_is_whole_and_stays_where_it_must(rng):
    nodes, gates, workload = case(rng)
    found = FlavorSnapshot(LEVELS, FLAVOR, nodes, gates).place(workload)
    node_of = {node.name: node for node in nodes}
    cpu, pods = Counter(), Counter()
    for pod_set in workload:
        outcome = found.get(pod_set.name)
        if outcome is None:
            continue
        assert (outcome.assignment is None) is bool(outcome.reason)
        if outcome.assignment is None:
            continue
        assert outcome.assignment.count == pod_set.count
        for (name,), count in outcome.assignment.domains:
            cpu[name] += count * pod_set.requests["cpu"]
            pods[name] += count
        for level, size in levels_to_hold(pod_set):
            held = Counter()
            for (name,), count in outcome.assignment.domains:
                held[path(node_of[name], level)] += count
            assert all(count % size == 0 for count in held.values())
            if level == pod_set.topology.required and pod_set.topology.group is None and size == 1:
                assert len(held) == 1
    if any(each.topology.group for each in workload) and workload[0].topology.required:
        together = {
            path(node_of[name], workload[0].topology.required)
            for each in found.values()
            if each.assignment
            for (name,), _ in each.assignment.domains
        }
        assert len(together) <= 1
    assert all(amount <= node_of[name].allocatable["cpu"] for name, amount in cpu.items())
    assert all(amount <= node_of[name].allocatable["pods"] for name, amount in pods.items())


def levels_to_hold(pod_set):
    """Levels in whose domains the pods are multiples of a number: those of slices, and the required one with 1."""
    request = pod_set.topology
    layers = [(layer.level, layer.size) for layer in request.slices]
    return layers + ([(request.required, 1)] if request.required else [])


def path(node, level):
    return tuple(node.labels[key] for key in LEVELS[: LEVELS.index(level) + 1])


@max_examples(150)
@given(rng=choices())
def test_the_order_of_the_nodes_does_not_matter(rng):
    nodes, gates, workload = case(rng)
    found = FlavorSnapshot(LEVELS, FLAVOR, nodes, gates).place(workload)
    shuffled = rng.sample(nodes, len(nodes))
    assert FlavorSnapshot(LEVELS, FLAVOR, shuffled, gates).place(workload) == found


@max_examples(150)
@given(rng=choices())
def test_what_is_added_and_removed_leaves_no_trace(rng):
    nodes, gates, workload = case(rng)
    snapshot = FlavorSnapshot(LEVELS, FLAVOR, nodes, gates)
    found = snapshot.place(workload)
    usages = [
        usage
        for pod_set in workload
        if found.get(pod_set.name) and found[pod_set.name].assignment
        for usage in usage_of(pod_set, found[pod_set.name].assignment)
    ]
    assert snapshot.fits(usages)
    for usage in usages:
        snapshot.add(usage)
    assert snapshot.place(workload, simulate_empty=True) == found
    for usage in usages:
        snapshot.remove(usage)
    assert snapshot.place(workload) == found


@pytest.mark.parametrize("count", [1, 3])
def test_a_preferred_request_for_less_than_a_slice_is_refused_where_upstream_crashes(count):
    nodes = [KueueNode("n", dict.fromkeys(("block", "rack"), "a") | {HOST: "n"}, {"cpu": 8, "pods": 8})]
    request = TopologyRequest(preferred="rack", slices=(SliceLayer("rack", 4),))
    pod_set = PodSet("p", count, {"cpu": 1}, request)
    outcome = FlavorSnapshot(LEVELS, FLAVOR, nodes, Gates(TASBalancedPlacement=True)).place([pod_set])["p"]
    assert outcome.crashed and "integer divide by zero" in outcome.reason
    # Without balanced placement there is nothing to divide by: no slice, no pod, no reason.
    without = FlavorSnapshot(LEVELS, FLAVOR, nodes).place([pod_set])["p"]
    assert without.assignment is not None and without.assignment.count == 0
