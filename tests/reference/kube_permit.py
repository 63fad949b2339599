"""Whether a placed pod of a group may be bound, or waits for others (kube-scheduler 1.37, GangScheduling, Permit).

The product binds all pods of a successful cycle at once, so that none waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["permit"]

Json = dict[str, Any]


def permit(groups: list[Json], pod: Json, placed: Callable[[Json], int], composites: bool) -> tuple[str, list[str]]:
    """Code and reasons of the answer to a pod.

    Parameters
    ----------
    groups : list of dict
    pod : dict
    placed : callable
        Pods of a PodGroup that have a node, the asking pod included.
    composites : bool
        Whether trees of groups are honoured.
    """
    if not pod.get("group"):
        return "Success", []
    namespace = pod.get("namespace", "")
    known = {(each["kind"], each["name"]): each for each in groups if each.get("namespace", "") == namespace}
    root = known["PodGroup", pod["group"]]
    while composites and root.get("parent"):
        root = known["CompositePodGroup", root["parent"]]
    if root["kind"] == "PodGroup":
        if root.get("gang") is None or placed(root) >= root["gang"]:
            return "Success", []
        return "Wait", ["waiting for minCount pods from a gang to be scheduled"]

    def ready(group: Json) -> bool:
        if group["kind"] == "PodGroup":
            return placed(group) >= group.get("gang", 1)
        children = [each for each in known.values() if each.get("parent") == group["name"]]
        return sum(map(ready, children)) >= group.get("gang", 1)

    if ready(root):
        return "Success", []
    return "Wait", [f'waiting for composite pod group "{root["name"]}" tree to meet quorum']
