"""`KubeSession`: gangs and pods that were given to a real kube-scheduler, and where it bound them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.formats.recorded_moment import Json, RecordedMoment, RecordedSession, container, created, read_items

__all__ = ["KUBE_PARTS", "KubeSession"]

#: What a session was given, with the types of its parts.
KUBE_PARTS = dict.fromkeys(("gates", "nodes", "running", "groups", "pending"), list)

_VERSION = "scheduling.k8s.io"

#: Fields of a recorded pod that are written as in a pod's spec.
_SPEC = ("affinity", "tolerations", "nodeSelector", "topologySpreadConstraints", "overhead", "priority")

#: Seconds between the arrival of two pods, so that groups find a place in between.
_STEP_S = 1_000


@dataclass(frozen=True)
class KubeSession(RecordedSession):
    """Pods and groups that arrived one after another at kube-scheduler.

    Attributes
    ----------
    given : mapping
        Nodes, running pods, groups and pending pods; ``gates`` are the feature gates that were on.
    bound : mapping of str to str
        Node of each pod that was bound.
    """

    name: str
    given: Json
    bound: Mapping[str, str]

    release = "1.37"

    @property
    def twin(self) -> str:
        by_topology = "TopologyAwareWorkloadScheduling" in self.given["gates"]
        return "kube-1.37-topology" if by_topology else "kube-default"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"ties": "heap"}

    def _moments(self) -> Iterator[RecordedMoment]:
        given = self.given
        items = [_node(node) for node in given["nodes"]]
        items += [_pod(pod, 0, pod["node"]) for pod in given["running"]]
        items += _groups(given["groups"], given["pending"])
        items += [_pod(pod, (1 + number) * _STEP_S) for number, pod in enumerate(given["pending"])]
        scenario = read_items(items)
        nodes = {
            at: {pod.name: self.bound.get(pod.name) for pod in gang.pods()} for at, gang in enumerate(scenario.gangs)
        }
        yield RecordedMoment(scenario, nodes)


def _node(node: Json) -> Json:
    spec = {"taints": node.get("taints") or [], "unschedulable": bool(node.get("unschedulable"))}
    metadata = {"name": node["name"], "labels": node.get("labels") or {}}
    status = {"allocatable": node["allocatable"]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _pod(pod: Json, second: int, node: str = "") -> Json:
    metadata = {
        "name": pod["name"],
        "namespace": "default",
        "labels": pod.get("labels") or {},
        "creationTimestamp": created(second),
    }
    # A member of a group counts for it until it is gone; here a terminating pod would not.
    if pod.get("terminating") and not pod.get("group"):
        metadata["deletionTimestamp"] = created(second)
    spec: dict[str, Any] = {"schedulerName": "default-scheduler", **{key: pod[key] for key in _SPEC if key in pod}}
    spec["containers"] = [container(f"c{i}", one) for i, one in enumerate(pod.get("containers") or [{}])]
    spec["initContainers"] = [container(f"i{i}", one) for i, one in enumerate(pod.get("init_containers") or [])]
    if pod.get("group"):
        spec["schedulingGroup"] = {"podGroupName": pod["group"]}
    if node:
        spec["nodeName"] = node
    status = {"phase": "Running" if node else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _groups(groups: list[Json], pending: list[Json]) -> Iterator[Json]:
    """The groups, each as old as the first pod of its tree: a tree of groups gets its turn when that one arrives."""
    parents = {group["name"]: group.get("parent") for group in groups}

    def root(name: str) -> str:
        # No chain is longer than all groups, unless they are each other's parents.
        for _ in parents:
            name = parents.get(name) or name
        return name

    arrived: dict[str, int] = {}
    for number, pod in enumerate(pending):
        if pod.get("group"):
            arrived.setdefault(root(pod["group"]), (1 + number) * _STEP_S)
    for number, group in enumerate(groups):
        composite = group["kind"] == "CompositePodGroup"
        count = "minGroupCount" if composite else "minCount"
        policy = {"basic": {}} if group.get("basic") else {"gang": {count: group["gang"]}}
        spec: dict[str, Any] = {"schedulingPolicy": policy}
        if group.get("topology_key"):
            spec["schedulingConstraints"] = {"topology": [{"key": group["topology_key"]}]}
        if group.get("parent"):
            spec["parentCompositePodGroupName"] = group["parent"]
        second = arrived.get(root(group["name"]), 0) + number
        metadata = {"name": group["name"], "namespace": "default", "creationTimestamp": created(second)}
        version = f"{_VERSION}/{'v1alpha3' if composite else 'v1beta1'}"
        yield {"apiVersion": version, "kind": group["kind"], "metadata": metadata, "spec": spec}
