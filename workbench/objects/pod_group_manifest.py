"""Write a PodGroup as a manifest; reading the manifest gives an equal PodGroup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.model.gang import TopologyConstraint
from workbench.model.labels import Requirement
from workbench.model.resources import quantity_text
from workbench.objects.metadata import Metadata, Owner
from workbench.objects.partition import SubGroupPolicy
from workbench.objects.pod_group import PodGroup

__all__ = ["pod_group_manifest"]


def pod_group_manifest(group: PodGroup) -> dict[str, Any]:
    """The manifest of a PodGroup; the list subGroupPolicy is written even if it is empty."""
    spec: dict[str, Any] = {"queue": group.queue}
    if group.min_member is not None:
        spec["minMember"] = group.min_member
    if group.min_task_member:
        spec["minTaskMember"] = dict(group.min_task_member)
    if group.min_resources:
        spec["minResources"] = {name: quantity_text(name, amount) for name, amount in group.min_resources.items()}
    if group.priority_class:
        spec["priorityClassName"] = group.priority_class
    if group.constraint is not None:
        spec["networkTopology"] = _topology(group.constraint)
    spec["subGroupPolicy"] = [_sub_group_policy(policy) for policy in group.sub_group_policies]
    manifest: dict[str, Any] = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": _metadata(group.metadata),
        "spec": spec,
    }
    return manifest | ({"status": {"phase": group.phase}} if group.phase else {})


def _metadata(metadata: Metadata) -> dict[str, Any]:
    written: dict[str, Any] = {"name": metadata.name, "namespace": metadata.namespace}
    for key, text in (("uid", metadata.uid), ("resourceVersion", metadata.resource_version)):
        if text:
            written[key] = text
    if metadata.created:
        written["creationTimestamp"] = metadata.created
    for key, pairs in (("labels", metadata.labels), ("annotations", metadata.annotations)):
        if pairs:
            written[key] = dict(sorted(pairs.items()))
    if metadata.owners:
        written["ownerReferences"] = [_owner(owner) for owner in metadata.owners]
    return written


def _owner(owner: Owner) -> dict[str, Any]:
    written = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    flags = {"controller": owner.controller, "blockOwnerDeletion": owner.blocks_deletion}
    return {key: value for key, value in {**written, **flags}.items() if value}


def _topology(constraint: TopologyConstraint) -> dict[str, Any]:
    """The field networkTopology of a constraint; of both highest tiers only the number is written."""
    written: dict[str, Any] = {"mode": constraint.mode} if constraint.mode else {}
    if constraint.highest_tier is not None:
        written["highestTierAllowed"] = constraint.highest_tier
    elif constraint.highest_tier_name:
        written["highestTierName"] = constraint.highest_tier_name
    return written


def _sub_group_policy(policy: SubGroupPolicy) -> dict[str, Any]:
    written: dict[str, Any] = {"name": policy.name, "subGroupSize": policy.size, "minSubGroups": policy.min_sub_groups}
    if policy.labels is not None:
        written["labelSelector"] = _label_selector(policy.labels)
    written["matchLabelKeys"] = list(policy.match_label_keys)
    if policy.constraint is not None:
        written["networkTopology"] = _topology(policy.constraint)
    return written


def _label_selector(labels: Sequence[Requirement]) -> dict[str, Any]:
    """A manifest's label selector: requirements with one value become matchLabels, all others matchExpressions."""
    equal = {one.key: one.values[0] for one in labels if one.operator == "In" and len(one.values) == 1}
    others = [
        {"key": one.key, "operator": one.operator} | ({"values": list(one.values)} if one.values else {})
        for one in labels
        if one.operator != "In" or len(one.values) != 1
    ]
    return ({"matchLabels": equal} if equal else {}) | ({"matchExpressions": others} if others else {})
