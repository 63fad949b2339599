"""Write a HyperNode as a manifest; reading the manifest gives an equal HyperNode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.model.labels import Requirement
from workbench.objects.hypernode import HyperNode, Member

__all__ = ["hypernode_manifest", "hypernode_spec", "is_hypernode"]


def hypernode_manifest(hypernode: HyperNode) -> dict[str, Any]:
    """The manifest of a HyperNode, with labels and annotations sorted by key.

    It has a status only if the HyperNode has one.
    """
    metadata: dict[str, Any] = {"name": hypernode.name}
    for key, pairs in (("labels", hypernode.metadata.labels), ("annotations", hypernode.metadata.annotations)):
        if pairs:
            metadata[key] = dict(sorted(pairs.items()))
    manifest: dict[str, Any] = {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": metadata,
        "spec": hypernode_spec(hypernode),
    }
    if hypernode.node_count is not None:
        manifest["status"] = {"nodeCount": hypernode.node_count}
    return manifest


def is_hypernode(data: Mapping[str, Any]) -> bool:
    """Whether a parsed manifest is a HyperNode of any API version, by its apiVersion and kind."""
    return data.get("kind") == "HyperNode" and str(data.get("apiVersion")).startswith("topology.volcano.sh/")


def hypernode_spec(hypernode: HyperNode) -> dict[str, Any]:
    """The ``spec`` of a HyperNode manifest: its tier, its tier name if it has one, and its members in order."""
    spec: dict[str, Any] = {"tier": hypernode.tier}
    if hypernode.tier_name:
        spec["tierName"] = hypernode.tier_name
    spec["members"] = [_member(member) for member in hypernode.members]
    return spec


def _member(member: Member) -> dict[str, Any]:
    chosen = member.selector
    selector: dict[str, Any] = {}
    if chosen.exact is not None:
        selector["exactMatch"] = {"name": chosen.exact}
    if chosen.pattern is not None:
        selector["regexMatch"] = {"pattern": chosen.pattern}
    if chosen.labels is not None:
        expressions = [_expression(requirement) for requirement in chosen.labels]
        selector["labelMatch"] = {"matchExpressions": expressions} if expressions else {}
    return {"type": member.type, "selector": selector}


def _expression(requirement: Requirement) -> dict[str, Any]:
    expression: dict[str, Any] = {"key": requirement.key, "operator": requirement.operator}
    return expression | ({"values": list(requirement.values)} if requirement.values else {})
