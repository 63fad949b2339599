"""`Pod` (core/v1) and `PodTemplate`, read from manifests of pods and of the kinds that contain a pod template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.model.labels import NodeFilter, Requirement, Toleration
from workbench.model.pod_rules import NO_RULES, PodRules
from workbench.model.resources import CPU, MEMORY, is_gpu_resource
from workbench.objects.fields import child, get_int, get_map, get_maps, get_text, get_texts
from workbench.objects.metadata import Metadata, StatusCondition, read_metadata, read_status_conditions
from workbench.objects.node_terms import PREFERRED, read_required_terms
from workbench.objects.pod_rules import read_pod_rules
from workbench.objects.quantity import check_amounts, check_devices, read_resources

__all__ = ["Pod", "PodSpec", "PodTemplate", "read_pod", "read_pod_as_template", "read_pod_spec", "read_template"]

ANY_NODE = NodeFilter()

#: Requests that Kubernetes' scores assume for a container without requests.
_ASSUMED = {CPU: 100, MEMORY: 200 << 20}


@dataclass(frozen=True)
class PodSpec:
    """The fields of a pod's spec that decide where the pod may run.

    Attributes
    ----------
    requests : mapping of str to int
        Base units; the sum over containers and side-cars, or the peak while init containers run, plus the overhead.
    container_gpus : tuple of int
        Whole GPUs of each container; init containers are left out.
    priority : int, optional
        Priority resolved by the API server; None: look up `priority_class`.
    not_read : tuple of str
        Fields present that narrow the choice of nodes and that no policy reads, or only those that read `rules`.
    assumed : mapping of str to int
        Amounts that Kubernetes' scores add to the requests for containers without a request of cpu or memory.
    rules : PodRules
        Affinity to other pods, spreading, preferred nodes.
    """

    requests: Mapping[str, int]
    container_gpus: tuple[int, ...] = ()
    filter: NodeFilter = ANY_NODE
    priority: int | None = None
    priority_class: str = ""
    node_name: str = ""
    scheduler: str = ""
    not_read: tuple[str, ...] = ()
    assumed: Mapping[str, int] = field(default_factory=dict)
    rules: PodRules = NO_RULES


@dataclass(frozen=True)
class PodTemplate:
    """The pod template of a task or Deployment; `limits` are the limits of its containers, summed, in base units.

    `path` is where the template stands in its object; empty: unknown.
    """

    spec: PodSpec
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    limits: Mapping[str, int] = field(default_factory=dict)
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Pod:
    """An existing pod as read from a manifest.

    Attributes
    ----------
    deleted : bool
        Whether the pod's deletion was requested (metadata.deletionTimestamp).
    nominated : str
        Node on which other pods are evicted in its favour (status.nominatedNodeName); empty: none.
    gated : bool
        The pod has a scheduling gate (spec.schedulingGates): schedulers skip it.
    gates : tuple of str
        Names of its scheduling gates.
    unscheduled : StatusCondition, optional
        The condition PodScheduled where it does not hold: why a scheduler found no node; None: no scheduler said so.
    group : str
        The PodGroup of scheduling.k8s.io that it belongs to (spec.schedulingGroup.podGroupName); empty: none.
    """

    metadata: Metadata
    spec: PodSpec
    phase: str = "Pending"
    deleted: bool = False
    nominated: str = ""
    gated: bool = False
    unscheduled: StatusCondition | None = None
    group: str = ""
    gates: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def holds_resources(self) -> bool:
        """Whether the pod is bound to a node and has not finished."""
        return bool(self.spec.node_name) and not self.finished

    @property
    def runs(self) -> bool:
        """Whether the pod holds resources and is not terminating."""
        return self.holds_resources and not self.terminating

    @property
    def counts(self) -> bool:
        """Whether the pod counts towards its gang's minimum without being placed: it is running or has succeeded."""
        return self.runs or self.phase == "Succeeded"

    @property
    def pending(self) -> bool:
        """Whether a scheduler tries to place the pod: it has no node and no scheduling gate."""
        return self.waits and not self.gated

    @property
    def waits(self) -> bool:
        """Whether the pod has no node yet, with or without a scheduling gate."""
        return not (self.spec.node_name or self.finished or self.terminating)

    @property
    def terminating(self) -> bool:
        """Whether the pod is terminating: it holds resources but no longer counts for its gang (Volcano: Releasing)."""
        return self.deleted and not self.finished


