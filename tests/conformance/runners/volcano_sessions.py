"""Building a session from a case of Volcano's tests: nodes, injected HyperNodes, queues, PodGroups, pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.cluster.assemble import assemble
from workbench.model.gang import Gang
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.placement import Decision, Placement
from workbench.model.release import Release
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import VIRTUAL_TOP, DomainSpec, Topology
from workbench.objects.kinds import ClusterObjects

Json = Mapping[str, Any]

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
RECORD_ANNOTATION = "volcano.sh/job-allocated-hypernode"


def session(given: Json, release: Release) -> tuple[ClusterSnapshot, tuple[Gang, ...]]:
    """The snapshot and the pending gangs of a case."""
    cluster = ClusterObjects()
    for node in given["nodes"]:
        metadata = {"name": node["name"], "labels": node.get("labels") or {}}
        cluster.add({"kind": "Node", "apiVersion": "v1", "metadata": metadata, "status": allocatable(node)})
    for queue in given["queues"]:
        spec = {key: queue[key] for key in ("weight", "capability") if queue.get(key) is not None}
        cluster.add(thing("scheduling.volcano.sh/v1beta1", "Queue", {"name": queue["name"]}, spec))
    for group in given["podgroups"]:
        cluster.add(pod_group(group))
    for pod in given["pods"]:
        cluster.add(pod_manifest(pod))
    # Upstream's unit tests go round admission: some of their PodGroups have an empty mode.
    cluster.refused.clear()
    snapshot, workload = assemble(cluster)
    labels = {node["name"]: node.get("labels") or {} for node in given["nodes"]}
    return with_topology(snapshot, domains(given["topology"], labels, release), labels), workload.gangs


def thing(version: str, kind: str, metadata: Json, spec: Json) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": dict(metadata), "spec": dict(spec)}


def allocatable(node: Json) -> dict[str, Any]:
    return {"allocatable": node["allocatable"]}


def pod_group(group: Json) -> dict[str, Any]:
    record = group.get("allocatedHyperNodeAnnotation")
    metadata = {
        "name": group["name"],
        "namespace": group["namespace"],
        "annotations": {RECORD_ANNOTATION: record} if record else {},
    }
    keys = ("queue", "minMember", "minTaskMember", "networkTopology", "subGroupPolicy")
    spec = {key: group[key] for key in keys if group.get(key) is not None}
    made = thing("scheduling.volcano.sh/v1beta1", "PodGroup", metadata, spec)
    return {**made, "status": {"phase": group.get("phase") or ""}}


def pod_manifest(pod: Json) -> dict[str, Any]:
    metadata = {
        "name": pod["name"],
        "namespace": pod["namespace"],
        "labels": pod.get("labels") or {},
        "annotations": {GROUP_ANNOTATION: pod["group"]},
    }
    containers = [{"name": "c", "resources": {"requests": pod["requests"]}}]
    spec = {"containers": containers, "nodeSelector": pod.get("nodeSelector") or {}, "nodeName": pod["node"]}
    return {**thing("v1", "Pod", metadata, spec), "status": {"phase": pod["phase"]}}


def domains(topology: Json, nodes: Mapping[str, Any], release: Release) -> list[DomainSpec]:
    """The HyperNodes of a case as the session sees them: unknown nodes dropped."""
    position = {name: i for i, name in enumerate(nodes)}
    tier = {name: int(number) for number, names in topology["tiers"].items() for name in names}
    if topology["given_as"] == "sets-only" and release is Release.V1_15:
        # The virtual top has no children there, but its tier is still above all that are known.
        return [DomainSpec("no-child", max(tier.values()), ())] if tier else []
    parent: dict[str, str] = {}
    tier_name: dict[str, str] = {}
    for entry in topology["hypernodes"]:
        tier_name[entry["name"]] = entry.get("tierName") or ""
        if "parent" in entry:
            parent[entry["name"]] = entry["parent"]
        for member in entry.get("members") or ():
            if member["type"] == "HyperNode" and "exactMatch" in member:
                parent.setdefault(member["exactMatch"], entry["name"])
    found = []
    for name, number in tier.items():
        above = parent.get(name, "")
        held = [position[node] for node in topology["real_nodes"].get(name, ()) if node in position]
        known = above if above in tier and above != VIRTUAL_TOP else ""
        found.append(DomainSpec(name, number, held, parent=known, tier_name=tier_name.get(name, "")))
    return found


def with_topology(
    snapshot: ClusterSnapshot, specs: Sequence[DomainSpec], labels: Mapping[str, Mapping[str, str]]
) -> ClusterSnapshot:
    """The snapshot with other HyperNodes: its nodes are numbered anew."""
    names = list(labels)
    topology = Topology.build(names, specs)
    order = [snapshot.topology.node(name) for name in topology.node_names]
    new = {old: i for i, old in enumerate(order)}
    return dataclasses.replace(
        snapshot,
        topology=topology,
        allocatable=snapshot.allocatable[order],
        used=snapshot.used[order],
        labels=NodeLabels.from_rows(topology.node_names, [labels[name] for name in topology.node_names]),
        taints=NodeTaints.from_rows([() for _ in order]),
        unschedulable=snapshot.unschedulable[order],
        gpu_total=snapshot.gpu_total[order],
        gpu_free=snapshot.gpu_free[order],
        node_matrix=snapshot.node_matrix[order],
        running=tuple(dataclasses.replace(pod, node=new.get(pod.node, -1)) for pod in snapshot.running),
    )


def binds(decisions: Sequence[Decision]) -> dict[str, str]:
    """Node of every pod that got one, by ``namespace/name``."""
    return {
        f"{decision.gang.namespace}/{pod.name}": pod.node
        for decision in decisions
        if isinstance(decision.result, Placement)
        for pod in decision.result.pods()
    }


def after(snapshot: ClusterSnapshot, decisions: Sequence[Decision]) -> ClusterSnapshot:
    """The cluster with the placed pods running; no node may hold more than it has."""
    for decision in decisions:
        if isinstance(decision.result, Placement):
            snapshot = snapshot.with_placement(decision.result)
    grown = np.asarray(snapshot.used) > snapshot.allocatable
    assert not grown[[n for d in decisions if isinstance(d.result, Placement) for n in d.result.node if n >= 0]].any()
    return snapshot
