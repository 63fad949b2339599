"""Whether a group has members enough: before it is tried, and while its members are."""

from __future__ import annotations

from collections.abc import Callable

from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup
from workbench.policies.kube.status import Code, Status

__all__ = ["feasible", "ready", "ready_to_queue"]

Count = Callable[[KubePodGroup], int]


def feasible(group: KubePodGroup, placed: int, remaining: int) -> Status:
    """Say whether a group can still reach its minimum, and whether it has (plugin GangScheduling, PlacementFeasible).

    `placed`: members that have a place: pods with a node, children that succeeded. `remaining`: members that are still
    to be tried. Returns Status: unschedulable: the minimum is out of reach; Wait: not reached yet; Success.
    """
    counts = f"{placed} scheduled, {remaining} remaining"
    if placed + remaining < group.minimum:
        return Status(Code.UNSCHEDULABLE, (f"minCount ({group.minimum}) cannot be satisfied: {counts}",))
    if placed < group.minimum:
        return Status(Code.WAIT, (f"minCount ({group.minimum}) is not yet satisfied: {counts}",))
    return Status()


def ready(groups: Hierarchy, group: KubePodGroup, count: Count) -> bool:
    """Whether a tree has its minimum: each composite enough children that are ready, each PodGroup enough pods.

    `group`: root of the tree. `count`: pods of a PodGroup that count.
    """
    if not group.composite:
        return count(group) >= group.minimum
    return sum(ready(groups, child, count) for child in groups.children(group)) >= group.minimum


def ready_to_queue(groups: Hierarchy, key: str, known: Count, composites: bool) -> Status:
    """Say whether the pods of a group may be tried at all (plugin GangScheduling, PreEnqueue).

    `key`: the pod's PodGroup; empty: the pod has none. `known`: pods of a PodGroup that exist, in any state.
    `composites`: whether trees of groups are honoured (feature gate CompositePodGroup).
    """
    if not key:
        return Status()
    if not composites:
        if key not in groups:
            name = key.rsplit("/", 1)[1]
            return _never(f'waiting for pods\'s pod group "{name}" to appear in scheduling queue')
        group = groups[key]
        if group.min_count is not None and known(group) < group.min_count:
            return _never("waiting for minCount pods from a gang to appear in scheduling queue")
        return Status()
    path = groups.path(key)
    if isinstance(path, str):
        kind = "pod group" if path.startswith("podgroup/") else "composite pod group"
        return _never(f"failed to build hierarchy snapshot: {kind} object not found in state for {path}")
    root = path[-1]
    if ready(groups, root, known):
        return Status()
    if root.composite:
        return _never(f'waiting for composite pod group "{root.name}" tree to meet quorum')
    return _never("waiting for minCount pods from a gang to appear in scheduling queue")


def _never(message: str) -> Status:
    return Status(Code.UNRESOLVABLE, (message,))
