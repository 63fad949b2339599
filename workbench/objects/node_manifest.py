"""Write a Node as a manifest; reading the manifest gives an equal Node."""

from __future__ import annotations

from typing import Any

from workbench.model.resources import quantity_text
from workbench.objects.node import Node

__all__ = ["node_manifest"]


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
