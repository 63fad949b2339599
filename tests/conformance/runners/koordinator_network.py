"""Runner of Koordinator's gang solver (`koordinator_network_topology`), by manifests, the policy and its tree."""

from __future__ import annotations

import json
from typing import Any

import workbench
from tests.conformance.registry import Runners
from workbench.model.placement import Placement
from workbench.policies.koordinator.network_tree import NODE_LAYER, TreeNode, comes_before, constrain, distribute

__all__ = ["register"]

FILE = "koordinator_network_topology"

PREFIX = "topology.example/"


def register(runners: Runners) -> None:
    """Add the operations of `koordinator_network_topology`."""
    runners.op(
        FILE,
        "plan",
        given=("layers", "node_key_of_layer", "gather", "nodes", "pending_pods", "existing_pods"),
        want=("plan",),
    )(_plan)
    tree = ("tree", "layer_of_depth", "leaf_offer_slots", "pod_count_multiple")
    runners.op(FILE, "distribute", given=(*tree, "desired"), want=("distribution", "total"))(_distribute)
    runners.op(FILE, "constrain", given=tree, want=("offer_slots",))(_constrain)
    runners.op(FILE, "less", given=("nodes", "a", "b", "lower_offer_slot_first"), want=("less",))(_less)


def _plan(given: dict[str, Any], want: dict[str, Any]) -> None:
    scenario = workbench.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests(given)}))
    (gang,) = scenario.gangs
    result = workbench.place(gang, scenario.snapshot, "koordinator-network")
    found = None
    if isinstance(result, Placement):
        found = {f"{gang.namespace}/{pod.name}": pod.node for pod in result.pods()}
    assert found == want["plan"]


def manifests(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of a case: ClusterNetworkTopology, Nodes with labels, a Koordinator gang of pods."""
    keys = given["node_key_of_layer"]
    assert all(keys[layer] == "name" for layer in keys if layer == NODE_LAYER)
    layers = [layer for layer in given["layers"] if layer in keys]
    spec = [
        {
            "topologyLayer": layer,
            "parentTopologyLayer": given["layers"][given["layers"].index(layer) - 1],
            **({} if layer == NODE_LAYER else {"labelKey": [PREFIX + keys[layer]]}),
        }
        for layer in layers
    ]
    fields = [keys[layer] for layer in layers if layer != NODE_LAYER]
    annotations = {
        "gang.scheduling.koordinator.sh/name": "gang",
        "gang.scheduling.koordinator.sh/min-available": str(len(given["pending_pods"])),
        "gang.scheduling.koordinator.sh/network-topology-spec": json.dumps({"gatherStrategy": given["gather"]}),
    }
    return [
        {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "ClusterNetworkTopology",
            "metadata": {"name": "default"},
            "spec": {"networkTopologySpec": spec},
        },
        *(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": node["name"], "labels": {PREFIX + key: node[key] for key in fields}},
                "status": {"allocatable": node["allocatable"]},
            }
            for node in given["nodes"]
        ),
        *(_pod(pod, {}) for pod in given["existing_pods"]),
        *(_pod(pod, annotations) for pod in given["pending_pods"]),
    ]


def _pod(pod: dict[str, Any], annotations: dict[str, str]) -> dict[str, Any]:
    assert pod.keys() <= {"name", "node", "requests"}
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": pod["requests"]}}]}
    if "node" in pod:
        spec["nodeName"] = pod["node"]
    metadata = {"name": pod["name"], "namespace": "default", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _tree(given: dict[str, Any]) -> tuple[TreeNode, dict[str, TreeNode]]:
    """The one root of a case's tree with the slots of its leaves summed upwards, and every tree node by name."""
    by_name: dict[str, TreeNode] = {}

    def grow(name: str, below: Any, depth: int) -> TreeNode:
        at = by_name[name] = TreeNode(name, given["layer_of_depth"][depth])
        for child in below:
            at.add(grow(child, below[child] if isinstance(below, dict) else (), depth + 1))
        return at

    ((top, below),) = given["tree"].items()
    root = grow(top, below, 0)
    for name, slots in given["leaf_offer_slots"].items():
        by_name[name].count(slots, 0)
    return root, by_name


def _distribute(given: dict[str, Any], want: dict[str, Any]) -> None:
    root, _ = _tree(given)
    found = distribute(root, given["desired"], given["pod_count_multiple"])
    assert {at.name: count for at, count in found} == want["distribution"]
    assert sum(count for _, count in found) == want["total"]


def _constrain(given: dict[str, Any], want: dict[str, Any]) -> None:
    root, by_name = _tree(given)
    constrain(root, given["pod_count_multiple"])
    assert {name: at.offer for name, at in by_name.items()} == want["offer_slots"]


def _less(given: dict[str, Any], want: dict[str, Any]) -> None:
    nodes = given["nodes"]
    tree = {name: TreeNode(name, "", offer=entry["offer"], score=entry["score"]) for name, entry in nodes.items()}
    for name, entry in nodes.items():
        if entry["parent"] is not None:
            tree[entry["parent"]].add(tree[name])
    assert comes_before(tree[given["a"]], tree[given["b"]], given["lower_offer_slot_first"]) == want["less"]
