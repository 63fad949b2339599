"""`KubeSession`: gangs and pods that were given to a real kube-scheduler, and where it bound them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.formats.recorded_fields import (
    AMOUNTS,
    CONTAINER,
    FLAG,
    MAPPING,
    NAME,
    NUMBER,
    TEXT,
    TEXTS,
    Shape,
    by_name,
    either,
    fields,
    items,
    or_null,
)
from workbench.formats.recorded_moment import (
    Json,
    Record,
    RecordedMoment,
    RecordedSession,
    container,
    created,
    read_items,
)

__all__ = ["KubeSession"]

_NODE = fields(
    ("labels", "taints", "unschedulable"),
    name=NAME,
    labels=TEXTS,
    allocatable=AMOUNTS,
    taints=items(MAPPING),
    unschedulable=FLAG,
)


def _pods(**more: Shape) -> Shape:
    shapes = {
        "namespace": NAME,
        "labels": TEXTS,
        "group": TEXT,
        "terminating": FLAG,
        "containers": items(CONTAINER),
        "init_containers": items(CONTAINER),
        "affinity": MAPPING,
        "tolerations": items(MAPPING),
        "nodeSelector": TEXTS,
        "topologySpreadConstraints": items(MAPPING),
        "overhead": AMOUNTS,
        "priority": NUMBER,
    }
    return items(fields(tuple(shapes), name=NAME, **shapes, **more))


_GROUP = fields(
    ("namespace", "gang", "basic", "topology_key", "parent", "priority"),
    kind=either("PodGroup", "CompositePodGroup"),
    name=NAME,
    namespace=NAME,
    gang=NUMBER,
    basic=FLAG,
    topology_key=TEXT,
    parent=TEXT,
    priority=NUMBER,
)

_NAMESPACE = fields(("labels",), name=NAME, labels=TEXTS)

#: What a session was given.
_GIVEN = fields(
    ("op", "kind", "namespaces"),
    op=either("schedule"),
    kind=TEXT,
    gates=items(NAME),
    namespaces=items(_NAMESPACE),
    nodes=items(_NODE),
    running=_pods(node=NAME),
    groups=items(_GROUP),
    pending=_pods(),
)
_EXPECTED = fields(bound=by_name(or_null(NAME)))

#: Feature gates that change what the twins do.
_GATES = ("CompositePodGroup", "GenericWorkload", "TopologyAwareWorkloadScheduling")

#: Kinds of sessions; they say what a session is about, and change nothing.
_KINDS = ("basic", "composite", "gang", "gpu", "mixed", "pinned", "plain", "topology")

_VERSION = "scheduling.k8s.io"

#: Fields of a recorded pod that are written as in a pod's spec.
_SPEC = ("affinity", "tolerations", "nodeSelector", "topologySpreadConstraints", "overhead", "priority")

#: Seconds between the arrival of two pods, so that groups find a place in between.
_STEP_S = 1_000


@dataclass(frozen=True)
class KubeSession(RecordedSession):
    """Pods and groups that arrived one after another at kube-scheduler.

    `given`: namespaces, nodes, running pods, groups and pending pods; ``gates`` are the feature gates that were on.
    `bound`: node of each pod that was bound.
    """

    name: str
    given: Json
    bound: Mapping[str, str | None]
    record: Record

    release = "1.37"

    @classmethod
    def read(cls, name: str, given: Json, expected: Json, record: Record) -> KubeSession:
        """The session of a record, its input `given` and its answers `expected` checked; raises InputError."""
        _GIVEN(given, "input")
        _EXPECTED(expected, "expected")
        _check_names(given, expected["bound"], record)
        return cls(name, given, expected["bound"], record)

    @property
    def twin(self) -> str:
        by_topology = "TopologyAwareWorkloadScheduling" in self.given["gates"]
        return "kube-1.37-topology" if by_topology else "kube-default"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"ties": "heap", "percentage": 0}

    def moments(self) -> Iterator[RecordedMoment]:
        given = self.given
        made = [(f"input.namespaces[{i}]", _namespace(one)) for i, one in enumerate(given.get("namespaces") or [])]
        made += [(f"input.nodes[{i}]", _node(node)) for i, node in enumerate(given["nodes"])]
        made += [(f"input.running[{i}]", _pod(pod, 0, pod["node"])) for i, pod in enumerate(given["running"])]
        made += [(f"input.groups[{i}]", group) for i, group in enumerate(_groups(given["groups"]))]
        made += [(f"input.pending[{i}]", _pod(pod, (1 + i) * _STEP_S)) for i, pod in enumerate(given["pending"])]
        scenario = read_items(made, self.record)
        nodes = {
            at: {pod.name: self.bound.get(pod.name) for pod in gang.pods()} for at, gang in enumerate(scenario.gangs)
        }
        yield RecordedMoment(scenario, nodes)


def _check_names(given: Json, bound: Json, record: Record) -> None:
    """Raise InputError if pods were bound that were not there; note other names of what is not there."""
    nodes = {node["name"] for node in given["nodes"]}
    groups = {group["name"] for group in given["groups"]}
    for part in ("nodes", "running", "groups", "pending"):
        record.once((one["name"] for one in given[part]), f"input.{part}")
    for number, gate in enumerate(given["gates"]):
        if gate not in _GATES:
            record.note("a feature gate that changes nothing here", f"input.gates[{number}]", gate)
    if given.get("kind") is not None and given["kind"] not in _KINDS:
        record.note("a kind of session that is not known, read like any other", "input.kind", given["kind"])
    for part in ("running", "pending"):
        for number, pod in enumerate(given[part]):
            record.refer(pod.get("group"), groups, "group", f"input.{part}[{number}].group")
    for number, pod in enumerate(given["running"]):
        record.refer(pod["node"], nodes, "node", f"input.running[{number}].node")
    for number, group in enumerate(given["groups"]):
        record.refer(group.get("parent"), groups, "group", f"input.groups[{number}].parent")
    pending = {pod["name"] for pod in given["pending"]}
    for name, node in bound.items():
        record.demand(name, pending, "pending pod", f"expected.bound[{name!r}]")
        if node is not None:
            record.demand(node, nodes, "node", f"expected.bound[{name!r}]")


def _namespace(namespace: Json) -> Json:
    metadata = {"name": namespace["name"], "labels": namespace.get("labels") or {}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _node(node: Json) -> Json:
    spec = {"taints": node.get("taints") or [], "unschedulable": bool(node.get("unschedulable"))}
    metadata = {"name": node["name"], "labels": node.get("labels") or {}}
    status = {"allocatable": node["allocatable"]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _pod(pod: Json, second: int, node: str = "") -> Json:
    metadata = {
        "name": pod["name"],
        "namespace": pod.get("namespace") or "default",
        "labels": pod.get("labels") or {},
        "creationTimestamp": created(second),
    }
    if pod.get("terminating"):
        metadata["deletionTimestamp"] = created(second)
    spec: dict[str, Any] = {
        "schedulerName": "default-scheduler",
        **{key: pod[key] for key in _SPEC if pod.get(key) is not None},
    }
    spec["containers"] = [container(f"c{i}", one) for i, one in enumerate(pod.get("containers") or [{}])]
    spec["initContainers"] = [container(f"i{i}", one) for i, one in enumerate(pod.get("init_containers") or [])]
    if pod.get("group"):
        spec["schedulingGroup"] = {"podGroupName": pod["group"]}
    if node:
        spec["nodeName"] = node
    status = {"phase": "Running" if node else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _groups(groups: list[Json]) -> Iterator[Json]:
    for number, group in enumerate(groups):
        composite = group["kind"] == "CompositePodGroup"
        count = "minGroupCount" if composite else "minCount"
        policy = {"basic": {}} if group.get("basic") or group.get("gang") is None else {"gang": {count: group["gang"]}}
        spec: dict[str, Any] = {"schedulingPolicy": policy}
        if group.get("topology_key"):
            spec["schedulingConstraints"] = {"topology": [{"key": group["topology_key"]}]}
        if group.get("parent"):
            spec["parentCompositePodGroupName"] = group["parent"]
        if group.get("priority") is not None:
            spec["priority"] = group["priority"]
        namespace = group.get("namespace") or "default"
        metadata = {"name": group["name"], "namespace": namespace, "creationTimestamp": created(number)}
        version = f"{_VERSION}/{'v1alpha3' if composite else 'v1beta1'}"
        yield {"apiVersion": version, "kind": group["kind"], "metadata": metadata, "spec": spec}