def read_pod(data: Mapping[str, Any]) -> Pod:
    """Read a Pod from a parsed manifest; raises InputError for a field of the wrong type."""
    status, spec = get_map(data, "status", ""), get_map(data, "spec", "")
    gates = tuple(get_text(item, "name", path) for path, item in get_maps(spec, "schedulingGates", "spec"))
    told = (one for one in read_status_conditions(data) if (one.type, one.status) == ("PodScheduled", "False"))
    return Pod(
        read_metadata(data, namespaced=True),
        read_pod_spec(spec, "spec"),
        phase=get_text(status, "phase", "status", "Pending"),
        deleted=bool(get_map(data, "metadata", "").get("deletionTimestamp")),
        nominated=get_text(status, "nominatedNodeName", "status"),
        gated=bool(gates),
        unscheduled=next(told, None),
        group=get_text(get_map(spec, "schedulingGroup", "spec"), "podGroupName", "spec.schedulingGroup"),
        gates=gates,
    )


def read_template(data: Mapping[str, Any], where: str, key: str = "template") -> PodTemplate:
    """Read the pod template in a field of a mapping; raises InputError for a field of the wrong type.

    `data`: the mapping that has the template. `where`: path of `data`. `key`: name of the field.
    """
    template = get_map(data, key, where)
    where = child(where, key)
    metadata = get_map(template, "metadata", where)
    spec = get_map(template, "spec", where)
    return PodTemplate(
        read_pod_spec(spec, child(where, "spec")),
        get_texts(metadata, "labels", child(where, "metadata")),
        get_texts(metadata, "annotations", child(where, "metadata")),
        _limits(spec, child(where, "spec")),
        where,
    )


def read_pod_as_template(data: Mapping[str, Any]) -> PodTemplate:
    """Read a pod's manifest as if it were a pod template; raises InputError for a field of the wrong type."""
    return read_template({"template": data}, "")


def read_pod_spec(spec: Mapping[str, Any], where: str) -> PodSpec:
    """Read a pod's spec, whose path is `where`; raises InputError for a field of the wrong type."""
    containers = [_container_requests(item, path) for path, item in get_maps(spec, "containers", where)]
    starting = [
        (get_text(item, "restartPolicy", path) == "Always", _container_requests(item, path))
        for path, item in get_maps(spec, "initContainers", where)
    ]
    requests = _pod_requests(containers, starting)
    assumed = _assumed(containers, starting, requests)
    if spec.get("overhead") is not None:
        _add(requests, read_resources(spec, "overhead", where))
    check_amounts(requests, child(where, "containers"))
    return PodSpec(
        requests=requests,
        container_gpus=tuple(sum(n for name, n in c.items() if is_gpu_resource(name)) for c in containers),
        filter=_node_filter(spec, where),
        priority=get_int(spec, "priority", where),
        priority_class=get_text(spec, "priorityClassName", where),
        node_name=get_text(spec, "nodeName", where),
        scheduler=get_text(spec, "schedulerName", where),
        not_read=tuple(name for name, present in _NOT_READ.items() if present(spec)),
        assumed=assumed,
        rules=read_pod_rules(spec, where),
    )


def _container_requests(container: Mapping[str, Any], path: str) -> dict[str, int]:
    resources = get_map(container, "resources", path)
    if not resources:
        return {}
    where = child(path, "resources")
    limits, requests = (read_resources(resources, key, where) for key in ("limits", "requests"))
    for key in ("limits", "requests"):
        check_devices(resources, key, where)
    # An absent request equals the limit (Kubernetes defaulting, per resource).
    return {**limits, **requests}


