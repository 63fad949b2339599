"""Benchmark of `ClusterState` for one change in a cluster of 5,000 nodes and 20,000 pods, compared with a rebuild."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from measure import microseconds, row

from workbench.cluster.assemble import assemble
from workbench.cluster.changes import ObjectChange, added, deleted
from workbench.cluster.state import ClusterState
from workbench.model.gang import TopologyConstraint
from workbench.model.resources import CPU, MEMORY
from workbench.objects.hypernode import HyperNode, Member
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.pod import Pod, PodSpec
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION, PodGroup
from workbench.objects.selectors import Selector

N_NODES, PODS_PER_NODE, PODS_PER_GANG, RACK, RACKS_PER_SPINE = 5_000, 4, 16, 25, 20
REPEATS, REBUILDS = 200, 3
POD_GOAL_US, NODE_GOAL_US = 1e3, 20e3
OFFERED = {CPU: 96_000, MEMORY: 1 << 40, "pods": 110, "nvidia.com/gpu": 8}
WANTED = PodSpec(requests={CPU: 8_000, MEMORY: 1 << 36, "nvidia.com/gpu": 2}, container_gpus=(2,), scheduler="volcano")


def rows() -> Iterator[dict[str, object]]:
    """One row of the result table per kind of change; the baseline is `assemble` of the changed objects."""
    cluster = objects()
    rebuild_us = float(np.median(microseconds(lambda: assemble(cluster), REBUILDS)))
    pod, waiting = cluster.pods["ns/pod-00000"], cluster.pods[f"ns/pod-{N_NODES * PODS_PER_NODE - 1:05d}"]
    node = cluster.nodes["node-02500"]
    cases: list[tuple[str, list[ObjectChange], float]] = [
        ("a pod ends, and is back", [added(replace(pod, phase="Succeeded")), added(pod)], POD_GOAL_US),
        ("a pod is deleted, and is back", [deleted("Pod", pod.metadata.key), added(pod)], POD_GOAL_US),
        ("a pod is bound, and waits again", [added(_on(waiting, "node-00007")), added(waiting)], POD_GOAL_US),
        ("a node is cordoned, and is not", [added(replace(node, unschedulable=True)), added(node)], POD_GOAL_US),
        ("a node goes, and is back", [deleted("Node", node.name), added(node)], NODE_GOAL_US),
    ]
    for name, changes, goal_us in cases:
        state = ClusterState(cluster)
        _ = state.snapshot
        repeats = REPEATS if goal_us == POD_GOAL_US else 2 * REBUILDS
        yield row(
            f"one change: {name}",
            f"{N_NODES} nodes, {len(cluster.pods)} pods",
            microseconds(_in_turn(state, changes), repeats),
            "assemble",
            rebuild_us,
            goal_us,
            f"each change; p50 of {REBUILDS} for the baseline",
            "p50",
        )


def objects() -> ClusterObjects:
    """The cluster of the benchmark: racks of 25 nodes under spines, and four pods on each node.

    The last gang is pending.
    """
    cluster = ClusterObjects()
    for i in range(N_NODES):
        name = f"node-{i:05d}"
        labels = {"kubernetes.io/hostname": name, "zone": f"zone-{i // 1000}", "rack": f"rack-{i // RACK}"}
        cluster.nodes[name] = Node(Metadata(name, labels=labels), OFFERED)
    n_racks = N_NODES // RACK
    for j in range(n_racks):
        exact = [f"node-{i:05d}" for i in range(j * RACK, (j + 1) * RACK)]
        _add_hypernode(cluster, f"rack-{j:03d}", 1, "Node", exact)
    for k in range(0, n_racks, RACKS_PER_SPINE):
        below = [f"rack-{j:03d}" for j in range(k, k + RACKS_PER_SPINE)]
        _add_hypernode(cluster, f"spine-{k // RACKS_PER_SPINE:02d}", 2, "HyperNode", below)
    n_pods = N_NODES * PODS_PER_NODE
    for i in range(n_pods):
        group = f"group-{i // PODS_PER_GANG:04d}"
        pod = Pod(Metadata(f"pod-{i:05d}", "ns", annotations={GROUP_NAME_ANNOTATION: group}), WANTED)
        if i < n_pods - PODS_PER_GANG:
            pod = replace(_on(pod, f"node-{i // PODS_PER_NODE:05d}"), phase="Running")
        cluster.pods[pod.metadata.key] = pod
        if i % PODS_PER_GANG == 0:
            constraint = TopologyConstraint("hard", 1)
            made = PodGroup(Metadata(group, "ns"), PODS_PER_GANG, {}, "default", "", constraint, phase="Running")
            cluster.pod_groups[made.metadata.key] = made
    return cluster


def _add_hypernode(
    cluster: ClusterObjects, name: str, tier: int, kind: Literal["Node", "HyperNode"], exact: list[str]
) -> None:
    members = tuple(Member(kind, Selector(exact=each)) for each in exact)
    cluster.hypernodes[name] = HyperNode(Metadata(name), tier, "", members)


def _on(pod: Pod, node: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node))


def _in_turn(state: ClusterState, changes: list[ObjectChange]) -> Callable[[], object]:
    """A function that applies the next of the given changes each time it is called; the changes undo one another."""
    turns = itertools.cycle(changes)
    return lambda: state.apply([next(turns)])
