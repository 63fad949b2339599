"""Nodes and pods of the kube-scheduler cases, made into the values that the policies of `kube` read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.model.labels import NodeLabels, NodeTaints, Taint
from workbench.model.resources import resource_columns
from workbench.objects.pod import PodSpec, read_pod_spec
from workbench.objects.quantity import read_resources
from workbench.policies.kube.cluster import KubeCluster, KubeNodes
from workbench.policies.kube.shape import PodShape

Json = Mapping[str, Any]

#: Keys of a pod that are written as in a Kubernetes pod spec.
_SPEC = ("affinity", "tolerations", "nodeSelector", "topologySpreadConstraints", "overhead", "priority")

#: Keys of a pod that say nothing about where it may run.
_OTHER = ("name", "uid", "namespace", "labels", "node", "group", "scheduler", "preemption_policy", "terminating")


def spec_of(pod: Json) -> PodSpec:
    """The spec of a case's pod, read by the reader of manifests."""
    known = {*_SPEC, *_OTHER, "containers", "init_containers"}
    assert pod.keys() <= known, f"a pod with keys that nobody reads: {sorted(pod.keys() - known)}"
    spec: dict[str, Any] = {key: pod[key] for key in _SPEC if key in pod}
    spec["containers"] = [_container(requests) for requests in pod.get("containers", ())]
    spec["initContainers"] = [_container(requests) for requests in pod.get("init_containers", ())]
    return read_pod_spec(_with_field_names(spec), "spec")


def _container(requests: Json) -> dict[str, Any]:
    amounts = {key: value for key, value in requests.items() if key != "restartPolicy"}
    policy = {"restartPolicy": requests["restartPolicy"]} if "restartPolicy" in requests else {}
    # A device is requested as its limit, as the API server demands.
    limits = {key: value for key, value in amounts.items() if "/" in key}
    return {"resources": {"requests": amounts, "limits": limits}, **policy}


def _with_field_names(value: Any) -> Any:
    """A copy in which the name of upstream's constant stands for the field that it holds."""
    if isinstance(value, dict):
        return {key: _with_field_names(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_field_names(each) for each in value]
    return "metadata.name" if value == "metav1.ObjectNameField" else value


def shape_of(pod: Json) -> PodShape:
    spec = spec_of(pod)
    return PodShape(
        pod.get("namespace", ""),
        pod.get("labels", {}),
        spec.requests,
        spec.assumed,
        spec.filter,
        spec.rules,
        terminating=bool(pod.get("terminating")),
    )


def nodes_of(nodes: Sequence[Json], names: Sequence[str] = ()) -> KubeNodes:
    """The nodes in the order given; `names` are resources that are columns even if no node has them."""
    allocatable = [read_resources({"a": node.get("allocatable", {})}, "a", "node") for node in nodes]
    columns = resource_columns([*names, *(name for each in allocatable for name in each)])
    amounts = [[each.get(name, 0) for name in columns] for each in allocatable]
    taints = [
        [Taint(taint["key"], taint.get("value", ""), taint["effect"]) for taint in node.get("taints", ())]
        for node in nodes
    ]
    ids = [node["name"] for node in nodes]
    return KubeNodes(
        names=tuple(ids),
        labels=NodeLabels.from_rows(ids, [node.get("labels", {}) for node in nodes]),
        taints=NodeTaints.from_rows(taints),
        unschedulable=np.array([bool(node.get("unschedulable")) for node in nodes], dtype=np.bool_),
        resources=columns,
        allocatable=np.array(amounts, dtype=np.int64).reshape(len(nodes), len(columns)),
        closed=np.zeros(len(nodes), dtype=np.bool_),
    )


def cluster_of(nodes: Sequence[Json], running: Sequence[Json], namespaces: Sequence[Json] = ()) -> KubeCluster:
    """The cluster of a case; running pods on no listed node are left out."""
    shapes = [(shape_of(pod), pod.get("node", "")) for pod in running]
    read = nodes_of(nodes, [name for shape, _ in shapes for name in shape.requests])
    index = {name: i for i, name in enumerate(read.names)}
    labels = {each["name"]: each.get("labels", {}) for each in namespaces}
    return KubeCluster(read, [(shape, index[node]) for shape, node in shapes if node in index], labels)
