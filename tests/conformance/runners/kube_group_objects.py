"""Objects of the cases about groups: from their JSON to values of the product."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup, group_key
from workbench.policies.kube.groups.validation import MemberPod

__all__ = ["groups_of", "hierarchy", "key_of", "member", "member_of", "pod_key"]

Json = dict[str, Any]


def groups_of(objects: Iterable[Json]) -> list[KubePodGroup]:
    """Groups in the order of the case."""
    return [
        KubePodGroup(
            each["name"],
            each.get("namespace", ""),
            composite=each["kind"] == "CompositePodGroup",
            min_count=each.get("gang"),
            topology_key=each.get("topology_key", ""),
            parent=each.get("parent", ""),
            priority=each.get("priority", 0),
            preemption_policy=each.get("preemption_policy", ""),
            falls_whole=each.get("disruption_mode") == "all",
        )
        for each in objects
    ]


def hierarchy(objects: Iterable[Json]) -> Hierarchy:
    """The trees that groups of a case form."""
    return Hierarchy(groups_of(objects))


def key_of(pod: Json) -> str:
    """Identity of a pod's PodGroup; empty: it has none."""
    return group_key(pod.get("namespace", ""), pod["group"]) if pod.get("group") else ""


def pod_key(pod: Json) -> str:
    """Identity of a pod in its case."""
    return str(pod.get("uid", pod["name"]))


def member(pod: Json) -> MemberPod:
    """Make the member of a group from a pod of a case."""
    return MemberPod(pod["name"], pod.get("scheduler", ""), pod.get("priority", 0), pod.get("preemption_policy", ""))


def member_of(pod: GroupPod) -> MemberPod:
    """Make the member of a group from a pod of the stand-in."""
    return MemberPod(pod.name, pod.scheduler, pod.priority, pod.preemption_policy)
