"""Faults of nodes and GPUs in an embedded cluster: written to its objects as a real cluster would report them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.memory_store import MemoryStore
from workbench.control.store import ENDED, Object, phase_of
from workbench.errors import InputError, UnknownNameError
from workbench.model.counted import counted, name_list
from workbench.model.gpu_annotation import GPU_ANNOTATION, recorded_gpus
from workbench.model.resources import is_gpu_resource
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.device import device_manifest
from workbench.objects.node import read_node
from workbench.objects.pod import read_pod

__all__ = ["close_nodes", "evict_from", "fail_gpu", "lose_nodes", "nodes_at", "pods_on_gpu"]


def nodes_at(store: MemoryStore, topology: Topology, place: str) -> list[str]:
    """Names of the nodes that a place names: a node, or every node of a HyperNode, in byte order.

    A node comes first where both have the name; `UnknownNameError` if neither has.

    `store`, `topology`, `place`: the objects and the HyperNodes of the cluster; a name.
    """
    if store.get(Ref("Node", "", place)) is not None:
        return [place]
    if not topology.has_domain(place):
        raise UnknownNameError("node or HyperNode", place, [*topology.node_names, *topology.domain_names])
    names = (topology.node_names[i] for i in topology.nodes_of(topology.domain(place)).tolist())
    return sorted((name for name in names if store.get(Ref("Node", "", name)) is not None), key=str.encode)


def lose_nodes(store: MemoryStore, names: Sequence[str]) -> None:
    """Delete the Nodes of these names; the garbage collector then deletes their pods."""
    for name in names:
        store.delete(Ref("Node", "", name))


def close_nodes(store: MemoryStore, log: EventLog, at: float, names: Sequence[str]) -> None:
    """Set the condition Ready of Nodes to False, and say so in one line.

    `store`, `log`, `at`, `names`: the objects and the log of the cluster; the present time, in seconds; names of the
    Nodes.
    """
    for name in names:
        key = Ref("Node", "", name)
        conditions = ((store.get(key) or {}).get("status") or {}).get("conditions") or []
        others = [one for one in conditions if one.get("type") != "Ready"]
        store.patch_status(key, {"conditions": [*others, {"type": "Ready", "status": "False"}]})
    if names:
        text = f"{counted(len(names), 'node is', 'nodes are')} not ready: {name_list(names)}"
        log.say(at, Ref("Node", "", names[0]), "NotReady", text, warning=True)


def evict_from(store: MemoryStore, log: EventLog, at: float, names: Sequence[str]) -> None:
    """Delete the pods of Nodes that failed, as if evicted.

    `store`, `log`, `at`, `names`: the objects and the log of the cluster; the present time, in seconds; names of the
    Nodes.
    """
    failed = set(names)
    for pod in list(store.list("Pod")):
        node = pod["spec"].get("nodeName") or ""
        if node in failed and phase_of(pod) not in ENDED:
            key = Ref("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
            log.say(at, key, "NodeLost", f"its node {node} failed", warning=True)
            store.delete(key, now=True)


def fail_gpu(store: MemoryStore, snapshot: ClusterSnapshot, node: str, gpu: int) -> None:
    """Report a GPU or NPU of a Node as faulty, as the device plugin of its vendor does.

    A GPU of a Node with a Device is unhealthy there, and a Device is made for a Node with other GPUs than Ascend's. An
    NPU of Ascend is listed in the annotation ``huawei.com/KIND-Unhealthy``. The Node then offers one less.

    `store`, `snapshot`: the cluster as it is now. `node`, `gpu`: name of the Node; number of the GPU on its host, from
    0. `InputError` if none is healthy of that number.
    """
    words = snapshot.gpu_total[snapshot.topology.node(node)]
    healthy = [bit for bit in range(64 * len(words)) if int(words[bit // 64]) >> (bit % 64) & 1]
    if gpu not in healthy:
        raise InputError(
            "no such healthy GPU", where=node, got=str(gpu), expected=name_list([str(one) for one in healthy])
        )
    key, device = Ref("Node", "", node), Ref("Device", "", node)
    stored = store.get(key)
    assert stored is not None
    offered = read_node(stored).allocatable
    resource = next((name for name, amount in offered.items() if is_gpu_resource(name) and amount), "")
    if resource:
        # As a kubelet writes it: the capacity counts broken GPUs, too.
        status = stored.get("status") or {}
        amounts = status.get("allocatable") or status.get("capacity") or {}
        left = {**amounts, resource: str(offered[resource] - 1)}
        store.patch_status(key, {"capacity": {**amounts, **(status.get("capacity") or {})}, "allocatable": left})
    reported = store.get(device)
    if reported is not None:
        spec = reported["spec"]
        listed = [{**one, "health": False} if _is_gpu(one, gpu) else one for one in spec.get("devices") or ()]
        store.patch(device, {"spec": {**spec, "devices": listed}})
    elif resource.startswith("huawei.com/"):
        listing = f"{resource}-Unhealthy"
        before = (stored["metadata"].get("annotations") or {}).get(listing) or ""
        names = [*filter(None, before.split(",")), f"{resource.removeprefix('huawei.com/')}-{gpu}"]
        store.patch(key, {"metadata": {"annotations": {listing: ",".join(names)}}})
    else:
        store.create(device_manifest(node, healthy, unhealthy=[gpu]))


def pods_on_gpu(store: MemoryStore, node: str, gpu: int) -> list[Ref]:
    """Pods on a Node that hold a GPU of it; one with GPUs whose numbers are unknown counts as holding all of them.

    Parameters
    ----------
    store, node
    gpu : int
        Number of the GPU on its host, from 0.
    """
    found = []
    for pod in store.list("Pod"):
        alive = phase_of(pod) not in ENDED
        if alive and pod["spec"].get("nodeName") == node and _may_hold(pod, gpu):
            found.append(Ref("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"]))
    return found


def _may_hold(pod: Object, gpu: int) -> bool:
    mask = recorded_gpus((pod["metadata"].get("annotations") or {}).get(GPU_ANNOTATION))
    return any(read_pod(pod).spec.container_gpus) if mask is None else bool(mask >> gpu & 1)


def _is_gpu(device: Any, number: int) -> bool:
    return (device.get("type"), device.get("minor")) == ("gpu", number)
