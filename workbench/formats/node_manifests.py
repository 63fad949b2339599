"""Nodes of a snapshot as Kubernetes objects: what reading them back gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.model.resources import CPU, PODS, UNLIMITED
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["node_manifests"]


def node_manifests(snapshot: ClusterSnapshot, labels: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """One Node per node, in byte order of names.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        Labels, taints, cordons, addresses and allocatable resources are written; a resource of amount 0 is left out.
    labels : mapping of str to mapping
        Further labels by node; they win.
    """
    order = sorted(range(snapshot.n_nodes), key=lambda i: snapshot.topology.node_names[i].encode())
    return [_node(snapshot, i, labels.get(snapshot.topology.node_names[i], {})) for i in order]


def _node(snapshot: ClusterSnapshot, node: int, labels: Mapping[str, str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": snapshot.topology.node_names[node]}
    own = {**snapshot.labels.row(node), **labels}
    if own:
        metadata["labels"] = dict(sorted(own.items()))
    spec: dict[str, Any] = {}
    taints = snapshot.taints.sets[snapshot.taints.codes[node]] if len(snapshot.taints.codes) else ()
    if taints:
        spec["taints"] = [
            {"key": t.key, **({"value": t.value} if t.value else {}), **({"effect": t.effect} if t.effect else {})}
            for t in taints
        ]
    if snapshot.unschedulable[node]:
        spec["unschedulable"] = True
    status: dict[str, Any] = {}
    if snapshot.address_of(node):
        status["addresses"] = [{"type": "InternalIP", "address": snapshot.address_of(node)}]
    offered = {
        name: f"{amount}m" if name == CPU and amount % 1000 else str(amount // 1000 if name == CPU else amount)
        for name, amount in zip(snapshot.resources, snapshot.allocatable[node].tolist(), strict=True)
        if amount and not (name == PODS and amount == UNLIMITED)
    }
    if offered:
        status["allocatable"] = offered
    manifest: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    manifest |= {"spec": spec} if spec else {}
    manifest |= {"status": status} if status else {}
    return manifest
