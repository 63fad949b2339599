"""Preemption by a group: which pods of lower priority would have to end so that the group gets its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.policies.kube.groups.cycle import GroupCycle, GroupOutcome
from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup
from workbench.policies.kube.groups.scene import KubeScene
from workbench.policies.kube.one_pod import passes

__all__ = ["Preemption", "preempt"]

Ints = npt.NDArray[np.int32]


@dataclass
class Preemption:
    """Pods to evict, and where the pods of the group go then.

    `victims`: in the order of their names. `nominated`: pods of the group with the index of the node that becomes free
    for each.
    """

    victims: list[GroupPod]
    nominated: list[tuple[GroupPod, int]]


@dataclass
class _Unit:
    """Pods that are evicted together or not at all."""

    priority: int
    rank: int
    pods: list[GroupPod] = field(default_factory=list)

    @property
    def importance(self) -> tuple[int, int, int, int, bytes]:
        """Sort key: the most important first."""
        first = min(pod.arrival for pod in self.pods)
        return -self.priority, -self.rank, -len(self.pods), first, self.pods[0].full_name.encode()


def preempt(
    scene: KubeScene, root: KubePodGroup, running: Iterable[GroupPod], nodes: Ints, *, by_placement: bool
) -> Preemption | None:
    """Find the pods that a root group would evict, and leave the cluster as it is.

    All pods of lower priority are taken away and the group is tried once. If it succeeds, they return one by one, the
    most important first; those stay with which a pod of the group no longer passes the filters of its node.

    `running`: pods with a node. `nodes`: ndarray of shape (n,), int32; nodes of the cluster in the order in which they
    are looked at. `by_placement`: as in `GroupCycle`. Returns None if evictions do not help. Upstream protects pods by
    disruption budgets, too; a snapshot knows none.
    """
    units = [unit for unit in _units(scene.groups, running) if unit.priority < root.priority]
    if not units:
        return None
    cluster = scene.cluster
    for unit in units:
        for pod in unit.pods:
            cluster.forget(pod.shape, pod.node)
    outcome: GroupOutcome[GroupPod, int, Ints] = GroupCycle(scene, by_placement).run(root, nodes)
    placed = list(outcome.placed())
    victims: list[GroupPod] = []
    gone: list[GroupPod] = []
    for unit in sorted(units, key=lambda unit: unit.importance):
        for pod in unit.pods:
            cluster.assume(pod.shape, pod.node)
        if placed and not _all_pass(scene, placed):
            for pod in unit.pods:
                cluster.forget(pod.shape, pod.node)
            victims += unit.pods
            gone += unit.pods
    for pod in gone:
        cluster.assume(pod.shape, pod.node)
    if not victims:
        return None
    return Preemption(sorted(victims, key=lambda pod: pod.full_name.encode()), placed)


def _units(groups: Hierarchy, running: Iterable[GroupPod]) -> list[_Unit]:
    """Pods that are evicted together: those under the uppermost group that falls as a whole, all others singly."""
    units: dict[object, _Unit] = {}
    for pod in running:
        path = groups.path(pod.group) if pod.group else []
        above: Sequence[KubePodGroup] = [] if isinstance(path, str) else path
        priority = above[-1].priority if above else pod.priority
        whole = [group for group in above if group.falls_whole]
        key: object = whole[-1].key if whole else pod
        rank = (1 + whole[-1].composite) if whole else 0
        units.setdefault(key, _Unit(priority, rank)).pods.append(pod)
    return list(units.values())


def _all_pass(scene: KubeScene, placed: Sequence[tuple[GroupPod, int]]) -> bool:
    """Whether pods pass the filters of their nodes one after another, each with those before it in place."""
    done: list[tuple[GroupPod, int]] = []
    for pod, node in placed:
        if not passes(scene.cluster, pod.shape, node, scene.settings).ok:
            break
        scene.assume([(pod, node)])
        done.append((pod, node))
    scene.forget(done)
    return len(done) == len(placed)
