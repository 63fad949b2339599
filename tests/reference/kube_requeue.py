"""Which events wake a pod that waits because of its group, in kube-scheduler 1.37 (hints of plugin GangScheduling).

The product keeps no queue of pods that events wake: it tries a gang that was refused again when the cluster changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["wakes"]

Json = Mapping[str, Any]
Groups = Mapping[tuple[str, str, str], Json]


def wakes(case: Json) -> bool:
    """Whether the event of a case wakes its pod."""
    pod, composites = case["pod"], case["composite_enabled"]
    if not pod.get("group"):
        return False
    known = [*case["known_groups"], *([case["new_group"]] if "new_group" in case else [])]
    groups = {(each["kind"], each.get("namespace", ""), each["name"]): each for each in known}
    mine = ("PodGroup", pod.get("namespace", ""), pod["group"])
    if case["event"] == "pod-added":
        new = case["new_pod"]
        if not new.get("group"):
            return False
        other = ("PodGroup", new.get("namespace", ""), new["group"])
    else:
        new = case["new_group"]
        other = (new["kind"], new.get("namespace", ""), new["name"])
    if case["event"] == "group-updated":
        before, after = case["old_group"].get("gang"), new.get("gang")
        if before is None or after is None or after >= before:
            return False
    if composites:
        return _root(groups, mine) == _root(groups, other)
    return mine == other


def _root(groups: Groups, key: tuple[str, str, str]) -> tuple[str, str, str]:
    """Uppermost group above a group; one that is not known is a root itself."""
    while key in groups and groups[key].get("parent"):
        key = ("CompositePodGroup", key[1], groups[key]["parent"])
    return key
