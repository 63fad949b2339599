"""Benchmark of `workbench live compare`: 200 running gangs of 32 pods by three policies, the snapshot in memory.

5,000 nodes of eight GPUs under three tiers of HyperNodes, and 20,000 pods: 6,400 of the gangs, the others alone.
Goal: 1.5 s. The baseline is the slow way: the policy runs a whole session on a snapshot that is assembled anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from measure import row

from workbench.cluster.assemble import assemble
from workbench.cluster.changes import added
from workbench.cluster.observed import observed_gangs
from workbench.cluster.state import ClusterState
from workbench.evaluate.audit import audit
from workbench.model.gang import TopologyConstraint
from workbench.objects.hypernode import make_hypernode
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.pod import Pod, PodSpec
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION, PodGroup
from workbench.policies import get_policy
from workbench.policies.contract import Policy

NODES, PODS, GANGS, SIZE, LEAF, RACKS = 5_000, 20_000, 200, 32, 10, 10
POLICIES = ("volcano-1.15", "volcano-1.13", "binpack")
GOAL_US = 1.5e6


def rows() -> Iterator[dict[str, object]]:
    """One row: the whole comparison beside the same by rebuilding, which is measured on two gangs."""
    state = ClusterState(cluster(), any_scheduler=True)
    state.apply(())
    policies = [get_policy(name) for name in POLICIES]
    ours = [_compared(state, policies) for _ in range(3)]
    yield row(
        "live.compare",
        f"{GANGS} gangs of {SIZE} pods, {len(POLICIES)} policies; {NODES:,} nodes, {PODS:,} pods",
        [seconds * 1e6 for seconds in ours],
        "a snapshot assembled anew for each gang",
        _by_rebuilding(state.objects, policies) * GANGS / 2 * 1e6,
        GOAL_US,
        "the snapshot is in memory",
        "p50",
    )


def _compared(state: ClusterState, policies: Sequence[Policy]) -> float:
    begin = time.perf_counter()
    for one in observed_gangs(state):
        for policy in policies:
            audit([one.gang], one.snapshot, 0, one.nodes, policy)
    return time.perf_counter() - begin


def _by_rebuilding(objects: ClusterObjects, policies: Sequence[Policy]) -> float:
    """Seconds of the first two gangs."""
    begin = time.perf_counter()
    for gang in range(2):
        without = replace(objects, pods=dict(objects.pods))
        nodes = {}
        for key, pod in objects.pods.items():
            if pod.metadata.annotations.get(GROUP_NAME_ANNOTATION) == f"gang-{gang:03d}":
                nodes[pod.metadata.name] = pod.spec.node_name
                without.pods[key] = replace(pod, spec=replace(pod.spec, node_name=""), phase="Pending")
        snapshot, workload = assemble(without, any_scheduler=True)
        for policy in policies:
            audit(workload.gangs, snapshot, 0, nodes, policy)
    return time.perf_counter() - begin


def cluster() -> ClusterObjects:
    """Gangs of four GPUs per pod, every second one with a hard constraint; a pod alone has one GPU."""
    objects = ClusterObjects()
    names = [f"n{i:04d}" for i in range(NODES)]
    amounts = {"cpu": 96_000, "memory": 1 << 40, "pods": 110, "nvidia.com/gpu": 8}
    for name in names:
        added(Node(Metadata(name), amounts)).apply_to(objects)
    leaves = [f"leaf{i:03d}" for i in range(NODES // LEAF)]
    racks = [f"rack{i:02d}" for i in range(len(leaves) // RACKS)]
    for i, leaf in enumerate(leaves):
        added(make_hypernode(leaf, 1, nodes=names[i * LEAF : (i + 1) * LEAF])).apply_to(objects)
    for i, rack in enumerate(racks):
        added(make_hypernode(rack, 2, children=leaves[i * RACKS : (i + 1) * RACKS])).apply_to(objects)
    added(make_hypernode("all", 3, children=racks)).apply_to(objects)
    hard = TopologyConstraint("hard", 2)
    for i in range(GANGS):
        group = PodGroup(Metadata(f"gang-{i:03d}", "train"), SIZE, {}, "default", "", hard if i % 2 else None)
        added(group).apply_to(objects)
        for j in range(SIZE):
            node = names[(i * SIZE + j) // 2]
            annotations = {GROUP_NAME_ANNOTATION: group.metadata.name}
            metadata = Metadata(f"gang-{i:03d}-w-{j}", "train", uid=f"{i}-{j}", annotations=annotations)
            spec = PodSpec({"cpu": 4000, "memory": 32 << 30, "nvidia.com/gpu": 4}, (4,), node_name=node)
            added(Pod(metadata, spec, "Running")).apply_to(objects)
    for i in range(PODS - GANGS * SIZE):
        metadata = Metadata(f"pod-{i:05d}", "others", uid=f"p{i}")
        spec = PodSpec({"cpu": 1000, "memory": 8 << 30}, (), node_name=names[(i * 7) % NODES])
        added(Pod(metadata, spec, "Running")).apply_to(objects)
    return objects


if __name__ == "__main__":
    for line in rows():
        print(line)
