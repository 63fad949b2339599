"""`Node` (core/v1): its resources, and which pods may use it, read from a manifest and written as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from workbench.model.bandwidth import MAX_GPUS
from workbench.model.labels import Taint
from workbench.model.resources import is_gpu_resource, quantity_text
from workbench.model.value import Value
from workbench.objects.device_info import NpuNames, npu_names
from workbench.objects.fields import get_bool, get_map, get_maps, get_text, wrong
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.quantity import check_amounts, read_resources

__all__ = ["Node", "node_manifest", "read_node"]


@dataclass(frozen=True)
class Node(Value):
    """A Kubernetes Node as read from a manifest.

    Attributes
    ----------
    allocatable : mapping of str to int
        Allocatable resources in base units; the capacity if the node reports no allocatable, empty if it reports
        neither.
    unschedulable : bool
        Whether the node is cordoned.
    internal_ip : str
        The first address of type InternalIP; empty: none.
    n_gpus_built_in : int
        Number of GPUs in ``status.capacity``, where the kubelet counts unhealthy ones, too; 0 if it differs in none
        from the allocatable ones.
    npu_names : mapping of str to tuple of str
        NPUs that annotations list as faulty (`workbench.objects.device_info.npu_names`).
    not_ready : bool
        Whether the node has a condition Ready whose status is not True; a node without the condition counts as ready.
    """

    metadata: Metadata
    allocatable: Mapping[str, int]
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    internal_ip: str = ""
    n_gpus_built_in: int = 0
    npu_names: NpuNames = field(default_factory=dict)
    not_ready: bool = False

    @property
    def name(self) -> str:
        return self.metadata.name

    @cached_property
    def n_gpus(self) -> int:
        """Number of allocatable GPUs of the node, of all GPU resources together."""
        return sum(amount for name, amount in self.allocatable.items() if is_gpu_resource(name))


def read_node(data: Mapping[str, Any]) -> Node:
    """Read a Node from a parsed manifest; raises InputError for a field of the wrong type."""
    status = get_map(data, "status", "")
    spec = get_map(data, "spec", "")
    offered = "allocatable" if status.get("allocatable") is not None else "capacity"
    taints = _taints(spec) if spec.get("taints") is not None else ()
    allocatable, gpus = _checked(tuple(read_resources(status, offered, "status").items()), f"status.{offered}")
    metadata = read_metadata(data, namespaced=False)
    return Node(
        metadata,
        allocatable,
        taints,
        get_bool(spec, "unschedulable", "spec"),
        _internal_ip(status),
        _gpus_built_in(status, gpus),
        npu_names(metadata.annotations),
        _not_ready(status),
    )


def _taints(spec: Mapping[str, Any]) -> tuple[Taint, ...]:
    return tuple(
        Taint(get_text(item, "key", path), get_text(item, "value", path), get_text(item, "effect", path))
        for path, item in get_maps(spec, "taints", "spec")
    )


def _not_ready(status: Mapping[str, Any]) -> bool:
    conditions = get_maps(status, "conditions", "status")
    return any(
        get_text(item, "type", path) == "Ready" and get_text(item, "status", path) != "True"
        for path, item in conditions
    )


def _gpus(amounts: Mapping[str, int], where: str) -> dict[str, int]:
    """The GPU resources among `amounts`; raises InputError if there are too many GPUs."""
    gpus = {name: amount for name, amount in amounts.items() if is_gpu_resource(name)}
    for name, amount in gpus.items():
        if amount > MAX_GPUS:
            raise wrong(f"{where}[{name!r}]", amount, f"at most {MAX_GPUS} GPUs in one node")
    return gpus


def _gpus_built_in(status: Mapping[str, Any], gpus: Mapping[str, int]) -> int:
    """Number of GPUs by the capacity if it differs from the offered ones `gpus`; else 0."""
    capacity, offered = status.get("capacity"), status.get("allocatable")
    if isinstance(capacity, Mapping) and offered is not None:
        differing = {name: capacity[name] for name in gpus if name in capacity and capacity[name] != offered[name]}
        if differing:
            counted = read_resources({"capacity": differing}, "capacity", "status")
            return sum({**gpus, **_gpus(counted, "status.capacity")}.values())
    return 0


@lru_cache(maxsize=4096)
def _checked(amounts: tuple[tuple[str, int], ...], where: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Checked amounts that a node offers, and its GPU resources; nodes with equal amounts share the result."""
    offered = dict(amounts)
    check_amounts(offered, where)
    return offered, _gpus(offered, where)


def _internal_ip(status: Mapping[str, Any]) -> str:
    for path, item in get_maps(status, "addresses", "status"):
        if item.get("type") == "InternalIP":
            return get_text(item, "address", path)
    return ""


def node_manifest(node: Node) -> dict[str, Any]:
    """The manifest of a Node, with labels sorted by key; empty fields are left out."""
    metadata: dict[str, Any] = {"name": node.name}
    if node.metadata.labels:
        metadata["labels"] = dict(sorted(node.metadata.labels.items()))
    spec: dict[str, Any] = {}
    if node.taints:
        spec["taints"] = [
            {"key": t.key, **({"value": t.value} if t.value else {}), **({"effect": t.effect} if t.effect else {})}
            for t in node.taints
        ]
    if node.unschedulable:
        spec["unschedulable"] = True
    status: dict[str, Any] = {}
    if node.internal_ip:
        status["addresses"] = [{"type": "InternalIP", "address": node.internal_ip}]
    if node.allocatable:
        status["allocatable"] = {name: quantity_text(name, amount) for name, amount in node.allocatable.items()}
    if node.not_ready:
        status["conditions"] = [{"type": "Ready", "status": "False"}]
    manifest: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    manifest |= {"spec": spec} if spec else {}
    manifest |= {"status": status} if status else {}
    return manifest