def _limits(spec: Mapping[str, Any], where: str) -> dict[str, int]:
    """Limits of a pod's containers, summed by resource, in base units; a container without a limit adds nothing."""

    def of(container: Mapping[str, Any], path: str) -> dict[str, int]:
        return read_resources(get_map(container, "resources", path), "limits", child(path, "resources"))

    starting = [
        (get_text(item, "restartPolicy", path) == "Always", of(item, path))
        for path, item in get_maps(spec, "initContainers", where)
    ]
    return _pod_requests([of(item, path) for path, item in get_maps(spec, "containers", where)], starting)


def _pod_requests(
    containers: Sequence[Mapping[str, int]], starting: Sequence[tuple[bool, Mapping[str, int]]]
) -> dict[str, int]:
    """Total requests of a pod by resource: the larger of running all containers and starting the init containers.

    `starting` holds the requests of each init container in order, and whether it is a side-car (which keeps running).
    """
    total: dict[str, int] = {}
    for container in containers:
        _add(total, container)
    if starting:
        sidecars: dict[str, int] = {}
        peak: dict[str, int] = {}
        for stays, requests in starting:
            if stays:
                _add(sidecars, requests)
                _raise_to(peak, sidecars)
            else:
                together = dict(requests)
                _add(together, sidecars)
                _raise_to(peak, together)
        _add(total, sidecars)
        _raise_to(total, peak)
    return total


def _assumed(
    containers: Sequence[Mapping[str, int]],
    starting: Sequence[tuple[bool, Mapping[str, int]]],
    requests: Mapping[str, int],
) -> dict[str, int]:
    if all(CPU in each and MEMORY in each for each in (*containers, *(each for _, each in starting))):
        return {}
    filled = _pod_requests([_ASSUMED | dict(c) for c in containers], [(s, _ASSUMED | dict(c)) for s, c in starting])
    more = {name: filled[name] - requests.get(name, 0) for name in _ASSUMED}
    return {name: amount for name, amount in more.items() if amount}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], floor: Mapping[str, int]) -> None:
    for name, amount in floor.items():
        total[name] = max(total.get(name, 0), amount)


def _node_filter(spec: Mapping[str, Any], where: str) -> NodeFilter:
    selector = get_texts(spec, "nodeSelector", where)
    tolerations = tuple(
        Toleration(
            get_text(item, "key", path),
            get_text(item, "operator", path) or "Equal",
            get_text(item, "value", path),
            get_text(item, "effect", path),
        )
        for path, item in get_maps(spec, "tolerations", where)
    )
    terms = read_required_terms(spec, where) if spec.get("affinity") is not None else ()
    if not (selector or tolerations or terms):
        return ANY_NODE
    # Sorted, so that selectors written in different orders give equal filters.
    required = tuple(Requirement(key, "In", (selector[key],)) for key in sorted(selector))
    return NodeFilter(required, terms, tolerations)


def _has(*path: str) -> Callable[[Mapping[str, Any]], bool]:
    def present(spec: Mapping[str, Any]) -> bool:
        value: Any = spec
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return bool(value)

    return present


def _has_host_port(spec: Mapping[str, Any]) -> bool:
    ports = [port for _, c in get_maps(spec, "containers", "") for port in _items(c, "ports")]
    return any(port.get("hostPort") for port in ports)


def _has_claim(spec: Mapping[str, Any]) -> bool:
    return any("persistentVolumeClaim" in volume for volume in _items(spec, "volumes"))


def _items(data: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The mappings in the list at `key` of a part of the pod spec that is not validated; other items are skipped."""
    items = data.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


_NOT_READ: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "affinity.podAffinity": _has("affinity", "podAffinity"),
    "affinity.podAntiAffinity": _has("affinity", "podAntiAffinity"),
    "preferred affinity.nodeAffinity": _has("affinity", "nodeAffinity", PREFERRED),
    "topologySpreadConstraints": _has("topologySpreadConstraints"),
    "pod-level resources": _has("resources"),
    "resourceClaims": _has("resourceClaims"),
    "schedulingGates": _has("schedulingGates"),
    "hostPort": _has_host_port,
    "persistentVolumeClaim": _has_claim,
}
