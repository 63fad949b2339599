"""Objects of the cases about groups: from their JSON to values of the product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from workbench.model.labels import NodeLabels, NodeTaints, Taint
from workbench.model.resources import resource_columns
from workbench.objects.pod import read_pod_spec
from workbench.objects.quantity import read_resources
from workbench.policies.kube.cluster import KubeNodes
from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.hierarchy import Hierarchy, PodGroup, group_key
from workbench.policies.kube.groups.validation import MemberPod
from workbench.policies.kube.shape import PodShape

__all__ = ["groups_of", "hierarchy", "key_of", "member", "member_of", "nodes_of", "pod_key", "shape_of"]

Json = dict[str, Any]


def groups_of(objects: Iterable[Json]) -> list[PodGroup]:
    """Groups in the order of the case."""
    return [
        PodGroup(
            each["name"],
            each.get("namespace", ""),
            composite=each["kind"] == "CompositePodGroup",
            min_count=each.get("gang"),
            topology_key=each.get("topology_key", ""),
            parent=each.get("parent", ""),
            priority=each.get("priority", 0),
            preemption_policy=each.get("preemption_policy", ""),
            falls_whole=each.get("disruption_mode") == "all",
        )
        for each in objects
    ]


def hierarchy(objects: Iterable[Json]) -> Hierarchy:
    """The trees that groups of a case form."""
    return Hierarchy(groups_of(objects))


def key_of(pod: Json) -> str:
    """Identity of a pod's PodGroup; empty: it has none."""
    return group_key(pod.get("namespace", ""), pod["group"]) if pod.get("group") else ""


def pod_key(pod: Json) -> str:
    """Identity of a pod in its case."""
    return str(pod.get("uid", pod["name"]))


def member(pod: Json) -> MemberPod:
    """What a group reads of a pod."""
    return MemberPod(pod["name"], pod.get("scheduler", ""), pod.get("priority", 0), pod.get("preemption_policy", ""))


def member_of(pod: GroupPod) -> MemberPod:
    """What a group reads of a pod of a stand-in."""
    return MemberPod(pod.name, pod.scheduler, pod.priority, pod.preemption_policy)


def shape_of(pod: Json) -> PodShape:
    """What filters and scores read of a pod."""
    spec = {
        "containers": [{"name": f"c{i}", "resources": {"requests": each}} for i, each in enumerate(pod["containers"])],
        **{key: pod[key] for key in ("affinity", "tolerations", "nodeSelector", "overhead") if key in pod},
    }
    read = read_pod_spec(spec, "spec")
    return PodShape(pod.get("namespace", ""), pod.get("labels", {}), read.requests, read.assumed, read.filter)


def nodes_of(nodes: Sequence[Json]) -> KubeNodes:
    """Nodes in the order of the case."""
    amounts = [read_resources(node, "allocatable", node["name"]) for node in nodes]
    columns = resource_columns({name for each in amounts for name in each})
    names = tuple(node["name"] for node in nodes)
    taints = [[Taint(t["key"], t.get("value", ""), t["effect"]) for t in node.get("taints", ())] for node in nodes]
    closed = np.zeros(len(nodes), dtype=np.bool_)
    return KubeNodes(
        names,
        NodeLabels.from_rows(names, [node["labels"] for node in nodes]),
        NodeTaints.from_rows(taints),
        closed,
        columns,
        np.array([[each.get(name, 0) for name in columns] for each in amounts], dtype=np.int64).reshape(len(nodes), -1),
        closed,
    )
